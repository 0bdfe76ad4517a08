//! The stricter rules of production. Elsewhere their violation is a warning at start.

use super::Config;
use super::problem::Diagnostics;

/// Shortest plain-text admin key, in characters.
const KEY_LENGTH: usize = 32;

pub(crate) fn check(config: &Config, diagnostics: &mut Diagnostics) {
    note_loopback(config, diagnostics);
    let mut rule = |key: &str, is_broken: bool, text: &str| match (is_broken, config.is_production()) {
        (false, _) => {}
        (true, true) => diagnostics.refuse(key, format!("{text} (refused in production)")),
        (true, false) => diagnostics.note(format!("{key}: {text}")),
    };
    rule(
        "admin_auth.enabled",
        !config.admin_auth.enabled,
        "anyone can use the admin API; set it to true and give admin_auth.api_keys",
    );
    for (key, keys) in config.admin_auth.key_lists() {
        let short = keys.iter().any(|key| key.is_shorter_than(KEY_LENGTH));
        rule(key, short, "a key is shorter than 32 characters; use a longer one or its sha256: digest");
    }
    rule(
        "cors.allowed_origins",
        config.cors.allowed_origins.iter().any(|origin| origin == "*"),
        "\"*\" lets every web site read answers; list the origins that may",
    );
    rule(
        "storage.auto_migrate",
        config.cluster.enabled && config.storage.auto_migrate,
        "nodes of a cluster must not migrate on their own; set it to false and run `svc-server migrate`",
    );
    if config.is_production() && config.server.verbose_errors == Some(true) {
        diagnostics.refuse(
            "server.verbose_errors",
            "would tell internal detail; leave it unset (refused in production)",
        );
    }
}

/// Notes that the service is reachable from this machine only, and how to change that.
fn note_loopback(config: &Config, diagnostics: &mut Diagnostics) {
    if !config.admin_auth.enabled && config.server.host.is_none() && !config.is_production() {
        diagnostics.note(
            "server.host: listening on 127.0.0.1 only, because the admin API is open; a container or another machine \
             cannot reach it. Enable admin_auth, or set server.host = \"0.0.0.0\" (SVC_SERVER__HOST) to open it to everybody"
                .to_owned(),
        );
    }
}
