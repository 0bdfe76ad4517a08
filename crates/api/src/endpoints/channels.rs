//! Endpoints of channels.

use crate::bulk::{BackfillDryRun, BackfillRequest, BulkStarted};
use crate::endpoint::{
    Answer, CHANNEL_TYPE, DOCUMENT_DRY_RUN, DRY_RUN, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, FORCE,
    LIMIT, Method, NO_DRY_RUN, NO_LIMIT, NO_OFFSET, OFFSET, ON_CONFLICT, PROTOCOL, RELOAD, SORT_ORDER,
    SchemaSource, TAG, Tag, sort_by,
};
use crate::entities::channel_guards::{ChannelQuota, ChannelStats, GuardTrialRequest, GuardTrialResult};
use crate::entities::channels::{
    BulkPauseRequest, BulkResumeRequest, ChannelPauseStatus, ChannelResource, ChannelValidationResult,
    PauseRequest, ResumeRequest,
};
use crate::entities::definitions::{ChannelDefinition, ChannelUpdate};
use crate::entities::impact::DefinitionImpact;
use crate::entities::import::{ImportBatch, ImportSummary};
use crate::entities::lifecycle::{RollbackRequest, StatusChange, VersionRequest};
use crate::envelope::{DataEnvelope, ListEnvelope, PageEnvelope, WarnedEnvelope};
use crate::filters::{FilteredList, parameters_of};
use crate::names::LIFECYCLE_STATUSES;
use crate::parameter::ParameterKind::{Moment, SeveralOf};
use crate::parameter::{PathParameter, QueryParameter};
use crate::runs::cron::{OccurrenceDetail, ScheduleExplanation};
use crate::versioned::versioned_endpoints;

const ID: &[PathParameter] = &[PathParameter::new("id", "Id of the channel", "greetings")];

const SORT_BY: QueryParameter =
    sort_by(&["priority", "name", "status", "created_at", "updated_at", "channel_type", "protocol"]);

const STATUS: QueryParameter = QueryParameter::new(
    "status",
    SeveralOf(LIFECYCLE_STATUSES),
    "`active`: only channels that serve, whatever their latest version is; `draft`: only those whose latest version \
     is a draft; `archived`: only those whose latest version is archived and that do not serve",
);

/// Of an export, which has the latest versions.
const LATEST_STATUS: QueryParameter = QueryParameter::new(
    "status",
    SeveralOf(LIFECYCLE_STATUSES),
    "Only channels whose latest version has one of these statuses",
);

const PAGE: &[QueryParameter] = &[STATUS, TAG, CHANNEL_TYPE, PROTOCOL, SORT_BY, SORT_ORDER, LIMIT, OFFSET];

/// The parameters of the list. An export has no pages.
const EXPORT: &[QueryParameter] =
    &[LATEST_STATUS, TAG, CHANNEL_TYPE, PROTOCOL, SORT_BY, SORT_ORDER, NO_LIMIT, NO_OFFSET];

const ONE: SchemaSource = SchemaSource::for_type::<DataEnvelope<ChannelResource>>();
const WARNED: SchemaSource = SchemaSource::for_type::<WarnedEnvelope<ChannelResource>>();
const SELECTED: SchemaSource = SchemaSource::for_type::<ListEnvelope<ChannelPauseStatus>>();
const MANY: SchemaSource = SchemaSource::for_type::<PageEnvelope<ChannelResource>>();

pub(super) const ENDPOINTS: &[Endpoint] = versioned_endpoints! {
    kind: "channel", "channels", "Channel", "Channels";
    tag: Tag::Channels;
    query: parameters_of!(FilteredList::Channels, PAGE);
    types: ChannelDefinition, ChannelUpdate, ChannelResource, ChannelValidationResult;
    created: r#"{"channel_id": "greetings", "name": "greetings", "channel_type": "sync", "protocol": "rest", "methods": ["POST"], "route_pattern": "/greetings", "workflow_id": "greeting"}"#;
    imported: r#"[{"channel_id": "imported", "name": "imported", "channel_type": "sync", "protocol": "rest", "methods": ["POST"], "route_pattern": "/imported", "workflow_id": "greeting"}]"#;
    validated: r#"{"name": "greetings", "channel_type": "sync", "protocol": "rest", "methods": ["POST"], "route_pattern": "/greetings", "workflow_id": "greeting"}"#;
    own: [
        Endpoint::new(
            Method::Post,
            "/api/v1/admin/channels/{id}/pause",
            "pauseChannel",
            Tag::Channels,
            "Pauses a channel, or replaces the reason and the end of its pause",
        )
        .describes(
            "The pause is a state of the served channel: it outlives restarts and other versions. Synchronous calls are \
             refused with `CHANNEL_PAUSED`, asynchronous submissions are accepted and wait, the cursor of a schedule \
             stands still, and no record of a topic runs.",
        )
        .path_parameters(ID)
        .with_query(&[DRY_RUN_PARAMETER])
        .takes::<PauseRequest>(r#"{"reason": "the greeter is down"}"#)
        .answers(&[Answer::json(200, "The channel; with `dry_run=true` the report", &[WARNED, DRY_RUN_REPORT])]),
        Endpoint::new(
            Method::Post,
            "/api/v1/admin/channels/{id}/resume",
            "resumeChannel",
            Tag::Channels,
            "Resumes a channel; one that is not paused stays as it is",
        )
        .path_parameters(ID)
        .with_query(&[DRY_RUN_PARAMETER])
        .may_take::<ResumeRequest>(r#"{"reason": "the greeter is back"}"#)
        .answers(&[Answer::json(200, "The channel; with `dry_run=true` the report", &[WARNED, DRY_RUN_REPORT])]),
        Endpoint::new(
            Method::Post,
            "/api/v1/admin/channels/pause",
            "pauseChannels",
            Tag::Channels,
            "Pauses the active channels with a tag, or those that use a connector",
        )
        .describes("One audit row names all of them.")
        .with_query(&[DRY_RUN_PARAMETER])
        .takes::<BulkPauseRequest>(r#"{"filter": {"tag": "greeting"}, "reason": "the greeter is down"}"#)
        .answers(&[Answer::json(
            200,
            "The paused channels; with `dry_run=true` the report",
            &[SELECTED, DRY_RUN_REPORT],
        )]),
        Endpoint::new(
            Method::Post,
            "/api/v1/admin/channels/resume",
            "resumeChannels",
            Tag::Channels,
            "Resumes the paused ones of the active channels with a tag, or of those that use a connector",
        )
        .describes("One audit row names all of them.")
        .with_query(&[DRY_RUN_PARAMETER])
        .takes::<BulkResumeRequest>(r#"{"filter": {"tag": "greeting"}}"#)
        .answers(&[Answer::json(
            200,
            "The resumed channels; with `dry_run=true` the report",
            &[SELECTED, DRY_RUN_REPORT],
        )]),
        Endpoint::new(
            Method::Get,
            "/api/v1/admin/channels/{id}/stats",
            "getChannelStats",
            Tag::Channels,
            "Shows the guards of a channel and the refusals that this node has counted, by inner reason",
        )
        .describes(
            "A refused credential gets the same answer for every cause; here is the cause. The counts are in the memory of the \
             node that answers and end with it.",
        )
        .path_parameters(ID)
        .answers(&[Answer::json(200, "The counts", &[SchemaSource::for_type::<DataEnvelope<ChannelStats>>()])]),
        Endpoint::new(
            Method::Get,
            "/api/v1/admin/channels/{id}/impact",
            "getChannelImpact",
            Tag::Channels,
            "Lists what a change of a channel would touch: its callers, and what its runs use",
        )
        .describes(
            "The channels have the traffic of the last 24 hours. Only stored runs count, up to 20,000 of each status and origin; \
             `capped` says that there are more.",
        )
        .path_parameters(ID)
        .answers(&[Answer::json(200, "The reach", &[SchemaSource::for_type::<DataEnvelope<DefinitionImpact>>()])]),
        Endpoint::new(
            Method::Get,
            "/api/v1/admin/channels/{id}/quotas",
            "getChannelQuota",
            Tag::Channels,
            "Shows the quota of a channel and its use by each key, over all nodes",
        )
        .path_parameters(ID)
        .answers(&[Answer::json(200, "The quota", &[SchemaSource::for_type::<DataEnvelope<ChannelQuota>>()])]),
        Endpoint::new(
            Method::Post,
            "/api/v1/admin/channels/{id}/test",
            "testChannel",
            Tag::Channels,
            "Tries a request against the guards of a channel: names the guard that would refuse it, and the inner reason",
        )
        .describes(
            "Nothing runs and nothing is taken: no rate is counted, no idempotency key claimed, no permit acquired, no metric \
             written. The channel is the one that this node serves.",
        )
        .path_parameters(ID)
        .with_query(&[NO_DRY_RUN])
        .may_take::<GuardTrialRequest>(
            r#"{"method": "POST", "path": "/api/v1/data/greetings", "headers": {"content-type": "application/json"}, "body": {"name": "Ada"}}"#,
        )
        .answers(&[Answer::json(
            200,
            "The verdict of the guards",
            &[SchemaSource::for_type::<DataEnvelope<GuardTrialResult>>()],
        )])
        .refuses(&[409]),
        Endpoint::new(
            Method::Get,
            "/api/v1/admin/channels/{id}/why",
            "explainSchedule",
            Tag::Channels,
            "Explains why a cron channel ran at an instant, or did not",
        )
        .describes(
            "The answer is from the ledger: the occurrence of the instant, or what kept it from being recorded. A channel \
             without a schedule is refused with 400.",
        )
        .path_parameters(&[PathParameter::new("id", "Id of the channel", "nightly")])
        .with_query(&[QueryParameter::new(
            "at",
            Moment,
            "The instant, or a time before now, such as `-15m`; without it now",
        )])
        .answers(&[Answer::json(
            200,
            "The explanation",
            &[SchemaSource::for_type::<DataEnvelope<ScheduleExplanation>>()],
        )]),
        Endpoint::new(
            Method::Post,
            "/api/v1/admin/channels/{id}/trigger",
            "triggerChannel",
            Tag::Channels,
            "Makes an occurrence of a cron channel that is due now",
        )
        .path_parameters(&[PathParameter::new("id", "Id of the channel", "nightly")])
        .with_query(&[NO_DRY_RUN])
        .answers(&[Answer::json(202, "The occurrence", &[SchemaSource::for_type::<DataEnvelope<OccurrenceDetail>>()])])
        .refuses(&[409]),
        Endpoint::new(
            Method::Post,
            "/api/v1/admin/channels/{id}/backfill",
            "backfillChannel",
            Tag::Channels,
            "Puts the instants of a range that a schedule missed on record, and runs them behind every other occurrence",
        )
        .describes(
            "Missed are the instants without an occurrence and those whose occurrence was skipped; what the row of a misfire \
             sums up counts as missed. Instants that the schedule still plans by itself are left to it. A range that begins \
             before the oldest kept occurrence is refused unless `assume_missed`, one of more than 10,000 instants always. \
             The backfill is a bulk run: it is listed and aborted as one.",
        )
        .path_parameters(&[PathParameter::new("id", "Id of the channel", "nightly")])
        .with_query(&[DRY_RUN_PARAMETER])
        .takes::<BackfillRequest>(r#"{"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}"#)
        .answers(&[
            Answer::json(
                200,
                "With `dry_run`: the instants",
                &[SchemaSource::for_type::<DataEnvelope<BackfillDryRun>>()],
            ),
            Answer::json(202, "The backfill has begun", &[SchemaSource::for_type::<DataEnvelope<BulkStarted>>()]),
        ])
        .refuses(&[409]),
    ]
};
