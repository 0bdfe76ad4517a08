//! The state of the watched project, as `GET /api/v1/admin/dev` shows it.

use std::path::Path;

use parking_lot::Mutex;
use svc_api::{DevFinding, DevProject};
use svc_model::Timestamp;
use svc_project::Finding;
use svc_toolkit::ProjectUpdate;

/// The state of the watched project; written by the watch, read by the admin API.
pub(crate) struct DevStatus(Mutex<DevProject>);

impl DevStatus {
    /// Makes the state of a project that was not checked yet.
    pub(super) fn new(directory: &Path) -> Self {
        Self(Mutex::new(DevProject {
            directory: directory.display().to_string(),
            state: "loading".to_owned(),
            checked_at: None,
            served_at: None,
            findings: Vec::new(),
            problems: Vec::new(),
        }))
    }

    /// Records an update that has just ended.
    pub(super) fn record(&self, update: &ProjectUpdate) {
        let now = Timestamp::now();
        let mut project = self.0.lock();
        project.checked_at = Some(now);
        project.findings = update.findings.iter().map(to_finding).collect();
        match &update.deployed {
            Some(deployed) => {
                project.state = "served".to_owned();
                project.problems.clone_from(&deployed.degraded);
                if deployed.has_changes() || project.served_at.is_none() {
                    project.served_at = Some(now);
                }
            }
            None => {
                project.state = "refused".to_owned();
                project.problems.clone_from(&update.refusals);
            }
        }
    }

    /// Returns whether the project was not checked yet, so that its definitions may be missing.
    pub(crate) fn is_loading(&self) -> bool {
        self.0.lock().checked_at.is_none()
    }

    /// Returns the state.
    pub(crate) fn read(&self) -> DevProject {
        self.0.lock().clone()
    }
}

fn to_finding(finding: &Finding) -> DevFinding {
    let place = finding.place.as_ref();
    DevFinding {
        severity: finding.severity.name().to_owned(),
        check: finding.check.to_owned(),
        entity: finding.entity.clone(),
        message: finding.message.clone(),
        fix: finding.fix.clone(),
        file: place.map(|place| place.file.clone()),
        line: place.map(|place| place.line),
        column: place.map(|place| place.column),
    }
}

#[cfg(test)]
mod tests {
    use svc_project::{Severity, SourcePlace};
    use svc_toolkit::DeployedProject;

    use super::*;

    #[test]
    fn refused_save_keeps_time_of_served_one() {
        let status = DevStatus::new(Path::new("shop"));
        assert!(status.is_loading());
        let deployed = DeployedProject { changed: 1, ..DeployedProject::default() };
        status.record(&ProjectUpdate {
            findings: Vec::new(),
            deployed: Some(deployed),
            refusals: Vec::new(),
        });
        let served = status.read();
        assert_eq!((served.state.as_str(), served.served_at.is_some()), ("served", true));
        assert!(!status.is_loading());

        let place = SourcePlace { file: "a.json".to_owned(), line: 3, column: 5, span: 0..1 };
        let finding = Finding {
            severity: Severity::Error,
            check: "x.y",
            entity: "workflow 'a'".to_owned(),
            message: "is wrong".to_owned(),
            fix: None,
            place: Some(place),
        };
        status.record(&ProjectUpdate { findings: vec![finding], deployed: None, refusals: Vec::new() });
        let refused = status.read();
        assert_eq!((refused.state.as_str(), refused.served_at), ("refused", served.served_at));
        let finding = &refused.findings[0];
        assert_eq!(
            (finding.file.as_deref(), finding.line, finding.column),
            (Some("a.json"), Some(3), Some(5))
        );
    }
}
