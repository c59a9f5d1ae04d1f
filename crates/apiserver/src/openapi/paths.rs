//! The paths of a document: for each resource the one that it is created at.

use ephemeral_index::Scope;
use structural_schema::{Map, Value};

use super::schema::{group_version_kind, model_name};
use super::{Dialect, reference};
use crate::discovery::{Group, GroupVersion, Resource};

/// The paths of a version of a group.
pub(super) fn paths<'a>(
    group: &'a Group,
    version: &'a GroupVersion,
    dialect: Dialect,
) -> impl Iterator<Item = (String, Value)> + 'a {
    version.resources.iter().map(move |resource| {
        let names = &resource.schema.names;
        let root = format!("/apis/{}/{}", group.name, version.name);
        let mut parameters = Vec::new();
        let path = match resource.schema.scope {
            Scope::Namespaced => {
                parameters.push(Parameter::path("namespace", "The namespace of the object.").document(dialect));
                format!("{root}/namespaces/{{namespace}}/{}", names.plural)
            }
            Scope::Cluster => format!("{root}/{}", names.plural),
        };
        parameters.push(Parameter::query("pretty", "If 'true', the answer is indented for people.").document(dialect));
        let item: Map = [
            ("parameters", Value::from(parameters)),
            ("post", create(group, version, resource, dialect).into()),
        ]
        .into_iter()
        .collect();
        (path, item.into())
    })
}

/// The one operation that there is.
fn create(group: &Group, version: &GroupVersion, resource: &Resource, dialect: Dialect) -> Map {
    let kind = &*resource.schema.names.kind;
    let model = reference(&model_name(&group.name, &version.name, kind), dialect);
    let options = [
        Parameter::query(
            "dryRun",
            "'All': the question is asked as one that must change nothing anywhere.",
        ),
        Parameter::query(
            "fieldManager",
            "A name of who asks; printable characters, at most 128 bytes.",
        ),
        Parameter::query(
            "fieldValidation",
            "What becomes of unknown and repeated fields: 'Ignore', 'Warn' (the default) or 'Strict'.",
        ),
    ];
    let mut parameters: Vec<Value> = options.iter().map(|option| option.document(dialect)).collect();

    let mut operation = Map::new();
    operation.insert("description", format!("create {kind}"));
    operation.insert("operationId", operation_id(group, version, resource));
    operation.insert("tags", vec![Value::from(tag(group, version))]);
    operation.insert("x-kubernetes-action", "post");
    operation.insert("x-kubernetes-group-version-kind", group_version_kind(group, resource));
    match dialect {
        Dialect::V2 => {
            parameters.insert(0, body_parameter(&model));
            operation.insert("consumes", media_types());
            operation.insert("produces", media_types());
            operation.insert("schemes", vec![Value::from("https")]);
            operation.insert("responses", responses([("schema", object([("$ref", model)]))]));
        }
        Dialect::V3 => {
            let content = content(&model);
            let body = [("content", content.clone()), ("required", Value::from(true))];
            operation.insert("requestBody", object(body));
            operation.insert("responses", responses([("content", content)]));
        }
    }
    operation.insert("parameters", parameters);
    operation
}

fn responses(created: [(&str, Value); 1]) -> Map {
    let mut answer: Map = created.into_iter().collect();
    answer.insert("description", "Created");
    [
        ("201", Value::from(answer)),
        ("401", object([("description", "Unauthorized")])),
    ]
    .into_iter()
    .collect()
}

fn content(model: &str) -> Value {
    let schema = object([("schema", object([("$ref", model)]))]);
    object([("application/json", schema.clone()), ("application/yaml", schema)])
}

fn media_types() -> Vec<Value> {
    ["application/json", "application/yaml"].map(Value::from).into()
}

fn body_parameter(model: &str) -> Value {
    object([
        ("in", Value::from("body")),
        ("name", Value::from("body")),
        ("required", Value::from(true)),
        ("schema", object([("$ref", model)])),
    ])
}

/// A parameter that is a text.
struct Parameter {
    place: &'static str,
    name: &'static str,
    description: &'static str,
}

impl Parameter {
    const fn path(name: &'static str, description: &'static str) -> Self {
        Self {
            place: "path",
            name,
            description,
        }
    }

    const fn query(name: &'static str, description: &'static str) -> Self {
        Self {
            place: "query",
            name,
            description,
        }
    }

    fn document(&self, dialect: Dialect) -> Value {
        let mut document: Map = [
            ("description", self.description),
            ("in", self.place),
            ("name", self.name),
        ]
        .into_iter()
        .collect();
        if self.place == "path" {
            document.insert("required", true);
        }
        match dialect {
            Dialect::V2 => document.insert("type", "string"),
            Dialect::V3 => document.insert("schema", object([("type", "string")])),
        };
        document.into()
    }
}

/// As `GetOperationIDAndTags` names it, for example `createS3ExampleComV1alpha1NamespacedBucketInfo`.
fn operation_id(group: &Group, version: &GroupVersion, resource: &Resource) -> String {
    let namespaced = match resource.schema.scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "",
    };
    let parts = [&*group.name, &*version.name, namespaced, &*resource.schema.names.kind];
    parts
        .into_iter()
        .fold("create".to_owned(), |id, part| id + &camel_case(part, true))
}

fn tag(group: &Group, version: &GroupVersion) -> String {
    format!(
        "{}_{}",
        camel_case(&group.name, false),
        camel_case(&version.name, false)
    )
}

/// `ToValidOperationID`.
fn camel_case(text: &str, mut capitalize: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        if character.is_alphabetic() || character == '_' || (at != 0 && character.is_numeric()) {
            if std::mem::take(&mut capitalize) {
                out.extend(character.to_uppercase());
            } else {
                out.push(character);
            }
        } else {
            capitalize = true;
        }
    }
    out
}

fn object<const N: usize>(fields: [(&str, impl Into<Value>); N]) -> Value {
    fields.into_iter().collect::<Map>().into()
}
