use std::collections::BTreeSet;
use std::str::FromStr;

use ephemeral_review::Export;

/// The exports that a webhook serves. Reviews for any other are denied, so that an empty list denies all.
///
/// As text it is `CLUSTER/EXPORT`, several separated by commas, as in `2hq8vkhcmqzy3ukb/s3.example.com`; the cluster is
/// the provider's logical cluster by name, not the path of its workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports(BTreeSet<Export>);

impl Exports {
    /// Whether this one is served.
    pub fn contains(&self, export: &Export) -> bool {
        self.0.contains(export)
    }
}

impl FromIterator<Export> for Exports {
    fn from_iter<I: IntoIterator<Item = Export>>(exports: I) -> Self {
        Self(exports.into_iter().collect())
    }
}

impl<const N: usize> From<[Export; N]> for Exports {
    fn from(exports: [Export; N]) -> Self {
        exports.into_iter().collect()
    }
}

impl From<Vec<Export>> for Exports {
    fn from(exports: Vec<Export>) -> Self {
        exports.into_iter().collect()
    }
}

impl FromStr for Exports {
    type Err = ParseExportsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',').map(parse).collect()
    }
}

/// A text that is no list of exports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an export, expected CLUSTER/EXPORT with the name of a logical cluster")]
pub struct ParseExportsError(String);

fn parse(text: &str) -> Result<Export, ParseExportsError> {
    match text.trim().split_once('/') {
        // A path of workspaces has colons; a logical cluster's name has none.
        Some((cluster, name)) if !cluster.is_empty() && !cluster.contains(':') && is_name(name) => {
            Ok(Export::new(cluster, name))
        }
        _ => Err(ParseExportsError(text.to_owned())),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read() {
        let exports: Exports = "abc/s3.example.com, def/s3.example.com".parse().unwrap();
        assert_eq!(
            exports,
            [
                Export::new("def", "s3.example.com"),
                Export::new("abc", "s3.example.com")
            ]
            .into()
        );
        assert!(!exports.contains(&Export::new("ghi", "s3.example.com")));
    }

    #[test]
    fn what_names_no_export_is_refused() {
        for text in ["", "abc", "abc/", "/s3", "abc/s3,", "root:provider/s3", "abc/s3/x"] {
            assert!(text.parse::<Exports>().is_err(), "{text:?}");
        }
    }
}
