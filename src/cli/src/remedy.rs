//! Requests of the HTTP API in texts of the server, as the commands that make them.

/// The changes of the admin API in texts of the server.
const POST: &str = "POST /api/v1/admin/";
/// The reads of the admin API in texts of the server.
const GET: &str = "GET /api/v1/admin/";

/// Replaces the requests that a text recommends by commands.
pub(crate) fn as_commands(text: &str) -> String {
    replace_requests(&replace_requests(text, POST, change), GET, read)
}

/// Replaces the requests with this beginning for which there is a command.
fn replace_requests(text: &str, beginning: &str, command: fn(&str) -> Option<String>) -> String {
    let mut parts = text.split(beginning);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_whitespace() || "`',;".contains(c)).unwrap_or(part.len());
        let (path, rest) = part.split_at(end);
        match command(path) {
            Some(arguments) => written.push_str(&format!("'svc-cli {arguments}'")),
            None => written.extend([beginning, path]),
        }
        written.push_str(rest);
    }
    written
}

/// Returns the arguments of the command of a read.
fn read(path: &str) -> Option<String> {
    (path == "trace-dlq?exhausted=true").then(|| "dlq list --exhausted".to_owned())
}

/// Returns the arguments of the command of a change.
fn change(path: &str) -> Option<String> {
    let segments: Vec<&str> = path.split('/').collect();
    Some(match *segments {
        [kind @ ("workflows" | "channels"), id, "versions"] => format!("{kind} new-version {id}"),
        [kind @ ("workflows" | "channels"), id, "rollback"] => format!("{kind} rollback {id}"),
        ["channels", id, "trigger"] => format!("channels trigger {id}"),
        ["connectors", "circuit-breakers", key] => format!("connectors reset-breaker {key}"),
        ["connectors", id, "test"] => format!("connectors test {id}"),
        ["engine", "reload"] => "engine reload".to_owned(),
        ["actors", ref path @ .., "restart"] => format!("actors restart {}", path.join("/")),
        ["trace-dlq", id, "requeue"] => format!("dlq requeue {id}"),
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
            ("POST /api/v1/admin/actors/channels/a/restart", "'svc-cli actors restart channels/a'"),
            ("POST /api/v1/admin/channels/c/trigger, once", "'svc-cli channels trigger c', once"),
            (
                "what GET /api/v1/admin/trace-dlq?exhausted=true lists",
                "what 'svc-cli dlq list --exhausted' lists",
            ),
            ("POST /api/v1/admin/unknown is asked for", "POST /api/v1/admin/unknown is asked for"),
            ("GET /api/v1/admin/workflows/w/versions", "GET /api/v1/admin/workflows/w/versions"),
            ("nothing of the kind", "nothing of the kind"),
        ] {
            assert_eq!(as_commands(text), expected);
        }
    }
}
