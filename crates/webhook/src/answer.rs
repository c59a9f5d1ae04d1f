use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::Denied;

/// An answer: the submitted object with its `status` filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<Status> {
    status: Status,
    spec: Option<Value>,
    metadata: Map<String, Value>,
    warnings: Vec<String>,
}

impl<Status> Answer<Status> {
    /// The object with this status; its spec and metadata stay as submitted.
    pub fn new(status: Status) -> Self {
        Self {
            status,
            spec: None,
            metadata: Map::new(),
            warnings: Vec::new(),
        }
    }

    /// The same with one more warning for the consumer, best within 120 characters.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }

    /// The same with another spec. The consumer gets it unless the nomination's `specOwnership` is `User`. A spec that
    /// is not JSON, such as a map whose keys are no strings, is an internal error.
    pub fn spec(mut self, spec: &impl Serialize) -> Result<Self, Denied> {
        self.spec = Some(serde_json::to_value(spec).map_err(Denied::internal)?);
        Ok(self)
    }

    /// The same with these labels in place of the submitted ones.
    #[must_use]
    pub fn labels(self, labels: BTreeMap<String, String>) -> Self {
        self.metadata("labels", labels)
    }

    /// The same with these annotations in place of the submitted ones.
    #[must_use]
    pub fn annotations(self, annotations: BTreeMap<String, String>) -> Self {
        self.metadata("annotations", annotations)
    }

    fn metadata(mut self, name: &str, values: BTreeMap<String, String>) -> Self {
        let values = values
            .into_iter()
            .map(|(key, value)| (key, Value::String(value)))
            .collect();
        self.metadata.insert(name.to_owned(), Value::Object(values));
        self
    }
}

impl<Status: Serialize> Answer<Status> {
    /// The answered object, made from the submitted one, and the warnings.
    pub(crate) fn into_object(
        self,
        mut object: Map<String, Value>,
    ) -> Result<(Map<String, Value>, Vec<String>), Denied> {
        let status = serde_json::to_value(self.status).map_err(Denied::internal)?;
        object.insert("status".to_owned(), status);
        if let Some(spec) = self.spec {
            object.insert("spec".to_owned(), spec);
        }
        // Of the metadata only labels and annotations count, and only where the answer has them.
        object.remove("metadata");
        if !self.metadata.is_empty() {
            object.insert("metadata".to_owned(), Value::Object(self.metadata));
        }
        Ok((object, self.warnings))
    }
}

impl<Status> From<Status> for Answer<Status> {
    fn from(status: Status) -> Self {
        Self::new(status)
    }
}
