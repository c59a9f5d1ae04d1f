//! Names: host names and Kubernetes' labels and subdomains.

use std::sync::LazyLock;

use crate::regexp::Regexp;

static HOSTNAME: LazyLock<Regexp> = LazyLock::new(|| {
    let label = r"[a-zA-Z0-9\p{S}\p{L}]";
    let pattern = format!(
        r"^({label}((-?{label}{{0,62}})?)|({label}(([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}{label})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
    );
    Regexp::compile(&pattern).expect("a pattern of this crate compiles")
});

/// RFC 1034 names, with letters and symbols of any script and a top-level domain of letters.
pub(super) fn is_hostname(s: &str) -> bool {
    s.len() <= 255 && s.split('.').all(|label| label.len() <= 63) && HOSTNAME.is_match(s)
}

pub(super) fn is_short_name(s: &str) -> bool {
    s.len() <= 63 && is_label(s)
}

pub(super) fn is_long_name(s: &str) -> bool {
    s.len() <= 253 && is_subdomain(s)
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
pub(crate) fn is_label(s: &str) -> bool {
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = s.as_bytes();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|b| alphanumeric(b) || *b == b'-')
}

/// Labels joined by dots.
pub(crate) fn is_subdomain(s: &str) -> bool {
    s.split('.').all(is_label)
}
