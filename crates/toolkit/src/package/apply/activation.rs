//! The activation of what a package has stored.

use svc_api::Receipt;
use svc_client::ClientError;
use svc_model::EntityKind;
use svc_project::PackageItem;

use super::{ApplyReport, ApplyRun};
use crate::package::error::PackageError;

/// Number of activations from one look at the receipts to the next.
const CHECK_EVERY: usize = 16;

/// The result of a round of activations.
#[derive(Default)]
struct ActivationRound<'i> {
    /// Number of those that were activated.
    activated: usize,
    /// Those that another definition is in the way of.
    refused: Vec<(&'i PackageItem, ClientError)>,
}

impl ApplyRun<'_> {
    /// Activates the definitions of a kind. A channel may take the name or the route that another one of the package
    /// leaves: it is tried again, as long as others are activated.
    pub(super) async fn activate(
        &self,
        kind: EntityKind,
        claim: &[Receipt],
        report: &mut ApplyReport,
    ) -> Result<(), PackageError> {
        let items: Vec<_> = self.artifact.items(kind).filter(|item| item.activates).collect();
        let mut activated = 0;
        let mut waiting = items.clone();
        while !waiting.is_empty() {
            let round = self.activate_each(&waiting, claim, items.len()).await?;
            activated += round.activated;
            let has_moved = round.refused.len() < waiting.len();
            waiting = round.refused.iter().map(|(item, _)| *item).collect();
            if let Some((item, error)) = round.refused.into_iter().next().filter(|_| !has_moved) {
                let failed = PackageError::step(format!("{kind} '{}' was not activated", item.key));
                return Err(failed(error));
            }
        }
        report.activated += activated;
        if !items.is_empty() {
            let (total, kinds) = (items.len(), kind.plural());
            self.progress
                .finish(format_args!("activated {activated} of {total} {kinds}, the others were active"));
        }
        Ok(())
    }

    /// Tries each of these definitions, which are the last of `total`.
    async fn activate_each<'i>(
        &self,
        items: &[&'i PackageItem],
        claim: &[Receipt],
        total: usize,
    ) -> Result<ActivationRound<'i>, PackageError> {
        let mut round = ActivationRound::default();
        for (index, item) in items.iter().enumerate() {
            let PackageItem { kind, key, .. } = item;
            let failed = |what: &str| PackageError::step(format!("{kind} '{key}' was not {what}"));
            if index.is_multiple_of(CHECK_EVERY) {
                self.check_claim(claim).await?;
            }
            let is_news = match self.activate_item(item, claim).await? {
                Err(error) if *kind == EntityKind::Channel && is_conflict(&error) => {
                    round.refused.push((*item, error));
                    continue;
                }
                outcome => outcome.map_err(failed("activated"))?,
            };
            if is_news {
                round.activated += 1;
            } else if let (EntityKind::Workflow, Some(share), None) =
                (kind, item.rollout_percentage, &item.canary)
            {
                // A canary that moves by itself goes on as it is.
                self.move_rollout(item, share).await.map_err(failed("given its share of the traffic"))?;
            }
            let settled = total - items.len() + index + 1 - round.refused.len();
            self.progress.advance(&format!("activating {}", kind.plural()), settled, total);
        }
        Ok(round)
    }

    /// Activates a definition; `false` if it was active.
    async fn activate_item(
        &self,
        item: &PackageItem,
        claim: &[Receipt],
    ) -> Result<Result<bool, ClientError>, PackageError> {
        let outcome = self.server.activate(item, self.choices.replace_canary).await;
        if outcome.as_ref().is_err_and(|error| error.status() == Some(409)) {
            // Somebody else activated it at the same moment.
            self.check_claim(claim).await?;
            return Ok(self.server.activate(item, self.choices.replace_canary).await);
        }
        Ok(outcome)
    }

    /// Moves the share of a workflow whose content was active before.
    async fn move_rollout(&self, item: &PackageItem, share: i64) -> Result<(), ClientError> {
        let active = self.server.active_versions(&item.key).await?;
        match active.first() {
            Some((_, current)) if *current == share => Ok(()),
            _ => self.server.set_rollout(&item.key, share).await,
        }
    }
}

/// Returns true for a refusal that another channel may be the reason of: by its name, or by its route.
fn is_conflict(error: &ClientError) -> bool {
    matches!(error.status(), Some(400 | 409))
}
