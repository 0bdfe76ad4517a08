//! The direction of dependencies between the crates of the workspace.

use std::collections::{BTreeMap, BTreeSet};

use crate::root;

/// The package of the program, in the root directory.
const PROGRAM: &str = ".";

/// The floors, the lowest first: crates that own nothing, crates that own state, the program.
const FLOORS: [&str; 3] = ["crates/", "actors/", PROGRAM];

/// Tables of a manifest with dependencies.
const TABLES: [&str; 3] = ["dependencies", "build-dependencies", "dev-dependencies"];

/// Crates of this workspace that each crate may use. A new crate must be added here by hand: that is the point.
const ALLOWED: &[(&str, &[&str])] = &[
    ("crates/schedule", &[]),
    ("crates/model", &["svc-schedule"]),
    ("crates/secrets", &["svc-model"]),
    ("crates/spans", &[]),
    ("crates/engine", &["svc-model", "svc-secrets", "svc-spans"]),
    ("crates/auth", &["svc-model", "svc-secrets"]),
    ("crates/functions", &["svc-auth", "svc-dialect", "svc-engine", "svc-model", "svc-secrets"]),
    ("crates/outbound", &[]),
    ("crates/redis", &["svc-outbound"]),
    ("crates/client", &["svc-outbound"]),
    // Light: it starts in milliseconds and needs no database and no driver.
    ("crates/cli", &["svc-client", "svc-toolkit"]),
    ("crates/pooler", &[]),
    ("crates/vault", &["svc-outbound", "svc-secrets"]),
    ("crates/ledger", &["svc-model"]),
    ("crates/dialect", &["svc-model"]),
    ("crates/contract", &["svc-engine", "svc-model"]),
    (
        "crates/project",
        &[
            "svc-auth",
            "svc-contract",
            "svc-engine",
            "svc-model",
            "svc-outbound",
            "svc-plugins",
            "svc-secrets",
        ],
    ),
    (
        "crates/toolkit",
        &[
            "svc-api",
            "svc-auth",
            "svc-client",
            "svc-engine",
            "svc-functions",
            "svc-model",
            "svc-outbound",
            "svc-plugins",
            "svc-project",
        ],
    ),
    ("crates/api", &["svc-model"]),
    ("crates/plugins", &["svc-engine", "svc-model"]),
    ("crates/transport", &[]),
    ("actors/supervision", &[]),
    (
        "actors/store",
        &["actix-supervision", "svc-ledger", "svc-model", "svc-outbound", "svc-pooler", "svc-secrets"],
    ),
    (
        "actors/credentials",
        &["actix-supervision", "svc-auth", "svc-model", "svc-outbound", "svc-secrets", "svc-store"],
    ),
    (
        "actors/connectors",
        &[
            "actix-supervision",
            "svc-auth",
            "svc-channels",
            "svc-credentials",
            "svc-dialect",
            "svc-engine",
            "svc-functions",
            "svc-model",
            "svc-outbound",
            "svc-pooler",
            "svc-redis",
            "svc-secrets",
            "svc-spans",
            "svc-store",
        ],
    ),
    ("actors/cluster", &["actix-supervision", "svc-ledger", "svc-model", "svc-store"]),
    ("actors/traces", &["actix-supervision", "svc-cluster", "svc-model", "svc-store"]),
    (
        "actors/channels",
        &[
            "actix-supervision",
            "svc-auth",
            "svc-contract",
            "svc-engine",
            "svc-functions",
            "svc-ledger",
            "svc-model",
            "svc-schedule",
            "svc-secrets",
            "svc-spans",
            "svc-traces",
        ],
    ),
    (
        "actors/webhooks",
        &[
            "actix-supervision",
            "svc-auth",
            "svc-cluster",
            "svc-connectors",
            "svc-engine",
            "svc-functions",
            "svc-model",
            "svc-store",
            "svc-traces",
        ],
    ),
    ("actors/console", &["actix-supervision", "svc-api", "svc-channels", "svc-model", "svc-store"]),
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
        PROGRAM,
        &[
            "actix-supervision",
            "svc-api",
            "svc-auth",
            "svc-channels",
            "svc-cluster",
            "svc-connectors",
            "svc-console",
            "svc-contract",
            "svc-credentials",
            "svc-cron",
            "svc-engine",
            "svc-functions",
            "svc-kafka",
            "svc-model",
            "svc-outbound",
            "svc-plugins",
            "svc-project",
            "svc-redis",
            "svc-registry",
            "svc-schedule",
            "svc-secrets",
            "svc-spans",
            "svc-store",
            "svc-toolkit",
            "svc-traces",
            "svc-transport",
            "svc-vault",
            "svc-webhooks",
        ],
    ),
    ("tests/kit", &[]),
    ("tests/world", &["actix-supervision", "svc-cluster", "svc-model", "svc-store", "svc-traces"]),
    ("tests", &["svc-testkit"]),
    ("bench", &["svc-testkit"]),
];

/// Libraries that belong to one crate alone.
const OWNED: &[(&str, &[&str])] = &[
    ("diesel", &["actors/store"]),
    ("diesel-async", &["actors/store"]),
    ("libsqlite3-sys", &["actors/store"]),
    ("actix-web", &[PROGRAM, "bench"]),
    ("datalogic-rs", &["crates/engine"]),
    // The client of the API dials what its user names; the service itself has `outbound` alone.
    ("reqwest", &["crates/outbound", "crates/client", "bench"]),
    ("opentelemetry", &["crates/spans"]),
    ("opentelemetry_sdk", &["crates/spans"]),
    ("opentelemetry-otlp", &[PROGRAM]),
    ("opentelemetry-proto", &[PROGRAM]),
    ("prost", &[PROGRAM]),
    ("tonic", &[PROGRAM]),
    ("h2", &["crates/transport"]),
    ("josekit", &["crates/auth", "bench"]),
    ("redis", &["crates/redis", "bench"]),
    ("cron", &["crates/schedule"]),
    ("chrono-tz", &["crates/schedule"]),
    ("tokio-cron-scheduler", &[PROGRAM]),
    ("clap", &[PROGRAM, "crates/cli", "crates/toolkit"]),
    ("jsonschema", &["crates/contract"]),
    ("utoipa", &["crates/api"]),
    ("toml", &[PROGRAM, "crates/plugins", "crates/toolkit", "tests"]),
    ("wasmtime", &["crates/plugins"]),
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
    listed_in(member, "dependencies")
}

/// Returns the names in a table of a member's manifest.
fn listed_in(member: &str, table: &str) -> BTreeSet<String> {
    let manifest = read(&format!("{member}/Cargo.toml"));
    let table = manifest.get(table).and_then(toml::Value::as_table).cloned().unwrap_or_default();
    table.keys().cloned().collect()
}

/// Returns the members by the names of their packages.
fn packages() -> BTreeMap<String, String> {
    let name = |member: &str| {
        let manifest = read(&format!("{member}/Cargo.toml"));
        manifest["package"]["name"].as_str().expect("a package has a name").to_owned()
    };
    members().into_iter().map(|member| (name(&member), member)).collect()
}

#[test]
fn crates_use_only_the_crates_below_them() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let packages = packages();
    let ours: BTreeSet<String> = packages.keys().cloned().collect();
    for member in packages.values() {
        let may = allowed.get(member.as_str()).unwrap_or_else(|| panic!("{member} is not in ALLOWED"));
        for used in used_by(member).intersection(&ours) {
            assert!(may.contains(&used.as_str()), "{member} must not depend on {used}");
        }
    }
}

/// Returns the floor of a member; none for tests and measurements.
fn floor_of(member: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| member.starts_with(floor))
}

/// Returns true if the second member is on a floor above the first.
fn is_above(user: &str, used: &str) -> bool {
    floor_of(user).zip(floor_of(used)).is_some_and(|(user, used)| used > user)
}

#[test]
fn dependencies_between_floors_go_down_only() {
    let packages = packages();
    for (name, member) in &packages {
        for used in TABLES.iter().flat_map(|table| listed_in(member, table)) {
            let place = packages.get(&used).map_or("", String::as_str);
            assert!(!is_above(member, place), "{name} ({member}) must not depend on {used} ({place})");
        }
    }
}

#[test]
fn dependency_on_a_floor_above_is_found() {
    for (user, used) in [("crates/a", "actors/b"), ("crates/a", PROGRAM), ("actors/a", PROGRAM)] {
        assert!(is_above(user, used) && !is_above(used, user), "{user} on {used}");
    }
    for (user, used) in [("actors/a", "actors/b"), (PROGRAM, "tests"), ("bench", PROGRAM)] {
        assert!(!is_above(user, used), "{user} on {used}");
    }
}

#[test]
fn owned_libraries_are_used_by_their_owner_only() {
    for (library, owners) in OWNED {
        let users: Vec<_> =
            members().into_iter().filter(|member| used_by(member).contains(*library)).collect();
        for user in users {
            assert!(owners.contains(&user.as_str()), "{user} uses {library}, which belongs to {owners:?}");
        }
    }
}
