//! A resource as its APIResourceSchema describes it, compiled once.

use std::sync::Arc;

use structural_schema::{Scale, Schema, Value};

use crate::problem::SchemaProblem;

/// An APIResourceSchema, parsed and compiled.
#[derive(Debug)]
pub struct ResourceSchema {
    /// The provider's logical cluster.
    pub cluster: Arc<str>,
    /// The name of the APIResourceSchema, which the bindings of consumers carry.
    pub name: Arc<str>,
    /// The API group.
    pub group: Arc<str>,
    /// The names of the resource.
    pub names: ResourceNames,
    /// Whether objects are in a namespace.
    pub scope: Scope,
    /// What a `metadata.name` may look like.
    pub name_validation: NameValidation,
    /// The versions, in the order of the APIResourceSchema, served or not.
    pub versions: Box<[Version]>,
}

impl ResourceSchema {
    /// The version of this name, if it is served.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.served().find(|version| &*version.name == name)
    }

    /// The versions that are served, in the order of the APIResourceSchema.
    pub fn served(&self) -> impl Iterator<Item = &Version> {
        self.versions.iter().filter(|version| version.served)
    }
}

/// The names of a resource, as a `CustomResourceDefinition` has them; none is empty.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResourceNames {
    /// The resource in paths.
    pub plural: Arc<str>,
    /// By default the kind in lower case.
    pub singular: Arc<str>,
    /// The kind of an object.
    pub kind: Arc<str>,
    /// By default the kind with `List` appended.
    pub list_kind: Arc<str>,
    /// Short names for clients.
    pub short_names: Box<[Arc<str>]>,
    /// Categories for clients.
    pub categories: Box<[Arc<str>]>,
}

/// Where objects of a resource live.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Scope {
    /// Objects are in a namespace.
    Namespaced,
    /// Objects are in no namespace.
    Cluster,
}

/// What a `metadata.name` may look like (`spec.nameValidation` of an APIResourceSchema).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum NameValidation {
    /// As for custom resources.
    #[default]
    Dns1123Subdomain,
    /// Whatever can be one segment of a path.
    PathSegmentName,
}

/// One version of a resource.
#[derive(Clone, Debug)]
pub struct Version {
    /// The name, such as `v1alpha1`.
    pub name: Arc<str>,
    /// Whether requests may use it.
    pub served: bool,
    /// Whether it is the one that would be stored.
    pub storage: bool,
    /// The text of the Warning header where the version is deprecated, worded as Kubernetes does.
    pub deprecation: Option<Arc<str>>,
    /// The compiled schema, or why it cannot be enforced; then creates of this version must be refused.
    pub schema: Result<Arc<Schema>, SchemaProblem>,
    /// The OpenAPI v3 schema as the provider wrote it.
    pub document: Arc<Value>,
    /// `additionalPrinterColumns`.
    pub printer_columns: Box<[PrinterColumn]>,
    /// `selectableFields`, as field selectors name them: without the leading dot.
    pub selectable_fields: Box<[Arc<str>]>,
    /// Whether the version has a status subresource.
    pub has_status: bool,
    /// The scale subresource, if there is one.
    pub scale: Option<Scale>,
}

/// One of `additionalPrinterColumns`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PrinterColumn {
    /// The heading.
    pub name: Arc<str>,
    /// The OpenAPI type.
    pub column_type: Arc<str>,
    /// The OpenAPI format, or empty.
    pub format: Arc<str>,
    /// For humans, or empty.
    pub description: Arc<str>,
    /// Above 0 only in wide output.
    pub priority: i32,
    /// A simple JSON path.
    pub json_path: Arc<str>,
}
