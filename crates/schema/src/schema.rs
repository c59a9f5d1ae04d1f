//! A schema, and what it does to objects.

use std::sync::Arc;

use crate::cel::Rules;
use crate::default::{self, DefaultsTooLarge};
use crate::embedded;
use crate::field::{self, Path};
use crate::meta::{self, TypeError};
use crate::node::{self, Additional, Node};
use crate::problem::{Problem, Reason};
use crate::prune;
use crate::scale;
use crate::validate::{self, ValidateOptions};
use crate::value::{Map, Value, deeper};

/// How problems name the document.
const DOCUMENT: &str = "openAPIV3Schema";

/// A structural schema, compiled once for any number of objects. Copies share it.
#[derive(Clone, Debug)]
pub struct Schema {
    compiled: Arc<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    document: Value,
    root: Node,
    rules: Option<Rules>,
}

/// Metadata, of the object or of a resource within it, is of the wrong type.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CoerceError {
    /// The object's own.
    #[error(transparent)]
    Metadata(#[from] TypeError),
    /// That of an embedded resource.
    #[error(transparent)]
    Embedded(Box<field::Error>),
}

impl Schema {
    /// Compiles an `openAPIV3Schema`. The problems are all that Kubernetes would name when it is asked to serve the
    /// schema, and what this crate's limits do not allow.
    pub fn compile(document: &Value) -> Result<Self, Vec<Problem>> {
        let root_path = Path::root();
        let path = root_path.child(DOCUMENT);
        let Some(fields) = document.as_object() else {
            return Err(vec![Problem::new(&path, Reason::WrongType { expected: "a schema" })]);
        };
        let mut root = node::parse(fields, &path)?;
        let mut problems = Vec::new();
        prepare_defaults(&mut root, Defaults::Checked, &path, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let rules = Rules::compile(&root, fields, &path)?;
        let compiled = Compiled {
            document: document.clone(),
            root,
            rules,
        };
        Ok(Self {
            compiled: Arc::new(compiled),
        })
    }

    /// The document that the schema was compiled from.
    pub fn document(&self) -> &Value {
        &self.compiled.document
    }

    /// Makes of a decoded object what Kubernetes' decoder makes of it: metadata is read as `ObjectMeta`, there and in
    /// embedded resources, unknown fields are removed, and so is `null` from fields that may not hold it.
    ///
    /// Returns the paths of the unknown fields: those of the metadata, those that the schema does not know, sorted, and
    /// those of embedded resources' metadata, sorted.
    pub fn coerce(&self, object: &mut Map) -> Result<Vec<String>, CoerceError> {
        let root = &self.compiled.root;
        let mut unknown = meta::coerce(object)?;
        let metadata = object.get("metadata").cloned();
        unknown.extend(prune::prune(root, object));
        default::drop_nulls(root, object);
        unknown.extend(embedded::coerce(root, object).map_err(|error| CoerceError::Embedded(Box::new(error)))?);
        // Whatever the schema says about metadata, nothing of it is lost.
        if let Some(metadata) = metadata {
            object.insert("metadata", metadata);
        }
        Ok(unknown)
    }

    /// Removes the fields that the schema does not know and returns their paths, sorted. `apiVersion`, `kind` and
    /// `metadata` stay whatever they hold.
    pub fn prune(&self, object: &mut Map) -> Vec<String> {
        prune::prune(&self.compiled.root, object)
    }

    /// Fills in defaults; fields that hold `null`, may not, and have no default are removed.
    pub fn apply_defaults(&self, object: &mut Map) -> Result<(), DefaultsTooLarge> {
        let root = &self.compiled.root;
        default::drop_nulls(root, object);
        default::apply_defaults(root, object)
    }

    /// Validates an object that was pruned and defaulted. The errors are in the order in which Kubernetes tells them;
    /// where Go takes fields in any order, here they are sorted.
    pub fn validate(&self, object: &Map, options: ValidateOptions<'_>) -> field::Errors {
        let mut errors = field::Errors::new();
        self.validate_after(object, options, &mut errors);
        errors
    }

    /// Validates an object of which `errors` tells what is wrong with its metadata: like other errors these keep rules
    /// from being evaluated.
    pub fn validate_after(&self, object: &Map, options: ValidateOptions<'_>, errors: &mut field::Errors) {
        let root = &self.compiled.root;
        let path = Path::root();
        validate::validate_object(root, object, options, errors);
        if let Some(scale) = options.scale {
            scale::validate_scale(scale, object, errors);
        }
        validate::validate_embedded(root, object, &path, errors);
        validate::validate_keyed_lists(root, object, &path, errors);
        if let Some(rules) = &self.compiled.rules {
            rules.validate(object, errors);
        }
    }

    /// The beginning of an error's path that only has names from the schema in it: for those who may see the schema and
    /// not the object, whose keys in maps are content too.
    pub fn known_path<'f>(&self, field: &'f str) -> &'f str {
        let mut node = &self.compiled.root;
        let mut known = 0;
        while let Some(rest) = field.get(known..).filter(|rest| !rest.is_empty()) {
            let (length, next) = if let Some((index, _)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            {
                let is_index = index.bytes().all(|byte| byte.is_ascii_digit());
                (index.len() + 2, node.items.as_deref().filter(|_| is_index))
            } else {
                let name = rest.strip_prefix('.').unwrap_or(rest);
                let name = &name[..name.find(['.', '[']).unwrap_or(name.len())];
                let dot = usize::from(rest.starts_with('.'));
                (dot + name.len(), node.property(name))
            };
            let Some(next) = next else { break };
            node = next;
            known += length;
        }
        &field[..known]
    }

    /// Whether validating may take long: some rule (`x-kubernetes-validations`) loops, or calls functions whose cost
    /// grows with the object. Even so it ends: rules have a budget.
    pub fn has_costly_rules(&self) -> bool {
        self.compiled.rules.as_ref().is_some_and(Rules::is_costly)
    }
}

/// Whether defaults are checked. Kubernetes does not look below `additionalProperties`, though it fills those in too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Defaults {
    Checked,
    Unchecked,
}

/// Prunes the defaults of a schema as objects are pruned, and checks that they satisfy it (`PruneDefaults`,
/// `ValidateDefaults`).
fn prepare_defaults(node: &mut Node, defaults: Defaults, path: &Path<'_>, problems: &mut Vec<Problem>) {
    if !node.within.defaults {
        return;
    }
    deeper(|| {
        let properties_path = path.child("properties");
        for (name, property) in &mut node.properties {
            prepare_defaults(property, defaults, &properties_path.key(name), problems);
        }
        if let Some(items) = &mut node.items {
            prepare_defaults(items, defaults, &path.child("items"), problems);
        }
        if let Additional::Schema(additional) = &mut node.additional {
            let path = path.child("additionalProperties");
            prepare_defaults(additional, Defaults::Unchecked, &path, problems);
        }
        if let Some(mut default) = node.default.take() {
            let errors = prepare_default(node, &mut default);
            if defaults == Defaults::Checked && !errors.is_empty() {
                let reason = Reason::InvalidDefault(errors);
                problems.push(Problem::new(&path.child("default"), reason));
            }
            node.default = Some(default);
        }
    });
}

fn prepare_default(node: &Node, default: &mut Value) -> field::Errors {
    prune::prune_value(node, default);
    let path = Path::root();
    if let Err(error) = embedded::coerce_value(node, default, &path) {
        return error.into();
    }
    let mut errors = field::Errors::new();
    validate::validate_default(node, default, &mut errors);
    if let Value::Object(map) = default {
        validate::validate_embedded(node, map, &path, &mut errors);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn of_a_path_only_names_of_the_schema_are_known() {
        let text = r#"{"type":"object","properties":{"spec":{"type":"object","properties":{
            "list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}},
            "map":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}}}}}"#;
        let schema = Schema::compile(&json::decode(text.as_bytes()).unwrap().value).unwrap();
        for (field, known) in [
            ("spec", "spec"),
            ("spec.list[12].a", "spec.list[12].a"),
            ("spec.list[x].a", "spec.list"),
            ("spec.list[1", "spec.list"),
            ("spec.map.key.a", "spec.map"),
            ("spec.map[key].a", "spec.map"),
            ("spec.unknown", "spec"),
            ("<nil>", ""),
            ("", ""),
            ("..", ""),
            ("[0]", ""),
        ] {
            assert_eq!(schema.known_path(field), known, "{field}");
        }
    }
}
