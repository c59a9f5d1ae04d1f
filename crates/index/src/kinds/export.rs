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
    /// The resources by group and name, those that can be read.
    pub resources: BTreeMap<GroupResource, ExportResource>,
    /// Why others cannot be read. kcp lets no such APIExport in, so that it is from a manifest.
    pub invalid: Option<FieldInvalid>,
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
        let (resources, invalid) = if spec.has("latestResourceSchemas") {
            let read = |schema: &Value| schema.as_str().and_then(ExportResource::from_schema_name);
            entries(spec, "latestResourceSchemas", read, SCHEMA_NAMES)
        } else {
            entries(spec, "resources", ExportResource::decode, RESOURCES)
        };
        Self {
            meta,
            resources,
            invalid,
        }
    }
}

const SCHEMA_NAMES: FieldInvalid = FieldInvalid {
    field: "spec.latestResourceSchemas",
    must: "a list of names of APIResourceSchemas, <version>.<plural>.<group>",
};
const RESOURCES: FieldInvalid = FieldInvalid {
    field: "spec.resources",
    must: "a list of resources, each with name, group and schema",
};

/// What can be read of a list, and what is wrong where not all of it can.
fn entries(
    spec: Fields<'_>,
    list: &str,
    read: impl Fn(&Value) -> Option<(GroupResource, ExportResource)>,
    otherwise: FieldInvalid,
) -> (BTreeMap<GroupResource, ExportResource>, Option<FieldInvalid>) {
    let mut all = spec.get(list).is_none_or(|list| list.as_array().is_some());
    let mut resources = BTreeMap::new();
    for item in spec.items(list) {
        match read(item) {
            Some((key, resource)) => _ = resources.insert(key, resource),
            None => all = false,
        }
    }
    (resources, (!all).then_some(otherwise))
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
