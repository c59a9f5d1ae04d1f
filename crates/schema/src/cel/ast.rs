//! Expressions after parsing and macro expansion, in an arena.
//!
//! Nodes refer to each other by index: a walk may stop anywhere, dropping a deep expression needs no stack, and the
//! copies that some macros make of their target (`optMap` evaluates it twice) are one node.

use super::value::Value;

/// Index of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The index.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One expression.
#[derive(Debug)]
pub(crate) enum Node {
    /// A constant.
    Literal(Value<'static>),
    /// A name; with a leading dot, a global one.
    Ident(Box<str>),
    /// `operand.field`, or `has(operand.field)`.
    Select {
        operand: NodeId,
        field: Box<str>,
        test_only: bool,
    },
    /// `function(args)` or `target.function(args)`; operators are functions too.
    Call {
        function: Box<str>,
        target: Option<NodeId>,
        args: Vec<NodeId>,
    },
    /// `[items]`, some of them optional (`?item`).
    List { items: Vec<(NodeId, bool)> },
    /// `{key: value}`, some of them optional (`?key: value`).
    Map { entries: Vec<Entry> },
    /// `Type{field: value}`, some fields optional (`?field: value`).
    Struct {
        type_name: Box<str>,
        fields: Vec<FieldEntry>,
    },
    /// What the macros over lists and maps expand to.
    Comprehension(Box<Comprehension>),
}

/// An entry of a map literal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) key: NodeId,
    pub(crate) value: NodeId,
    pub(crate) optional: bool,
}

/// A field of a message that is made.
#[derive(Clone, Debug)]
pub(crate) struct FieldEntry {
    pub(crate) field: Box<str>,
    pub(crate) value: NodeId,
    pub(crate) optional: bool,
}

/// A fold over a range.
#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: NodeId,
    /// The element of a list or the key of a map; with a second variable, the index or the key.
    pub(crate) variable: Box<str>,
    /// The element of a list or the value of a map.
    pub(crate) second_variable: Option<Box<str>>,
    pub(crate) accumulator: Box<str>,
    pub(crate) init: NodeId,
    pub(crate) condition: NodeId,
    pub(crate) step: NodeId,
    pub(crate) result: NodeId,
}

/// An expression: its nodes and which of them is the whole.
#[derive(Debug, Default)]
pub(crate) struct Ast {
    nodes: Vec<Node>,
    root: Option<NodeId>,
}

impl Ast {
    /// The node of an index.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The whole expression.
    pub(crate) fn root(&self) -> NodeId {
        self.root
            .expect("the parser sets the root of every expression it returns")
    }

    /// Sets the whole expression.
    pub(crate) fn set_root(&mut self, root: NodeId) {
        self.root = Some(root);
    }

    /// Adds a node. The parser bounds their number far below `u32::MAX`.
    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("the parser bounds the number of nodes"));
        self.nodes.push(node);
        id
    }

    /// Adds a name.
    pub(crate) fn ident(&mut self, name: &str) -> NodeId {
        self.add(Node::Ident(name.into()))
    }

    /// Adds a constant.
    pub(crate) fn literal(&mut self, value: impl Into<Value<'static>>) -> NodeId {
        self.add(Node::Literal(value.into()))
    }

    /// Adds a global call.
    pub(crate) fn call(&mut self, function: &str, args: impl Into<Vec<NodeId>>) -> NodeId {
        self.add(Node::Call {
            function: function.into(),
            target: None,
            args: args.into(),
        })
    }

    /// Adds a call on a target.
    pub(crate) fn member_call(&mut self, target: NodeId, function: &str, args: impl Into<Vec<NodeId>>) -> NodeId {
        self.add(Node::Call {
            function: function.into(),
            target: Some(target),
            args: args.into(),
        })
    }

    /// Adds a list of mandatory items.
    pub(crate) fn list(&mut self, items: impl IntoIterator<Item = NodeId>) -> NodeId {
        self.add(Node::List {
            items: items.into_iter().map(|item| (item, false)).collect(),
        })
    }

    /// The dotted name that an expression spells, if it is one: `a.b.c`.
    pub(crate) fn qualified_name(&self, id: NodeId) -> Option<String> {
        let mut segments = Vec::new();
        let mut id = id;
        loop {
            match self.node(id) {
                Node::Ident(name) => {
                    segments.push(&**name);
                    segments.reverse();
                    return Some(segments.join("."));
                }
                Node::Select {
                    operand,
                    field,
                    test_only: false,
                } => {
                    segments.push(field);
                    id = *operand;
                }
                _ => return None,
            }
        }
    }

    /// The operands of a node.
    pub(crate) fn children(&self, id: NodeId) -> Vec<NodeId> {
        match self.node(id) {
            Node::Literal(_) | Node::Ident(_) => Vec::new(),
            Node::Struct { fields, .. } => fields.iter().map(|entry| entry.value).collect(),
            Node::Select { operand, .. } => vec![*operand],
            Node::Call { target, args, .. } => target.iter().chain(args).copied().collect(),
            Node::List { items } => items.iter().map(|(item, _)| *item).collect(),
            Node::Map { entries } => entries.iter().flat_map(|entry| [entry.key, entry.value]).collect(),
            Node::Comprehension(fold) => vec![fold.range, fold.init, fold.condition, fold.step, fold.result],
        }
    }
}
