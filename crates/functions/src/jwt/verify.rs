//! The function `jwt_verify`.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_auth::jwt::{ClaimRules, NamedKey, TokenVerifier, VerifyingKey};
use svc_auth::{KeySets, RefusalReason};
use svc_engine::catalogue::{FunctionEntry, InputField, InputShape};
use svc_engine::{
    CompileCx, CompiledTask, ErrorCode, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome,
};
use svc_model::config::auth::JwtAlgorithm;
use svc_model::{FieldError, is_annotation, unknown_key};

use super::accepted::{self, AcceptedValues};
use super::key_encoding;
use crate::input::{self, InputProblems, text};
use crate::secret::{self, LoadedSecret, UnresolvedSecret, is_declared, literal};

/// The catalogue entry of `jwt_verify`.
static ENTRY: FunctionEntry = FunctionEntry {
    strict: true,
    retry_safety: "read",
    fields: &[
        InputField::string("token", "Token, without a leading Bearer").required().computed(),
        InputField::array("algorithms", "Accepted algorithms").required().shape(InputShape::TextList),
        InputField::array("keys", "Accepted keys").secret_at(&["[].key"]).shape(InputShape::VerifyingKeys),
        InputField::string("jwks_url", "Where a key set is fetched, https only"),
        InputField::any("issuer", "Accepted issuer or issuers")
            .resolvable()
            .secret_at(&[""])
            .shape(InputShape::Texts),
        InputField::any("audience", "Accepted audience or audiences")
            .resolvable()
            .secret_at(&[""])
            .shape(InputShape::Texts),
        InputField::number("leeway_secs", "Seconds clocks may differ, 30 by default"),
        InputField::bool("require_exp", "Refuses a token without an expiry, true by default"),
        InputField::output(),
    ],
    ..FunctionEntry::utility("jwt_verify", "Verifies a JSON Web Token and returns its claims")
};

/// Default and maximum tolerated clock skew, in seconds.
const LEEWAY: u64 = 30;
const MAX_LEEWAY: u64 = 300;

/// The members of a key.
const KEY_FIELDS: [&str; 4] = ["algorithm", "key", "kid", "key_encoding"];

/// The function `jwt_verify`.
pub(crate) struct JwtVerify {
    key_sets: Arc<dyn KeySets>,
}

impl JwtVerify {
    pub(crate) fn new(key_sets: Arc<dyn KeySets>) -> Self {
        Self { key_sets }
    }

    fn verifier(&self, input: &Value, cx: &CompileCx<'_>) -> Result<LoadedSecret<TokenVerifier>, String> {
        let algorithms = items(input.get("algorithms")).iter().filter_map(algorithm).collect();
        let key_set = text(input, "jwks_url").map(|url| self.key_sets.key_set(url)).transpose();
        let key_set = key_set.map_err(|why| format!("jwks_url: {why}"))?;
        let keys = items(input.get("keys")).iter().enumerate().map(|(n, entry)| {
            let algorithm = algorithm(&entry["algorithm"]).ok_or("keys: an algorithm is not supported")?;
            let encoding = key_encoding(text(entry, "key_encoding"));
            let key = |text: &str| {
                let key = VerifyingKey::from_text(algorithm, encoding, text)?;
                Ok::<_, svc_auth::jwt::KeyError>(NamedKey {
                    kid: self::text(entry, "kid").map(str::to_owned),
                    key,
                })
            };
            secret::load(&format!("keys[{n}].key"), &entry["key"], cx.material(), key)
        });
        let keys: Vec<LoadedSecret<NamedKey>> = keys.collect::<Result<_, String>>()?;
        let keys = keys.into_iter().collect::<Result<_, UnresolvedSecret>>();
        Ok(keys.map(|keys| TokenVerifier::new(algorithms, keys, key_set)))
    }
}

fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn algorithm(name: &Value) -> Option<JwtAlgorithm> {
    JwtAlgorithm::parse(name.as_str()?)
}

impl Function for JwtVerify {
    fn entry(&self) -> &'static FunctionEntry {
        &ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        let mut problems = InputProblems { at, errors };
        if let Some(Value::Array(names)) = input.get("algorithms") {
            if names.is_empty() {
                problems.invalid("algorithms", "name at least one algorithm");
            }
            for (n, name) in names.iter().enumerate() {
                check_algorithm(&format!("algorithms[{n}]"), name, &mut problems);
            }
        }
        for (n, entry) in items(input.get("keys")).iter().enumerate() {
            check_key(&format!("keys[{n}]"), entry, &mut problems);
        }
        let keyless = input.get("keys").and_then(Value::as_array).is_none_or(Vec::is_empty);
        match input.get("jwks_url") {
            None if keyless => problems.require("keys"),
            Some(Value::String(url)) => problems.note("jwks_url", self.key_sets.key_set(url)),
            _ => {}
        }
        if let Some(leeway) = input.get("leeway_secs").filter(|leeway| leeway.is_number())
            && leeway.as_u64().is_none_or(|leeway| leeway > MAX_LEEWAY)
        {
            problems.invalid("leeway_secs", format!("an integer from 0 to {MAX_LEEWAY}"));
        }
        for field in ["issuer", "audience"] {
            if let Some(source) = input.get(field) {
                accepted::check(field, source, &mut problems);
            }
        }
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(VerifyTask {
            verifier: self.verifier(input, cx)?,
            issuer: AcceptedValues::load("issuer", input, cx)?,
            audience: AcceptedValues::load("audience", input, cx)?,
            leeway_secs: input.get("leeway_secs").and_then(Value::as_u64).unwrap_or(LEEWAY),
            require_exp: input.get("require_exp").and_then(Value::as_bool).unwrap_or(true),
            inputs: Inputs::new(&ENTRY, input, cx)?,
            output: input::output(input)?,
        }))
    }
}

fn check_algorithm(field: &str, name: &Value, problems: &mut InputProblems<'_>) {
    match name {
        Value::String(_) if algorithm(name).is_some() => {}
        Value::String(name) => problems.invalid(field, JwtAlgorithm::describe_unknown(name)),
        other => problems.mismatch(field, "string", other),
    }
}

/// Reports problems of a key `{algorithm, key, kid?, key_encoding?}`.
fn check_key(at: &str, entry: &Value, problems: &mut InputProblems<'_>) {
    let Some(fields) = entry.as_object() else { return problems.mismatch(at, "object", entry) };
    for name in fields.keys().filter(|name| !KEY_FIELDS.contains(&name.as_str()) && !is_annotation(name)) {
        let path = format!("{}.{at}.{name}", problems.at);
        problems.errors.push(unknown_key(path, name, &KEY_FIELDS, &[]));
    }
    let at = |field: &str| format!("{at}.{field}");
    match fields.get("algorithm") {
        None => problems.require(&at("algorithm")),
        Some(name) => check_algorithm(&at("algorithm"), name, problems),
    }
    if let Some(kid) = fields.get("kid").filter(|kid| !kid.is_string()) {
        problems.mismatch(&at("kid"), "string", kid);
    }
    match fields.get("key_encoding").map(|encoding| (encoding, encoding.as_str())) {
        None | Some((_, Some("utf8" | "hex" | "base64"))) => {}
        Some((_, Some(_))) => problems.invalid(&at("key_encoding"), "use utf8, hex or base64"),
        Some((other, None)) => problems.mismatch(&at("key_encoding"), "string", other),
    }
    match fields.get("key") {
        None => problems.require(&at("key")),
        Some(source @ Value::String(_)) => {
            match (literal(source), fields.get("algorithm").and_then(algorithm)) {
                (Ok(Some(key)), Some(algorithm)) => {
                    let encoding = key_encoding(text(entry, "key_encoding"));
                    problems.note(&at("key"), VerifyingKey::from_text(algorithm, encoding, key));
                }
                (Err(why), _) => problems.invalid(&at("key"), why),
                _ => {}
            }
        }
        Some(source) if is_declared(source) => {}
        Some(other) => problems.mismatch(&at("key"), "string", other),
    }
}

struct VerifyTask {
    verifier: LoadedSecret<TokenVerifier>,
    issuer: Option<AcceptedValues>,
    audience: Option<AcceptedValues>,
    leeway_secs: u64,
    require_exp: bool,
    inputs: Inputs,
    output: Path,
}

impl VerifyTask {
    async fn claims(&self, cx: &TaskCx<'_>) -> Result<Map<String, Value>, TaskError> {
        let verifier = self.verifier.as_ref().map_err(|unset| unset.error())?;
        let accepted = |accepted: &Option<AcceptedValues>| match accepted {
            Some(accepted) => accepted.resolve(cx),
            None => Ok(Vec::new()),
        };
        let rules = ClaimRules {
            issuers: accepted(&self.issuer)?,
            audiences: accepted(&self.audience)?,
            leeway_secs: self.leeway_secs,
            require_exp: self.require_exp,
        };
        if self.inputs.fold(cx, "token")?.is_null() {
            return Err(rejected_error(RefusalReason::Missing));
        }
        let token = self.inputs.require_text(cx, "token")?;
        verifier.claims(token.as_bytes(), &rules, cx.now().timestamp()).await.map_err(rejected_error)
    }
}

fn rejected_error(reason: RefusalReason) -> TaskError {
    TaskError::new(ErrorCode::Function, format!("token rejected ({})", reason.name()))
}

impl CompiledTask for VerifyTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let claims = self.claims(cx).await?;
            cx.write(&self.output, claims.into())?;
            Ok(TaskOutcome::Success)
        })
    }
}
