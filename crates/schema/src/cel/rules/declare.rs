//! What expressions may say about a place of the schema (`SchemaDeclType`), and how its data is read
//! (`UnstructuredToVal`).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cel::escape::escape;
use crate::cel::types::{ObjectType, Type};
use crate::cel::value::{Format, Items, Kind, ListType, Shape};
use crate::node::{self, Node, Types};
use crate::value::deeper;

/// A place of the schema for expressions: its type, if they may refer to it, and its shape.
#[derive(Clone, Debug)]
pub(in crate::cel) struct Declared {
    /// None where the schema says nothing that a rule could use.
    pub(in crate::cel) ty: Option<Type>,
    pub(in crate::cel) shape: Arc<Shape>,
    /// The places below, which share their types and shapes with this one.
    pub(in crate::cel) properties: BTreeMap<Box<str>, Declared>,
    /// The items of an array, or the values of a map.
    pub(in crate::cel) elements: Option<Box<Declared>>,
}

/// Declares a schema. `is_resource` says that it is the root of a resource, which always has `apiVersion`, `kind`,
/// `metadata.name` and `metadata.generateName`.
pub(in crate::cel) fn declare(node: &Node, name: &str, is_resource: bool) -> Declared {
    deeper(|| match node.types {
        Types::IntOrString => leaf(node, Some(Type::Dyn), Kind::IntOrString),
        Types::Any if node.preserve_unknown_fields => leaf(node, None, Kind::Preserved),
        Types::Any => leaf(node, None, Kind::Untyped("".into())),
        Types::One(node::Type::Boolean) => leaf(node, Some(Type::Bool), Kind::Boolean),
        Types::One(node::Type::Integer) => leaf(node, Some(Type::Int), Kind::Integer),
        Types::One(node::Type::Number) => leaf(node, Some(Type::Double), Kind::Number),
        Types::One(node::Type::String) => {
            let (ty, format) = string(node);
            leaf(node, Some(ty), Kind::String(format))
        }
        Types::One(node::Type::Array) => array(node, name),
        Types::One(node::Type::Object) => match node.additional.schema() {
            Some(values) if !is_resource && node.properties.is_empty() => map(node, values, name),
            _ => object(node, name, is_resource),
        },
    })
}

fn leaf(node: &Node, ty: Option<Type>, kind: Kind) -> Declared {
    Declared {
        ty,
        shape: shape(node, kind),
        properties: BTreeMap::new(),
        elements: None,
    }
}

fn shape(node: &Node, kind: Kind) -> Arc<Shape> {
    Arc::new(Shape {
        nullable: node.nullable,
        kind,
    })
}

fn string(node: &Node) -> (Type, Format) {
    match node.format.as_ref().map(|format| &*format.name) {
        Some("byte") => (Type::Bytes, Format::Byte),
        Some("duration") => (Type::Duration, Format::Duration),
        Some("date") => (Type::Timestamp, Format::Date),
        Some("date-time") => (Type::Timestamp, Format::DateTime),
        _ => (Type::String, Format::None),
    }
}

fn array(node: &Node, name: &str) -> Declared {
    let Some(items) = &node.items else {
        return leaf(node, None, Kind::ListWithoutItems);
    };
    let items = declare(items, &format!("{name}.@idx"), items.embedded_resource);
    let list_type = match &node.list_type {
        node::ListType::Atomic => ListType::Atomic,
        node::ListType::Set => ListType::Set,
        node::ListType::Map(keys) => ListType::Map(
            keys.iter()
                .map(|key| escape(key).map_or_else(|| key.clone(), |escaped| escaped.as_ref().into()))
                .collect(),
        ),
    };
    Declared {
        ty: items.ty.clone().map(Type::list),
        shape: shape(
            node,
            Kind::List(Items {
                item: items.shape.clone(),
                list_type,
            }),
        ),
        properties: BTreeMap::new(),
        elements: Some(Box::new(items)),
    }
}

fn map(node: &Node, values: &Node, name: &str) -> Declared {
    let values = declare(values, &format!("{name}.@elem"), values.embedded_resource);
    Declared {
        ty: values.ty.clone().map(|ty| Type::map(Type::String, ty)),
        shape: shape(node, Kind::Map(values.shape.clone())),
        properties: BTreeMap::new(),
        elements: Some(Box::new(values)),
    }
}

fn object(node: &Node, name: &str, is_resource: bool) -> Declared {
    let mut properties: BTreeMap<Box<str>, Declared> = node
        .properties
        .iter()
        .map(|(property, schema)| {
            let declared = declare(schema, &format!("{name}.{property}"), schema.embedded_resource);
            (property.clone(), declared)
        })
        .collect();
    if is_resource && !describes_a_resource(node) {
        let text = Node {
            types: Types::One(node::Type::String),
            ..Node::default()
        };
        let text = || declare(&text, "", false);
        let names = [("name".into(), text()), ("generateName".into(), text())];
        properties.insert("apiVersion".into(), text());
        properties.insert("kind".into(), text());
        properties.insert(
            "metadata".into(),
            of_properties(&Node::default(), &format!("{name}.metadata"), names.into()),
        );
    }
    if properties.is_empty() {
        let ty = Type::Object(Arc::new(ObjectType {
            name: name.to_owned(),
            fields: BTreeMap::new(),
        }));
        return leaf(node, Some(ty), Kind::Opaque);
    }
    of_properties(node, name, properties)
}

fn of_properties(node: &Node, name: &str, properties: BTreeMap<Box<str>, Declared>) -> Declared {
    let fields = properties
        .iter()
        .filter_map(|(property, declared)| Some((escape(property)?.as_ref().into(), declared.ty.clone()?)))
        .collect();
    let shapes = properties
        .iter()
        .map(|(property, declared)| (property.clone(), declared.shape.clone()))
        .collect();
    Declared {
        ty: Some(Type::Object(Arc::new(ObjectType {
            name: name.to_owned(),
            fields,
        }))),
        shape: shape(node, Kind::Object(shapes)),
        properties,
        elements: None,
    }
}

/// Whether the schema itself has what every resource has (`WithTypeAndObjectMeta`).
fn describes_a_resource(node: &Node) -> bool {
    let is = |node: Option<&Node>, ty| node.is_some_and(|node| node.types == Types::One(ty));
    let metadata = node.property("metadata");
    is(node.property("kind"), node::Type::String)
        && is(node.property("apiVersion"), node::Type::String)
        && is(metadata, node::Type::Object)
        && metadata.is_some_and(|metadata| {
            ["name", "generateName"]
                .iter()
                .all(|name| is(metadata.property(name), node::Type::String))
        })
}
