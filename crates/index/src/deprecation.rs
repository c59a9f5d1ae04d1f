//! What clients are told about deprecated versions.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::kinds::{SchemaSpec, SchemaVersion};

/// The text of the Warning header, as `defaultDeprecationWarning` of apiextensions-apiserver words it.
pub(crate) fn warning(spec: &SchemaSpec, version: &SchemaVersion) -> Arc<str> {
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

#[cfg(test)]
mod tests {
    use structural_schema::Value;

    use super::*;
    use crate::resource::{NameValidation, ResourceNames, Scope};

    fn version(name: &str, served: bool, deprecated: bool) -> SchemaVersion {
        SchemaVersion {
            name: name.into(),
            served,
            storage: false,
            deprecated,
            deprecation_warning: None,
            document: Arc::new(Value::Null),
            has_status: false,
            scale: None,
            printer_columns: Vec::new(),
            selectable_fields: Vec::new(),
        }
    }

    fn of_first(versions: Vec<SchemaVersion>) -> Arc<str> {
        let spec = SchemaSpec {
            group: "example.com".into(),
            names: ResourceNames {
                plural: "widgets".into(),
                singular: "widget".into(),
                kind: "Widget".into(),
                list_kind: "WidgetList".into(),
                short_names: [].into(),
                categories: [].into(),
            },
            scope: Scope::Namespaced,
            name_validation: NameValidation::default(),
            versions,
        };
        warning(&spec, &spec.versions[0])
    }

    #[test]
    fn the_best_version_that_is_served_and_better_is_named() {
        let deprecated = version("v1beta1", true, true);
        for (others, better) in [
            (vec![], None),
            (vec![version("v1alpha9", true, false)], None),
            (vec![version("v2", false, false), version("v1", true, true)], None),
            (
                vec![version("v1beta2", true, false), version("v1", true, false)],
                Some("v1"),
            ),
            (
                vec![version("v10", true, false), version("v9", true, false)],
                Some("v10"),
            ),
            (vec![version("foo", true, false)], None),
        ] {
            let mut expected = String::from("example.com/v1beta1 Widget is deprecated");
            if let Some(better) = better {
                expected += "; use example.com/";
                expected += better;
                expected += " Widget";
            }
            let versions = [vec![deprecated.clone()], others].concat();
            assert_eq!(*of_first(versions), *expected);
        }
    }

    #[test]
    fn the_providers_own_text_is_used_as_it_is() {
        let mut deprecated = version("v1", true, true);
        deprecated.deprecation_warning = Some("go away".into());
        assert_eq!(&*of_first(vec![deprecated, version("v2", true, false)]), "go away");
    }

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let best_first = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
        ];
        let mut sorted = best_first;
        sorted.sort_by(|a, b| compare_versions(b, a));
        assert_eq!(sorted, best_first);
        // Numbers beyond Go's int are no numbers.
        assert!(compare_versions("v9223372036854775808", "v1alpha1").is_lt());
    }
}
