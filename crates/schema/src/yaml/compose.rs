//! Builds the tree of nodes of the first document.

use std::collections::HashMap;

use super::Error;
use super::parser::{Event, EventKind, Parser};
use super::reader::Source;

/// A node by its place in [`Document::nodes`].
pub(super) type NodeId = u32;

pub(super) struct Document {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

impl Document {
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }
}

pub(super) struct Node {
    /// Line on which it starts, counted from zero.
    pub(super) line: u32,
    pub(super) content: Content,
}

pub(super) enum Content {
    Scalar {
        tag: Option<Box<str>>,
        value: Box<str>,
        /// Whether its text says what it is.
        implicit: bool,
    },
    Sequence(Vec<NodeId>),
    /// Keys and values, in turn.
    Mapping(Vec<NodeId>),
    Alias {
        name: Box<str>,
        target: NodeId,
    },
}

/// Parses up to the end of the first document; what follows is not looked at. None if there is no document.
pub(super) fn compose(source: &Source<'_>) -> Result<Option<Document>, Error> {
    let mut composer = Composer {
        parser: Parser::new(source),
        nodes: Vec::new(),
        anchors: HashMap::new(),
        open: Vec::new(),
    };
    composer.parser.next()?;
    if let EventKind::StreamEnd = composer.parser.next()?.kind {
        return Ok(None);
    }
    let root = composer.root()?;
    composer.parser.next()?;
    Ok(Some(Document {
        nodes: composer.nodes,
        root,
    }))
}

struct Composer<'a> {
    parser: Parser<'a>,
    nodes: Vec<Node>,
    anchors: HashMap<String, NodeId>,
    /// The sequences and mappings that are not complete, with what they hold so far.
    open: Vec<(NodeId, Vec<NodeId>)>,
}

impl Composer<'_> {
    fn root(&mut self) -> Result<NodeId, Error> {
        loop {
            let event = self.parser.next()?;
            let Some(complete) = self.handle(event)? else {
                continue;
            };
            match self.open.last_mut() {
                Some((_, children)) => children.push(complete),
                None => return Ok(complete),
            }
        }
    }

    /// Takes an event in and returns the node that it completes.
    fn handle(&mut self, event: Event) -> Result<Option<NodeId>, Error> {
        let (content, anchor) = match event.kind {
            EventKind::Scalar {
                anchor,
                tag,
                value,
                implicit,
            } => {
                let content = Content::Scalar {
                    tag: tag.map(String::into_boxed_str),
                    value: value.into_boxed_str(),
                    implicit,
                };
                (content, anchor)
            }
            EventKind::Alias(name) => {
                let Some(&target) = self.anchors.get(&name) else {
                    let problem = format!("unknown anchor '{name}' referenced");
                    return Err(Error::without_line(problem));
                };
                let name = name.into_boxed_str();
                (Content::Alias { name, target }, None)
            }
            EventKind::SequenceStart { anchor } => {
                self.open(Content::Sequence(Vec::new()), anchor, event.line);
                return Ok(None);
            }
            EventKind::MappingStart { anchor } => {
                self.open(Content::Mapping(Vec::new()), anchor, event.line);
                return Ok(None);
            }
            EventKind::SequenceEnd | EventKind::MappingEnd => return Ok(Some(self.close())),
            EventKind::StreamStart | EventKind::StreamEnd | EventKind::DocumentStart | EventKind::DocumentEnd => {
                return Ok(None);
            }
        };
        Ok(Some(self.add(content, anchor, event.line)))
    }

    fn open(&mut self, content: Content, anchor: Option<String>, line: usize) {
        let id = self.add(content, anchor, line);
        self.open.push((id, Vec::new()));
    }

    fn close(&mut self) -> NodeId {
        let (id, mut complete) = self.open.pop().expect("what closes has been opened");
        complete.shrink_to_fit();
        if let Content::Sequence(children) | Content::Mapping(children) = &mut self.nodes[id as usize].content {
            *children = complete;
        }
        id
    }

    /// Adds a node. Its anchor is known from here on, so that it may hold itself.
    fn add(&mut self, content: Content, anchor: Option<String>, line: usize) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).expect("a text has fewer than 2^32 nodes");
        let line = u32::try_from(line).expect("a text has fewer than 2^32 lines");
        self.nodes.push(Node { line, content });
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, id);
        }
        id
    }
}
