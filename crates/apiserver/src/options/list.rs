//! `metav1.ListOptions`: what of them can be wrong. The list is empty whatever they select.

use std::num::IntErrorKind;

use ephemeral_index::{Scope, Version};
use structural_schema::field::{self, Path};
use structural_schema::json::quote;

use super::field_selector::FieldSelector;
use super::{continue_token, invalid_options, label_selector, parameters};
use crate::fault::ClientFault;

/// What is asked of a list; each option can be read, and they are not judged together yet.
#[derive(Debug)]
pub struct ListOptions {
    fields: FieldSelector,
    resource_version: String,
    resource_version_match: String,
    continue_token: String,
    sends_initial_events: bool,
}

impl ListOptions {
    /// Reads the options as `ParameterCodec.DecodeParameters` does, in its order; of a repeated one the first counts.
    pub fn from_query(query: &str) -> Result<Self, ClientFault> {
        let first = |name: &str| parameters(query).find(|(key, _)| key == name).map(|(_, value)| value);
        let text = |name| first(name).unwrap_or_default();
        for number in ["timeoutSeconds", "limit"].into_iter().filter_map(first) {
            if let Err(error) = number.parse::<i64>() {
                return Err(ClientFault::BadRequest(
                    bad_number("ParseInt", &number, *error.kind()).into(),
                ));
            }
        }
        label_selector::check(&text("labelSelector")).map_err(|error| bad(&error))?;
        Ok(Self {
            fields: FieldSelector::parse(&text("fieldSelector")).map_err(|error| bad(&error))?,
            resource_version: text("resourceVersion").into_owned(),
            resource_version_match: text("resourceVersionMatch").into_owned(),
            continue_token: text("continue").into_owned(),
            sends_initial_events: first("sendInitialEvents").is_some(),
        })
    }

    /// The one object that is asked for, which is part of what is authorized (`RequestInfoFactory.NewRequestInfo`).
    pub fn name(&self) -> Option<&str> {
        let is_segment = |name: &&str| !matches!(*name, "" | "." | "..") && !name.contains(['/', '%']);
        self.fields.exact("metadata.name").filter(is_segment)
    }

    /// Judges what goes together (422), which fields the resource has to select by (400), and what the storage would
    /// not read (400), in this order.
    pub fn check(&self, scope: Scope, version: &Version) -> Result<(), ClientFault> {
        self.validate()?;
        let selectable = |field: &str| match field {
            "metadata.name" => true,
            "metadata.namespace" if scope == Scope::Namespaced => true,
            other => version.selectable_fields.iter().any(|field| **field == *other),
        };
        self.fields.check_fields(selectable).map_err(|error| bad(&error))?;
        self.check_storage()
    }

    /// `ValidateListOptions` of `meta/internalversion`.
    fn validate(&self) -> Result<(), ClientFault> {
        let root = Path::root();
        let mut errors = Vec::new();
        let field = root.child("resourceVersionMatch");
        let rule = &*self.resource_version_match;
        if !rule.is_empty() {
            if self.resource_version.is_empty() {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(field::Error::forbidden(&field, detail));
            }
            if !self.continue_token.is_empty() {
                let detail = "resourceVersionMatch is forbidden when continue is provided";
                errors.push(field::Error::forbidden(&field, detail));
            }
            if !matches!(rule, "Exact" | "NotOlderThan") {
                errors.push(field::Error::not_supported(&field, rule, ["Exact", "NotOlderThan", ""]));
            }
            if rule == "Exact" && self.resource_version == "0" {
                let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(field::Error::forbidden(&field, detail));
            }
        }
        if self.sends_initial_events {
            let detail = "sendInitialEvents is forbidden for list";
            errors.push(field::Error::forbidden(&root.child("sendInitialEvents"), detail));
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(invalid_options("ListOptions", errors))
    }

    /// `storage.ValidateListOptions`.
    fn check_storage(&self) -> Result<(), ClientFault> {
        let version = &*self.resource_version;
        if !self.continue_token.is_empty() {
            continue_token::check(&self.continue_token).map_err(|error| bad(&error))?;
            return match version {
                "" | "0" => Ok(()),
                _ => Err(ClientFault::BadRequest(
                    "specifying resource version is not allowed when using continue".into(),
                )),
            };
        }
        if version.is_empty() {
            return Ok(());
        }
        // Go's `ParseUint` takes no sign.
        let kind = match version.parse::<u64>() {
            Ok(_) if !version.starts_with('+') => return Ok(()),
            Ok(_) => IntErrorKind::InvalidDigit,
            Err(error) => *error.kind(),
        };
        let detail = bad_number("ParseUint", version, kind);
        let error = field::Error::invalid(&Path::root().child("resourceVersion"), version, detail);
        Err(ClientFault::BadRequest(
            format!("invalid resource version: {error}").into(),
        ))
    }
}

fn bad(error: &dyn std::error::Error) -> ClientFault {
    ClientFault::BadRequest(error.to_string().into())
}

/// The text of a `strconv.NumError`.
fn bad_number(function: &str, text: &str, kind: IntErrorKind) -> String {
    let why = match kind {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.{function}: parsing {}: {why}", quote(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::fixture;

    fn judge(query: &str, scope: Scope) -> Result<(), ClientFault> {
        let mut version = fixture::version("v1", "{}");
        version.selectable_fields = ["spec.color".into()].into();
        ListOptions::from_query(query)?.check(scope, &version)
    }

    #[test]
    fn options_that_mean_nothing_here_are_taken() {
        for query in [
            "",
            "limit=500&continue=&resourceVersion=0&watch=0&allowWatchBookmarks=x",
            "limit=5&limit=x",
            "resourceVersion=1&resourceVersionMatch=Exact",
            "resourceVersionMatch=&sendInitialEvent=true",
            "labelSelector=a+in+(b)&fieldSelector=metadata.namespace%3Da,spec.color%3Dred",
            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0&resourceVersion=0",
        ] {
            assert!(judge(query, Scope::Namespaced).is_ok(), "{query}");
        }
    }

    #[test]
    fn options_are_refused_as_the_api_server_refuses_them() {
        for (query, message) in [
            ("limit=abc", "strconv.ParseInt: parsing \"abc\": invalid syntax"),
            (
                "limit=&labelSelector=!!",
                "strconv.ParseInt: parsing \"\": invalid syntax",
            ),
            (
                "limit=x&timeoutSeconds=9223372036854775808",
                "strconv.ParseInt: parsing \"9223372036854775808\": value out of range",
            ),
            (
                "labelSelector=!!&fieldSelector=x",
                "unable to parse requirement: found '!', expected: identifier",
            ),
            (
                "resourceVersionMatch=x&fieldSelector=x",
                "invalid selector: 'x'; can't understand 'x'",
            ),
            (
                "resourceVersionMatch=x&continue=c&fieldSelector=x%3Dy",
                "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is \
                 forbidden unless resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is \
                 forbidden when continue is provided, resourceVersionMatch: Unsupported value: \"x\": supported values: \
                 \"Exact\", \"NotOlderThan\", \"\"]",
            ),
            (
                "resourceVersion=0&resourceVersionMatch=Exact&sendInitialEvents=false",
                "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch \
                 \"exact\" is forbidden for resourceVersion \"0\", sendInitialEvents: Forbidden: sendInitialEvents is \
                 forbidden for list]",
            ),
            ("fieldSelector=x%3Dy&continue=x", "field label not supported: x"),
            (
                "fieldSelector=.spec.color%3Dred",
                "field label not supported: .spec.color",
            ),
            (
                "continue=x&resourceVersion=x",
                "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
            ),
            (
                "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0&resourceVersion=1",
                "specifying resource version is not allowed when using continue",
            ),
            (
                "resourceVersion=%2B1",
                "invalid resource version: resourceVersion: Invalid value: \"+1\": strconv.ParseUint: parsing \"+1\": \
                 invalid syntax",
            ),
            (
                "resourceVersion=18446744073709551616",
                "invalid resource version: resourceVersion: Invalid value: \"18446744073709551616\": strconv.ParseUint: \
                 parsing \"18446744073709551616\": value out of range",
            ),
        ] {
            assert_eq!(
                judge(query, Scope::Namespaced).unwrap_err().to_string(),
                message,
                "{query}"
            );
        }
        let fault = judge("fieldSelector=metadata.namespace%3Da", Scope::Cluster).unwrap_err();
        assert_eq!(fault.to_string(), "field label not supported: metadata.namespace");
    }

    #[test]
    fn a_list_of_one_object_names_it() {
        for (query, name) in [
            ("fieldSelector=metadata.name%3Da", Some("a")),
            ("fieldSelector=metadata.name!%3Da", None),
            ("fieldSelector=metadata.name%3Da/b", None),
            ("fieldSelector=metadata.name%3D..", None),
            ("", None),
        ] {
            assert_eq!(ListOptions::from_query(query).unwrap().name(), name, "{query}");
        }
    }
}
