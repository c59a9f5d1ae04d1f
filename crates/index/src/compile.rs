//! From an APIResourceSchema to the compiled resource: each schema once, and equal ones shared.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Weak};

use structural_schema::{Schema, Value};

use crate::deprecation;
use crate::kinds::{APIResourceSchema, SchemaSpec, SchemaVersion};
use crate::problem::SchemaProblem;
use crate::resource::{ResourceSchema, Version};

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
            deprecation: version.deprecated.then(|| deprecation::warning(spec, version)),
            schema,
            document: version.document.clone(),
            printer_columns: version.printer_columns.iter().cloned().collect(),
            selectable_fields: version.selectable_fields.iter().cloned().collect(),
            has_status: version.has_status,
            scale: version.scale.clone(),
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

/// The first fault is enough: a condition has room for one, and mending it shows the next.
fn compile_document(document: &Value) -> Result<Arc<Schema>, Arc<str>> {
    Schema::compile(document).map(Arc::new).map_err(|problems| {
        let fault = problems.first().map(ToString::to_string).unwrap_or_default();
        fault.chars().take(MAX_FAULT).collect::<String>().into()
    })
}
