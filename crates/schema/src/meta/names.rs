//! What is wrong with a name, in the words of `k8s.io/apimachinery/pkg/util/validation`.

use crate::format::{is_label, is_subdomain};

const LABEL_REGEX: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME_REGEX: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
/// The most bytes of a label, and of the name part of a qualified name.
const LABEL_BYTES: usize = 63;
/// The most bytes of a subdomain.
const SUBDOMAIN_BYTES: usize = 253;

/// Names are said to be counted in characters, parts of qualified names in bytes; both are counted in bytes.
fn too_long(max: usize, unit: &str) -> String {
    format!("must be no more than {max} {unit}")
}

/// A DNS label (RFC 1123): a namespace.
pub(crate) fn dns1123_label_faults(s: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if s.len() > LABEL_BYTES {
        faults.push(too_long(LABEL_BYTES, "characters"));
    }
    if !is_label(s) {
        faults.push(if is_subdomain(s) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '{LABEL_REGEX}')"
            )
        });
    }
    faults
}

/// A DNS subdomain (RFC 1123): the name of a custom resource.
pub(crate) fn dns1123_subdomain_faults(s: &str) -> Vec<String> {
    subdomain_faults(s, "characters")
}

fn subdomain_faults(s: &str, unit: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if s.len() > SUBDOMAIN_BYTES {
        faults.push(too_long(SUBDOMAIN_BYTES, unit));
    }
    if !is_subdomain(s) {
        faults.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{LABEL_REGEX}(\\.{LABEL_REGEX})*')"
        ));
    }
    faults
}

/// A DNS label that begins with a letter (RFC 1035): a kind.
pub(crate) fn dns1035_label_faults(s: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if s.len() > LABEL_BYTES {
        faults.push(too_long(LABEL_BYTES, "characters"));
    }
    if !is_label(s) || s.starts_with(|c: char| c.is_ascii_digit()) {
        faults.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    faults
}

/// A name that stands as it is in a path: of embedded resources.
pub(super) fn path_segment_faults(s: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(s, "." | "..") {
        return vec![format!("may not be '{s}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|part| s.contains(part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// What keeps a text from being a qualified name: the key of a label or annotation, a finalizer.
pub fn qualified_name_faults(s: &str) -> Vec<String> {
    let consists = format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '{QUALIFIED_NAME_REGEX}')"
    );
    let mut faults = Vec::new();
    let name = match s.split_once('/') {
        None => s,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {consists} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            faults.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            let of_prefix = subdomain_faults(prefix, "bytes");
            faults.extend(of_prefix.into_iter().map(|fault| format!("prefix part {fault}")));
            name
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_BYTES {
        faults.push(format!("name part {}", too_long(LABEL_BYTES, "bytes")));
    }
    if !is_qualified(name) {
        faults.push(format!("name part {consists}"));
    }
    faults
}

/// What keeps a text from being the value of a label.
pub fn label_value_faults(s: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if s.len() > LABEL_BYTES {
        faults.push(too_long(LABEL_BYTES, "bytes"));
    }
    if !s.is_empty() && !is_qualified(s) {
        faults.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '({QUALIFIED_NAME_REGEX})?')"
        ));
    }
    faults
}

fn is_qualified(s: &str) -> bool {
    let bytes = s.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}
