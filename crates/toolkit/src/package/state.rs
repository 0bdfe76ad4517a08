//! The state of a package on a server, as its receipts show it.

use svc_api::{PackageDetail, Receipt};
use svc_model::ReceiptState;
use svc_project::PackageArtifact;

/// The state of a package version on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PackageState {
    /// The server has no receipt of it.
    Unknown,
    /// An apply has begun and not ended.
    Unfinished {
        /// The caller that began it.
        principal: String,
        /// Time of its last sign of life.
        since: String,
        /// True if it carried the same content.
        has_same_content: bool,
    },
    /// It is the current version.
    Current,
    /// It was applied, and another version after it.
    Former {
        /// The current version.
        current: String,
    },
    /// It was applied with other content.
    Conflicting {
        /// The hash of that content.
        content_hash: String,
    },
}

impl PackageState {
    /// Reads the state of a version.
    pub(super) fn from_detail(artifact: &PackageArtifact, detail: Option<&PackageDetail>) -> Self {
        let Some((detail, stored)) = detail.and_then(|detail| Some((detail, receipt(artifact, detail)?)))
        else {
            return Self::Unknown;
        };
        let has_same_content = stored.content_hash == artifact.content_hash;
        match stored.state {
            ReceiptState::Staged => Self::Unfinished {
                principal: stored.principal.clone(),
                since: stored.updated_at.to_string(),
                has_same_content,
            },
            ReceiptState::Applied if !has_same_content => {
                Self::Conflicting { content_hash: stored.content_hash.clone() }
            }
            ReceiptState::Applied => match &detail.current {
                Some(current) if current.version != artifact.version => {
                    Self::Former { current: current.version.clone() }
                }
                _ => Self::Current,
            },
        }
    }

    /// Returns the reason why the version cannot be applied, if there is one.
    pub(super) fn refusal(&self, artifact: &PackageArtifact) -> Option<String> {
        let Self::Conflicting { content_hash } = self else { return None };
        Some(format!(
            "version '{}' of package '{}' was applied with other content ({content_hash}); a version never changes, so \
             give this content a new one",
            artifact.version, artifact.name
        ))
    }
}

/// Returns the receipt of the version of a package.
fn receipt<'d>(artifact: &PackageArtifact, detail: &'d PackageDetail) -> Option<&'d Receipt> {
    detail.versions.iter().find(|receipt| receipt.version == artifact.version)
}

#[cfg(test)]
mod tests {
    use svc_model::{PackageReceipt, Timestamp};
    use svc_project::Boundary;

    use super::*;

    fn detail(receipts: &[(&str, &str, ReceiptState)]) -> PackageDetail {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let receipt = |(version, hash, state): &(&str, &str, ReceiptState)| PackageReceipt {
            name: "orders".into(),
            version: (*version).into(),
            content_hash: (*hash).into(),
            state: *state,
            principal: "anonymous".into(),
            created_at: now,
            updated_at: now,
            inventory: None,
        };
        PackageDetail::new("orders", receipts.iter().map(receipt).collect())
    }

    #[test]
    fn receipts_tell_the_state_of_a_version() {
        use ReceiptState::{Applied, Staged};
        let artifact = PackageArtifact {
            name: "orders".into(),
            version: "1".into(),
            content_hash: "a".into(),
            requires: Boundary::default(),
            plugins: Vec::new(),
            items: Vec::new(),
        };
        let state = |receipts: &[_]| PackageState::from_detail(&artifact, Some(&detail(receipts)));
        assert_eq!(PackageState::from_detail(&artifact, None), PackageState::Unknown);
        assert_eq!(state(&[("2", "a", Applied)]), PackageState::Unknown);
        assert!(matches!(
            state(&[("1", "b", Staged)]),
            PackageState::Unfinished { has_same_content: false, .. }
        ));
        assert_eq!(state(&[("2", "b", Staged), ("1", "a", Applied)]), PackageState::Current);
        let former = PackageState::Former { current: "2".into() };
        assert_eq!(state(&[("2", "b", Applied), ("1", "a", Applied)]), former);
        let conflicting = state(&[("1", "b", Applied)]);
        assert!(conflicting.refusal(&artifact).unwrap().contains("other content"));
        assert_eq!(former.refusal(&artifact), None);
    }
}
