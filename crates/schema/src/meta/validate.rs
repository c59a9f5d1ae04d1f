//! What Kubernetes asks of metadata on create (`ValidateObjectMetaAccessor`).

use std::fmt::Write as _;

use super::names::{
    dns1123_label_faults, dns1123_subdomain_faults, label_value_faults, path_segment_faults, qualified_name_faults,
};
use crate::field::{BadValue, Error, Errors, Path};
use crate::go;
use crate::json;
use crate::value::{Map, Value};

/// The most bytes of all keys and values of annotations together.
const ANNOTATION_BYTES: usize = 256 * 1024;
/// The most bytes of a field manager's name.
const MANAGER_BYTES: usize = 128;
/// The most bytes of a subresource's name.
const SUBRESOURCE_BYTES: usize = 256;

/// Whether objects of a resource live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// They do: a namespace is required.
    Namespaced,
    /// They do not: a namespace is forbidden.
    Cluster,
}

/// What names of objects may look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain, as for custom resources.
    #[default]
    DnsSubdomain,
    /// Whatever can be one segment of a path.
    PathSegment,
}

impl NameRule {
    fn faults(self, name: &str, prefix: bool) -> Vec<String> {
        match self {
            Self::DnsSubdomain => name_faults(name, prefix),
            Self::PathSegment => path_segment_faults(name, prefix),
        }
    }
}

/// How metadata is validated.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MetaOptions {
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// Whether an object must have a name. What is stored must; what is only asked need not.
    pub name_required: bool,
    /// What a name may look like.
    pub names: NameRule,
}

impl MetaOptions {
    /// What Kubernetes asks of an object that is to be stored.
    pub const fn stored(scope: Scope) -> Self {
        Self {
            scope,
            name_required: true,
            names: NameRule::DnsSubdomain,
        }
    }

    /// The same, but that the object need not have a name.
    pub const fn unnamed(scope: Scope) -> Self {
        Self {
            scope,
            name_required: false,
            names: NameRule::DnsSubdomain,
        }
    }

    /// The same with another rule for names.
    #[must_use]
    pub const fn with_names(mut self, names: NameRule) -> Self {
        self.names = names;
        self
    }
}

/// Validates the metadata of a custom resource. The metadata is what [`super::coerce`] left, without
/// the fields that the server manages; of those only `generation` and `managedFields` are looked at.
pub fn validate(metadata: &Map, options: MetaOptions) -> Errors {
    let mut errors = Errors::new();
    let root = Path::root();
    let path = root.child("metadata");
    validate_names(metadata, options.names, options.name_required, &path, &mut errors);
    validate_namespace(metadata, options.scope, &path, &mut errors);
    validate_rest(metadata, &path, &mut errors);
    errors
}

/// Validates the metadata of an embedded resource: any name that can stand in a path, in a namespace or not.
pub(crate) fn validate_embedded(metadata: &Map, path: &Path<'_>, errors: &mut Errors) {
    let scope = match text(metadata, "namespace") {
        "" => Scope::Cluster,
        _ => Scope::Namespaced,
    };
    validate_names(metadata, NameRule::PathSegment, false, path, errors);
    validate_namespace(metadata, scope, path, errors);
    validate_rest(metadata, path, errors);
}

/// What is wrong with the name of a custom resource.
pub fn validate_name(name: &str) -> Vec<Error> {
    let root = Path::root();
    let metadata = root.child("metadata");
    let path = metadata.child("name");
    let faults = name_faults(name, false).into_iter();
    faults.map(|fault| Error::invalid(&path, name, fault)).collect()
}

/// Validates labels, all of them strings.
fn validate_labels(labels: &Map, path: &Path<'_>, errors: &mut Errors) {
    for (key, value) in labels.iter() {
        for fault in qualified_name_faults(key) {
            errors.push(Error::invalid(path, key, fault));
        }
        let value = value.as_str().unwrap_or_default();
        for fault in label_value_faults(value) {
            errors.push(Error::invalid(path, value, fault));
        }
        if errors.is_full() {
            return;
        }
    }
}

/// Validates annotations, all of them strings.
fn validate_annotations(annotations: &Map, path: &Path<'_>, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.iter() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        // Upper case counts as lower case here.
        for fault in qualified_name_faults(&key.to_lowercase()) {
            errors.push(Error::invalid(path, key, fault));
        }
    }
    if size > ANNOTATION_BYTES {
        errors.push(Error::too_long(path, 256 * 1024));
    }
}

/// What Kubernetes warns of the finalizers of a new object, in the order of their names.
pub fn finalizer_warnings(metadata: &Map) -> Vec<String> {
    let mut finalizers: Vec<_> = texts(metadata, "finalizers").collect();
    finalizers.sort_unstable();
    finalizers.dedup();
    finalizers.into_iter().flat_map(warnings_of_finalizer).collect()
}

fn warnings_of_finalizer(finalizer: &str) -> Vec<String> {
    let warning = |text: &str| format!("metadata.finalizers: {}: {text}", go::quote(finalizer));
    let mut warnings: Vec<_> = qualified_name_faults(finalizer)
        .iter()
        .map(|fault| warning(fault))
        .collect();
    let standard = matches!(finalizer, "orphan" | "foregroundDeletion" | "kubernetes");
    if !finalizer.contains('/') && !standard {
        warnings.push(warning(if finalizer.contains('.') {
            "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other \
             finalizer writers"
        } else {
            "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
        }));
    }
    warnings
}

/// `NameIsDNSSubdomain`: a prefix may end in a dash, since something follows.
fn name_faults(name: &str, prefix: bool) -> Vec<String> {
    match name.strip_suffix('-') {
        // As Kubernetes masks it: the character before the dash goes too.
        Some(rest) if prefix && !rest.is_empty() => {
            let kept = rest.char_indices().next_back().map_or(0, |(at, _)| at);
            dns1123_subdomain_faults(&format!("{}a", &rest[..kept]))
        }
        _ => dns1123_subdomain_faults(name),
    }
}

fn validate_names(metadata: &Map, names: NameRule, required: bool, path: &Path<'_>, errors: &mut Errors) {
    let generate_name = text(metadata, "generateName");
    if !generate_name.is_empty() {
        for fault in names.faults(generate_name, true) {
            errors.push(Error::invalid(&path.child("generateName"), generate_name, fault));
        }
    }
    let path = path.child("name");
    match text(metadata, "name") {
        "" if required => errors.push(Error::required(&path, "name or generateName is required")),
        "" => {}
        name => errors.extend(
            names
                .faults(name, false)
                .into_iter()
                .map(|fault| Error::invalid(&path, name, fault)),
        ),
    }
}

fn validate_namespace(metadata: &Map, scope: Scope, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("namespace");
    match (scope, text(metadata, "namespace")) {
        (Scope::Namespaced, "") => errors.push(Error::required(&path, "")),
        (Scope::Namespaced, namespace) => {
            let faults = dns1123_label_faults(namespace).into_iter();
            errors.extend(faults.map(|fault| Error::invalid(&path, namespace, fault)));
        }
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => errors.push(Error::forbidden(&path, "not allowed on this type")),
    }
}

/// Everything but the names.
fn validate_rest(metadata: &Map, path: &Path<'_>, errors: &mut Errors) {
    if let Some(generation) = metadata.get("generation").and_then(Value::as_int).filter(|n| *n < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(Error::invalid(&path.child("generation"), generation, detail));
    }
    let map = |key: &str| metadata.get(key).and_then(Value::as_object);
    if let Some(labels) = map("labels") {
        validate_labels(labels, &path.child("labels"), errors);
    }
    if let Some(annotations) = map("annotations") {
        validate_annotations(annotations, &path.child("annotations"), errors);
    }
    let list = |key: &str| {
        metadata
            .get(key)
            .and_then(Value::as_array)
            .map_or(&[][..], |list| list.as_slice())
    };
    validate_owner_references(list("ownerReferences"), &path.child("ownerReferences"), errors);
    validate_finalizers(metadata, &path.child("finalizers"), errors);
    validate_managed_fields(list("managedFields"), &path.child("managedFields"), errors);
}

fn validate_owner_references(references: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let mut controller: Option<String> = None;
    for reference in references.iter().filter_map(Value::as_object) {
        validate_owner_reference(reference, path, errors);
        if reference.get("controller").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let name = format!("{}/{}", text(reference, "kind"), text(reference, "name"));
        let Some(first) = &controller else {
            controller = Some(name);
            continue;
        };
        let all: Vec<_> = references
            .iter()
            .filter_map(Value::as_object)
            .map(owner_reference_json)
            .collect();
        let json = BadValue::Json(format!("[{}]", all.join(",")).into());
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
        );
        errors.push(Error::invalid(path, json, detail));
    }
}

fn validate_owner_reference(reference: &Map, path: &Path<'_>, errors: &mut Errors) {
    let api_version = text(reference, "apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    // A version with a slash is no version; Go's parser leaves it empty.
    if version.is_empty() || version.contains('/') {
        errors.push(Error::invalid(
            &path.child("apiVersion"),
            api_version,
            "version must not be empty",
        ));
    }
    for key in ["kind", "name", "uid"] {
        if text(reference, key).is_empty() {
            errors.push(Error::invalid(&path.child(key), "", "must not be empty"));
        }
    }
    if (group, version, text(reference, "kind")) == ("", "v1", "Event") {
        let json = BadValue::Json(owner_reference_json(reference).into());
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(Error::invalid(path, json, detail));
    }
}

/// The JSON of an owner reference, its fields in the order of the Go struct.
fn owner_reference_json(reference: &Map) -> String {
    let mut json = String::from("{");
    for key in ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"] {
        let Some(value) = reference.get(key) else { continue };
        if json.len() > 1 {
            json.push(',');
        }
        let _ = write!(json, "\"{key}\":");
        json::write_json(value, &mut json);
    }
    json.push('}');
    json
}

fn validate_finalizers(metadata: &Map, path: &Path<'_>, errors: &mut Errors) {
    let mut orphan = false;
    let mut foreground = false;
    for finalizer in texts(metadata, "finalizers") {
        let faults = qualified_name_faults(finalizer).into_iter();
        errors.extend(faults.map(|fault| Error::invalid(path, finalizer, fault)));
        orphan |= finalizer == "orphan";
        foreground |= finalizer == "foregroundDeletion";
    }
    if orphan && foreground {
        let value = metadata.get("finalizers").cloned().unwrap_or_default();
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(Error::invalid(path, value, detail));
    }
}

fn validate_managed_fields(entries: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (i, entry) in entries.iter().enumerate() {
        let Some(entry) = entry.as_object() else { continue };
        let path = path.index(i);
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            let detail = "must be `Apply` or `Update`";
            errors.push(Error::invalid(&path.child("operation"), operation, detail));
        }
        let fields_type = text(entry, "fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(Error::invalid(
                &path.child("fieldsType"),
                fields_type,
                "must be `FieldsV1`",
            ));
        }
        validate_manager(text(entry, "manager"), &path.child("manager"), errors);
        if text(entry, "subresource").len() > SUBRESOURCE_BYTES {
            errors.push(Error::too_long(&path.child("subresource"), 256));
        }
    }
}

/// Validates the name of a field manager (`ValidateFieldManager`): at most 128 bytes of characters that print.
pub fn validate_manager(manager: &str, path: &Path<'_>, errors: &mut Errors) {
    if manager.len() > MANAGER_BYTES {
        errors.push(Error::too_long(path, 128));
    }
    for (at, c) in manager.char_indices().filter(|(_, c)| !go::is_print(*c)) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
        errors.push(Error::invalid(path, manager, detail));
    }
}

fn text<'m>(map: &'m Map, key: &str) -> &'m str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'m>(map: &'m Map, key: &str) -> impl Iterator<Item = &'m str> {
    let list = map
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[][..], |list| list.as_slice());
    list.iter().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_for_names_decides_what_a_name_may_look_like() {
        for (rule, name, ok) in [
            (NameRule::DnsSubdomain, "a.b", true),
            (NameRule::DnsSubdomain, "A:b", false),
            (NameRule::PathSegment, "A:b", true),
            (NameRule::PathSegment, "..", false),
            (NameRule::PathSegment, "a/b", false),
            (NameRule::PathSegment, "a%b", false),
        ] {
            let metadata: Map = [("name", Value::from(name))].into_iter().collect();
            let options = MetaOptions::unnamed(Scope::Cluster).with_names(rule);
            assert_eq!(validate(&metadata, options).is_empty(), ok, "{rule:?} {name}");
        }
    }
}
