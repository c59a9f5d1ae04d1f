//! From the document to the compiled form.

use std::cell::RefCell;

use super::reader::Reader;
use super::structural::{self, Position};
use super::{
    Additional, Bound, Checks, Enumeration, FormatCheck, FormatOf, ListType, Logic, Node, Type, Types, Within, complete,
};
use crate::field::Path;
use crate::format::Format;
use crate::problem::{Problem, Reason};
use crate::regexp::{self, Patterns, Regexp};
use crate::value::{Map, Value, deeper};

/// Levels of nesting that a schema may have. Schemas in use have some dozens.
const MAX_DEPTH: usize = 1_000;
/// Schemas that a schema may be made of. The largest definitions in use have some ten thousand.
const MAX_NODES: usize = 200_000;

/// Compiles a schema document, defaults not yet looked at.
pub(crate) fn parse(document: &Map, path: &Path<'_>) -> Result<Node, Vec<Problem>> {
    let parser = Parser::default();
    let root = parser.node(document, path, Position::Root, 0);
    let mut problems = parser.problems.into_inner();
    if problems.is_empty() {
        complete::check(&root, path, &mut problems);
    }
    if problems.is_empty() { Ok(root) } else { Err(problems) }
}

#[derive(Default)]
struct Parser {
    problems: RefCell<Vec<Problem>>,
    nodes: RefCell<usize>,
    patterns: RefCell<Patterns>,
}

impl Parser {
    fn node(&self, document: &Map, path: &Path<'_>, position: Position, depth: usize) -> Node {
        if !self.has_room(path, depth) {
            return Node::default();
        }
        deeper(|| {
            let reader = Reader::new(document, path, &self.problems);
            structural::check_unsupported(&reader);
            let mut node = self.structure(&reader, position, depth);
            node.checks = self.checks(&reader);
            node.logic = self.logic(&reader, depth);
            match position {
                Position::Root | Position::Item | Position::Field => {
                    structural::check_structure(&reader, position, &node);
                }
                Position::Nested => structural::check_nested(&reader),
                Position::IntOrStringAlternative => {}
            }
            node
        })
    }

    /// Whether the limits allow one more schema; notes once that they do not.
    fn has_room(&self, path: &Path<'_>, depth: usize) -> bool {
        let mut nodes = self.nodes.borrow_mut();
        *nodes += 1;
        let too_large = if depth > MAX_DEPTH {
            *nodes = MAX_NODES + 1;
            (MAX_DEPTH, "levels of nesting")
        } else if *nodes == MAX_NODES + 1 {
            (MAX_NODES, "parts")
        } else {
            return *nodes <= MAX_NODES;
        };
        let (limit, of) = too_large;
        let problem = Problem::new(path, Reason::TooLarge { limit, of });
        self.problems.borrow_mut().push(problem);
        false
    }

    fn structure(&self, reader: &Reader<'_>, position: Position, depth: usize) -> Node {
        let below = |position_in_structure| match position {
            Position::Nested | Position::IntOrStringAlternative => Position::Nested,
            _ => position_in_structure,
        };
        let types = types(reader);
        let properties_path = reader.path.child("properties");
        let properties: Box<[_]> = reader
            .named_schemas("properties")
            .into_iter()
            .map(|(name, schema)| {
                let path = properties_path.key(name);
                (name.into(), self.node(schema, &path, below(Position::Field), depth + 1))
            })
            .collect();
        let items = match reader.fields.get("items") {
            Some(Value::Array(_)) => None,
            _ => reader.schema("items").map(|schema| {
                let path = reader.path.child("items");
                Box::new(self.node(schema, &path, below(Position::Item), depth + 1))
            }),
        };
        let mut node = Node {
            types,
            nullable: reader.flag("nullable"),
            format: reader.string("format").and_then(|name| format_check(types, name)),
            properties,
            additional: self.additional(reader, below(Position::Field), depth),
            items,
            default: reader.fields.get("default").filter(|value| !value.is_null()).cloned(),
            preserve_unknown_fields: reader.flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: reader.flag("x-kubernetes-embedded-resource"),
            list_type: list_type(reader),
            ..Node::default()
        };
        node.within = within(&node);
        node
    }

    fn additional(&self, reader: &Reader<'_>, position: Position, depth: usize) -> Additional {
        match reader.fields.get("additionalProperties") {
            None | Some(Value::Null) => Additional::Unset,
            Some(Value::Bool(true)) => Additional::Any,
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(_) => reader
                .schema("additionalProperties")
                .map_or(Additional::Unset, |schema| {
                    let path = reader.path.child("additionalProperties");
                    Additional::Schema(Box::new(self.node(schema, &path, position, depth + 1)))
                }),
        }
    }

    fn logic(&self, reader: &Reader<'_>, depth: usize) -> Option<Box<Logic>> {
        let list = |keyword: &str, position| {
            let path = reader.path.child(keyword);
            let schemas = reader.schemas(keyword);
            schemas
                .into_iter()
                .enumerate()
                .map(|(i, schema)| self.node(schema, &path.index(i), position, depth + 1))
                .collect()
        };
        let any_of_position = if structural::is_int_or_string(&reader.schemas("anyOf")) {
            Position::IntOrStringAlternative
        } else {
            Position::Nested
        };
        let logic = Logic {
            any_of: list("anyOf", any_of_position),
            one_of: list("oneOf", Position::Nested),
            all_of: list("allOf", Position::Nested),
            not: reader.schema("not").map(|schema| {
                let path = reader.path.child("not");
                Box::new(self.node(schema, &path, Position::Nested, depth + 1))
            }),
        };
        let empty =
            logic.any_of.is_empty() && logic.one_of.is_empty() && logic.all_of.is_empty() && logic.not.is_none();
        (!empty).then(|| Box::new(logic))
    }

    fn checks(&self, reader: &Reader<'_>) -> Option<Box<Checks>> {
        let bound = |keyword: &str, exclusive: &str| {
            let exclusive = reader.flag(exclusive);
            reader.number(keyword).map(|value| Bound { value, exclusive })
        };
        let checks = Checks {
            multiple_of: reader.number("multipleOf"),
            minimum: bound("minimum", "exclusiveMinimum"),
            maximum: bound("maximum", "exclusiveMaximum"),
            min_length: reader.integer("minLength"),
            max_length: reader.integer("maxLength"),
            pattern: reader
                .string("pattern")
                .and_then(|pattern| self.pattern(reader, pattern)),
            min_items: reader.integer("minItems"),
            max_items: reader.integer("maxItems"),
            min_properties: reader.integer("minProperties"),
            max_properties: reader.integer("maxProperties"),
            required: reader.strings("required"),
            enumeration: reader
                .list("enum")
                .filter(|values| !values.is_empty())
                .map(|values| Enumeration::new(values.to_vec())),
        };
        (!checks.is_empty()).then(|| Box::new(checks))
    }

    fn pattern(&self, reader: &Reader<'_>, pattern: &str) -> Option<Regexp> {
        match self.patterns.borrow_mut().compile(pattern) {
            Ok(regexp) => Some(regexp),
            Err(regexp::Error::TogetherTooLarge) => {
                reader.note("pattern", Reason::PatternsTooLarge);
                None
            }
            Err(error) => {
                reader.note("pattern", Reason::Pattern(error));
                None
            }
        }
    }
}

impl Checks {
    fn is_empty(&self) -> bool {
        let bounds = [
            self.min_length,
            self.max_length,
            self.min_items,
            self.max_items,
            self.min_properties,
            self.max_properties,
        ];
        bounds.iter().all(Option::is_none)
            && self.multiple_of.is_none()
            && self.minimum.is_none()
            && self.maximum.is_none()
            && self.pattern.is_none()
            && self.required.is_empty()
            && self.enumeration.is_none()
    }
}

fn types(reader: &Reader<'_>) -> Types {
    let named = reader.string("type").map(|name| (name, Type::by_name(name)));
    if let Some((name, None)) = named {
        let detail = if name == "null" {
            "type cannot be set to null, use nullable as an alternative"
        } else {
            "must be array, boolean, integer, number, object or string"
        };
        reader.refuse("type", detail);
    }
    if reader.flag("x-kubernetes-int-or-string") {
        return Types::IntOrString;
    }
    named.and_then(|(_, t)| t).map_or(Types::Any, Types::One)
}

/// `StripUnsupportedFormatsPostProcess`: formats count only with the types that they are formats of.
fn format_check(types: Types, name: &str) -> Option<FormatCheck> {
    let of = match types {
        Types::Any | Types::IntOrString | Types::One(Type::String) => FormatOf::String(Format::by_name(name)?),
        Types::One(Type::Integer) => match name {
            "int32" => FormatOf::Int32,
            "int64" => FormatOf::Int64,
            _ => return None,
        },
        Types::One(Type::Number) => match name {
            "float" => FormatOf::Float,
            "double" => FormatOf::Double,
            _ => return None,
        },
        Types::One(Type::Array | Type::Boolean | Type::Object) => return None,
    };
    Some(FormatCheck { name: name.into(), of })
}

fn list_type(reader: &Reader<'_>) -> ListType {
    match reader.string("x-kubernetes-list-type") {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(reader.strings("x-kubernetes-list-map-keys")),
        _ => ListType::Atomic,
    }
}

fn within(node: &Node) -> Within {
    let mut within = Within {
        defaults: node.default.is_some(),
        keyed_lists: !matches!(node.list_type, ListType::Atomic),
        embedded_resources: node.embedded_resource,
    };
    let children = node.properties.iter().map(|(_, property)| property);
    for child in children.chain(node.items.as_deref()).chain(node.additional.schema()) {
        within |= child.within;
    }
    within
}
