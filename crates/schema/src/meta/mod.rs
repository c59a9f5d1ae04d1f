//! `ObjectMeta`: what a typed decode makes of it, and what Kubernetes asks of it on create.

mod decode;
mod names;
mod server;
mod time;
mod validate;

pub use decode::{TypeError, coerce};
pub use names::{label_value_faults, qualified_name_faults};
pub use server::{dedup_owner_references, drop_server_managed};
pub use validate::{MetaOptions, NameRule, Scope, finalizer_warnings, validate, validate_manager, validate_name};

pub(crate) use decode::decode;
pub(crate) use names::{dns1035_label_faults, dns1123_label_faults, dns1123_subdomain_faults};
pub(crate) use validate::validate_embedded;
