//! The rules of a schema: compiled with it, evaluated on objects.
//!
//! A [`Rules`] is a tree parallel to the schema, of those places that have rules or lead to some. It is walked after
//! all other validation, and not at all when that found errors that would make rules fail for no reason of their own
//! (`apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go`).

pub(super) mod declare;
mod evaluate;
mod field_path;
mod rule;

use std::sync::Arc;

use crate::cel::cost::{OBJECT_BUDGET, OBJECT_WORK};
use crate::cel::library::Environment;
use crate::cel::value::Shape;
use crate::field::{self, Path};
use crate::node::{Node, Types};
use crate::problem::{Problem, Reason};
use crate::regexp::Patterns;
use crate::value::{Map, Value, deeper};
use declare::{Declared, declare};
use rule::Rule;

pub use rule::RuleError;

/// Rules that a schema may have. The largest definitions in use have some hundreds.
const MAX_RULES: usize = 10_000;
/// Bytes of all expressions of a schema. An API server takes no larger schema than this.
const MAX_SOURCE: usize = 2 << 20;

/// The compiled rules of a schema.
#[derive(Debug)]
pub(crate) struct Rules {
    root: Place,
}

/// A place with rules, or above some.
#[derive(Debug)]
struct Place {
    rules: Vec<Rule>,
    shape: Arc<Shape>,
    /// The schema's type, which errors show instead of a value.
    type_name: &'static str,
    /// Rules of the schemas in `allOf`.
    all_of: Vec<Self>,
    items: Option<Box<Self>>,
    additional: Option<Box<Self>>,
    /// Sorted by name.
    properties: Vec<(Box<str>, Self)>,
}

/// What the rules of one object may still cost.
#[derive(Debug)]
struct Budget {
    cost: u64,
    work: u64,
}

impl Rules {
    /// Compiles the rules of a schema from its document; none if it has none.
    pub(crate) fn compile(root: &Node, document: &Map, path: &Path<'_>) -> Result<Option<Self>, Vec<Problem>> {
        if !has_rules(root, document) {
            return Ok(None);
        }
        let declared = declare(root, "self", true);
        let mut compiler = Compiler {
            environment: Environment::kubernetes(),
            patterns: Patterns::default(),
            problems: Vec::new(),
            rules: 0,
            source: 0,
        };
        let root = compiler.place(root, document, &declared, path);
        if compiler.problems.is_empty() {
            Ok(root.map(|root| Self { root }))
        } else {
            Err(compiler.problems)
        }
    }

    /// Evaluates the rules on an object that was validated otherwise. Errors that were found before are in `errors`:
    /// some keep the rules from being evaluated.
    pub(crate) fn validate(&self, object: &Map, errors: &mut field::Errors) {
        let path = Path::root();
        // Of errors that are only counted nobody knows the kind.
        if errors.is_full() || errors.iter().any(|error| error.kind.blocks_rules()) {
            errors.push(field::Error::invalid(
                &path,
                Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing errors \
                 to complete validation",
            ));
            return;
        }
        let mut budget = Budget {
            cost: OBJECT_BUDGET,
            work: OBJECT_WORK,
        };
        // Running out of budget is an error of its own, and the end of the walk.
        let _ = self.root.validate_object(object, &path, &mut budget, errors);
    }

    /// Whether evaluating the rules may take long: some of them loop, or call functions whose cost grows with the
    /// object.
    pub(crate) fn is_costly(&self) -> bool {
        self.root.is_costly()
    }
}

impl Place {
    fn is_costly(&self) -> bool {
        deeper(|| {
            let below = self
                .all_of
                .iter()
                .chain(self.items.as_deref())
                .chain(self.additional.as_deref());
            self.rules.iter().any(Rule::is_costly)
                || below
                    .chain(self.properties.iter().map(|(_, place)| place))
                    .any(Self::is_costly)
        })
    }
}

/// Whether there are rules where Kubernetes looks whether there are some: not in `allOf` alone.
fn has_rules(node: &Node, document: &Map) -> bool {
    deeper(|| {
        let schema = |keyword: &str| document.get(keyword).and_then(Value::as_object);
        document
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)
            .is_some_and(|rules| !rules.is_empty())
            || node
                .items
                .as_ref()
                .zip(schema("items"))
                .is_some_and(|(node, document)| has_rules(node, document))
            || node
                .additional
                .schema()
                .zip(schema("additionalProperties"))
                .is_some_and(|(node, document)| has_rules(node, document))
            || node.properties.iter().any(|(name, node)| {
                schema("properties")
                    .and_then(|properties| properties.get(name))
                    .and_then(Value::as_object)
                    .is_some_and(|document| has_rules(node, document))
            })
    })
}

struct Compiler {
    environment: Environment,
    patterns: Patterns,
    problems: Vec<Problem>,
    rules: usize,
    source: usize,
}

impl Compiler {
    /// Compiles the rules of a document for a place of the schema. The document is the place's own, or one of those in
    /// its `allOf`, which says more about the same place.
    fn place(&mut self, node: &Node, document: &Map, declared: &Declared, path: &Path<'_>) -> Option<Place> {
        deeper(|| {
            let place = Place {
                rules: self.rules(node, document, declared, path),
                shape: declared.shape.clone(),
                type_name: match node.types {
                    Types::One(ty) => ty.name(),
                    Types::Any | Types::IntOrString => "",
                },
                all_of: self.all_of(node, document, declared, path),
                items: self.items(node, document, declared, path),
                additional: self.additional(node, document, declared, path),
                properties: self.properties(node, document, declared, path),
            };
            let empty = place.rules.is_empty()
                && place.all_of.is_empty()
                && place.items.is_none()
                && place.additional.is_none()
                && place.properties.is_empty();
            (!empty).then_some(place)
        })
    }

    fn rules(&mut self, node: &Node, document: &Map, declared: &Declared, path: &Path<'_>) -> Vec<Rule> {
        let path = path.child("x-kubernetes-validations");
        let rules = match document.get("x-kubernetes-validations") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(rules)) => rules,
            Some(_) => {
                self.refuse(&path, RuleError::Malformed("must be a list of rules"));
                return Vec::new();
            }
        };
        let mut compiled = Vec::with_capacity(rules.len());
        for (i, fields) in rules.iter().enumerate() {
            let path = path.index(i);
            let Some(fields) = fields.as_object() else {
                self.refuse(&path, RuleError::Malformed("must be a rule"));
                continue;
            };
            if !self.has_room(fields) {
                self.refuse(&path, RuleError::TooLarge);
                return compiled;
            }
            let Some(ty) = &declared.ty else {
                self.refuse(&path, RuleError::NoType);
                continue;
            };
            match Rule::compile(&self.environment, fields, ty, node, &mut self.patterns) {
                Ok(rule) => compiled.push(rule),
                Err(errors) => errors.into_iter().for_each(|error| self.refuse(&path, error)),
            }
        }
        compiled
    }

    fn refuse(&mut self, path: &Path<'_>, error: RuleError) {
        self.problems.push(Problem::new(path, Reason::Rule(error)));
    }

    /// Counts a rule; false when a schema may not have so many, or such long ones.
    fn has_room(&mut self, fields: &Map) -> bool {
        self.rules += 1;
        self.source += ["rule", "messageExpression"]
            .iter()
            .filter_map(|name| fields.get(name).and_then(Value::as_str))
            .map(str::len)
            .sum::<usize>();
        self.rules <= MAX_RULES && self.source <= MAX_SOURCE
    }

    fn all_of(&mut self, node: &Node, document: &Map, declared: &Declared, path: &Path<'_>) -> Vec<Place> {
        let path = path.child("allOf");
        let schemas = document.get("allOf").and_then(Value::as_array);
        let schemas = schemas.map_or(&[][..], |schemas| schemas);
        schemas
            .iter()
            .enumerate()
            .filter_map(|(i, schema)| self.place(node, schema.as_object()?, declared, &path.index(i)))
            .collect()
    }

    fn items(&mut self, node: &Node, document: &Map, declared: &Declared, path: &Path<'_>) -> Option<Box<Place>> {
        let (items, document) = (node.items.as_ref()?, document.get("items")?.as_object()?);
        let declared = declared.elements.as_ref()?;
        self.place(items, document, declared, &path.child("items"))
            .map(Box::new)
    }

    fn additional(&mut self, node: &Node, document: &Map, declared: &Declared, path: &Path<'_>) -> Option<Box<Place>> {
        let values = node.additional.schema()?;
        let document = document.get("additionalProperties")?.as_object()?;
        let declared = declared.elements.as_ref()?;
        self.place(values, document, declared, &path.child("additionalProperties"))
            .map(Box::new)
    }

    fn properties(
        &mut self,
        node: &Node,
        document: &Map,
        declared: &Declared,
        path: &Path<'_>,
    ) -> Vec<(Box<str>, Place)> {
        let Some(documents) = document.get("properties").and_then(Value::as_object) else {
            return Vec::new();
        };
        let path = path.child("properties");
        node.properties
            .iter()
            .filter_map(|(name, property)| {
                let document = documents.get(name)?.as_object()?;
                // Properties of a resource that are always the same are declared anew; their own rules are kept.
                let declared = declared.properties.get(name)?;
                let place = self.place(property, document, declared, &path.key(name))?;
                Some((name.clone(), place))
            })
            .collect()
    }
}
