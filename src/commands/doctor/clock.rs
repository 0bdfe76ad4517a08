//! The difference between the clock of this machine and those of its peers.

use svc_model::Timestamp;
use svc_project::Severity;

use super::report::DoctorReport;

/// Milliseconds from which on a difference shows: in the order of rows of several nodes, in windows of limits.
const NOTICED_MS: u64 = 1_000;
/// Milliseconds from which on tokens and signatures of callers are refused, and leases are lost.
const HARMFUL_MS: u64 = 15_000;

/// Reports the milliseconds by which the clock of a peer is ahead of this one.
pub(super) fn report_difference(report: &mut DoctorReport, setting: &str, ahead_ms: i64) {
    let side = if ahead_ms < 0 { "behind" } else { "ahead of" };
    let message = format!("its clock is {} ms {side} the clock of this machine", ahead_ms.unsigned_abs());
    let severity = judge_difference(ahead_ms);
    let remedy = (severity != Severity::Note)
        .then_some("keep the clocks of both machines in step by NTP (chrony, systemd-timesyncd)");
    report.add(severity, "clock", setting, message, remedy);
}

/// Returns the milliseconds since 1970 by the clock of this machine.
pub(super) fn local_ms() -> i64 {
    Timestamp::now().naive().and_utc().timestamp_millis()
}

fn judge_difference(ahead_ms: i64) -> Severity {
    match ahead_ms.unsigned_abs() {
        HARMFUL_MS.. => Severity::Error,
        NOTICED_MS.. => Severity::Warning,
        _ => Severity::Note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_weighs_alike_in_both_directions() {
        for (ahead_ms, expected) in [
            (0, Severity::Note),
            (-999, Severity::Note),
            (1_000, Severity::Warning),
            (-14_999, Severity::Warning),
            (15_000, Severity::Error),
            (i64::MIN, Severity::Error),
        ] {
            assert_eq!(judge_difference(ahead_ms), expected, "{ahead_ms}");
        }
    }
}
