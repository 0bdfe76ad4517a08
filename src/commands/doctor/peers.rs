//! The servers that nodes share in addition to the database: Redis with its scripts, the Kafka brokers.

use slog::{Discard, Logger, o};
use svc_outbound::Outbound;
use svc_redis::{RedisClient, RedisEntries as _, RedisFailure, cmd};
use tokio::runtime::Handle;

use super::clock;
use super::report::DoctorReport;
use crate::assembly::cluster::connect_redis;
use crate::commands::test_connectivity::ask_brokers;
use crate::config::Config;
use crate::settings;

const REDIS: &str = "cluster.redis_url";
/// The key that is tried, which expires within seconds.
const TRIED_KEY: &str = "svc:doctor";

/// Checks the Redis server of the cluster: it takes writes, it runs scripts, its clock is right.
pub(super) async fn check_redis(config: &Config, outbound: &Outbound, report: &mut DoctorReport) {
    // The doctor reports what is, and waits for nothing.
    let mut once = config.clone();
    once.storage.connect_retry_secs = 0;
    let log = Logger::root(Discard, o!());
    let client = match connect_redis(&once, outbound, &Handle::current(), &log).await {
        Ok(Some(client)) => client,
        Ok(None) => return,
        Err(error) => {
            let text = error.to_string();
            let message = text.strip_prefix("cluster.redis_url: ").unwrap_or(&text);
            let remedy = "start the server, or correct host, port, user and password";
            return report.add_error("redis", REDIS, message, remedy);
        }
    };
    if let Err(failure) = client.check_writable().await {
        let remedy = "name the primary, and give the user the right to write keys that begin with svc:";
        report.add_error("redis", REDIS, failure.to_string(), remedy);
    }
    match client.count_in_second(TRIED_KEY).await {
        Ok(_) => report.add_note("redis", REDIS, format!("{} runs scripts", client.place())),
        Err(failure) => {
            let message = format!("a script does not run: {failure}");
            report.add_error("redis", REDIS, message, "give the user the right to EVAL (ACL: +@scripting)");
        }
    }
    match read_clock(&client).await {
        Ok(remote_ms) => clock::report_difference(report, REDIS, remote_ms - clock::local_ms()),
        Err(failure) => {
            let message = format!("its clock cannot be read: {failure}");
            report.add_warning("clock", REDIS, message, "give the user the right to TIME (ACL: +time)");
        }
    }
}

/// Reads the clock of the server, in milliseconds since 1970.
async fn read_clock(client: &RedisClient) -> Result<i64, RedisFailure> {
    let (seconds, micros) = client.query::<(i64, i64)>(TRIED_KEY, &cmd("TIME")).await?;
    Ok(seconds.saturating_mul(1000).saturating_add(micros / 1000))
}

/// Checks that the Kafka brokers send their metadata.
pub(super) async fn check_kafka(
    config: &Config,
    environment: &[(String, String)],
    report: &mut DoctorReport,
) {
    const KEY: &str = "kafka.brokers";
    let Some(cluster) = settings::kafka_cluster(config, environment) else { return };
    match ask_brokers(&cluster).await {
        Ok(()) => report.add_note("kafka", KEY, "the brokers send their metadata"),
        Err(reason) => {
            let remedy = "start the brokers, or correct addresses, protocol and credentials (kafka.auth)";
            report.add_error("kafka", KEY, reason, remedy);
        }
    }
}
