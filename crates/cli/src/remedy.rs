//! Requests of the HTTP API in texts of the server, as the commands that make them.

/// The base of the admin API in texts of the server.
const BASE: &str = " /api/v1/admin/";
/// The methods of the requests that the server recommends.
const METHODS: [&str; 3] = ["GET", "PATCH", "POST"];
/// The body by which the server recommends to begin a split, and the option of the command.
const SPLIT: (&str, &str) = (r#" and {"status": "active", "rollout_percentage": 10}"#, " --rollout 10");
/// Members of bodies and parameters that the server recommends, and the options that send them.
const OPTIONS: [(&str, &str); 4] = [
    (r#"add "override": true"#, "add --override"),
    (r#"send "all": true"#, "add --all"),
    ("delete it with ?force=true", "delete it with --force"),
    ("assume_missed takes them as missed", "--assume-missed takes them as missed"),
];

/// Replaces the requests that a text recommends by commands.
pub(crate) fn as_commands(text: &str) -> String {
    let (mut written, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(BASE) {
        let (before, from) = rest.split_at(at);
        let below = &from[BASE.len()..];
        let end = below.find(|c: char| c.is_whitespace() || "`',;".contains(c)).unwrap_or(below.len());
        let method = METHODS.into_iter().find(|method| before.ends_with(method)).unwrap_or_default();
        let (path, after) = below.split_at(end);
        match command(method, path) {
            Some(arguments) => {
                let (options, after) = match after.strip_prefix(SPLIT.0) {
                    Some(after) if method == "PATCH" => (SPLIT.1, after),
                    _ => ("", after),
                };
                written.push_str(&before[..before.len() - method.len()]);
                written.push_str(&format!("'svc-cli {arguments}{options}'"));
                rest = after;
            }
            None => {
                written.push_str(&rest[..at + BASE.len() + end]);
                rest = after;
            }
        }
    }
    OPTIONS.iter().fold(written + rest, |text, &(request, option)| text.replace(request, option))
}

/// Returns the arguments of the command that makes a request.
fn command(method: &str, path: &str) -> Option<String> {
    let segments: Vec<&str> = path.split('/').collect();
    Some(match (method, &*segments) {
        ("POST", [kind @ ("workflows" | "channels"), id, "versions"]) => format!("{kind} new-version {id}"),
        ("POST", [kind @ ("workflows" | "channels"), id, "rollback"]) => format!("{kind} rollback {id}"),
        ("PATCH", [kind @ ("workflows" | "channels"), id, "status"]) => format!("{kind} activate {id}"),
        ("PATCH", ["workflows", id, "rollout"]) => format!("workflows rollout {id} --percentage PERCENT"),
        ("POST", ["channels", id, "trigger"]) => format!("channels trigger {id}"),
        ("POST", ["connectors", "circuit-breakers", key]) => format!("connectors reset-breaker {key}"),
        ("POST", ["connectors", id, "test"]) => format!("connectors test {id}"),
        ("POST", ["engine", "reload"]) => "engine reload".to_owned(),
        ("POST", ["actors", path @ .., "restart"]) => format!("actors restart {}", path.join("/")),
        ("POST", ["trace-dlq", id, "requeue"]) => format!("dlq requeue {id}"),
        ("GET", ["actors"]) => "actors".to_owned(),
        ("GET", [kind @ ("connectors" | "functions")]) => format!("{kind} list"),
        ("GET", ["kafka", "partitions"]) => "kafka partitions".to_owned(),
        ("GET", ["trace-dlq?exhausted=true"]) => "dlq list --exhausted".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_become_commands_and_other_texts_stay() {
        for (text, expected) in [
            (
                "workflow 'w' has no draft version; POST /api/v1/admin/workflows/w/versions makes one",
                "workflow 'w' has no draft version; 'svc-cli workflows new-version w' makes one",
            ),
            (
                "end the canary with PATCH /api/v1/admin/workflows/w/rollout (0 archives it, 100 completes it; add \
                 \"override\": true if it moves by itself)",
                "end the canary with 'svc-cli workflows rollout w --percentage PERCENT' (0 archives it, 100 completes \
                 it; add --override if it moves by itself)",
            ),
            (
                "make a draft with POST /api/v1/admin/workflows/w/versions, then activate it with PATCH \
                 /api/v1/admin/workflows/w/status and {\"status\": \"active\", \"rollout_percentage\": 10}",
                "make a draft with 'svc-cli workflows new-version w', then activate it with \
                 'svc-cli workflows activate w --rollout 10'",
            ),
            (
                "activate it with PATCH /api/v1/admin/channels/c/status before a rollback",
                "activate it with 'svc-cli channels activate c' before a rollback",
            ),
            ("POST /api/v1/admin/actors/channels/a/restart", "'svc-cli actors restart channels/a'"),
            ("POST /api/v1/admin/channels/c/trigger, once", "'svc-cli channels trigger c', once"),
            (
                "GET /api/v1/admin/functions lists those there are",
                "'svc-cli functions list' lists those there are",
            ),
            (
                "ask the node that does, see GET /api/v1/admin/kafka/partitions",
                "ask the node that does, see 'svc-cli kafka partitions'",
            ),
            (
                "what GET /api/v1/admin/trace-dlq?exhausted=true lists",
                "what 'svc-cli dlq list --exhausted' lists",
            ),
            ("POST /api/v1/admin/unknown is asked for", "POST /api/v1/admin/unknown is asked for"),
            ("GET /api/v1/admin/workflows/w/versions", "GET /api/v1/admin/workflows/w/versions"),
            (
                "GET /api/v1/admin/functions/operators lists them",
                "GET /api/v1/admin/functions/operators lists them",
            ),
            (
                "see /api/v1/admin/traces and POST /api/v1/admin/engine/reload",
                "see /api/v1/admin/traces and 'svc-cli engine reload'",
            ),
            ("to act on all of them, send \"all\": true", "to act on all of them, add --all"),
            (
                "change them first, or delete it with ?force=true",
                "change them first, or delete it with --force",
            ),
            (
                "begin there, or assume_missed takes them as missed",
                "begin there, or --assume-missed takes them as missed",
            ),
            ("nothing of the kind", "nothing of the kind"),
        ] {
            assert_eq!(as_commands(text), expected);
        }
    }
}
