use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The API group and version in which a review is spoken. The two do not differ in any field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReviewVersion {
    /// `apis.kcp.io/v1alpha1`, the group of kcp's enhancement proposal; the default of a nomination.
    ApisKcpIoV1Alpha1,
    /// `ephemeral.contrib.kcp.io/v1alpha1`, this project's own group.
    EphemeralContribKcpIoV1Alpha1,
}

impl ReviewVersion {
    /// Every version there is.
    pub const ALL: [Self; 2] = [Self::ApisKcpIoV1Alpha1, Self::EphemeralContribKcpIoV1Alpha1];

    /// The `apiVersion` of a review in this version.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::ApisKcpIoV1Alpha1 => "apis.kcp.io/v1alpha1",
            Self::EphemeralContribKcpIoV1Alpha1 => "ephemeral.contrib.kcp.io/v1alpha1",
        }
    }
}

impl fmt::Display for ReviewVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.api_version())
    }
}

impl FromStr for ReviewVersion {
    type Err = UnknownReviewVersion;

    fn from_str(api_version: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|version| version.api_version() == api_version)
            .ok_or(UnknownReviewVersion)
    }
}

impl Serialize for ReviewVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.api_version())
    }
}

impl<'de> Deserialize<'de> for ReviewVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(VersionVisitor)
    }
}

/// An `apiVersion` that is neither of the review's. It does not repeat the text, which may be of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownReviewVersion;

impl fmt::Display for UnknownReviewVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = ReviewVersion::ALL;
        write!(f, "unknown review version, expected {first} or {second}")
    }
}

impl std::error::Error for UnknownReviewVersion {}

struct VersionVisitor;

impl de::Visitor<'_> for VersionVisitor {
    type Value = ReviewVersion;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the apiVersion of an EphemeralReview")
    }

    fn visit_str<E: de::Error>(self, api_version: &str) -> Result<Self::Value, E> {
        api_version.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_reads_back_from_its_api_version() {
        for version in ReviewVersion::ALL {
            assert_eq!(version.api_version().parse(), Ok(version));
            let json = serde_json::to_string(&version).unwrap();
            assert_eq!(json, format!("{:?}", version.api_version()));
            assert_eq!(serde_json::from_str::<ReviewVersion>(&json).unwrap(), version);
        }
    }

    #[test]
    fn other_versions_are_refused_without_repeating_them() {
        for other in [
            "",
            "v1alpha1",
            "apis.kcp.io/v1alpha2",
            "APIS.kcp.io/v1alpha1",
            "apis.kcp.io/v1alpha1 ",
        ] {
            assert_eq!(other.parse::<ReviewVersion>(), Err(UnknownReviewVersion), "{other:?}");
        }
        let message = serde_json::from_str::<ReviewVersion>(r#""admission.k8s.io/v1""#)
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("unknown review version, expected apis.kcp.io/v1alpha1 or "),
            "{message}"
        );
    }
}
