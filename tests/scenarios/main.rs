//! Black-box scenarios: the real binary, over real sockets, as a user's client meets it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is the finding"
)]

mod access_log;
mod admin_auth;
mod admin_reads;
mod answers;
mod api;
mod audit;
mod auth_config;
mod backups;
mod body_formats;
mod brokers;
mod build_script;
mod bulk;
mod call_chain;
mod calls;
mod canary;
mod cancel_matrix;
mod cancels;
mod channels;
mod cluster;
mod commands;
mod connector_entity;
mod connector_health;
mod connector_keys;
mod connectors;
mod console;
mod cron;
mod cron_admin;
mod cron_nodes;
mod cron_retries;
mod data;
mod databases;
mod dead_letters;
mod degraded;
mod dry_run;
mod durability;
mod engine;
mod error_bodies;
mod error_walk;
mod errors;
mod examples;
mod explanations;
mod failure_reports;
mod functions;
mod guesses;
mod hostile;
mod hostile_project;
mod http2;
mod idempotency_keys;
mod import;
mod inside;
mod kafka;
mod lifecycle;
mod manual;
mod memory;
mod misspellings;
mod mongo_srv_by_wire_contract;
mod new_project;
mod null_characters;
mod oauth;
mod offline;
mod open_admin;
mod operations;
mod overload;
mod ownership;
mod packages;
mod pauses;
mod processor;
mod profiles;
mod projects;
mod rate_limit;
mod refusals;
mod secret_files;
mod service_manager;
mod shared_caches;
mod shared_guards;
mod signals;
mod spans;
mod start;
mod status;
mod stop;
mod storage_tls;
mod submissions;
mod support;
mod tls;
mod traces;
mod transport;
mod vault_by_wire_contract;
mod waiting;
mod workflows;
