//! Schemas of members that hold one of a closed set of names, and of lists of instants.

use svc_model::{ChannelType, ConsumerKeyKind, LifecycleStatus, Protocol};
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat};
use utoipa::openapi::{RefOr, Schema, Type};

fn one_of<'n>(names: impl IntoIterator<Item = &'n str>, description: &str) -> RefOr<Schema> {
    let names = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(names))
        .description(Some(description));
    names.into()
}

/// The statuses of a version.
pub(crate) const LIFECYCLE_STATUSES: &[&str] =
    &[LifecycleStatus::Draft.name(), LifecycleStatus::Active.name(), LifecycleStatus::Archived.name()];

/// The statuses of a run.
pub(crate) const TRACE_STATUSES: &[&str] =
    &["pending", "scheduled", "running", "retrying", "completed", "failed", "cancelled"];

/// The origins of a run.
pub(crate) const TRACE_MODES: &[&str] = &["sync", "async", "kafka", "cron"];

/// The statuses of an occurrence.
pub(crate) const OCCURRENCE_STATUSES: &[&str] = &[
    "pending",
    "claimed",
    "running",
    "completed",
    "failed",
    "skipped_misfire",
    "skipped_singleton",
    "cancelled",
];

/// The status of a version.
pub(crate) fn lifecycle_status() -> RefOr<Schema> {
    one_of(LIFECYCLE_STATUSES.iter().copied(), "The lifecycle status of the version.")
}

/// The status that a version is to have.
pub(crate) fn target_status() -> RefOr<Schema> {
    let all = [LifecycleStatus::Active, LifecycleStatus::Archived];
    one_of(all.map(LifecycleStatus::name), "`active` serves the draft, `archived` takes it out of service.")
}

/// The delivery mode of a channel.
pub(crate) fn channel_type() -> RefOr<Schema> {
    one_of(ChannelType::NAMES.iter().copied(), "The delivery mode.")
}

/// The transport of a channel.
pub(crate) fn protocol() -> RefOr<Schema> {
    one_of(Protocol::NAMES.iter().copied(), "The transport that brings messages.")
}

/// The version of a workflow that runs again.
pub(crate) fn rerun_version() -> RefOr<Schema> {
    let named = one_of(["same", "current"], "`same` is the version that ran, `current` the one that serves.");
    let number = ObjectBuilder::new().schema_type(Type::Integer).description(Some("That version."));
    OneOfBuilder::new().item(named).item(number).description(Some("The version of the workflow.")).into()
}

/// The result of a step of an execution trace.
pub(crate) fn step_result() -> RefOr<Schema> {
    one_of(["executed", "skipped", "failed"], "The result of the step.")
}

/// The state of a component.
pub(crate) fn component_state() -> RefOr<Schema> {
    one_of(["ok", "degraded", "error"], "The state of the component.")
}

/// The states of the packages that a node applies at its start.
pub(crate) fn packages_state() -> RefOr<Schema> {
    one_of(["applying", "ok"], "The state of the packages of the node.")
}

/// The kinds of rows of a bulk run.
pub(crate) fn bulk_kind() -> RefOr<Schema> {
    one_of(["dead_letters", "occurrences", "traces"], "The kind of the rows.")
}

/// The actions of a bulk run.
pub(crate) fn bulk_action() -> RefOr<Schema> {
    let actions = ["requeue", "purge", "retry", "cancel", "rerun", "backfill"];
    one_of(actions, "The action on each row; `backfill` has a request of its own.")
}

/// The kind of a key of a consumer.
pub(crate) fn consumer_key_kind() -> RefOr<Schema> {
    let description = "`api_key`: requests carry the key; `hmac`: requests are signed with it.";
    one_of(ConsumerKeyKind::NAMES, description)
}

/// The length of the window of a quota.
pub(crate) fn quota_period() -> RefOr<Schema> {
    one_of(["minute", "hour", "day", "month"], "The length of the window.")
}

/// The place of the window of a quota.
pub(crate) fn quota_window() -> RefOr<Schema> {
    let description = "`calendar`, the default, begins with the period, in UTC; `sliding` ends now.";
    one_of(["calendar", "sliding"], description)
}

/// The states of a bulk run.
pub(crate) fn bulk_state() -> RefOr<Schema> {
    one_of(
        ["running", "aborting", "aborted", "completed", "failed"],
        "`aborting` until the driver of the run has noticed.",
    )
}

/// The states of an endpoint of webhooks.
pub(crate) const WEBHOOK_STATES: &[&str] = &["unverified", "enabled", "disabled"];

/// The states of a delivery of webhooks.
pub(crate) const WEBHOOK_DELIVERY_STATES: &[&str] = &["pending", "delivered", "failed"];

/// The state of an endpoint of webhooks.
pub(crate) fn webhook_state() -> RefOr<Schema> {
    one_of(WEBHOOK_STATES.iter().copied(), "`unverified` until it has echoed its challenge.")
}

/// The state of a delivery of webhooks.
pub(crate) fn webhook_delivery_state() -> RefOr<Schema> {
    one_of(WEBHOOK_DELIVERY_STATES.iter().copied(), "The state of the delivery; `failed` is a dead letter.")
}

/// The next instants of a schedule.
pub(crate) fn next_instants() -> RefOr<Schema> {
    let instant = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    ArrayBuilder::new().items(instant).description(Some("The next instants of the schedule.")).into()
}
