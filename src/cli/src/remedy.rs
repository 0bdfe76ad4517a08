//! Requests of the HTTP API in texts of the server, as the commands that make them.

/// The base of the admin API in texts of the server.
const POST: &str = "POST /api/v1/admin/";

/// Replaces the requests that a text recommends by commands.
pub(crate) fn as_commands(text: &str) -> String {
    let mut parts = text.split(POST);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_whitespace() || "`',;".contains(c)).unwrap_or(part.len());
        let (path, rest) = part.split_at(end);
        match command(path) {
            Some(command) => written.push_str(&command),
            None => written.extend([POST, path]),
        }
        written.push_str(rest);
    }
    written
}

/// Returns the command of a request.
fn command(path: &str) -> Option<String> {
    let segments: Vec<&str> = path.split('/').collect();
    let arguments = match *segments {
        [kind @ ("workflows" | "channels"), id, "versions"] => format!("{kind} new-version {id}"),
        [kind @ ("workflows" | "channels"), id, "rollback"] => format!("{kind} rollback {id}"),
        ["channels", id, "trigger"] => format!("channels trigger {id}"),
        ["connectors", "circuit-breakers", key] => format!("connectors reset-breaker {key}"),
        ["connectors", id, "test"] => format!("connectors test {id}"),
        ["engine", "reload"] => "engine reload".to_owned(),
        ["actors", ref path @ .., "restart"] => format!("actors restart {}", path.join("/")),
        ["trace-dlq", id, "requeue"] => format!("dlq requeue {id}"),
        _ => return None,
    };
    Some(format!("'svc-cli {arguments}'"))
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
            ("POST /api/v1/admin/unknown is asked for", "POST /api/v1/admin/unknown is asked for"),
            ("nothing of the kind", "nothing of the kind"),
        ] {
            assert_eq!(as_commands(text), expected);
        }
    }
}
