//! A canary that moves by itself: the plan of its steps, the outcomes of both versions, and the decision made of them.
//!
//! The functions are pure. The same outcomes at the same age of a step always give the same decision, whichever node
//! asks, so that a node which takes over goes on as the one before would have.

mod decide;
mod judge;
mod outcomes;
mod plan;

#[cfg(test)]
mod tests;

pub use decide::{CanaryDecision, CanaryLook, decide, is_look_due};
pub use judge::{CanaryFigures, CanaryVerdict, PercentileFigures, judge};
pub use outcomes::{CompareCounts, OutcomeCounts, SLOTS, StepOutcomes, slot_bound, slot_of};
pub use plan::{CANARY_KEYS, CanaryGate, CanaryPlan, CanaryState, CompareTerms};
