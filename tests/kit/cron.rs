//! Schedules whose runs call a [`RunWitness`], and the rows that they leave.

use std::collections::HashSet;
use std::io;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::postgres::PostgresDatabase;
use crate::reporting;
use crate::server::ServerCommand;
use crate::witness::RunWitness;

/// Seconds for which a claim of a [`node`] is valid without renewal.
pub const LEASE_SECS: u64 = 5;
/// Seconds between two polls of the ledger by a [`node`].
pub const POLL_SECS: u64 = 1;

/// Returns a node on this database with short leases, not yet started. Its misfire grace is longer than any
/// test, so that no instant is dropped because nodes were down.
pub fn node(launch: ServerCommand, database: &PostgresDatabase) -> ServerCommand {
    let seconds = |value: u64| value.to_string();
    launch
        .env("SVC_STORAGE__URL", database.url())
        .env("SVC_STORAGE__MAX_CONNECTIONS", "10")
        .env("SVC_CRON__CLAIM_LEASE_SECS", &seconds(LEASE_SECS))
        .env("SVC_CRON__HEARTBEAT_INTERVAL_SECS", "1")
        .env("SVC_CRON__POLL_INTERVAL_MS", &seconds(POLL_SECS * 1000))
        .env("SVC_CRON__MISFIRE_GRACE_SECS", "600")
        .env("SVC_CRON__WORKERS", "32")
}

/// Stores channels and the workflow `tell` through a node that does not serve them; the next node does.
///
/// # Errors
/// The node does not start, or refuses a definition.
pub fn store(
    launch: ServerCommand,
    database: &PostgresDatabase,
    witness: &RunWitness,
    channels: &[Value],
) -> io::Result<()> {
    let author = node(launch, database).start()?;
    let mut client = author.client();
    reporting::connect(&mut client, witness)?;
    reporting::serve_workflow(&mut client, "tell", &reporting::report(&json!({"var": "metadata.trigger"})))?;
    for channel in channels {
        client.json("POST", "/api/v1/admin/channels", channel)?.expect_status(201)?;
        let id = channel["channel_id"].as_str().unwrap_or_default();
        let path = format!("/api/v1/admin/channels/{id}/status?reload=defer");
        client.json("PATCH", &path, &json!({"status": "active"}))?.expect_status(200)?;
    }
    Ok(())
}

/// Returns a channel that is due every second and runs `workflow`; `more` is merged into its transport.
pub fn every_second(id: &str, workflow: &str, more: Value) -> Value {
    let mut transport = json!({"schedule": "* * * * * *"});
    if let (Some(transport), Value::Object(more)) = (transport.as_object_mut(), more) {
        transport.extend(more);
    }
    json!({"channel_id": id, "name": id, "channel_type": "async", "protocol": "cron", "workflow_id": workflow,
        "transport_config": transport})
}

/// Returns a `concurrency` block that lets one run at a time hold a key.
pub fn forbid(key: &str) -> Value {
    json!({"concurrency": {"policy": "forbid", "key": key}})
}

/// An occurrence as the database records it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedOccurrence {
    /// The occurrence id.
    pub id: String,
    /// The channel name.
    pub channel: String,
    /// The scheduled instant, in seconds since 1970.
    pub scheduled_for: i64,
    pub status: String,
    /// The number of attempts.
    pub attempt: i64,
    /// The recorded error message.
    pub message: Option<String>,
}

impl RecordedOccurrence {
    /// Returns `true` for a status that is final.
    pub fn is_terminal(&self) -> bool {
        !matches!(self.status.as_str(), "pending" | "claimed" | "running")
    }
}

/// Returns the instants of a window, in seconds since 1970, in which a channel that is due every second has no row.
pub fn missing_instants(
    rows: &[&RecordedOccurrence],
    channels: &[String],
    window: &RangeInclusive<i64>,
) -> Vec<String> {
    let there: HashSet<(&str, i64)> =
        rows.iter().map(|row| (row.channel.as_str(), row.scheduled_for)).collect();
    let due =
        channels.iter().flat_map(|channel| window.clone().map(move |instant| (channel.as_str(), instant)));
    due.filter(|due| !there.contains(due))
        .map(|(channel, instant)| format!("{channel} at {instant}"))
        .collect()
}

/// Returns the instants with several rows.
pub fn duplicate_instants(rows: &[RecordedOccurrence]) -> Vec<String> {
    let mut instants = HashSet::new();
    let again = rows.iter().filter(|row| !instants.insert((row.channel.as_str(), row.scheduled_for)));
    again.map(|row| format!("{} at {}", row.channel, row.scheduled_for)).collect()
}

/// Returns `true` once so many schedules have passed every instant of the window and its rows are final. A lost instant
/// does not block: a judge finds it.
///
/// # Errors
/// The message of the database.
pub fn is_settled(
    database: &PostgresDatabase,
    window: &RangeInclusive<i64>,
    channels: usize,
) -> Result<bool, String> {
    let sql = format!(
        "SELECT count(*) FROM cron_schedule_state WHERE extract(epoch FROM next_fire_at) > {}",
        window.end()
    );
    let passed = database.rows(&sql)?;
    let passed = passed.first().and_then(|row| row.first().cloned().flatten());
    let open = |row: &RecordedOccurrence| window.contains(&row.scheduled_for) && !row.is_terminal();
    Ok(passed.and_then(|count| count.parse().ok()) == Some(channels) && !rows(database)?.iter().any(open))
}

/// Reads every occurrence, the oldest instant first.
///
/// # Errors
/// The message of the database.
pub fn rows(database: &PostgresDatabase) -> Result<Vec<RecordedOccurrence>, String> {
    let sql =
        "SELECT id, channel_id, extract(epoch FROM scheduled_for)::bigint, status, attempt, error_message
        FROM cron_occurrences ORDER BY scheduled_for, channel_id";
    let number =
        |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let row = |row: Vec<Option<String>>| match row.as_slice() {
        [id, channel, scheduled_for, status, attempt, message] => Ok(RecordedOccurrence {
            id: text(id),
            channel: text(channel),
            scheduled_for: number(scheduled_for),
            status: text(status),
            attempt: number(attempt),
            message: message.clone(),
        }),
        other => Err(format!("a row of {} columns", other.len())),
    };
    database.rows(sql)?.into_iter().map(row).collect()
}
