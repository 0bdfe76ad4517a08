//! The function `jwt_sign`.

use crate::encoding::TEXT_ENCODINGS;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_auth::jwt::SigningKey;
use svc_engine::catalogue::{FunctionEntry, InputField, InputShape};
use svc_engine::{
    CompileCx, CompiledTask, ErrorCode, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome,
};
use svc_model::FieldError;
use svc_model::config::auth::JwtAlgorithm;

use super::duration::seconds;
use super::key_encoding;
use crate::input::{self, InputProblems, literal_scalar, literal_value, text};
use crate::secret::{self, LoadedSecret, literal};

/// The catalogue entry of `jwt_sign`.
static ENTRY: FunctionEntry = FunctionEntry {
    strict: true,
    fields: &[
        InputField::string("algorithm", "Signature algorithm").required().one_of(&[
            "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256",
            "ES384", "EdDSA",
        ]),
        InputField::string("key", "Shared secret, or private key as PEM").required().secret_at(&[""]),
        InputField::string("key_encoding", "How a shared secret is read, utf8 by default")
            .one_of(TEXT_ENCODINGS),
        InputField::object("claims", "Claims").resolvable().shape(InputShape::Claims),
        InputField::any(
            "expires_in",
            "Seconds, or a duration such as 15m; required unless claims.exp is given",
        )
        .computed()
        .shape(InputShape::Duration),
        InputField::string("issuer", "Claim iss; wins over claims").computed(),
        InputField::any("audience", "Claim aud; wins over claims").resolvable().shape(InputShape::Texts),
        InputField::any("not_before", "Claim nbf as a duration from now; wins over claims")
            .computed()
            .shape(InputShape::Duration),
        InputField::string("kid", "Key id of the header").computed(),
        InputField::output(),
    ],
    ..FunctionEntry::utility("jwt_sign", "Signs a JSON Web Token")
};

/// Claims that are timestamps, in seconds.
const INSTANTS: [&str; 2] = ["exp", "iat"];

/// The function `jwt_sign`.
pub(crate) struct JwtSign;

impl Function for JwtSign {
    fn entry(&self) -> &'static FunctionEntry {
        &ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        let mut problems = InputProblems { at, errors };
        let name = |field: &str| input.get(field).and_then(Value::as_str);
        match input.get("key").map(literal) {
            Some(Ok(Some(key))) => {
                if let Some(algorithm) = name("algorithm").and_then(JwtAlgorithm::parse) {
                    let encoding = key_encoding(name("key_encoding"));
                    problems.note("key", SigningKey::from_text(algorithm, encoding, key));
                }
            }
            Some(Err(why)) => problems.invalid("key", why),
            _ => {}
        }
        for field in ["expires_in", "not_before"] {
            if let Some(duration) = literal_scalar(input, field) {
                problems.note(field, seconds(&duration));
            }
        }
        if let Some(audience) = literal_value(input, "audience")
            && !is_audience(&audience)
        {
            problems.mismatch("audience", AUDIENCE, &audience);
        }
        let claims = input.get("claims").and_then(Value::as_object);
        for claim in INSTANTS {
            if let Some(value) = claims.and_then(|claims| literal_value(claims, claim))
                && !value.is_number()
            {
                problems.mismatch(&format!("claims.{claim}"), "number", &value);
            }
        }
        let from_message = claims.is_some_and(|claims| claims.contains_key("var"));
        let expires = claims.is_some_and(|claims| claims.contains_key("exp"));
        if input.get("expires_in").is_none_or(Value::is_null) && !expires && !from_message {
            problems.require("expires_in");
        }
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let algorithm = text(input, "algorithm").and_then(JwtAlgorithm::parse);
        let algorithm = algorithm.ok_or("algorithm: not supported")?;
        let encoding = key_encoding(text(input, "key_encoding"));
        let key = |text: &str| SigningKey::from_text(algorithm, encoding, text);
        Ok(Box::new(SignTask {
            key: secret::load("key", &input["key"], cx.material(), key)?,
            inputs: Inputs::new(&ENTRY, input, cx)?,
            output: input::output(input)?,
        }))
    }
}

struct SignTask {
    key: LoadedSecret<SigningKey>,
    inputs: Inputs,
    output: Path,
}

impl SignTask {
    /// Returns the claims for one message. A dedicated field takes precedence over the same claim in
    /// `claims`.
    fn claims(&self, cx: &TaskCx<'_>) -> Result<Map<String, Value>, TaskError> {
        let mut claims = match self.inputs.get(cx, "claims")? {
            Some(Value::Object(claims)) => claims,
            _ => Map::new(),
        };
        for claim in INSTANTS {
            if let Some(value) = claims.get(claim).filter(|value| !value.is_number()) {
                let error = FieldError::type_mismatch("", "number", value);
                return Err(TaskError::validation(format!("claims.{claim}: {}", error.message)));
            }
        }
        let now = cx.now().timestamp();
        if let Some(issuer) = self.inputs.get(cx, "issuer")? {
            claims.insert("iss".into(), issuer);
        }
        if let Some(audience) = self.inputs.get(cx, "audience")? {
            if !is_audience(&audience) {
                return Err(TaskError::validation(format!("audience: expected {AUDIENCE}")));
            }
            claims.insert("aud".into(), audience);
        }
        if let Some(delay) = self.duration(cx, "not_before")? {
            claims.insert("nbf".into(), (now + delay).into());
        }
        match self.duration(cx, "expires_in")? {
            Some(lifetime) => drop(claims.insert("exp".into(), (now + lifetime).into())),
            None if claims.contains_key("exp") => {}
            None => return Err(TaskError::validation("expires_in: required without claims.exp")),
        }
        claims.entry("iat").or_insert_with(|| now.into());
        Ok(claims)
    }

    fn duration(&self, cx: &TaskCx<'_>, field: &str) -> Result<Option<i64>, TaskError> {
        let Some(value) = self.inputs.get(cx, field)? else { return Ok(None) };
        seconds(&value).map(Some).map_err(|why| TaskError::validation(format!("{field}: {why}")))
    }
}

impl CompiledTask for SignTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let key = self.key.as_ref().map_err(|unset| unset.error())?;
            let kid = self.inputs.get(cx, "kid")?;
            let token = key.token(kid.as_ref().and_then(Value::as_str), &self.claims(cx)?);
            let token = token.map_err(|error| TaskError::new(ErrorCode::Function, error.to_string()))?;
            cx.write(&self.output, token.into())?;
            Ok(TaskOutcome::Success)
        })
    }
}

const AUDIENCE: &str = "string or non-empty array of strings";

fn is_audience(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_string),
        _ => false,
    }
}
