//! `package apply`: brings a server to the state of a package.
//!
//! Every step can be repeated without harm, so a run that ended early is finished by the next. A run claims the package
//! by the receipt that it writes first: that of its version as `staged`, or, in a rollback, that of the current version
//! anew. The receipts are read again before each step: a run that another one has taken over stops. At the end
//! everything is read back and compared, before the receipt becomes `applied` and after it, and a mixture is put right.
//! The current version is compared too: an apply of another one that ended early has left a mixture below its receipt.

mod activation;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;
use svc_api::{ImportedItem, Inventory, PackageDetail, Receipt, ReceiptRequest};
use svc_model::{EntityKind, ReceiptState};
use svc_project::{IMPORT_ORDER, PackageArtifact, PackageItem};

use super::confirmation::confirm_deletion;
use super::degradation::find_degraded;
use super::diff::find_changed;
use super::error::{PackageError, write_package_error};
use super::plugins::{activate_plugins, import_plugins, wait_for_plugins};
use super::progress::StepProgress;
use super::prune::{StaleEntity, delete_stale, find_stale};
use super::remote::PackageServer;
use super::state::PackageState;
use super::{ApplyArgs, PackageFormat, Streams, progress};
use crate::exit::{EXIT_FAILURE, EXIT_OK};

/// Number of times that a run brings everything about: a run that it took over from may have had a request under way,
/// and stops after it.
const ATTEMPTS: u32 = 2;

/// The result of an apply.
#[derive(Debug, Default, Serialize)]
pub(super) struct ApplyReport {
    package: String,
    version: String,
    content_hash: String,
    server: String,
    /// `applied`, or `unchanged` if the server held the version already.
    result: &'static str,
    /// The state that an earlier run had left, or the version that this one replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Number of items by the action of the import.
    imported: BTreeMap<String, usize>,
    activated: usize,
    pruned: Vec<StaleEntity>,
    kept: Vec<String>,
    /// The definitions of the package that the server could not load.
    pub(super) degraded: Vec<String>,
}

/// Runs `package apply`.
pub(super) fn apply(args: &ApplyArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(artifact) = streams.read_artifact(&args.file)? else { return Ok(EXIT_FAILURE) };
    if !report_masked(&artifact, streams)? {
        return Ok(EXIT_FAILURE);
    }
    let context = format!("package={}@{}", artifact.name, artifact.version);
    let Some(server) = streams.connect(&args.remote.server, &context)? else { return Ok(EXIT_FAILURE) };
    let &ApplyArgs { replace_canary, prune, yes, allow_degraded, .. } = args;
    let choices = ApplyChoices { replace_canary, prune, yes, allow_degraded };
    let (server, artifact, file) = (&server, &artifact, args.file.as_path());
    let run = ApplyRun { server, artifact, file, choices, progress: progress() };
    let report = match streams.run_verb(run.perform())? {
        Ok(report) => report,
        Err(error) => {
            write_package_error(&error, streams.err)?;
            if let Some(note) = error.note() {
                writeln!(streams.err, "note: {note}")?;
            }
            return Ok(EXIT_FAILURE);
        }
    };
    for degraded in &report.degraded {
        writeln!(streams.err, "warning: {degraded}")?;
    }
    for kept in &report.kept {
        writeln!(streams.err, "warning: not deleted: {kept}")?;
    }
    match args.remote.format {
        PackageFormat::Json => streams.write_json(&report)?,
        PackageFormat::Text => write_text(&report, streams)?,
    }
    Ok(EXIT_OK)
}

/// Reports every mask of a read in an item; returns `false` if there is one.
fn report_masked(artifact: &PackageArtifact, streams: &mut Streams<'_>) -> io::Result<bool> {
    let masked = artifact.masked_values();
    for (item, error) in &masked {
        writeln!(streams.err, "Error: {} '{}': {}: {}", item.kind, item.key, error.path, error.message)?;
    }
    Ok(masked.is_empty())
}

fn write_text(report: &ApplyReport, streams: &mut Streams<'_>) -> io::Result<()> {
    let ApplyReport { package, version, server, .. } = report;
    if let Some(note) = &report.note {
        writeln!(streams.out, "{note}")?;
    }
    for entity in &report.pruned {
        writeln!(streams.out, "deleted {entity}")?;
    }
    match report.result {
        "unchanged" => {
            writeln!(streams.out, "{package}@{version} is applied to {server} already; nothing was done")
        }
        _ => {
            let counts: Vec<_> = report
                .imported
                .iter()
                .map(|(action, count)| format!("{count} {}", action.replace('_', " ")))
                .collect();
            let counts = if counts.is_empty() { "no item".to_owned() } else { counts.join(", ") };
            writeln!(
                streams.out,
                "{package}@{version} applied to {server}: {counts}; {} activated",
                report.activated
            )
        }
    }
}

/// The choices of an apply.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ApplyChoices {
    /// A canary takes the place of another one.
    pub(super) replace_canary: bool,
    /// Parts of earlier versions that this one does not have are deleted.
    pub(super) prune: bool,
    /// It is deleted without a question.
    pub(super) yes: bool,
    /// Definitions that the server cannot load are no failure.
    pub(super) allow_degraded: bool,
}

/// One run of an apply.
pub(super) struct ApplyRun<'a> {
    pub(super) server: &'a PackageServer,
    pub(super) artifact: &'a PackageArtifact,
    /// The file of the package, with that of its signature next to it.
    pub(super) file: &'a Path,
    pub(super) choices: ApplyChoices,
    pub(super) progress: StepProgress,
}

impl ApplyRun<'_> {
    /// Brings the server to the state of the package.
    pub(super) async fn perform(&self) -> Result<ApplyReport, PackageError> {
        let detail = self.server.package(&self.artifact.name).await?;
        let state = PackageState::from_detail(self.artifact, detail.as_ref());
        if let Some(refusal) = state.refusal(self.artifact) {
            return Err(PackageError::Refused(refusal));
        }
        if let Some(problem) = self.server.version_problem(&self.artifact.requires).await? {
            return Err(PackageError::Refused(format!("package '{}' {problem}", self.artifact.name)));
        }
        self.server.present_signature(self.file).await?;
        let announced = self.announce_prune(detail.as_ref()).await?;
        let mut report = self.empty_report(&state);
        if state == PackageState::Current {
            let is_restored = self.restore(detail.as_ref(), &mut report).await?;
            if !is_restored {
                let status = self.server.engine_status().await?;
                report.degraded = find_degraded(self.server, self.artifact, &status).await?;
                self.refuse_degraded(&mut report)?;
            }
            report.pruned = self.prune(&announced, detail.as_ref(), &mut report.kept).await?;
            let is_unchanged = !is_restored && report.pruned.is_empty();
            report.result = if is_unchanged { "unchanged" } else { "applied" };
            return Ok(report);
        }
        let claim = self.claim(detail.as_ref()).await?;
        self.complete(&claim, &mut report).await?;
        self.check_claim(&claim).await?;
        report.pruned = self.prune(&announced, detail.as_ref(), &mut report.kept).await?;
        self.check_claim(&claim).await?;
        self.put(ReceiptState::Applied).await?;
        self.settle(&mut report).await?;
        Ok(report)
    }

    /// Brings the server back to the current version if it holds something else: what an apply of another version left
    /// that did not end, or changes by hand. Returns whether it did.
    async fn restore(
        &self,
        detail: Option<&PackageDetail>,
        report: &mut ApplyReport,
    ) -> Result<bool, PackageError> {
        let changed = match self.verify().await {
            Ok(()) => return Ok(false),
            Err(PackageError::Changed(changed)) => changed,
            Err(error) => return Err(error),
        };
        report.note = Some(format!(
            "version {} is current, but the server differs from it ({}); this run restores it",
            self.artifact.version,
            changed.join(", ")
        ));
        let claim = self.claim(detail).await?;
        self.complete(&claim, report).await?;
        self.check_claim(&claim).await?;
        Ok(true)
    }

    /// Checks once more after the receipt: another run may have claimed the package while the receipt was under way, and
    /// stops when it sees the receipt.
    async fn settle(&self, report: &mut ApplyReport) -> Result<(), PackageError> {
        let receipts = self.receipts().await?;
        let current = receipts.iter().find(|receipt| receipt.state == ReceiptState::Applied);
        if let Some(other) = current.filter(|current| current.version != self.artifact.version) {
            return Err(self.overtaken_error(other));
        }
        match self.verify().await {
            Ok(()) => Ok(()),
            Err(_) => self.complete(&receipts, report).await,
        }
    }

    /// Brings everything about until the server holds what the package says.
    async fn complete(&self, claim: &[Receipt], report: &mut ApplyReport) -> Result<(), PackageError> {
        let mut attempt = 1;
        loop {
            let error = match self.bring_about(claim, report).await {
                Ok(()) => match self.verify().await {
                    Ok(()) => return self.refuse_degraded(report),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            if attempt == ATTEMPTS || !error.is_interference() {
                return Err(error);
            }
            self.check_claim(claim).await?;
            attempt += 1;
        }
    }

    /// Stores, activates and loads everything in the package.
    async fn bring_about(&self, claim: &[Receipt], report: &mut ApplyReport) -> Result<(), PackageError> {
        (report.imported, report.activated) = (BTreeMap::new(), 0);
        self.check_claim(claim).await?;
        let late = self.bring_plugins(report).await?;
        for kind in IMPORT_ORDER {
            self.check_claim(claim).await?;
            self.import(kind, report).await?;
        }
        for kind in [EntityKind::Workflow, EntityKind::Channel] {
            self.activate(kind, claim, report).await?;
        }
        self.check_claim(claim).await?;
        self.reload(report).await?;
        report.degraded.extend(late);
        Ok(())
    }

    /// Makes the plugins of the package serve, and returns those that take too long.
    async fn bring_plugins(&self, report: &mut ApplyReport) -> Result<Vec<String>, PackageError> {
        let plugins = &self.artifact.plugins;
        for action in import_plugins(self.server, plugins, &self.progress).await? {
            *report.imported.entry(action).or_default() += 1;
        }
        report.activated += activate_plugins(self.server, plugins).await?;
        wait_for_plugins(self.server, plugins, &self.progress).await
    }

    /// Fails if the server could not load a part of the package, unless that is accepted.
    fn refuse_degraded(&self, report: &mut ApplyReport) -> Result<(), PackageError> {
        if report.degraded.is_empty() || self.choices.allow_degraded {
            return Ok(());
        }
        Err(PackageError::Degraded(std::mem::take(&mut report.degraded)))
    }

    fn empty_report(&self, state: &PackageState) -> ApplyReport {
        let note = match state {
            PackageState::Unfinished { principal, since, .. } => Some(format!(
                "an earlier apply of this version by {principal} did not end (last seen {since}); this one finishes it"
            )),
            PackageState::Former { current } => {
                Some(format!("version {current} is current; going back to version {}", self.artifact.version))
            }
            _ => None,
        };
        ApplyReport {
            package: self.artifact.name.clone(),
            version: self.artifact.version.clone(),
            content_hash: self.artifact.content_hash.clone(),
            server: self.server.address().to_owned(),
            result: "applied",
            note,
            ..ApplyReport::default()
        }
    }

    /// Claims the package by a receipt, and returns all receipts as they are then. A version that was applied before
    /// cannot be staged again: it claims by writing the receipt of the current version anew.
    async fn claim(&self, detail: Option<&PackageDetail>) -> Result<Vec<Receipt>, PackageError> {
        let known = detail.map_or(&[][..], |detail| &detail.versions);
        let is_applied = known
            .iter()
            .any(|known| known.version == self.artifact.version && known.state == ReceiptState::Applied);
        let current = detail.and_then(|detail| detail.current.as_ref()).filter(|_| is_applied);
        let claiming = match current {
            Some(current) if current.version == self.artifact.version => self.put(current.state).await?,
            Some(current) => self.touch(current).await?,
            None => self.put(ReceiptState::Staged).await?,
        };
        let receipts = self.receipts().await?;
        // Of two that begin at once, the later one goes on.
        let is_later = |receipt: &&Receipt| {
            let came_after =
                (receipt.updated_at, &receipt.version) > (claiming.updated_at, &claiming.version);
            let is_same = receipt.version == claiming.version;
            if is_same { **receipt != claiming } else { came_after && !known.contains(receipt) }
        };
        match receipts.iter().find(is_later) {
            Some(receipt) => Err(self.overtaken_error(receipt)),
            None => Ok(receipts),
        }
    }

    async fn receipts(&self) -> Result<Vec<Receipt>, PackageError> {
        let detail = self.server.package(&self.artifact.name).await?;
        Ok(detail.map(|detail| detail.versions).unwrap_or_default())
    }

    fn overtaken_error(&self, by: &Receipt) -> PackageError {
        PackageError::Overtaken(format!(
            "another apply of package '{}' has taken over (by {}, who wrote the receipt of version {}); this one stopped",
            self.artifact.name, by.principal, by.version
        ))
    }

    async fn put(&self, state: ReceiptState) -> Result<Receipt, PackageError> {
        self.store(ReceiptRequest {
            version: self.artifact.version.clone(),
            content_hash: self.artifact.content_hash.clone(),
            state,
            inventory: Some(Inventory::from(self.artifact.inventory())),
        })
        .await
    }

    /// Writes the receipt of the current version anew; what it says stays.
    async fn touch(&self, current: &Receipt) -> Result<Receipt, PackageError> {
        let (version, content_hash) = (current.version.clone(), current.content_hash.clone());
        self.store(ReceiptRequest { version, content_hash, state: current.state, inventory: None }).await
    }

    async fn store(&self, receipt: ReceiptRequest) -> Result<Receipt, PackageError> {
        let (version, state) = (&receipt.version, receipt.state.name());
        let step = format!("the receipt of version '{version}' was not stored as {state}");
        self.server.put_receipt(&self.artifact.name, &receipt).await.map_err(PackageError::step(step))
    }

    /// Checks that no other run has written a receipt of this package since.
    async fn check_claim(&self, claim: &[Receipt]) -> Result<(), PackageError> {
        match self.receipts().await?.iter().find(|receipt| !claim.contains(receipt)) {
            Some(newer) => Err(self.overtaken_error(newer)),
            None => Ok(()),
        }
    }

    async fn import(&self, kind: EntityKind, report: &mut ApplyReport) -> Result<(), PackageError> {
        let items: Vec<&PackageItem> = self.artifact.items(kind).collect();
        if items.is_empty() {
            return Ok(());
        }
        let step = format!("importing {}", kind.plural());
        let advance = |done| self.progress.advance(&step, done, items.len());
        let failed = || PackageError::step(format!("{step} failed"));
        let mut imported = self.server.import(kind, &items, false, advance).await.map_err(failed())?;
        let has_changes = |results: &[ImportedItem]| results.iter().any(|item| item.action != "unchanged");
        let mut has_moved = has_changes(&imported.results);
        while has_moved && !imported.errors.is_empty() {
            // What is stored now may have left the name that a refused channel takes.
            let again = self.server.import(kind, &items, false, |_| {}).await.map_err(failed())?;
            let was_refused = |index: usize| imported.errors.iter().any(|refused| refused.index == index);
            let stored: Vec<_> = again.results.into_iter().filter(|item| was_refused(item.index)).collect();
            has_moved = has_changes(&stored);
            imported.results.extend(stored);
            imported.errors = again.errors;
        }
        let refused = imported.errors.iter().map(|refused| {
            let key = items.get(refused.index).map(|item| item.key.as_str()).unwrap_or_default();
            format!("{kind} '{key}': {}", refused.error)
        });
        let refused: Vec<_> = refused.collect();
        if !refused.is_empty() {
            return Err(PackageError::Items(refused));
        }
        for item in imported.results {
            *report.imported.entry(item.action).or_default() += 1;
        }
        let noun = if items.len() == 1 { kind.name() } else { kind.plural() };
        self.progress.finish(format_args!("imported {} {noun}", items.len()));
        Ok(())
    }

    async fn reload(&self, report: &mut ApplyReport) -> Result<(), PackageError> {
        let answer = self.server.reload().await.map_err(PackageError::step("the engine was not reloaded"))?;
        self.progress.finish(format_args!("engine reloaded"));
        report.degraded = find_degraded(self.server, self.artifact, &answer).await?;
        Ok(())
    }

    /// Prints what `--prune` will delete before anything is done, and asks for confirmation.
    async fn announce_prune(&self, detail: Option<&PackageDetail>) -> Result<Vec<StaleEntity>, PackageError> {
        if !self.choices.prune {
            return Ok(Vec::new());
        }
        let stale = find_stale(self.server, self.artifact, detail).await?;
        confirm_deletion(&stale, self.choices.yes)?;
        Ok(stale)
    }

    /// Deletes what was announced and is still stale.
    async fn prune(
        &self,
        announced: &[StaleEntity],
        detail: Option<&PackageDetail>,
        kept: &mut Vec<String>,
    ) -> Result<Vec<StaleEntity>, PackageError> {
        if announced.is_empty() {
            return Ok(Vec::new());
        }
        let mut stale = find_stale(self.server, self.artifact, detail).await?;
        stale.retain(|entity| announced.contains(entity));
        let needed = delete_stale(self.server, &stale).await?;
        kept.extend(needed.iter().map(|(entity, why)| format!("{entity}: {why}")));
        let is_deleted = |entity: &StaleEntity| needed.iter().all(|(kept, _)| kept != entity);
        Ok(stale.into_iter().filter(is_deleted).collect())
    }

    /// Checks that the server holds what the package says.
    async fn verify(&self) -> Result<(), PackageError> {
        let changed = find_changed(self.server, self.artifact).await?;
        if changed.is_empty() { Ok(()) } else { Err(PackageError::Changed(changed)) }
    }
}
