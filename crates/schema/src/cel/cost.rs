//! Cost in Kubernetes' units.
//!
//! cel-go charges one unit for a name, one for a field, one for a call, and more for calls that walk strings and
//! lists (`interpreter/runtimecost.go`); Kubernetes adds prices for its own functions
//! (`k8s.io/apiserver/pkg/cel/library/cost.go`). The prices of functions are beside the functions.

use super::error::{EvalError, Outcome};

/// What one expression may cost when it is evaluated once: `PerCallLimit` in `k8s.io/apiserver/pkg/apis/cel`.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// What all rules of one object may cost together: `RuntimeCELCostBudget` in `k8s.io/apiserver/pkg/apis/cel`.
pub const OBJECT_BUDGET: u64 = 10_000_000;

/// Steps that all rules of one object may take beyond what Kubernetes charges for.
///
/// Kubernetes' prices trust that the API server refused, when the rule was written, what they do not see: comparing
/// a list of lists costs a tenth of the outer list's length, concatenating costs one. A few such calls would keep a
/// processor busy for minutes, so the elements and 64-byte blocks that are really visited are counted too. Honest
/// rules over an object of the largest size a request may have use a few per cent of this.
pub const OBJECT_WORK: u64 = 50_000_000;

/// Cost of a list literal that is not constant.
pub(crate) const LIST_CREATE: u64 = 10;
/// What making a message costs (`StructCreateBaseCost`).
pub(crate) const STRUCT_CREATE: u64 = 40;
/// Cost of a map literal that is not constant.
pub(crate) const MAP_CREATE: u64 = 30;
/// Cost of visiting one character.
pub(crate) const STRING_TRAVERSAL: f64 = 0.1;
/// Cost of one character of a regular expression, per unit of the text it is applied to.
pub(crate) const REGEX_LENGTH: f64 = 0.25;

/// Counts what one evaluation costs.
#[derive(Debug)]
pub(crate) struct Meter {
    cost: u64,
    limit: u64,
    work: u64,
}

impl Meter {
    /// A meter for one evaluation that may cost `limit` and take `work` uncharged steps.
    pub(crate) fn new(limit: u64, work: u64) -> Self {
        Self { cost: 0, limit, work }
    }

    /// What was charged so far.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// Steps that are left.
    pub(crate) fn remaining_work(&self) -> u64 {
        self.work
    }

    /// Charges `cost` units.
    pub(crate) fn charge(&mut self, cost: u64) -> Outcome<()> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit {
            return Err(EvalError::CostLimit);
        }
        Ok(())
    }

    /// Takes back what a presence test was charged: `PresenceTestHasCost(false)`.
    pub(crate) fn refund(&mut self, cost: u64) {
        self.cost = self.cost.saturating_sub(cost);
    }

    /// Fails when `cost` units more would be over the limit, before memory or time is spent on them.
    pub(crate) fn ensure(&self, cost: u64) -> Outcome<()> {
        if self.cost.saturating_add(cost) > self.limit {
            return Err(EvalError::CostLimit);
        }
        Ok(())
    }

    /// Counts steps that Kubernetes does not charge for.
    pub(crate) fn work(&mut self, steps: usize) -> Outcome<()> {
        self.work = self.work.checked_sub(steps as u64).ok_or(EvalError::WorkLimit)?;
        Ok(())
    }

    /// Counts the blocks of text that are visited.
    pub(crate) fn read(&mut self, bytes: usize) -> Outcome<()> {
        self.work(bytes / 64)
    }
}

/// `⌈size × factor⌉` as Go computes it, in floating point.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are far below 2^53, and the product of two non-negative numbers is not negative"
)]
pub(crate) fn traversal(size: usize, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_may_be_spent() {
        let mut meter = Meter::new(10, 0);
        assert_eq!(meter.charge(10), Ok(()));
        assert_eq!(meter.charge(1), Err(EvalError::CostLimit));
    }

    #[test]
    fn traversal_rounds_up_as_go_does() {
        assert_eq!(traversal(0, STRING_TRAVERSAL), 0);
        assert_eq!(traversal(1, STRING_TRAVERSAL), 1);
        assert_eq!(traversal(10, STRING_TRAVERSAL), 1);
        assert_eq!(traversal(11, STRING_TRAVERSAL), 2);
        // 3 × 0.1 is a little more than 0.3 in floating point, 30 × 0.1 is exactly 3.
        assert_eq!(traversal(30, STRING_TRAVERSAL), 3);
    }
}
