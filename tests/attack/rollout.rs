//! Versions of a workflow that come and go while clients call without a pause.

use std::io;

use svc_testkit::rollout;

use crate::Attack;
use crate::target::AttackTarget;
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "rollout",
        text: "a canary, a second one, its end and a rollback under load fail no request and keep the shares asked for",
        before: "the second canary archived the stable version and left the first one with 90 %",
    },
    attack,
);

/// The largest difference from a share asked for, in percentage points.
const TOLERANCE: f64 = 1.0;

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let launch = target.launch()?.env("SVC_ENGINE__ROLLOUT_STICKY_HEADER", rollout::STICKY_HEADER);
    let server = launch.start()?;
    let report = rollout::run(server.address(), target.pick_size(4, 16), target.pick_size(10, 500))?;
    let worst = report.phases.iter().map(rollout::RolloutPhase::deviation).fold(0.0, f64::max);
    let (failed, failures) = &report.failed;
    let mut figure = format!("{failed} of {} requests failed, shares {worst:.2} points off", report.answered);
    if let Some(first) = failures.first() {
        figure.push_str(&format!(" ({first})"));
    }
    Ok(AttackOutcome::new(*failed == 0 && worst <= TOLERANCE, figure))
}
