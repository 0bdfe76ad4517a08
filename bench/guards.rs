//! The price of the guards of one channel: all that a run passes, then a quota, then answers that are kept for repeats,
//! each in addition to those before; and a repeat that gets its answer. Traces are off.

use std::io;

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::ServerProcess;

use crate::credentials::find_credential;
use crate::load::{Load, Round};
use crate::{BenchContext, compare};

/// More requests than a bench sends in a month.
const PLENTY: u64 = 10_000_000_000;
/// More requests a second than a server can answer.
const TOO_MANY: u64 = 1_000_000;
/// The header with the idempotency key.
const KEY: &str = "idempotency-key";

/// A channel under measurement.
struct GuardedChannel {
    /// Name in the report.
    work: &'static str,
    id: &'static str,
    has_quota: bool,
    /// The store of kept answers.
    store: Option<&'static str>,
    /// Every request has a key of its own, or all have the same one.
    is_repeated: bool,
}

/// The channels, from the one with the fewest guards on.
const CHANNELS: [GuardedChannel; 6] = [
    channel("every guard", "guarded", false, None),
    channel("and a quota", "quota", true, None),
    channel("and kept answers, in memory", "kept-memory", true, Some("memory")),
    channel("and kept answers, in the database", "kept-database", true, Some("database")),
    GuardedChannel {
        is_repeated: true,
        ..channel("repeats of a request, in memory", "repeats-memory", true, Some("memory"))
    },
    GuardedChannel {
        is_repeated: true,
        ..channel("repeats of a request, in the database", "repeats-database", true, Some("database"))
    },
];

const fn channel(
    work: &'static str,
    id: &'static str,
    has_quota: bool,
    store: Option<&'static str>,
) -> GuardedChannel {
    GuardedChannel { work, id, has_quota, store, is_repeated: false }
}

/// Measures the channels on SQLite and, if it is there, on PostgreSQL.
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    measure_on(setting, "SQLite", &setting.serve("off")?)?;
    if let Some(postgres) = Postgres::own() {
        let database = postgres.database().map_err(io::Error::other)?;
        let launch = setting.launch()?.env("SVC_STORAGE__URL", database.url());
        measure_on(setting, "PostgreSQL", &setting.load(launch, "off")?)?;
    }
    Ok(())
}

fn measure_on(setting: &BenchContext, database: &str, server: &ServerProcess) -> io::Result<()> {
    let bare = setting.bare()?;
    let order = setting.order()?;
    let mut sides = vec![
        ("bare actix-web handler", bare.address(), order.clone().answered_by(bare.pid())),
        ("no guard", server.address(), order.clone().answered_by(server.pid())),
    ];
    for channel in &CHANNELS {
        let load = channel.create(server, &order)?.answered_by(server.pid());
        sides.push((channel.work, server.address(), load));
    }
    let rounds = compare(&format!("Guards of one channel on {database}"), &sides)?;
    report(&sides, &rounds);
    Ok(())
}

/// Prints what each side takes more than the channel without a guard.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn report(sides: &[(&str, std::net::SocketAddr, Load)], rounds: &[Round]) {
    let processor = |round: &Round| round.processor.unwrap_or(f64::NAN);
    for ((name, ..), round) in sides.iter().zip(rounds).skip(2) {
        let more = processor(round) - processor(&rounds[1]);
        println!("  {name:<41} {more:>+7.1} µs of processor time beside no guard");
    }
}

impl GuardedChannel {
    /// Returns the configuration, with this credential.
    fn config(&self, auth: &Value) -> Value {
        let limit = json!({"requests_per_second": TOO_MANY, "burst": TOO_MANY});
        let mut principal_limit = limit.clone();
        principal_limit["key_logic"] = json!({"var": "auth.claims.sub"});
        let schema = json!({"type": "object", "required": ["order_id", "qty"], "properties": {
            "order_id": {"type": "string"}, "qty": {"type": "integer", "minimum": 1}}});
        let mut config = json!({
            "auth": auth,
            "rate_limit": limit,
            "principal_rate_limit": principal_limit,
            "origin_allow_list": ["https://shop.example"],
            "request": {"body_mode": "payload", "schema": schema},
            "validation_logic": {">": [{"var": "data.qty"}, 0]},
            "backpressure": {"max_concurrent_per_node": 1000},
            "timeout_ms": 5000,
        });
        if self.has_quota {
            config["quota"] = json!({"limit": PLENTY, "per": "month"});
        }
        if let Some(store) = self.store {
            config["deduplication"] = json!({"header": KEY, "on_duplicate": "replay", "store": store});
        }
        config
    }

    /// Creates the channel, and returns a request that its guards let pass. A request that is to be repeated has run
    /// once.
    fn create(&self, server: &ServerProcess, order: &Load) -> io::Result<Load> {
        let (auth, header, token) = find_credential(&order.body, "jwt EdDSA")?;
        let document = json!({
            "channel_id": self.id, "name": self.id, "channel_type": "sync", "protocol": "rest",
            "methods": ["POST"], "route_pattern": format!("/guards/{}", self.id), "workflow_id": "order-intake",
            "config": self.config(&auth),
        });
        let mut client = server.client();
        create_and_activate(&mut client, "channels", "channel_id", &document)?;
        let load = Load::post(&format!("/api/v1/data/guards/{}", self.id), order.body.clone())
            .with_header(header, token)
            .with_header("origin", "https://shop.example");
        if !self.is_repeated {
            return Ok(if self.store.is_some() { load.with_numbered_header(KEY) } else { load });
        }
        let load = load.with_header(KEY, "the-same");
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(load.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        client.send("POST", &load.path, &headers, load.body.as_bytes())?.expect_status(200)?;
        Ok(load)
    }
}
