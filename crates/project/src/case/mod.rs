//! Test cases: a workflow, its input, the answers of the systems it calls, and the expected end of the run.

mod answers;
pub(crate) mod compare;
mod coverage;
mod expect;
mod file;
mod from_trace;
mod path;
mod suite;

#[cfg(test)]
mod tests;

pub use answers::AnswerSchemas;
pub use coverage::{CoverageCollector, CoverageReport, CoveredCount, WorkflowCoverage};
pub use expect::{Expectations, FailedExpectation};
pub(crate) use file::KEYS;
pub use file::{Case, CaseStubs};
pub use from_trace::{ExpectedEnd, TraceError, TracedCase, case_from_trace, workflow_stand_ins};
pub use suite::{CaseFailure, CaseResult, CaseSuite, SuiteError, SuiteSettings};
