//! Execution of workflows: `[engine]`, `[query]`, `[write]`, `[jwt]`, `[oauth2_login]`, `[cron]`, `[bulk]`,
//! `[webhooks]`.

use std::time::Duration;

use svc_channels::call::MAX_DEPTH;
use svc_model::config::InstanceProviders;

use super::declared::SignInProvidersSection;
use super::problem::Diagnostics;
use super::setting::section;

section! {
    /// Limits of the engine and of connectors.
    pub struct EngineSection {
        /// Seconds that a check of the database, or of the Kafka brokers, may take. `/health` and `/readyz` show a
        /// database that completes neither the check nor a write within them.
        pub health_check_timeout_secs: u64 = 2,
        /// Channels that may call one another in a row, 32 at most.
        pub max_channel_call_depth: u32 = 10,
        /// Milliseconds a called channel may run when neither task nor channel says.
        pub default_channel_call_timeout_ms: u64 = 30_000,
        /// Largest `max` a workflow's loop may ask for; 0 allows any.
        pub max_loop_iterations: u64 = 10_000,
        /// The most elements of one `for_each`; 0 allows any.
        pub max_fan_out: usize = 100_000,
        /// Milliseconds of processor time one run may use, from 1 to 3,600,000; waiting does not count, nor does the
        /// code of plugins, which `plugins.timeout_ms` bounds. A run that uses more fails as one whose deadline
        /// passed.
        pub cpu_budget_ms: u64 = 1000,
        /// Seconds one attempt of an outbound HTTP call may take: the most a task's `timeout_ms` may ask for,
        /// and the default.
        pub global_http_timeout_secs: u64 = 30,
        /// Connection pools kept per kind of backend.
        pub max_pool_cache_entries: usize = 100,
        /// Seconds between two removals of expired entries of the in-memory cache.
        pub cache_cleanup_interval_secs: u64 = 60,
        /// Entries of the in-memory cache per namespace; 0 allows any number.
        pub max_memory_cache_entries: usize = 100_000,
        /// Header that keeps a caller on one version during a rollout. Empty: by client address.
        pub rollout_sticky_header: String = String::new(),
        /// Shadow runs of a node at once, those that wait included, up to 1000; 0 for none. A run that finds no place has
        /// no shadow, and is counted.
        pub shadow_max_concurrency: usize = 8,
        /// Refuses the start if an enabled connector cannot be loaded.
        pub fail_on_connector_load_error: bool = false,
        /// Calls to a failing backend are held back.
        pub circuit_breaker: CircuitBreakerSection = CircuitBreakerSection::default(),
    }
}

section! {
    /// One breaker for each connector and channel.
    pub struct CircuitBreakerSection {
        /// Enables circuit breakers.
        pub enabled: bool = false,
        /// Failures in a row that open one.
        pub failure_threshold: u32 = 5,
        /// Seconds until it lets one call through.
        pub recovery_timeout_secs: u64 = 30,
        /// Breakers kept.
        pub max_breakers: usize = 10_000,
    }
}

section! {
    /// Reads of the `data_query` function.
    pub struct QuerySection {
        /// Rows when the task sets no limit.
        pub default_limit: u64 = 100,
        /// Most rows a task may ask for.
        pub max_limit: u64 = 1000,
        /// Most rows a task may skip.
        pub max_skip: u64 = 10_000,
        /// Most bytes of one result of a database, as it is held in memory; checked while its rows arrive. A
        /// `db` connector may set less.
        pub max_result_bytes: u64 = 67_108_864,
    }
}

section! {
    /// Writes of the `data_write` function.
    pub struct WriteSection {
        /// Most rows of one write.
        pub max_rows: u64 = 1000,
        /// Allows an update or delete without a filter.
        pub allow_unfiltered: bool = false,
    }
}

section! {
    /// Key sets of channels that check tokens.
    pub struct JwtSection {
        /// Allows to fetch key sets from private addresses.
        pub allow_private_jwks_urls: bool = false,
    }
}

section! {
    /// Channels at which people sign in.
    pub struct OAuth2LoginSection {
        /// Allows to ask identity providers at private addresses. Their key sets also need
        /// `jwt.allow_private_jwks_urls`.
        pub allow_private_token_urls: bool = false,
        /// Providers by their names, each with some or all of the keys that a channel writes of a provider. A channel
        /// with `oauth2_login.providers_from_instance` takes them; of a key that both write, that of the channel
        /// counts.
        pub providers: SignInProvidersSection = SignInProvidersSection::default(),
    }
}

impl OAuth2LoginSection {
    pub(super) fn check(&self, diagnostics: &mut Diagnostics) {
        for (name, keys) in &self.providers.0 {
            if let Err(problem) = InstanceProviders::check(name, keys) {
                diagnostics.refuse(&problem.path, problem.message);
            }
        }
    }
}

section! {
    /// Channels that run by the clock.
    pub struct CronSection {
        /// Plans and runs them on this node.
        pub enabled: bool = true,
        /// Milliseconds between two polls of the schedules, 100 or more.
        pub poll_interval_ms: u64 = 1000,
        /// Runs at the same time, 10000 at most.
        pub workers: usize = 4,
        /// Runs claimed at once.
        pub claim_batch_size: u32 = 20,
        /// Seconds a claim holds without being renewed.
        pub claim_lease_secs: u64 = 60,
        /// Seconds between two renewals; below the lease.
        pub heartbeat_interval_secs: u64 = 15,
        /// Seconds a run may be late without counting as missed; not below the poll interval.
        pub misfire_grace_secs: u64 = 5,
        /// Missed runs made up for at most, from 1 to 1000.
        pub max_catch_up: u32 = 100,
        /// Times a run whose node died is started again before it counts as failed.
        pub max_recoveries: u32 = 5,
        /// Milliseconds a run may take when its channel does not say.
        pub default_timeout_ms: u64 = 3_600_000,
        /// Seconds that running work gets at shutdown, within `server.shutdown_force_timeout_secs`.
        pub shutdown_timeout_secs: u64 = 30,
    }
}

section! {
    /// Actions of operators on many rows.
    pub struct BulkSection {
        /// Runs of such actions at the same time, of all nodes together, from 1 to 100. A further one is refused.
        pub max_running: u32 = 2,
    }
}

section! {
    /// Events for the addresses of customers: endpoints, deliveries and attempts.
    pub struct WebhooksSection {
        /// Endpoints of the service, from 1 to 10000. A further one is refused.
        pub max_endpoints: u32 = 10_000,
        /// Delays after failed attempts, each a number and `s`, `m`, `h` or `d`. After a failure more than delays the
        /// delivery is a dead letter.
        pub retry_schedule: Vec<String> =
            ["5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h", "24h"].map(str::to_owned).to_vec(),
        /// Time of failures alone after which an endpoint is disabled: a number and `s`, `m`, `h` or `d`.
        pub disable_after: String = "5d".into(),
        /// Channel that gets a report of each endpoint that was disabled, as channels of `on_failure` get theirs.
        pub on_disabled: Option<String> = None,
        /// Seconds that an attempt may take, from 1 to 60.
        pub attempt_timeout_secs: u64 = 15,
        /// Attempts of a node at once, from 4 to 10000. A quarter of them is for endpoints in trouble.
        pub max_concurrent: usize = 256,
        /// Attempts of a node at one host at once, from 1 to 1000; `max_concurrent_per_host` of the connector bounds them
        /// too.
        pub max_concurrent_per_host: usize = 4,
        /// Hours an ended delivery and an attempt are kept, for lists and replays; 0 keeps them for ever.
        pub retention_hours: u64 = 720,
    }
}

impl WebhooksSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        const FORM: &str = "a number and s, m, h or d, from 1s to 30d";
        diagnostics.require_within("webhooks.max_endpoints", self.max_endpoints, 1..=10_000);
        if self.retry_schedule.len() > MAX_RETRIES {
            diagnostics.refuse("webhooks.retry_schedule", format!("has at most {MAX_RETRIES} delays"));
        }
        for (index, delay) in self.retry_schedule.iter().enumerate() {
            if read_span(delay).is_none() {
                let place = index + 1;
                diagnostics.refuse("webhooks.retry_schedule", format!("delay {place} must be {FORM}"));
            }
        }
        if read_span(&self.disable_after).is_none() {
            diagnostics.refuse("webhooks.disable_after", format!("must be {FORM}"));
        }
        if self.on_disabled.as_deref().is_some_and(|name| name.trim().is_empty()) {
            diagnostics.refuse("webhooks.on_disabled", "must name a channel; leave it out for none");
        }
        diagnostics.require_within("webhooks.attempt_timeout_secs", self.attempt_timeout_secs, 1..=60);
        diagnostics.require_within("webhooks.max_concurrent", self.max_concurrent, 4..=10_000);
        diagnostics.require_within(
            "webhooks.max_concurrent_per_host",
            self.max_concurrent_per_host,
            1..=1000,
        );
    }

    /// Returns the delays after failed attempts.
    pub(crate) fn retry_delays(&self) -> Vec<Duration> {
        self.retry_schedule.iter().filter_map(|delay| read_span(delay)).collect()
    }

    /// Returns the time of failures after which an endpoint is disabled.
    pub(crate) fn disable_time(&self) -> Duration {
        read_span(&self.disable_after).unwrap_or(LONGEST_SPAN)
    }
}

/// Delays of a schedule at most.
const MAX_RETRIES: usize = 50;
/// The longest time that a text may name.
const LONGEST_SPAN: Duration = Duration::from_secs(30 * 86_400);

/// Reads a time such as `30m`.
fn read_span(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| is_number)?;
    let span = Duration::from_secs(number.checked_mul(seconds)?);
    (!span.is_zero() && span <= LONGEST_SPAN).then_some(span)
}

impl EngineSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_positive("engine.health_check_timeout_secs", self.health_check_timeout_secs);
        diagnostics.require_positive("engine.max_channel_call_depth", self.max_channel_call_depth);
        if self.max_channel_call_depth as usize > MAX_DEPTH {
            diagnostics.refuse("engine.max_channel_call_depth", format!("must not be above {MAX_DEPTH}"));
        }
        diagnostics
            .require_positive("engine.default_channel_call_timeout_ms", self.default_channel_call_timeout_ms);
        diagnostics.require_within("engine.cpu_budget_ms", self.cpu_budget_ms, 1..=3_600_000);
        diagnostics.require_positive("engine.global_http_timeout_secs", self.global_http_timeout_secs);
        diagnostics.require_within("engine.shadow_max_concurrency", self.shadow_max_concurrency, 0..=1000);
        diagnostics.require_positive(
            "engine.circuit_breaker.failure_threshold",
            self.circuit_breaker.failure_threshold,
        );
    }
}

impl QuerySection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_positive("query.default_limit", self.default_limit);
        diagnostics.require_positive("query.max_limit", self.max_limit);
        diagnostics.require_positive("query.max_result_bytes", self.max_result_bytes);
        if self.default_limit > self.max_limit {
            diagnostics.refuse("query.default_limit", "must not be above query.max_limit");
        }
    }
}

impl WriteSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_positive("write.max_rows", self.max_rows);
    }
}

impl CronSection {
    /// Checks the section even if this node runs no schedules: a channel may be activated for other nodes.
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        if self.poll_interval_ms < 100 {
            diagnostics.refuse(
                "cron.poll_interval_ms",
                format!("must be 100 or more, is {}", self.poll_interval_ms),
            );
        }
        diagnostics.require_positive("cron.workers", self.workers);
        diagnostics.require_workers("cron.workers", self.workers);
        diagnostics.require_positive("cron.claim_batch_size", self.claim_batch_size);
        diagnostics.require_positive("cron.claim_lease_secs", self.claim_lease_secs);
        diagnostics.require_positive("cron.heartbeat_interval_secs", self.heartbeat_interval_secs);
        if self.heartbeat_interval_secs >= self.claim_lease_secs {
            diagnostics.refuse("cron.heartbeat_interval_secs", "must be below cron.claim_lease_secs");
        }
        if self.misfire_grace_secs.saturating_mul(1000) < self.poll_interval_ms {
            diagnostics.refuse("cron.misfire_grace_secs", "must not be shorter than cron.poll_interval_ms");
        }
        diagnostics.require_within("cron.max_catch_up", self.max_catch_up, 1..=1000);
        diagnostics.require_positive("cron.default_timeout_ms", self.default_timeout_ms);
        diagnostics.require_positive("cron.shutdown_timeout_secs", self.shutdown_timeout_secs);
        diagnostics.require_time("cron.shutdown_timeout_secs", self.shutdown_timeout_secs);
    }
}

impl BulkSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_within("bulk.max_running", self.max_running, 1..=100);
    }
}
