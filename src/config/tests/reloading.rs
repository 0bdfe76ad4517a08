//! A configuration that is read again while the service runs.

use super::super::reload::SettingsChange;
use super::super::{Config, ConfigSource};
use super::read;

fn reloaded(before: &str, after: &str) -> (Config, SettingsChange) {
    read(before, &[]).unwrap().reloaded(&read(after, &[]).unwrap(), true).unwrap()
}

#[test]
fn changeable_settings_are_taken_and_others_named() {
    let before = "[admin_auth]\nenabled = true\napi_keys = ['key-one']";
    let after = "[admin_auth]\nenabled = true\napi_keys = ['key-two']\nread_only_api_keys = ['reader']\nheader = 'x-key'\n\
                 [cors]\nallowed_origins = ['https://a.example']\n[ingest]\nmax_payload_size = 10\n\
                 max_array_elements = 7\n[logging]\nlevel = 'debug'\nformat = 'json'\naccess_sample = 0.5\n\
                 [rate_limit]\nenabled = true\ntrusted_proxies = ['10.0.0.0/8']\n[rate_limit.endpoints]\nadmin_rps = 3\n\
                 [server]\nport = 9\nmax_admin_body_size = 11\nmax_in_flight_bytes = 12\n[vars]\na = 1";
    let (config, change) = reloaded(before, after);
    assert_eq!(change.needs_restart, ["server.port", "ingest.max_array_elements", "logging.format", "vars"]);
    let taken = [
        "server.max_admin_body_size",
        "server.max_in_flight_bytes",
        "ingest.max_payload_size",
        "logging.level",
        "logging.access_sample",
        "rate_limit.enabled",
        "rate_limit.trusted_proxies",
        "rate_limit.endpoints.admin_rps",
        "admin_auth.api_keys",
        "admin_auth.read_only_api_keys",
        "admin_auth.header",
        "cors.allowed_origins",
    ];
    assert_eq!(change.taken, taken);
    assert_eq!((config.server.port, config.server.max_admin_body_size), (8080, 11));
    assert_eq!(config.admin_auth.api_keys[0].key.expose(), "key-two");
    assert!(config.rate_limit.enabled && config.logging.format.is_none() && config.vars.0.is_empty());
    let again = config.reloaded(&read(after, &[]).unwrap(), true).unwrap().1;
    assert_eq!((again.taken, again.needs_restart), (Vec::<String>::new(), change.needs_restart));
    assert_eq!(reloaded(before, before).1, SettingsChange::default());
}

#[test]
fn keys_that_lock_out_everyone_are_refused() {
    let (config, change) = reloaded("[admin_auth]\nenabled = true\napi_keys = ['key-one']", "");
    assert_eq!(change.taken, [""; 0]);
    assert_eq!(change.needs_restart, ["admin_auth.enabled", "admin_auth.api_keys"]);
    assert!(config.admin_auth.enabled && config.admin_auth.api_keys.len() == 1);
}

#[test]
fn payload_beyond_message_bound_needs_a_restart() {
    let (_, change) = reloaded("", "[ingest]\nmax_payload_size = 1073741824");
    assert_eq!(
        (change.taken, change.needs_restart),
        (Vec::new(), vec!["ingest.max_payload_size".to_owned()])
    );
}

#[test]
fn level_that_cannot_change_needs_a_restart() {
    let read = |text: &str| read(text, &[]).unwrap();
    let (config, change) = read("").reloaded(&read("[logging]\nlevel = 'debug'"), false).unwrap();
    assert_eq!((change.taken, change.needs_restart), (Vec::new(), vec!["logging.level".to_owned()]));
    assert_eq!(config.logging.level, read("").logging.level);
}

#[test]
fn mixture_of_both_is_checked_too() {
    let key = "k".repeat(32);
    let auth = format!("[admin_auth]\nenabled = true\napi_keys = ['{key}']\n[cors]\nallowed_origins = ");
    let production = read(&format!("environment = 'production'\n{auth}[]"), &[]).unwrap();
    let development = read(&format!("{auth}['*']"), &[]).unwrap();
    let error = production.reloaded(&development, true).unwrap_err();
    assert_eq!(error.problems[0].subject, "cors.allowed_origins", "{error}");
}

#[test]
fn file_that_cannot_be_read_is_named() {
    let source = ConfigSource {
        path: "/nonexistent/svc.toml".into(),
        environment: vec![("A".into(), "secret".into())],
    };
    let error = source.read().unwrap_err();
    assert_eq!(error.problems[0].subject, "/nonexistent/svc.toml", "{error}");
    assert!(!format!("{source:?}").contains("secret"));
}
