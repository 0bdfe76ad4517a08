//! The remedies of errors of the server.

use svc_client::ClientError;

use crate::context::CommandContext;
use crate::error::CliError;

const KEY_SOURCES: &str = "--api-key, SVC_API_KEY or 'svc-cli config set api_key <key>'";

/// Adds the remedy to an error, if there is a usual one.
pub(crate) async fn advise(error: ClientError, context: &CommandContext) -> CliError {
    let code = error.api().map(|api| api.code.as_str());
    let advice = match (&error, code) {
        (ClientError::Unreachable { cause, .. }, _) => Some(connection_advice(cause).to_owned()),
        (_, Some("UNAUTHORIZED")) => Some(key_advice(context.has_key)),
        (_, Some("FORBIDDEN")) => Some("the key may be one that only reads".to_owned()),
        (ClientError::Shape { .. }, _)
        | (_, Some("NOT_FOUND" | "METHOD_NOT_ALLOWED" | "VALIDATION_ERROR")) => {
            version_advice(context.client.server_version().await)
        }
        _ => None,
    };
    match advice {
        Some(advice) => CliError::Advised { error, advice },
        None => CliError::Client(error),
    }
}

fn key_advice(has_key: bool) -> String {
    if has_key {
        format!(
            "the server does not accept this key; another comes from {KEY_SOURCES}. The server may want it in another \
             header: --api-key-header"
        )
    } else {
        format!("no key was sent; it comes from {KEY_SOURCES}")
    }
}

/// Returns the remedy of a connection that was not made, by the cause.
fn connection_advice(cause: &str) -> &'static str {
    let is_timely = !cause.contains("xpired") && !cause.contains("alid yet");
    if cause.contains("certificate") && !is_timely {
        "the server runs; renew its certificate, or correct the clock of this machine"
    } else if cause.contains("certificate") {
        "the server runs; its certificate must be for the name in its address, and of an authority that this machine, \
         SSL_CERT_FILE or --ca-file names"
    } else {
        "start the server, or name another with --server, SVC_SERVER_URL or 'svc-cli config set-server <url>'"
    }
}

/// Returns a note when the server is of another version; `None` when it is of the same, or is unknown.
fn version_advice(server: Option<String>) -> Option<String> {
    let (server, own) = (server?, env!("CARGO_PKG_VERSION"));
    (server != own).then(|| {
        format!("the server is version {server} and svc-cli {own}; they may not know the same requests")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_certificate_is_no_missing_server() {
        let advice = connection_advice("invalid peer certificate: UnknownIssuer");
        assert!(advice.contains("SSL_CERT_FILE"), "{advice}");
        for cause in
            ["invalid peer certificate: Expired", "invalid peer certificate: certificate not valid yet"]
        {
            assert!(connection_advice(cause).contains("renew its certificate"), "{cause}");
        }
        assert!(connection_advice("tcp connect error: Connection refused").starts_with("start the server"));
    }

    #[test]
    fn other_version_is_named_and_the_same_is_not() {
        assert_eq!(version_advice(Some(env!("CARGO_PKG_VERSION").to_owned())), None);
        assert_eq!(version_advice(None), None);
        assert!(version_advice(Some("9.8.7".to_owned())).unwrap().contains("9.8.7"));
    }
}
