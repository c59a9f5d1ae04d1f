//! Validation of an object, in the order of the custom resource strategy: the OpenAPI schema, embedded resources, keyed
//! lists, rules.

mod embedded;
mod keyed_lists;
mod logic;
mod number;
mod outcome;
mod walk;

pub(crate) use embedded::validate_embedded;
pub(crate) use keyed_lists::validate_keyed_lists;
pub(crate) use walk::{validate_default, validate_object};

/// How an object is validated.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ValidateOptions {
    /// Do not ask for the field `status` of the whole object, even if the schema requires it. A client of an API that
    /// fills the status in cannot send one.
    pub ignore_required_status: bool,
}

impl ValidateOptions {
    /// Does not ask for the field `status` of the whole object.
    #[must_use]
    pub const fn ignoring_required_status(mut self) -> Self {
        self.ignore_required_status = true;
        self
    }
}
