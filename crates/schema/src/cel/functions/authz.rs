//! The authorizer: `kubernetes.authz` and `kubernetes.authzSelectors` (`library/authz.go`).
//!
//! Kubernetes declares these functions in every environment, and the variable `authorizer` only in those of admission
//! policies. In the rules of a custom resource they compile on what is `dyn`, and find no value that they could take.

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{Function, Overload, Pattern};
use super::super::value::Value;
use Pattern::{Bool, String, Struct};

const AUTHORIZER: Pattern = Struct("kubernetes.authorization.Authorizer");
const PATH_CHECK: Pattern = Struct("kubernetes.authorization.PathCheck");
const GROUP_CHECK: Pattern = Struct("kubernetes.authorization.GroupCheck");
const RESOURCE_CHECK: Pattern = Struct("kubernetes.authorization.ResourceCheck");
const DECISION: Pattern = Struct("kubernetes.authorization.Decision");

/// The functions of the authorizer.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "path",
        &[Overload::member(
            "authorizer_path",
            &[AUTHORIZER, String],
            PATH_CHECK,
            nothing,
        )],
    ),
    Function::new(
        "group",
        &[Overload::member(
            "authorizer_group",
            &[AUTHORIZER, String],
            GROUP_CHECK,
            nothing,
        )],
    ),
    Function::new(
        "serviceAccount",
        &[Overload::member(
            "authorizer_serviceaccount",
            &[AUTHORIZER, String, String],
            AUTHORIZER,
            nothing,
        )],
    ),
    Function::new(
        "resource",
        &[Overload::member(
            "groupcheck_resource",
            &[GROUP_CHECK, String],
            RESOURCE_CHECK,
            nothing,
        )],
    ),
    Function::new("subresource", &[narrowed("resourcecheck_subresource")]),
    Function::new("namespace", &[narrowed("resourcecheck_namespace")]),
    Function::new("name", &[narrowed("resourcecheck_name")]),
    Function::new("fieldSelector", &[narrowed("authorizer_fieldselector")]),
    Function::new("labelSelector", &[narrowed("authorizer_labelselector")]),
    Function::new(
        "check",
        &[
            Overload::member("pathcheck_check", &[PATH_CHECK, String], DECISION, nothing),
            Overload::member("resourcecheck_check", &[RESOURCE_CHECK, String], DECISION, nothing),
        ],
    ),
    Function::new("errored", &[decided("decision_errored", Bool)]),
    Function::new("error", &[decided("decision_error", String)]),
    Function::new("allowed", &[decided("decision_allowed", Bool)]),
    Function::new("reason", &[decided("decision_reason", String)]),
];

/// A function that narrows what is checked.
const fn narrowed(id: &'static str) -> Overload {
    Overload::member(id, &[RESOURCE_CHECK, String], RESOURCE_CHECK, nothing)
}

/// A function that tells something of a decision.
const fn decided(id: &'static str, result: Pattern) -> Overload {
    Overload::member(id, &[DECISION], result, nothing)
}

/// There is no value of the types above, so none of the overloads is ever chosen.
fn nothing<'a>(_: &mut Meter, _: &[Value<'a>]) -> Outcome<Value<'a>> {
    Err(EvalError::no_such_overload())
}
