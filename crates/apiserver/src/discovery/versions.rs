//! The order of the versions of a group: `version.CompareKubeAwareVersionStrings`.

use std::cmp::Ordering;

/// Compares two versions; the one that clients should prefer comes first.
pub(super) fn by_priority(a: &str, b: &str) -> Ordering {
    match (Kubernetes::parse(a), Kubernetes::parse(b)) {
        (Some(left), Some(right)) => right.cmp(&left).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// A version such as `v1` or `v2beta3`; greater is better.
#[derive(Eq, Ord, PartialEq, PartialOrd)]
struct Kubernetes {
    maturity: Maturity,
    major: i64,
    minor: i64,
}

#[derive(Eq, Ord, PartialEq, PartialOrd)]
enum Maturity {
    Alpha,
    Beta,
    Stable,
}

impl Kubernetes {
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('v')?;
        let (major, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let (maturity, minor) = if let Some(minor) = rest.strip_prefix("alpha") {
            (Maturity::Alpha, minor)
        } else if let Some(minor) = rest.strip_prefix("beta") {
            (Maturity::Beta, minor)
        } else if rest.is_empty() {
            (Maturity::Stable, "0")
        } else {
            return None;
        };
        Some(Self {
            maturity,
            major: number(major)?,
            minor: number(minor)?,
        })
    }
}

fn number(digits: &str) -> Option<i64> {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_before_beta_before_alpha_before_the_rest() {
        let mut versions = [
            "foo1",
            "v1alpha1",
            "v1",
            "v10beta3",
            "v2",
            "v11alpha2",
            "v12alpha1",
            "v3beta1",
            "bar",
            "v1-x",
        ];
        versions.sort_by(|a, b| by_priority(a, b));
        assert_eq!(
            versions,
            [
                "v2",
                "v1",
                "v10beta3",
                "v3beta1",
                "v12alpha1",
                "v11alpha2",
                "v1alpha1",
                "bar",
                "foo1",
                "v1-x"
            ]
        );
    }
}
