//! From APIResourceSchemas to compiled resources: each schema once, and equal ones shared.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Weak};

use structural_schema::Value;

use crate::kinds::{APIResourceSchema, SchemaSpec, SchemaVersion};
use crate::problem::SchemaProblem;
use crate::resource::{ResourceSchema, Version};

/// A compiled schema.
#[derive(Debug)]
pub struct Schema;

/// The longest text about a fault, characters: it goes into a condition.
const MAX_FAULT: usize = 512;

/// Compiles schemas, and remembers those that are in use by their content: a provider's releases, and the workspaces
/// of one organisation, mostly repeat each other's schemas.
#[derive(Default)]
pub(crate) struct Compiler {
    hasher: RandomState,
    known: HashMap<u64, Vec<Known>>,
    /// Entries that were alive after the last sweep; at twice as many the next one is due.
    swept: usize,
    entries: usize,
    compilations: usize,
}

/// A document that is in use, with what it compiles to once that was needed.
struct Known {
    document: Weak<Value>,
    schema: Option<Result<Weak<Schema>, Arc<str>>>,
}

impl Compiler {
    /// How often a schema was compiled.
    pub(crate) const fn compilations(&self) -> usize {
        self.compilations
    }

    /// The one copy of a document.
    pub(crate) fn intern(&mut self, document: Arc<Value>) -> Arc<Value> {
        let hash = self.hash(&document);
        let known = self.known.entry(hash).or_default();
        if let Some(same) = known
            .iter()
            .filter_map(|known| known.document.upgrade())
            .find(|known| *known == document)
        {
            return same;
        }
        known.push(Known {
            document: Arc::downgrade(&document),
            schema: None,
        });
        self.entries += 1;
        self.sweep();
        document
    }

    /// The resource that an APIResourceSchema with interned documents describes.
    pub(crate) fn compile(&mut self, object: &APIResourceSchema) -> Result<ResourceSchema, SchemaProblem> {
        let spec = object.spec.as_ref().map_err(|invalid| SchemaProblem::from(*invalid))?;
        Ok(ResourceSchema {
            cluster: object.meta.cluster.clone(),
            name: object.meta.name.clone(),
            group: spec.group.clone(),
            names: spec.names.clone(),
            scope: spec.scope,
            name_validation: spec.name_validation,
            versions: spec
                .versions
                .iter()
                .map(|version| self.version(spec, version))
                .collect(),
        })
    }

    fn version(&mut self, spec: &SchemaSpec, version: &SchemaVersion) -> Version {
        let schema = self.schema(&version.document).map_err(|fault| SchemaProblem::Version {
            version: version.name.clone(),
            fault,
        });
        Version {
            name: version.name.clone(),
            served: version.served,
            storage: version.storage,
            deprecation: version.deprecated.then(|| deprecation(spec, version)),
            schema,
            document: version.document.clone(),
            printer_columns: version.printer_columns.iter().cloned().collect(),
            has_status: version.has_status,
        }
    }

    fn schema(&mut self, document: &Arc<Value>) -> Result<Arc<Schema>, Arc<str>> {
        let hash = self.hash(document);
        let known = self.known.entry(hash).or_default();
        let known = known
            .iter_mut()
            .find(|known| std::ptr::eq(known.document.as_ptr(), Arc::as_ptr(document)));
        match known.as_ref().and_then(|known| known.schema.as_ref()) {
            Some(Err(fault)) => return Err(fault.clone()),
            Some(Ok(schema)) => {
                if let Some(schema) = schema.upgrade() {
                    return Ok(schema);
                }
            }
            None => {}
        }
        self.compilations += 1;
        let schema = compile_document(document);
        if let Some(known) = known {
            known.schema = Some(schema.as_ref().map(Arc::downgrade).map_err(Arc::clone));
        }
        schema
    }

    /// A hash of the content. Walks without recursion: documents may be as deep as Kubernetes decodes them.
    fn hash(&self, document: &Value) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        let mut pending = vec![document];
        while let Some(value) = pending.pop() {
            std::mem::discriminant(value).hash(&mut hasher);
            match value {
                Value::Null => {}
                Value::Bool(bool) => bool.hash(&mut hasher),
                Value::Int(int) => int.hash(&mut hasher),
                // 0.0 and -0.0 are equal.
                Value::Float(float) => (float + 0.0).to_bits().hash(&mut hasher),
                Value::String(string) => string.hash(&mut hasher),
                Value::Array(items) => {
                    items.len().hash(&mut hasher);
                    pending.extend(items.iter());
                }
                Value::Object(map) => {
                    map.len().hash(&mut hasher);
                    for (key, value) in map.iter() {
                        key.hash(&mut hasher);
                        pending.push(value);
                    }
                }
            }
        }
        hasher.finish()
    }

    /// Forgets documents that nothing uses, at a cost that is constant for each one that was taken in.
    fn sweep(&mut self) {
        if self.entries < 2 * self.swept.max(64) {
            return;
        }
        self.known.retain(|_, known| {
            known.retain(|known| known.document.strong_count() > 0);
            !known.is_empty()
        });
        self.entries = self.known.values().map(Vec::len).sum();
        self.swept = self.entries;
    }
}

fn compile_document(document: &Value) -> Result<Arc<Schema>, Arc<str>> {
    if document.as_object().is_none() {
        return Err("schema must be an object".into());
    }
    Ok(Arc::new(Schema))
}

/// The text of the Warning header, as `defaultDeprecationWarning` of apiextensions-apiserver words it.
fn deprecation(spec: &SchemaSpec, version: &SchemaVersion) -> Arc<str> {
    if let Some(warning) = &version.deprecation_warning {
        return warning.clone();
    }
    let SchemaSpec { group, names, .. } = spec;
    let kind = &names.kind;
    let better = spec
        .versions
        .iter()
        .filter(|other| other.served && !other.deprecated && compare_versions(&version.name, &other.name).is_lt())
        .max_by(|a, b| compare_versions(&a.name, &b.name));
    let deprecated = format!("{group}/{} {kind} is deprecated", version.name);
    match better {
        Some(better) => format!("{deprecated}; use {group}/{} {kind}", better.name).into(),
        None => deprecated.into(),
    }
}

/// Orders versions as apimachinery's `CompareKubeAwareVersionStrings`: GA over beta over alpha, then by number; any
/// other name below these, and among themselves the reverse of text order.
fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse_version(a), parse_version(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

/// Stability (0 alpha, 1 beta, 2 GA), major and minor number.
fn parse_version(version: &str) -> Option<(u8, u64, u64)> {
    let number = |digits: &str| -> Option<u64> {
        // Go's Atoi ends where int does.
        let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        all_digits
            .then(|| digits.parse().ok())
            .flatten()
            .filter(|n| i64::try_from(*n).is_ok())
    };
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let major = number(major)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match rest.strip_prefix("alpha") {
        Some(minor) => (0, minor),
        None => (1, rest.strip_prefix("beta")?),
    };
    Some((stability, major, number(minor)?))
}

#[expect(dead_code, reason = "used once schemas are compiled")]
fn shorten(text: &str) -> Arc<str> {
    text.chars().take(MAX_FAULT).collect::<String>().into()
}
