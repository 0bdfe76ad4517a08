//! The direction of dependencies between the crates of the workspace.

use std::collections::{BTreeMap, BTreeSet};

use crate::root;

/// Crates of this workspace that each crate may use. A new crate must be added here by hand: that is the point.
const ALLOWED: &[(&str, &[&str])] = &[
    ("src/schedule", &[]),
    ("src/model", &["svc-schedule"]),
    ("src/secrets", &["svc-model"]),
    ("src/spans", &[]),
    ("src/engine", &["svc-model", "svc-secrets", "svc-spans"]),
    ("src/auth", &["svc-model", "svc-secrets"]),
    ("src/functions", &["svc-auth", "svc-engine", "svc-model", "svc-secrets"]),
    ("src/outbound", &[]),
    ("src/redis", &["svc-outbound"]),
    ("src/client", &["svc-outbound"]),
    // Light: it starts in milliseconds and needs neither engine nor database.
    ("src/cli", &["svc-client"]),
    ("src/single-flight", &[]),
    ("src/pooler", &[]),
    ("src/vault", &["svc-outbound", "svc-secrets"]),
    ("src/ledger", &[]),
    ("src/dialect", &["svc-model"]),
    ("src/project", &["svc-auth", "svc-engine", "svc-model", "svc-outbound", "svc-secrets"]),
    ("src/api", &["svc-model"]),
    ("actors/supervision", &[]),
    (
        "actors/store",
        &["actix-supervision", "svc-ledger", "svc-model", "svc-outbound", "svc-pooler", "svc-secrets"],
    ),
    ("actors/keysets", &["actix-supervision", "svc-auth", "svc-outbound", "svc-single-flight"]),
    (
        "actors/tokens",
        &["actix-supervision", "svc-model", "svc-outbound", "svc-secrets", "svc-single-flight", "svc-store"],
    ),
    (
        "actors/connectors",
        &[
            "actix-supervision",
            "svc-channels",
            "svc-dialect",
            "svc-engine",
            "svc-model",
            "svc-outbound",
            "svc-pooler",
            "svc-redis",
            "svc-secrets",
            "svc-spans",
            "svc-store",
            "svc-tokens",
        ],
    ),
    ("actors/nodes", &["actix-supervision", "svc-ledger", "svc-model", "svc-store"]),
    ("actors/epoch", &["actix-supervision", "svc-model", "svc-nodes", "svc-store"]),
    ("actors/traces", &["actix-supervision", "svc-model", "svc-nodes", "svc-store"]),
    ("actors/housekeeping", &["actix-supervision"]),
    (
        "actors/channels",
        &[
            "actix-supervision",
            "svc-auth",
            "svc-engine",
            "svc-ledger",
            "svc-model",
            "svc-schedule",
            "svc-secrets",
            "svc-spans",
            "svc-traces",
        ],
    ),
    (
        "actors/cron",
        &[
            "actix-supervision",
            "svc-channels",
            "svc-ledger",
            "svc-model",
            "svc-registry",
            "svc-schedule",
            "svc-store",
        ],
    ),
    (
        "actors/kafka",
        &["actix-supervision", "svc-channels", "svc-connectors", "svc-model", "svc-registry", "svc-spans"],
    ),
    (
        "actors/registry",
        &[
            "actix-supervision",
            "svc-channels",
            "svc-engine",
            "svc-model",
            "svc-secrets",
            "svc-store",
            "svc-traces",
        ],
    ),
    (
        "src/server",
        &[
            "actix-supervision",
            "svc-api",
            "svc-auth",
            "svc-channels",
            "svc-client",
            "svc-connectors",
            "svc-cron",
            "svc-engine",
            "svc-epoch",
            "svc-functions",
            "svc-housekeeping",
            "svc-kafka",
            "svc-keysets",
            "svc-model",
            "svc-nodes",
            "svc-outbound",
            "svc-project",
            "svc-redis",
            "svc-registry",
            "svc-secrets",
            "svc-spans",
            "svc-store",
            "svc-tokens",
            "svc-traces",
            "svc-vault",
        ],
    ),
    ("tests", &[]),
    ("bench", &["svc-testkit"]),
];

/// Libraries that belong to one crate alone.
const OWNED: &[(&str, &[&str])] = &[
    ("diesel", &["actors/store"]),
    ("diesel-async", &["actors/store"]),
    ("libsqlite3-sys", &["actors/store"]),
    ("actix-web", &["src/server", "bench"]),
    ("datalogic-rs", &["src/engine"]),
    // The client of the API dials what its user names; the service itself has `outbound` alone.
    ("reqwest", &["src/outbound", "src/client", "bench"]),
    ("opentelemetry", &["src/spans"]),
    ("opentelemetry_sdk", &["src/spans"]),
    ("opentelemetry-otlp", &["src/server"]),
    ("josekit", &["src/auth", "bench"]),
    ("redis", &["src/redis", "bench"]),
    ("cron", &["src/schedule"]),
    ("chrono-tz", &["src/schedule"]),
    ("tokio-cron-scheduler", &["actors/housekeeping"]),
    ("clap", &["src/server", "src/cli"]),
    ("utoipa", &["src/api"]),
    ("toml", &["src/server", "tests"]),
];

fn members() -> Vec<String> {
    let manifest: toml::Table = read("Cargo.toml");
    let members = manifest["workspace"]["members"].as_array().expect("members are listed").clone();
    members.iter().map(|member| member.as_str().expect("a member is a path").to_owned()).collect()
}

fn read(path: &str) -> toml::Table {
    std::fs::read_to_string(root().join(path)).expect("the manifest is there").parse().expect("it is TOML")
}

fn used_by(member: &str) -> BTreeSet<String> {
    let manifest = read(&format!("{member}/Cargo.toml"));
    let table = manifest.get("dependencies").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    table.keys().cloned().collect()
}

#[test]
fn crates_use_only_the_crates_below_them() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let ours: BTreeSet<String> = members()
        .iter()
        .map(|member| {
            let manifest = read(&format!("{member}/Cargo.toml"));
            manifest["package"]["name"].as_str().expect("a package has a name").to_owned()
        })
        .collect();
    for member in members() {
        let may = allowed.get(member.as_str()).unwrap_or_else(|| panic!("{member} is not in ALLOWED"));
        for used in used_by(&member).intersection(&ours) {
            assert!(may.contains(&used.as_str()), "{member} must not depend on {used}");
        }
    }
}

#[test]
fn libraries_with_an_owner_are_used_by_the_owner_alone() {
    for (library, owners) in OWNED {
        let users: Vec<_> =
            members().into_iter().filter(|member| used_by(member).contains(*library)).collect();
        for user in users {
            assert!(owners.contains(&user.as_str()), "{user} uses {library}, which belongs to {owners:?}");
        }
    }
}
