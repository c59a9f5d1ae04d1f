//! The conditions of an EphemeralWebhook, with the semantics of metav1.Condition.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use crate::problem::{ConditionType, Problem};

/// A `metav1.Condition`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// `type`.
    #[serde(rename = "type")]
    pub condition_type: Arc<str>,
    /// `status`.
    pub status: ConditionStatus,
    /// The generation of the object that was judged.
    pub observed_generation: i64,
    /// RFC 3339; when `status` last changed, and nothing else.
    pub last_transition_time: Arc<str>,
    /// Stable and CamelCase.
    pub reason: Arc<str>,
    /// For humans.
    pub message: Arc<str>,
}

/// The `status` of a condition.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Not known yet.
    Unknown,
}

impl ConditionStatus {
    const ALL: [Self; 3] = [Self::True, Self::False, Self::Unknown];

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ConditionStatus {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(UnknownStatus)
    }
}

/// Not the status of a condition.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("neither True, False nor Unknown")]
pub struct UnknownStatus;

/// What was found out about one aspect of a nomination.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Finding {
    /// It is as it should be.
    Good,
    /// It is not.
    Bad(Problem),
    /// Nothing is known yet, or it does not apply.
    #[default]
    Pending,
    /// It was not looked at since the start. What another replica, or this one before, found of the same generation
    /// still holds.
    Unread,
}

impl Finding {
    /// The problem, if there is one.
    pub const fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Bad(problem) => Some(problem),
            Self::Good | Self::Pending | Self::Unread => None,
        }
    }
}

impl<T> From<&Result<T, Problem>> for Finding {
    fn from(result: &Result<T, Problem>) -> Self {
        match result {
            Ok(_) => Self::Good,
            Err(problem) => Self::Bad(problem.clone()),
        }
    }
}

/// What was found out about a nomination, by condition.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Findings {
    /// `Accepted`.
    pub accepted: Finding,
    /// `ResourceResolved`.
    pub resolved: Finding,
    /// `EndpointPublished`.
    pub published: Finding,
    /// `EphemeralEndpointsValid`.
    pub endpoint: Finding,
    /// `CallsSucceeding`, which is never part of `Ready`.
    pub calls: Finding,
}

impl Findings {
    /// Everything that is wrong.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.ready_parts()
            .into_iter()
            .chain([(ConditionType::CallsSucceeding, &self.calls)])
            .filter_map(|(_, finding)| finding.problem())
    }

    /// The conditions, given those that the object has now.
    ///
    /// As with apimachinery's `meta.SetStatusCondition`, `lastTransitionTime` is `now` (RFC 3339) where the status
    /// is another than before and stays where it is the same. Conditions of other types are left out: this server is
    /// the only writer.
    pub fn conditions(&self, previous: &[Condition], generation: i64, now: &str) -> Vec<Condition> {
        let before = |condition: ConditionType| previous.iter().find(|old| &*old.condition_type == condition.as_str());
        let unchanged = |condition| before(condition).filter(|old| old.observed_generation == generation);
        let state = |condition: ConditionType, finding: &Finding| match finding {
            Finding::Unread => unchanged(condition).map(State::from),
            finding => Some(State::of(condition, finding)),
        };
        let parts = self.ready_parts().map(|(condition, finding)| {
            let state = state(condition, finding);
            (
                condition,
                state.unwrap_or_else(|| State::of(condition, &Finding::Pending)),
            )
        });
        let ready = (ConditionType::Ready, State::ready(&parts));
        let calls = Some(&self.calls).filter(|calls| **calls != Finding::Pending);
        let calls = calls.and_then(|calls| state(ConditionType::CallsSucceeding, calls));
        let calls = calls.map(|state| (ConditionType::CallsSucceeding, state));
        let states = parts.into_iter().chain([ready]).chain(calls);
        states
            .map(|(condition, state)| state.into_condition(condition, before(condition), generation, now))
            .collect()
    }

    const fn ready_parts(&self) -> [(ConditionType, &Finding); 4] {
        [
            (ConditionType::Accepted, &self.accepted),
            (ConditionType::ResourceResolved, &self.resolved),
            (ConditionType::EndpointPublished, &self.published),
            (ConditionType::EphemeralEndpointsValid, &self.endpoint),
        ]
    }
}

/// A condition without its times.
#[derive(Clone)]
struct State {
    status: ConditionStatus,
    reason: Arc<str>,
    message: Arc<str>,
}

impl State {
    fn of(condition: ConditionType, finding: &Finding) -> Self {
        let (status, reason, message) = match finding {
            Finding::Bad(problem) => (ConditionStatus::False, problem.reason(), problem.message()),
            Finding::Good => (ConditionStatus::True, condition.as_str(), good(condition).into()),
            Finding::Pending | Finding::Unread => (ConditionStatus::Unknown, "Pending", pending(condition).into()),
        };
        Self {
            status,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// `Ready` repeats the first problem, or what is not known yet, so that one look at one condition is enough.
    fn ready(parts: &[(ConditionType, Self)]) -> Self {
        let first = |status| {
            parts
                .iter()
                .map(|(_, state)| state)
                .find(|state| state.status == status)
        };
        first(ConditionStatus::False)
            .or_else(|| first(ConditionStatus::Unknown))
            .cloned()
            .unwrap_or_else(|| Self::of(ConditionType::Ready, &Finding::Good))
    }

    fn into_condition(
        self,
        condition: ConditionType,
        previous: Option<&Condition>,
        generation: i64,
        now: &str,
    ) -> Condition {
        let since = previous
            .filter(|old| old.status == self.status)
            .map_or_else(|| now.into(), |old| old.last_transition_time.clone());
        Condition {
            condition_type: condition.as_str().into(),
            status: self.status,
            observed_generation: generation,
            last_transition_time: since,
            reason: self.reason,
            message: self.message,
        }
    }
}

impl From<&Condition> for State {
    fn from(condition: &Condition) -> Self {
        Self {
            status: condition.status,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        }
    }
}

const fn good(condition: ConditionType) -> &'static str {
    match condition {
        ConditionType::Accepted => "The nomination is accepted.",
        ConditionType::ResourceResolved => "The export lists the resource, and its schema can be enforced.",
        ConditionType::EndpointPublished => "The endpoint is in the slice that the export's storage refers to.",
        ConditionType::EphemeralEndpointsValid => "URL and CA bundle can be used. Nothing was probed.",
        ConditionType::Ready => "The webhook answers creates of the resource.",
        ConditionType::CallsSucceeding => "Calls succeed.",
    }
}

const fn pending(condition: ConditionType) -> &'static str {
    match condition {
        ConditionType::EndpointPublished => "The endpoint is not published yet.",
        _ => "Not judged yet.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLY: &str = "2026-01-01T00:00:00Z";
    const LATE: &str = "2026-01-02T00:00:00Z";

    fn all_good() -> Findings {
        Findings {
            accepted: Finding::Good,
            resolved: Finding::Good,
            published: Finding::Good,
            endpoint: Finding::Good,
            calls: Finding::Unread,
        }
    }

    fn of(conditions: &[Condition], condition: ConditionType) -> &Condition {
        conditions
            .iter()
            .find(|c| &*c.condition_type == condition.as_str())
            .unwrap()
    }

    #[test]
    fn the_transition_time_moves_with_the_status_alone() {
        let good = all_good();
        let url_invalid = Findings {
            endpoint: Finding::Bad(Problem::UrlInvalid),
            ..all_good()
        };
        let url_refused = Findings {
            endpoint: Finding::Bad(Problem::UrlRefused),
            ..all_good()
        };
        let first = good.conditions(&[], 1, EARLY);
        assert!(first.iter().all(|c| &*c.last_transition_time == EARLY));

        let broken = url_invalid.conditions(&first, 2, LATE);
        let valid = of(&broken, ConditionType::EphemeralEndpointsValid);
        assert_eq!((&*valid.last_transition_time, &*valid.reason), (LATE, "URLInvalid"));
        assert_eq!(&*of(&broken, ConditionType::Accepted).last_transition_time, EARLY);
        assert!(broken.iter().all(|c| c.observed_generation == 2));

        let otherwise_broken = url_refused.conditions(&broken, 3, "2026-01-03T00:00:00Z");
        let valid = of(&otherwise_broken, ConditionType::EphemeralEndpointsValid);
        assert_eq!((&*valid.last_transition_time, &*valid.reason), (LATE, "URLRefused"));
    }

    #[test]
    fn ready_repeats_the_first_problem_and_waits_for_what_is_pending() {
        let mut findings = all_good();
        let ready = |findings: &Findings| of(&findings.conditions(&[], 1, EARLY), ConditionType::Ready).clone();
        assert_eq!(ready(&findings).status, ConditionStatus::True);

        findings.published = Finding::Pending;
        assert_eq!(ready(&findings).status, ConditionStatus::Unknown);

        findings.endpoint = Finding::Bad(Problem::CaBundleExpired);
        let condition = ready(&findings);
        assert_eq!(
            (condition.status, &*condition.reason),
            (ConditionStatus::False, "CABundleExpired")
        );

        findings.resolved = Finding::Bad(Problem::ExportNotFound);
        assert_eq!(&*ready(&findings).reason, "ExportNotFound");
    }

    #[test]
    fn failing_calls_never_change_ready() {
        let findings = Findings {
            calls: Finding::Bad(Problem::CallsFailing),
            ..all_good()
        };
        let conditions = findings.conditions(&[], 1, EARLY);
        assert_eq!(of(&conditions, ConditionType::Ready).status, ConditionStatus::True);
        let calls = of(&conditions, ConditionType::CallsSucceeding);
        assert_eq!((calls.status, &*calls.reason), (ConditionStatus::False, "CallsFailing"));
        assert_eq!(findings.problems().collect::<Vec<_>>(), [&Problem::CallsFailing]);
    }

    #[test]
    fn what_was_found_before_a_restart_holds_for_the_same_generation() {
        for published in [Finding::Good, Finding::Bad(Problem::EndpointSliceNotFound)] {
            let before = Findings {
                published,
                calls: Finding::Bad(Problem::CallsFailing),
                ..all_good()
            };
            let known = before.conditions(&[], 1, EARLY);
            let after = Findings {
                published: Finding::Unread,
                ..all_good()
            };
            assert_eq!(after.conditions(&known, 1, LATE), known, "nothing to write");
            let anew = after.conditions(&known, 2, LATE);
            assert_eq!(of(&anew, ConditionType::Ready).status, ConditionStatus::Unknown);
            assert_eq!(anew.len(), 5, "calls of another generation say nothing");
        }
    }

    #[test]
    fn a_condition_is_written_as_kubernetes_writes_it() {
        let conditions = all_good().conditions(&[], 7, EARLY);
        assert_eq!(
            serde_json::to_value(of(&conditions, ConditionType::Accepted)).unwrap(),
            serde_json::json!({
                "type": "Accepted", "status": "True", "observedGeneration": 7, "lastTransitionTime": EARLY,
                "reason": "Accepted", "message": "The nomination is accepted."
            })
        );
    }
}
