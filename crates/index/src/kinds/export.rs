//! APIExport, in both of its versions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use structural_schema::Value;

use super::fields::Fields;
use super::meta::ObjectMeta;
use super::webhook::Settings;
use crate::problem::FieldInvalid;

/// An APIExport: which resources it exports, with which schema and storage.
#[derive(Clone, Debug, PartialEq)]
pub struct APIExport {
    /// Metadata.
    pub meta: ObjectMeta,
    /// The resources by group and name. An entry without name, group or schema is left out, and what nominates it
    /// says that it is not there.
    pub resources: BTreeMap<GroupResource, ExportResource>,
}

/// An API group and the plural name of a resource in it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GroupResource {
    /// The API group.
    pub group: Arc<str>,
    /// The plural name.
    pub resource: Arc<str>,
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.resource, self.group)
    }
}

/// What an APIExport says of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportResource {
    /// The name of the APIResourceSchema.
    pub schema: Arc<str>,
    /// How the resource is stored.
    pub storage: Storage,
}

/// How a resource is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// By kcp.
    Crd,
    /// By a virtual workspace whose URL the referenced object has.
    Virtual(Reference),
    /// Not at all, in the enhancement proposal's own form. Today's kcp prunes it, so it comes from manifests only.
    Ephemeral(Result<Settings, FieldInvalid>),
}

/// A reference to an object of the same workspace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reference {
    /// The API group, empty for the core group.
    pub api_group: Arc<str>,
    /// The kind.
    pub kind: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Reference {
    /// Whether it is to an APIExportEndpointSlice, the one kind that resolves from every shard.
    pub fn is_slice(&self) -> bool {
        &*self.api_group == "apis.kcp.io" && &*self.kind == "APIExportEndpointSlice" && !self.name.is_empty()
    }
}

impl APIExport {
    pub(super) fn decode(meta: ObjectMeta, value: &Value) -> Self {
        let spec = Fields::of(value).at("spec");
        // v1alpha1 knows names of schemas alone.
        let resources = if spec.has("latestResourceSchemas") {
            spec.items("latestResourceSchemas")
                .filter_map(Value::as_str)
                .filter_map(ExportResource::from_schema_name)
                .collect()
        } else {
            spec.items("resources").filter_map(ExportResource::decode).collect()
        };
        Self { meta, resources }
    }
}

impl ExportResource {
    fn decode(value: &Value) -> Option<(GroupResource, Self)> {
        let fields = Fields::of(value);
        let text = |key| fields.str(key).filter(|text| !text.is_empty()).map(Arc::from);
        let key = GroupResource {
            group: text("group")?,
            resource: text("name")?,
        };
        let resource = Self {
            schema: text("schema")?,
            storage: Storage::decode(fields.at("storage")),
        };
        Some((key, resource))
    }

    /// Names of schemas are `<version>.<plural>.<group>`; kcp's conversion to v1alpha2 takes them apart likewise.
    fn from_schema_name(schema: &str) -> Option<(GroupResource, Self)> {
        let mut parts = schema.splitn(3, '.').skip(1);
        let (resource, group) = (parts.next()?.into(), parts.next()?.into());
        let storage = Storage::Crd;
        Some((
            GroupResource { group, resource },
            Self {
                schema: schema.into(),
                storage,
            },
        ))
    }
}

impl Storage {
    fn decode(storage: Fields<'_>) -> Self {
        if storage.has("ephemeral") {
            Self::Ephemeral(Settings::decode(
                storage.at("ephemeral"),
                &super::webhook::INLINE_FIELDS,
            ))
        } else if storage.has("virtual") {
            let reference = storage.at("virtual").at("reference");
            let text = |key| Arc::from(reference.str(key).unwrap_or_default());
            Self::Virtual(Reference {
                api_group: text("apiGroup"),
                kind: text("kind"),
                name: text("name"),
            })
        } else {
            // kcp's default.
            Self::Crd
        }
    }
}
