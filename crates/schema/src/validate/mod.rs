//! Validation of an object, in the order of the custom resource strategy: the OpenAPI schema, the subresource
//! `scale`, embedded resources, keyed lists, rules.

mod embedded;
mod keyed_lists;
mod logic;
mod number;
mod outcome;
mod walk;

use crate::scale::Scale;

pub(crate) use embedded::validate_embedded;
pub(crate) use keyed_lists::validate_keyed_lists;
pub(crate) use walk::{validate_default, validate_object};

/// How an object is validated.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ValidateOptions<'a> {
    /// Do not ask for the field `status` of the whole object, even if the schema requires it. A client of an API that
    /// fills the status in cannot send one.
    pub ignore_required_status: bool,
    /// The subresource `scale`, whose fields have rules of their own.
    pub scale: Option<&'a Scale>,
}

impl<'a> ValidateOptions<'a> {
    /// Does not ask for the field `status` of the whole object.
    #[must_use]
    pub const fn ignoring_required_status(mut self) -> Self {
        self.ignore_required_status = true;
        self
    }

    /// Checks the fields of the subresource `scale`, if there is one.
    #[must_use]
    pub const fn with_scale(mut self, scale: Option<&'a Scale>) -> Self {
        self.scale = scale;
        self
    }
}
