//! The table of what runs in the process: every node of the supervision tree and every task outside it.
//!
//! Each [part](crate::assembly::parts) declares the rows of its actor crate: for each kind of node its place, its thread,
//! its needs, the time it gets to drain, and the event that ends it; and for each kind of thread or task that is no node,
//! its place in the source and in the process. A part takes the paths, needs and threads of the nodes that it starts from its rows;
//! crates specify the nodes inside of their groups themselves. This table is made from the parts. Tests compare every
//! node of a running service with its row, and the tasks with the source. What ends a node or a task is for readers
//! only.
//!
//! An essential actor that exhausts its restart budget ends the tree, and with it the process: without the
//! store, the lease or the registry the service can keep no promise. A channel that exhausts its budget is
//! quarantined: its requests are refused with the reason until it changes, the configuration is reloaded, or
//! an operator orders a restart. If a schedule exhausts its budget, its channel is quarantined.
//!
//! A node is drained before the nodes it needs. The shutdown of the process therefore has this order: the
//! edge waits for its requests while the workers finish their jobs, schedules claim nothing more and consumers
//! leave their groups; the channels end; the recorder writes its queues; the store closes. One deadline bounds all of it
//! (`shutdown.rs`).

use crate::assembly::parts::{
    backtests, bulk, channels, cluster, connectors, console, credentials, cron, host, housekeeping, kafka,
    registry, store, traces, webhooks,
};
use crate::assembly::row::{EndedBy, RunsOn, ServicePart, task};

#[cfg(test)]
mod tests;

/// Every part of the service.
#[cfg_attr(not(test), expect(dead_code, reason = "compared with a running service and with the source"))]
pub(crate) static PARTS: [&ServicePart; 16] = [
    &store::PART,
    &credentials::PART,
    &cluster::PART,
    &traces::PART,
    &connectors::PART,
    &kafka::PART,
    &registry::PART,
    &channels::PART,
    &cron::PART,
    &bulk::PART,
    &backtests::PART,
    &webhooks::PART,
    &console::PART,
    &housekeeping::PART,
    &host::PART,
    &PROGRAM,
];

/// The threads and tasks of the program, of the supervision kernel and of the libraries.
static PROGRAM: ServicePart = ServicePart {
    nodes: &[],
    tasks: &[
        task(
            "runner of each supervised actor",
            "actors/supervision",
            3,
            RunsOn::OwnThread,
            EndedBy::TreeShutdown,
        ),
        task(
            "supervisor on an actor thread",
            "actors/supervision",
            1,
            RunsOn::OwnThread,
            EndedBy::ProcessExit,
        ),
        task("threads of the shared i/o runtime", "src", 0, RunsOn::IoRuntime, EndedBy::OwnerDrop),
        task("writer of the log", "src", 0, RunsOn::OwnThread, EndedBy::OwnerDrop),
        task("last write of the log before a forced exit", "src", 1, RunsOn::OwnThread, EndedBy::ProcessExit),
        task("watch of file descriptors, each second", "src", 1, RunsOn::IoRuntime, EndedBy::OwnerDrop),
        task("watch of the certificate files, each second", "src", 1, RunsOn::IoRuntime, EndedBy::OwnerDrop),
        task("watchdog of the shutdown deadline", "src", 1, RunsOn::OwnThread, EndedBy::ProcessExit),
        task("heartbeat for the service manager", "src", 1, RunsOn::OwnThread, EndedBy::OwnerDrop),
        task("backtest of a workflow", "src", 1, RunsOn::OwnThread, EndedBy::ProcessExit),
        task("watch of a project directory", "src", 1, RunsOn::OwnThread, EndedBy::OwnerDrop),
        task("HTTP server", "src", 1, RunsOn::HttpWorkers, EndedBy::ListenerStop),
        task("enrolment of a worker thread in the registry", "src", 1, RunsOn::HttpWorkers, EndedBy::Caller),
        task("reload on SIGHUP", "src", 1, RunsOn::HttpWorkers, EndedBy::Caller),
        task("counts for a list of recent errors", "src", 1, RunsOn::HttpWorkers, EndedBy::Caller),
        task("read of the configuration file", "src", 1, RunsOn::BlockingPool, EndedBy::Caller),
        task("operational listener", "src", 1, RunsOn::OwnThread, EndedBy::ListenerStop),
        task("connections of the operational listener", "src", 1, RunsOn::OwnThread, EndedBy::ListenerStop),
        task(
            "end of idle connections when the service drains",
            "crates/transport",
            1,
            RunsOn::HttpWorkers,
            EndedBy::ListenerStop,
        ),
        task("export of spans", "crates/spans", 1, RunsOn::IoRuntime, EndedBy::OwnerDrop),
        task("export of metrics, export of the log", "src", 2, RunsOn::IoRuntime, EndedBy::OwnerDrop),
        task("decoding of a large response", "crates/outbound", 1, RunsOn::BlockingPool, EndedBy::Caller),
        task("key derivation and signatures", "crates/functions", 1, RunsOn::BlockingPool, EndedBy::Caller),
        task("read of secrets", "crates/vault", 1, RunsOn::IoRuntime, EndedBy::Caller),
        task("read of secret files", "crates/vault", 1, RunsOn::BlockingPool, EndedBy::Caller),
        task(
            "driver of a Redis connection, of a connector or the cluster",
            "crates/redis",
            1,
            RunsOn::IoRuntime,
            EndedBy::OwnerDrop,
        ),
        task(
            "opening of the cluster's Redis connection",
            "crates/redis",
            1,
            RunsOn::IoRuntime,
            EndedBy::Caller,
        ),
    ],
};
