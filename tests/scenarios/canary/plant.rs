//! The places of canaries, and their spelling there.

use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use serde_json::{Map, Value, json};
use svc_testkit::canary::{Canaries, value};

/// The places of stored definitions: the only ones for a literal of a channel or a connector.
pub(super) const CHANNEL_ROWS: &str = "rows of channels";
pub(super) const CONNECTOR_ROWS: &str = "rows of connectors";
pub(super) const WORKFLOW_ROWS: &str = "rows of workflows";
/// A workflow reads back as it was written, its literals included.
pub(super) const WORKFLOW_READS: &str = "reads of workflows";

/// The source of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CanarySource {
    Literal,
    Env,
    Vault,
    DeclaredEnv,
    DeclaredVault,
}

impl CanarySource {
    pub(super) const REFERENCES: [Self; 3] = [Self::Literal, Self::Env, Self::Vault];
    pub(super) const ALL: [Self; 5] =
        [Self::Literal, Self::Env, Self::Vault, Self::DeclaredEnv, Self::DeclaredVault];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Env => "env",
            Self::Vault => "vault",
            Self::DeclaredEnv => "declared-env",
            Self::DeclaredVault => "declared-vault",
        }
    }
}

/// A text that is secret, and the parts of it that reveal it.
pub(super) struct Text {
    pub(super) text: String,
    parts: Vec<Vec<u8>>,
}

impl Text {
    /// Returns the same secret in another notation.
    pub(super) fn wrap_written(&self, text: String) -> Self {
        Self { text, parts: self.parts.clone() }
    }
}

/// The planted secrets, with the environment and the store of the service.
#[derive(Default)]
pub(super) struct Plants {
    pub(super) canaries: Canaries,
    pub(super) variables: Vec<(String, String)>,
    pub(super) fields: Map<String, Value>,
    /// `[secrets]`, line by line.
    pub(super) declared: String,
    number: u64,
}

impl Plants {
    /// A text that every algorithm takes as a key.
    pub(super) fn text(&mut self) -> Text {
        self.number += 1;
        let text = value(self.number, 64);
        Text { parts: vec![text.clone().into_bytes()], text }
    }

    /// Plants a text that is given as it is, in a setting or a request.
    pub(super) fn plant_text(&mut self, name: &str) -> String {
        let text = self.text();
        self.add(name, &text, &[]);
        text.text
    }

    fn add(&mut self, name: &str, text: &Text, shown: &'static [&'static str]) {
        for part in &text.parts {
            self.canaries.add(name, part, shown);
        }
    }

    /// Plants a text and returns its form in the definition.
    pub(super) fn plant(
        &mut self,
        field: &str,
        source: CanarySource,
        text: &Text,
        shown: &'static [&'static str],
    ) -> Value {
        let name = format!("{field}-{}", source.name());
        self.add(&name, text, if source == CanarySource::Literal { shown } else { &[] });
        let plain = name.replace(['-', '.'], "_").to_uppercase();
        match source {
            CanarySource::Literal => return json!(text.text),
            CanarySource::Env | CanarySource::DeclaredEnv => {
                self.variables.push((plain.clone(), text.text.clone()))
            }
            CanarySource::Vault | CanarySource::DeclaredVault => {
                self.fields.insert(plain.clone(), json!(text.text));
            }
        }
        let reference = match source {
            CanarySource::Env | CanarySource::DeclaredEnv => format!("env://{plain}"),
            _ => format!("vault://secret/data/canaries#{plain}"),
        };
        if matches!(source, CanarySource::Env | CanarySource::Vault) {
            return json!(reference);
        }
        self.declared.push_str(&format!("{plain} = \"{reference}\"\n"));
        json!({"secret": plain})
    }
}

/// The private and the public half of a key pair, as PEM.
pub(super) fn pair(algorithm: &str) -> (Text, Text) {
    let key = match algorithm {
        "RS256" => PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap(),
        "ES256" => {
            let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
            PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
        }
        _ => PKey::generate_ed25519().unwrap(),
    };
    (
        pem(key.private_key_to_pem_pkcs8().unwrap(), &key.private_key_to_der().unwrap()),
        pem(key.public_key_to_pem().unwrap(), &key.public_key_to_der().unwrap()),
    )
}

/// A PEM is known by the longest of its last lines, and by bytes of the key behind it.
fn pem(text: Vec<u8>, der: &[u8]) -> Text {
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("-----")).collect();
    let last = lines[lines.len().saturating_sub(2)..].iter().max_by_key(|line| line.len()).unwrap();
    let parts = vec![last.as_bytes().to_vec(), der[der.len() - 24..].to_vec()];
    Text { text, parts }
}
