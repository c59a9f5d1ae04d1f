//! The functions that expressions may call, a module per library.

pub(crate) mod authz;
pub(crate) mod cidr;
pub(crate) mod comparison;
pub(crate) mod conversion;
pub(crate) mod format;
pub(crate) mod format_string;
pub(crate) mod ip;
pub(crate) mod lists;
pub(crate) mod operators;
pub(crate) mod optional;
pub(crate) mod quantity;
pub(crate) mod regex;
pub(crate) mod semver;
pub(crate) mod sets;
pub(crate) mod strings;
pub(crate) mod temporal;
pub(crate) mod url;

use super::library::Function;

/// The libraries in the order in which Kubernetes adds them, which is the order in which the overloads of a name are
/// tried.
pub(crate) const LIBRARIES: &[&[Function]] = &[
    operators::FUNCTIONS,
    comparison::FUNCTIONS,
    conversion::FUNCTIONS,
    temporal::FUNCTIONS,
    url::FUNCTIONS,
    regex::FUNCTIONS,
    authz::FUNCTIONS,
    optional::FUNCTIONS,
    quantity::FUNCTIONS,
    strings::FUNCTIONS,
    sets::FUNCTIONS,
    ip::FUNCTIONS,
    cidr::FUNCTIONS,
    format::FUNCTIONS,
    semver::FUNCTIONS,
    lists::FUNCTIONS,
];
