//! The settings of a mail server, ready for use.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use svc_functions::declarations::mail::mailbox;
use svc_model::config::connector::{SmtpConfig, SmtpTls};
use svc_outbound::check_host;
use svc_secrets::redact;

use super::ascii_domain::with_ascii_domain;

/// The settings of a mail server.
pub(crate) struct SmtpSettings {
    /// The server; certificates must be for it.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: SmtpTls,
    pub(super) credentials: Option<Credentials>,
    /// The sender.
    pub(crate) from: Mailbox,
    /// Allows tasks to name another sender.
    pub(crate) allow_from_override: bool,
    pub(super) allow_private: bool,
    /// Time limit of reaching the server, and again of sending a mail.
    pub(super) timeout: Duration,
    /// Values that no text may show.
    secrets: Vec<String>,
}

impl SmtpSettings {
    /// Makes the settings of a config whose placeholders and references are replaced.
    ///
    /// # Errors
    /// A text that names the unusable field without its value.
    pub(crate) fn new(config: &SmtpConfig) -> Result<Self, String> {
        check_host(&config.host, config.allow_private_urls)
            .map_err(|error| format!("connector.config.host: {error}"))?;
        let from = mailbox(&config.from).map(with_ascii_domain);
        let from = from.map_err(|why| format!("connector.config.from: {why}"))?;
        let mut secrets = Vec::new();
        let credentials = config.auth.as_ref().map(|(username, password)| {
            let (username, password) = (username.expose(), password.expose());
            for sent in [format!("\0{username}\0{password}"), password.to_owned()] {
                let encoded = STANDARD.encode(&sent);
                // The padding is not always repeated.
                secrets.extend([encoded.trim_end_matches('=').to_owned(), encoded]);
            }
            secrets.push(password.to_owned());
            Credentials::new(username.to_owned(), password.to_owned())
        });
        Ok(Self {
            host: config.host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: config.port,
            tls: config.tls,
            credentials,
            from,
            allow_from_override: config.allow_from_override,
            allow_private: config.allow_private_urls,
            timeout: Duration::from_millis(config.timeout_ms),
            secrets,
        })
    }

    /// Returns a server's text without the credentials that it may repeat.
    pub(super) fn redact(&self, said: &str) -> String {
        redact(said.to_owned(), self.secrets.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use svc_model::ConnectorType;
    use svc_model::config::connector::ConnectorConfig;

    use serde_json::{Value, json};

    use super::*;

    fn settings(config: Value) -> Result<SmtpSettings, String> {
        match ConnectorConfig::parse(ConnectorType::Smtp, &config).unwrap() {
            ConnectorConfig::Smtp(config) => SmtpSettings::new(&config),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn unusable_setting_is_named_by_its_field() {
        for (config, part) in [
            (json!({"host": "10.0.0.1", "from": "a@example.com"}), "connector.config.host: SSRF protection:"),
            (json!({"host": "mail.example", "from": "a b@example.com"}), "connector.config.from"),
        ] {
            let config = ConnectorConfig::parse(ConnectorType::Smtp, &config);
            let Ok(ConnectorConfig::Smtp(config)) = config else { continue };
            let error = SmtpSettings::new(&config).err().unwrap();
            assert!(error.starts_with(part), "{error}");
        }
        assert!(
            settings(json!({"host": "[2606:4700::1]", "from": "a@example.com"})).unwrap().host
                == "2606:4700::1"
        );
    }

    #[test]
    fn credentials_a_server_repeats_are_not_shown() {
        let auth = json!({"type": "basic", "username": "bob", "password": "sword fish"});
        let settings =
            settings(json!({"host": "mail.example", "from": "a@example.com", "auth": auth})).unwrap();
        let (plain, login) = (STANDARD.encode("\0bob\0sword fish"), STANDARD.encode("sword fish"));
        let unpadded = login.trim_end_matches('=');
        let said = format!("bad password sword fish (sword%20fish) for bob, {plain}, {login}, {unpadded}.");
        assert_eq!(settings.redact(&said), "bad password ****** (******) for bob, ******, ******, ******.");
    }
}
