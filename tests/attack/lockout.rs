//! Wrong admin keys from the address that the operators come from.

use std::io;

use svc_testkit::http::HttpClient;

use crate::Attack;
use crate::target::AttackTarget;
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "lockout",
        text: "operators get in while their address sends wrong keys; a read-only key does not forgive guesses",
        before: "12 of 12 refused; 1,600 guesses unlocked",
    },
    attack,
);

const KEY: &str = "an-admin-key-of-more-than-32-characters";
const READ: &str = "a-read-only-key-of-more-than-32-characters";
const WORKFLOWS: &str = "/api/v1/admin/workflows";
const PROBES: usize = 12;
/// Guesses between two looks of the operator.
const GUESSES: usize = 8;

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let server = target
        .launch()?
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .env("SVC_ADMIN_AUTH__READ_ONLY_API_KEYS", READ)
        .env("SVC_METRICS__ENABLED", "true")
        .start()?;
    let mut client = server.client().keep_alive();
    let mut ask = |path: &str, key: &str| -> io::Result<u16> {
        Ok(client.send("GET", path, &[("x-api-key", key)], b"")?.status)
    };
    let mut refused = 0;
    for _ in 0..PROBES {
        for _ in 0..GUESSES {
            ask("/health", "a wrong key")?;
            ask(WORKFLOWS, "a wrong key")?;
        }
        // The holder of a read-only key may read, and wipes no guess away.
        refused += usize::from(ask(WORKFLOWS, READ)? != 200);
        ask(WORKFLOWS, "a wrong key")?;
        refused += usize::from(!(200..300).contains(&ask(WORKFLOWS, KEY)?));
    }
    let counted = locked_out(&mut server.client())?;
    let figure = format!("{refused} of {} refused; {counted} guesses locked out", 2 * PROBES);
    Ok(AttackOutcome::new(refused == 0 && counted > 0, figure))
}

/// Attempts that were counted as made during a lock-out.
fn locked_out(client: &mut HttpClient) -> io::Result<u64> {
    let page = client.send("GET", "/metrics", &[("x-api-key", KEY)], b"")?.text();
    let counts = page.lines().filter(|line| line.contains("locked_out"));
    Ok(counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum())
}
