//! Boot packages: the node applies the packages of its settings (`[packages]`) at its start, by the steps of
//! `package apply`, and is not ready until they serve.
//!
//! One node of those that share a database applies, under a lease; the others wait until what it stored serves on them.
//! A version that is newer than a package stays as it is.

mod local_api;
mod packages;

use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use slog::{info, warn};
use svc_store::StoreError;
use svc_toolkit::{BootFailure, BootNode, BootPackage, BootState};
use tokio::time::{sleep, timeout};

use self::local_api::LocalApi;
pub(crate) use self::packages::BootPackages;
use crate::error::ServiceStartError;
use crate::http::Principal;
use crate::state::AppState;

/// Name of the lease under which one node applies.
const LEASE: &str = "boot_packages";
/// Time for which the lease is taken.
const LEASE_TIME: Duration = Duration::from_secs(30);
/// Time between two renewals of the lease.
const RENEW_EVERY: Duration = Duration::from_secs(10);
/// Time between two looks at what another node does, and before another attempt.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time between two looks at the epoch that this node serves.
const EPOCH_EVERY: Duration = Duration::from_millis(50);
/// Author of the changes in the audit log.
const AUTHOR: &str = "system:boot";
/// Name of the program in the audit log.
const PROGRAM: &str = "svc-server";

/// Applies the packages of a node and returns once they serve on it.
///
/// # Errors
/// The reason for which they do not serve.
pub(crate) async fn apply(state: &web::Data<AppState>) -> Result<(), ServiceStartError> {
    let packages = &state.process.packages;
    if packages.are_served() {
        return Ok(());
    }
    let limit = state.config.packages.apply_timeout_secs;
    let (api, requests) = LocalApi::new();
    let listed = packages.list();
    let boot = Boot { state, node: BootNode::new(Arc::new(api), PROGRAM), packages: &listed };
    let author = Principal::of_process(AUTHOR);
    let applied = tokio::select! {
        applied = timeout(Duration::from_secs(limit), boot.run()) => applied,
        () = local_api::serve(state, &author, requests) => {
            return Err(ServiceStartError::Packages("the admin API of this process has ended".to_owned()));
        }
    };
    match applied {
        Ok(Ok(())) => {
            packages.mark_served();
            Ok(())
        }
        Ok(Err(failure)) => Err(ServiceStartError::Packages(failure.message)),
        Err(_) => Err(ServiceStartError::Packages(format!(
            "the packages did not serve within {limit} s (packages.apply_timeout_secs)"
        ))),
    }
}

/// The result of a pass over the packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Nothing was due.
    Settled,
    /// This node has applied what was due, and serves it.
    Applied,
    /// Another node applies.
    Waiting,
}

/// The applies of a start.
struct Boot<'a> {
    state: &'a web::Data<AppState>,
    node: BootNode,
    packages: &'a [BootPackage],
}

impl Boot<'_> {
    /// Returns once every package serves, or something newer in its place.
    async fn run(&self) -> Result<(), BootFailure> {
        let mut reported = String::new();
        loop {
            let reason = match self.settle().await {
                Ok(true) => return Ok(()),
                Ok(false) => "another node applies them".to_owned(),
                Err(failure) if failure.is_transient => failure.message,
                Err(failure) => return Err(failure),
            };
            // Once for each reason, which may last for long.
            if reported != reason {
                warn!(self.state.log, "the packages are not applied yet"; "reason" => &reason);
                reported = reason;
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Returns `true` if every package serves, `false` if another node has to be waited for.
    async fn settle(&self) -> Result<bool, BootFailure> {
        match self.make_pass().await? {
            Pass::Waiting => return Ok(false),
            Pass::Settled => self.wait_for_epoch().await?,
            Pass::Applied => {}
        }
        self.check_loaded().await.map(|()| true)
    }

    async fn make_pass(&self) -> Result<Pass, BootFailure> {
        if self.find_due().await?.is_empty() {
            return Ok(Pass::Settled);
        }
        if !self.acquire().await.map_err(|error| to_failure(&error))? {
            return Ok(Pass::Waiting);
        }
        // The node that had the lease may have applied some since.
        let due = self.find_due().await?;
        for package in &due {
            // Each apply may be too short for a renewal, and all of them longer than the lease.
            if !self.acquire().await.map_err(|error| to_failure(&error))? {
                return Ok(Pass::Waiting);
            }
            self.apply(package).await?;
        }
        Ok(if due.is_empty() { Pass::Settled } else { Pass::Applied })
    }

    /// Returns the packages that must be applied, in their order.
    async fn find_due(&self) -> Result<Vec<&BootPackage>, BootFailure> {
        let mut due = Vec::new();
        for package in self.packages {
            if package.state(&self.node).await? == BootState::Due {
                due.push(package);
            }
        }
        Ok(due)
    }

    /// Applies a package while the lease is renewed.
    async fn apply(&self, package: &BootPackage) -> Result<(), BootFailure> {
        let allow_degraded = self.state.config.packages.allow_degraded;
        let label = package.label();
        info!(self.state.log, "applying a package"; "package" => &label);
        let applied = tokio::select! {
            applied = package.apply(&self.node, allow_degraded) => applied,
            failure = self.keep_lease() => Err(failure),
        };
        applied.map_err(|failure| name_package(&label, failure))?;
        info!(self.state.log, "package applied"; "package" => &label);
        Ok(())
    }

    /// Takes or renews the lease. Returns `false` while another node has it.
    async fn acquire(&self) -> Result<bool, StoreError> {
        self.state.store.job_leases().acquire(LEASE, &self.state.work.nodes.id(), LEASE_TIME).await
    }

    /// Renews the lease until another node has it.
    async fn keep_lease(&self) -> BootFailure {
        loop {
            sleep(RENEW_EVERY).await;
            match self.acquire().await {
                Ok(true) => {}
                Ok(false) => {
                    let message = "another node has taken over the applies".to_owned();
                    return BootFailure { message, is_transient: true };
                }
                // The steps of the apply fail by themselves, and another node must take the lease first.
                Err(error) => {
                    warn!(self.state.log, "the lease of the packages was not renewed"; "error" => %error);
                }
            }
        }
    }

    /// Waits until this node serves what the database has now.
    async fn wait_for_epoch(&self) -> Result<(), BootFailure> {
        let epoch = self.state.store.epoch().current().await.map_err(|error| to_failure(&error))?;
        while self.state.serving.propagation.epoch.status().applied < epoch {
            sleep(EPOCH_EVERY).await;
        }
        Ok(())
    }

    /// Fails if this node could not load a definition of a package that serves, unless that is accepted.
    async fn check_loaded(&self) -> Result<(), BootFailure> {
        let log = &self.state.log;
        for package in self.packages {
            let label = package.label();
            if let BootState::Superseded { by } = package.state(&self.node).await? {
                info!(log, "a package is superseded and left alone"; "package" => label, "by" => by);
                continue;
            }
            let degraded = package.find_degraded(&self.node).await?;
            if degraded.is_empty() {
                continue;
            }
            let message = format!("the node could not load: {}", degraded.join("; "));
            if !self.state.config.packages.allow_degraded {
                let remedy = "give it what is missing, or set packages.allow_degraded";
                let message = format!("{message}; {remedy}");
                return Err(name_package(&label, BootFailure { message, is_transient: false }));
            }
            warn!(log, "a package is degraded"; "package" => label, "reason" => message);
        }
        Ok(())
    }
}

/// Names the package of a failure.
fn name_package(label: &str, failure: BootFailure) -> BootFailure {
    BootFailure { message: format!("{label}: {}", failure.message), ..failure }
}

/// Returns the failure for an error of the database, which a later attempt may not meet.
fn to_failure(error: &StoreError) -> BootFailure {
    BootFailure { message: error.to_string(), is_transient: true }
}
