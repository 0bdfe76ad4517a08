//! The definitions of the canary test: a channel of every mode, a task of every function, a connector.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::plant::{
    CHANNEL_ROWS, CONNECTOR_ROWS, CanarySource, Plants, Text, WORKFLOW_READS, WORKFLOW_ROWS, pair,
};
use crate::support::{channel, echo_workflow};

/// The served definitions, and the credentials of their callers.
pub(super) struct Served {
    pub(super) workflows: Vec<Value>,
    pub(super) channels: Vec<Value>,
    pub(super) connectors: Vec<Value>,
    pub(super) calls: Vec<(String, Vec<(&'static str, String)>)>,
    /// An API that repeats its input, and refuses what is below `/no`.
    pub(super) repeats: Upstream,
}

impl Served {
    pub(super) fn plant(plants: &mut Plants) -> Self {
        let mut served = Self {
            workflows: vec![echo_workflow("echo")],
            channels: Vec::new(),
            connectors: Vec::new(),
            calls: Vec::new(),
            repeats: Upstream::start(|asked| {
                let said = json!({"at": asked.target, "body": asked.text()}).to_string();
                UpstreamReply::new(if asked.target.starts_with("/no") { 422 } else { 200 }, said)
            })
            .unwrap(),
        };
        let config = json!({"type": "http", "url": served.repeats.url("/"), "allow_private_urls": true});
        served.connectors.push(json!({"name": "repeats", "connector_type": "http", "config": config}));
        for source in CanarySource::REFERENCES {
            served.plant_credentials(plants, source);
        }
        for source in CanarySource::ALL {
            served.plant_tasks(plants, source);
        }
        for source in CanarySource::REFERENCES {
            let (password, header) = (plants.text(), plants.text());
            let config = json!({"type": "http", "url": "https://api.example.com/v1",
                "headers": {"X-Key": plants.plant("connector.header", source, &header, &[CONNECTOR_ROWS])},
                "auth": {"type": "basic", "username": "bob",
                    "password": plants.plant("connector.password", source, &password, &[CONNECTOR_ROWS])}});
            served.connectors.push(json!({"name": format!("connector-{}", source.name()),
                "connector_type": "http", "config": config}));
        }
        served
    }

    fn guard(&mut self, id: String, auth: Value, calls: Vec<Vec<(&'static str, String)>>) {
        let config = json!({"auth": auth, "tracing": {"task_details": true}});
        self.channels.push(channel(&id, "echo", config));
        self.calls.extend(calls.into_iter().map(|headers| (id.clone(), headers)));
    }

    /// A channel of each mode; called with the right credential and with none.
    fn plant_credentials(&mut self, plants: &mut Plants, source: CanarySource) {
        let shown: &[&str] = &[CHANNEL_ROWS];
        let key = plants.text();
        let keys = [plants.plant("auth.keys", source, &key, shown)];
        let auth = json!({"mode": "api_key", "header": "x-key", "keys": keys});
        let right = vec![("x-key", key.text)];
        self.guard(format!("key-{}", source.name()), auth, vec![right, Vec::new()]);

        let (secret, other) = (plants.text(), plants.text());
        let auth = json!({"mode": "hmac", "header": "x-signature",
            "secret": plants.plant("auth.secret", source, &secret, shown),
            "secrets": [plants.plant("auth.secrets", source, &other, shown)]});
        let calls = [&secret, &other].map(|secret| vec![("x-signature", hex(&mac(secret, b"{}")))]);
        self.guard(format!("signed-{}", source.name()), auth, calls.into());

        let (shared, in_hex, in_base64) = (plants.text(), plants.text(), plants.text());
        let in_hex = in_hex.wrap_written(hex(in_hex.text.as_bytes()));
        let in_base64 = in_base64.wrap_written(STANDARD.encode(&in_base64.text));
        let mut keys = vec![
            json!({"algorithm": "HS256", "kid": "a", "key": plants.plant("auth.jwt_keys.utf8", source, &shared, shown)}),
            json!({"algorithm": "HS256", "kid": "b", "key_encoding": "hex",
                "key": plants.plant("auth.jwt_keys.hex", source, &in_hex, shown)}),
            json!({"algorithm": "HS256", "kid": "c", "key_encoding": "base64",
                "key": plants.plant("auth.jwt_keys.base64", source, &in_base64, shown)}),
        ];
        for algorithm in ["RS256", "ES256", "EdDSA"] {
            let (_, public) = pair(algorithm);
            let field = format!("auth.jwt_keys.{algorithm}");
            keys.push(json!({"algorithm": algorithm, "key": plants.plant(&field, source, &public, shown)}));
        }
        let auth =
            json!({"mode": "jwt", "algorithms": ["HS256", "RS256", "ES256", "EdDSA"], "jwt_keys": keys});
        let token = token(&shared);
        let signature = token.rsplit('.').next().unwrap().to_owned();
        plants.canaries.add(&format!("presented token, {}", source.name()), signature.as_bytes(), &[]);
        let right = vec![("authorization", format!("Bearer {token}"))];
        let wrong = vec![("authorization", "Bearer a.b.c".to_owned())];
        self.guard(format!("token-{}", source.name()), auth, vec![right, wrong]);
    }

    /// A workflow with every field that takes a secret, its tasks failing and succeeding; a channel, called
    /// both ways.
    fn plant_tasks(&mut self, plants: &mut Plants, source: CanarySource) {
        let shown: &[&str] = &[WORKFLOW_ROWS, WORKFLOW_READS];
        let id = format!("work-{}", source.name());
        let texts = [plants.text(), plants.text(), plants.text(), plants.text(), plants.text()];
        let [code, key, other, issuer, audience] = &texts;
        let code = plants.plant("crypto.key", source, code, shown);
        let key = plants.plant("jwt_sign.key", source, key, shown);
        let other = plants.plant("jwt_verify.keys", source, other, shown);
        let issuer = plants.plant("jwt_verify.issuer", source, issuer, shown);
        let audience = plants.plant("jwt_verify.audience", source, audience, shown);
        let verify = |id: &str, key: &Value, extra: (&str, &Value)| {
            let mut input = json!({"token": {"var": "temp_data.token"}, "algorithms": ["HS256"],
                "keys": [{"algorithm": "HS256", "key": key}], "output": "data.claims"});
            input[extra.0] = extra.1.clone();
            task(id, "jwt_verify", input)
        };
        let mut tasks = vec![
            task("code", "crypto", json!({"op": "hmac", "key": code, "data": "d", "output": "data.code"})),
            task(
                "sign",
                "jwt_sign",
                json!({"algorithm": "HS256", "key": key, "expires_in": 60, "output": "temp_data.token"}),
            ),
            verify("accepted", &key, ("require_exp", &json!(true))),
            verify("other-key", &other, ("require_exp", &json!(true))),
            verify("other-issuer", &key, ("issuer", &issuer)),
            verify("other-audience", &key, ("audience", &audience)),
        ];
        for algorithm in ["RS256", "ES256", "EdDSA"] {
            let (private, _) = pair(algorithm);
            let key = plants.plant(&format!("jwt_sign.{algorithm}"), source, &private, shown);
            let input =
                json!({"algorithm": algorithm, "key": key, "expires_in": 60, "output": "temp_data.other"});
            tasks.push(task(algorithm, "jwt_sign", input));
        }
        if let Value::Object(_) = key {
            let mut reads = task("reads", "log", json!({"message": "it was read"}));
            reads["condition"] = json!({"!=": [{"cat": [key, ""]}, {"+": [[], key]}]});
            tasks.push(reads);
            let call = json!({"connector": "repeats", "method": "POST", "body_logic": {"key": key}, "output": "data.told"});
            tasks.push(task("told", "http_call", call));
            let refused = json!({"connector": "repeats", "path_logic": {"cat": ["no/", key]}});
            tasks.push(task("refused", "http_call", refused));
        }
        tasks.push(task("says", "log", json!({"message": {"var": "payload.x"}})));
        let mut fails =
            task("fails", "map", json!({"mappings": [{"path": "data.x", "logic": {"throw": "no"}}]}));
        fails["continue_on_error"] = json!(false);
        tasks.push(fails);
        self.workflows.push(json!({"workflow_id": id, "name": id, "tasks": tasks}));
        self.channels.push(channel(&id, &id, json!({"tracing": {"task_details": true}})));
        let presented =
            |plants: &mut Plants, header: &str| plants.plant_text(&format!("presented {header}, {id}"));
        let bearer = format!("Bearer {}", presented(plants, "authorization"));
        let headers = vec![
            ("authorization", bearer),
            ("x-api-key", presented(plants, "x-api-key")),
            ("cookie", format!("sid={}", presented(plants, "cookie"))),
        ];
        self.calls.push((id.clone(), headers.clone()));
        self.calls.push((format!("{id}/async"), headers));
    }
}

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": id, "continue_on_error": true, "function": {"name": function, "input": input}})
}

fn mac(secret: &Text, message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.text.as_bytes()).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A token that is good for ever.
fn token(secret: &Text) -> String {
    let part = |part: Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let signed =
        format!("{}.{}", part(json!({"alg": "HS256", "kid": "a"})), part(json!({"exp": 99_999_999_999_u64})));
    let signature = URL_SAFE_NO_PAD.encode(mac(secret, signed.as_bytes()));
    format!("{signed}.{signature}")
}
