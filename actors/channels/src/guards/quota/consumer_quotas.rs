//! The reservations of the quotas of consumers, which count over all channels.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use svc_model::config::QuotaTerms;

use super::reservations::Reservations;
use crate::log_rate_limit::LogRateLimit;

/// Bounds in the form of a key.
type TermsKey = (u64, &'static str, &'static str);

/// The reservations of consumers, by the bounds of their quotas. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub(super) struct ConsumerQuotas(Arc<ConsumerQuotasInner>);

#[derive(Default)]
struct ConsumerQuotasInner {
    reservations: Mutex<HashMap<TermsKey, Arc<Reservations>>>,
    failures: LogRateLimit,
}

impl ConsumerQuotas {
    /// Returns the reservations of some bounds, made by `make` for the first consumer that has them.
    pub(super) fn obtain(
        &self,
        terms: &QuotaTerms,
        make: impl FnOnce() -> Arc<Reservations>,
    ) -> Arc<Reservations> {
        Arc::clone(self.0.reservations.lock().entry(terms_key(terms)).or_insert_with(make))
    }

    /// Forgets the reservations of other bounds.
    pub(super) fn retain(&self, terms: impl Iterator<Item = QuotaTerms>) {
        let known: HashSet<TermsKey> = terms.map(|terms| terms_key(&terms)).collect();
        self.0.reservations.lock().retain(|terms, _| known.contains(terms));
    }

    /// Returns the bound on log lines about quotas that could not be checked.
    pub(super) fn failures(&self) -> &LogRateLimit {
        &self.0.failures
    }
}

fn terms_key(terms: &QuotaTerms) -> TermsKey {
    (terms.limit, terms.per.name(), terms.window.name())
}
