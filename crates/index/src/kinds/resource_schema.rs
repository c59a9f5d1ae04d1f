//! APIResourceSchema.

use std::collections::BTreeSet;
use std::sync::Arc;

use structural_schema::{Map, Scale, Value};

use super::export::GroupResource;
use super::fields::Fields;
use super::meta::ObjectMeta;
use crate::problem::FieldInvalid;
use crate::resource::{NameValidation, PrinterColumn, ResourceNames, Scope};

/// An APIResourceSchema: the names, scope and versions of a resource. kcp lets nobody change one.
#[derive(Clone, Debug, PartialEq)]
pub struct APIResourceSchema {
    /// Metadata.
    pub meta: ObjectMeta,
    /// What it says, unless something is missing without which there is no resource.
    pub spec: Result<SchemaSpec, FieldInvalid>,
}

/// What an APIResourceSchema says.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaSpec {
    /// The API group.
    pub group: Arc<str>,
    /// The names, defaults filled in.
    pub names: ResourceNames,
    /// Where objects live.
    pub scope: Scope,
    /// What a name may look like.
    pub name_validation: NameValidation,
    /// The versions; names are unique.
    pub versions: Vec<SchemaVersion>,
}

/// One version.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the kind's own")]
pub struct SchemaVersion {
    /// The name.
    pub name: Arc<str>,
    /// Whether requests may use it.
    pub served: bool,
    /// Whether it is the one that would be stored.
    pub storage: bool,
    /// Whether its use deserves a warning.
    pub deprecated: bool,
    /// A warning other than Kubernetes' own.
    pub deprecation_warning: Option<Arc<str>>,
    /// The OpenAPI v3 schema as it was written; `null` where there is none.
    pub document: Arc<Value>,
    /// Whether it has a status subresource.
    pub has_status: bool,
    /// The scale subresource, if there is one.
    pub scale: Option<Scale>,
    /// `additionalPrinterColumns`, those that have name, type and path.
    pub printer_columns: Vec<PrinterColumn>,
    /// `selectableFields`, as field selectors name them.
    pub selectable_fields: Vec<Arc<str>>,
}

impl APIResourceSchema {
    pub(super) fn decode(meta: ObjectMeta, mut value: Value) -> Self {
        let spec = value
            .as_object_mut()
            .and_then(|object| object.remove("spec"))
            .unwrap_or_default();
        Self {
            meta,
            spec: SchemaSpec::decode(spec),
        }
    }
}

impl SchemaSpec {
    /// Which resource it is the schema of.
    pub fn resource(&self) -> GroupResource {
        GroupResource {
            group: self.group.clone(),
            resource: self.names.plural.clone(),
        }
    }

    fn decode(mut spec: Value) -> Result<Self, FieldInvalid> {
        let versions = take(&mut spec, "versions");
        let spec = Fields::of(&spec);
        let invalid = |field, must| FieldInvalid { field, must };
        let versions = match versions {
            Value::Array(items) if !items.is_empty() => items
                .into_vec()
                .into_iter()
                .map(SchemaVersion::decode)
                .collect::<Result<Vec<_>, _>>()?,
            _ => return Err(invalid("spec.versions", "a list that is not empty")),
        };
        let names: BTreeSet<_> = versions.iter().map(|version| &version.name).collect();
        if names.len() < versions.len() {
            return Err(invalid("spec.versions[].name", "unique"));
        }
        Ok(Self {
            group: spec.required("group", "spec.group")?.into(),
            names: ResourceNames::decode(spec.at("names"))?,
            scope: match spec.str("scope") {
                Some("Namespaced") => Scope::Namespaced,
                Some("Cluster") => Scope::Cluster,
                _ => return Err(invalid("spec.scope", "Namespaced or Cluster")),
            },
            name_validation: match spec.str("nameValidation") {
                Some("PathSegmentName") => NameValidation::PathSegmentName,
                _ => NameValidation::Dns1123Subdomain,
            },
            versions,
        })
    }
}

impl SchemaVersion {
    fn decode(mut version: Value) -> Result<Self, FieldInvalid> {
        let document = Arc::new(take(&mut version, "schema"));
        let version = Fields::of(&version);
        Ok(Self {
            name: version.required("name", "spec.versions[].name")?.into(),
            // Required by the kind, and true by its default.
            served: version.get("served").and_then(Value::as_bool).unwrap_or(true),
            storage: version.bool("storage"),
            deprecated: version.bool("deprecated"),
            deprecation_warning: version.str("deprecationWarning").map(Arc::from),
            document,
            has_status: version.at("subresources").has("status"),
            scale: decode_scale(version.at("subresources").at("scale")),
            printer_columns: version
                .items("additionalPrinterColumns")
                .filter_map(PrinterColumn::decode)
                .collect(),
            selectable_fields: version
                .items("selectableFields")
                .filter_map(|field| Fields::of(field).str("jsonPath"))
                .map(|path| path.strip_prefix('.').unwrap_or(path).into())
                .collect(),
        })
    }
}

/// Both paths to replicas are required by the kind.
fn decode_scale(scale: Fields<'_>) -> Option<Scale> {
    Some(Scale {
        spec_replicas_path: scale.str("specReplicasPath")?.into(),
        status_replicas_path: scale.str("statusReplicasPath")?.into(),
        label_selector_path: scale.str("labelSelectorPath").map(Into::into),
    })
}

impl ResourceNames {
    fn decode(names: Fields<'_>) -> Result<Self, FieldInvalid> {
        let list = |key| names.items(key).filter_map(Value::as_str).map(Arc::from).collect();
        let kind = names.required("kind", "spec.names.kind")?;
        // Kubernetes' defaults (apiextensions/v1, SetDefaults_CustomResourceDefinitionSpec).
        let singular = names.str("singular").filter(|name| !name.is_empty());
        let list_kind = names.str("listKind").filter(|name| !name.is_empty());
        Ok(Self {
            plural: names.required("plural", "spec.names.plural")?.into(),
            singular: singular.map_or_else(|| kind.to_lowercase().into(), Arc::from),
            list_kind: list_kind.map_or_else(|| format!("{kind}List").into(), Arc::from),
            kind: kind.into(),
            short_names: list("shortNames"),
            categories: list("categories"),
        })
    }
}

impl PrinterColumn {
    fn decode(column: &Value) -> Option<Self> {
        let column = Fields::of(column);
        Some(Self {
            name: column.str("name")?.into(),
            column_type: column.str("type")?.into(),
            json_path: column.str("jsonPath")?.into(),
            format: column.str("format").unwrap_or_default().into(),
            description: column.str("description").unwrap_or_default().into(),
            priority: column
                .get("priority")
                .and_then(Value::as_int)
                .and_then(|priority| i32::try_from(priority).ok())
                .unwrap_or_default(),
        })
    }
}

/// Takes a field out of an object; schemas are too large to be copied.
fn take(value: &mut Value, key: &str) -> Value {
    value
        .as_object_mut()
        .and_then(|map: &mut Map| map.remove(key))
        .unwrap_or_default()
}
