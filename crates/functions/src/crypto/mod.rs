//! The function `crypto`: hashes, HMAC and password hashes.
//!
//! Comparisons take constant time. A stored password hash that cannot be parsed fails the task; it does not
//! count as a wrong password.

mod digest;
mod password;

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_engine::catalogue::{FunctionEntry, InputField, OperationCase};
use svc_engine::{CompileCx, CompiledTask, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome};
use svc_model::FieldError;

use crate::blocking::BlockingPool;
use crate::encoding::{ByteEncoding, TEXT_ENCODINGS};
use crate::input::{self, InputProblems, text};
use crate::secret::{self, LoadedSecret, literal};
use digest::{HashFunction, KeyedHash};
use password::PasswordScheme;

/// Hash functions for HMAC, the default first.
const MACS: &[&str] = &["sha256", "sha512", "sha1"];

/// The catalogue entry of `crypto`.
static ENTRY: FunctionEntry = FunctionEntry {
    strict: true,
    fields: &[
        InputField::string("op", "What to do").required().one_of(&[
            "hash",
            "hmac",
            "hmac_verify",
            "password_hash",
            "password_verify",
        ]),
        InputField::string("algorithm", "Algorithm; its default depends on op")
            .one_of(&["sha256", "sha512", "sha1", "md5", "argon2id", "bcrypt"]),
        InputField::any("data", "What is hashed").resolvable(),
        InputField::string("input_encoding", "How a string of data is read, utf8 by default")
            .one_of(TEXT_ENCODINGS),
        InputField::string("key", "Key").secret_at(&[""]),
        InputField::string("key_encoding", "How the key is read, utf8 by default").one_of(TEXT_ENCODINGS),
        InputField::string("signature", "Signature to verify: hex, base64 or base64url").computed(),
        InputField::string("password", "Password").computed(),
        InputField::string("hash", "Stored password hash").computed(),
        InputField::string("encoding", "How the result is written, hex by default").one_of(&[
            "hex",
            "base64",
            "base64url",
        ]),
        InputField::object(
            "params",
            "Cost of a password hash: memory_kib, iterations, parallelism for argon2id; cost for bcrypt",
        ),
        InputField::output(),
    ],
    cases: &[
        OperationCase {
            op: "hash",
            required: &["data"],
            optional: &["algorithm", "input_encoding", "encoding"],
            algorithms: &["sha256", "sha512", "sha1", "md5"],
        },
        OperationCase {
            op: "hmac",
            required: &["data", "key"],
            optional: &["algorithm", "input_encoding", "key_encoding", "encoding"],
            algorithms: MACS,
        },
        OperationCase {
            op: "hmac_verify",
            required: &["data", "key", "signature"],
            optional: &["algorithm", "input_encoding", "key_encoding"],
            algorithms: MACS,
        },
        OperationCase {
            op: "password_hash",
            required: &["password"],
            optional: &["algorithm", "params"],
            algorithms: &["argon2id", "bcrypt"],
        },
        OperationCase {
            op: "password_verify",
            required: &["password", "hash"],
            optional: &[],
            algorithms: &[],
        },
    ],
    ..FunctionEntry::utility("crypto", "Hashes, keyed hashes and password hashes")
};

pub(crate) struct CryptoFunction {
    blocking: BlockingPool,
}

impl CryptoFunction {
    pub(crate) fn new() -> Self {
        Self { blocking: BlockingPool::new() }
    }

    fn operation(table: &FunctionEntry, input: &Value, cx: &CompileCx<'_>) -> Result<Operation, String> {
        let op = text(input, "op").unwrap_or_default();
        let encoding = ByteEncoding::from_name_or(text(input, "encoding"), ByteEncoding::Hex);
        let algorithm = algorithm(table, op, input);
        let code = || {
            let encoding = key_encoding(input);
            secret::load("key", &input["key"], cx.material(), |key| {
                encoding.decode(key).and_then(|key| KeyedHash::new(algorithm, &key))
            })
        };
        Ok(match op {
            "hash" => Operation::Hash(HashFunction::from_name(algorithm), encoding),
            "hmac" => Operation::Hmac(code()?, encoding),
            "hmac_verify" => Operation::HmacVerify(code()?),
            "password_hash" => Operation::PasswordHash(PasswordScheme::parse(algorithm, input.get("params"))),
            _ => Operation::PasswordVerify,
        })
    }
}

/// Returns the algorithm of an input, or the default of its `op`.
fn algorithm<'i>(table: &FunctionEntry, op: &str, input: &'i Value) -> &'i str {
    let default = || table.case(op).and_then(|case| case.algorithms.first().copied());
    text(input, "algorithm").or_else(default).unwrap_or_default()
}

fn key_encoding(input: &Value) -> ByteEncoding {
    ByteEncoding::from_name_or(text(input, "key_encoding"), ByteEncoding::Utf8)
}

impl Function for CryptoFunction {
    fn entry(&self) -> &'static FunctionEntry {
        &ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        let mut problems = InputProblems { at, errors };
        let encoding =
            ByteEncoding::from_name_or(input.get("key_encoding").and_then(Value::as_str), ByteEncoding::Utf8);
        match input.get("key").map(literal) {
            Some(Ok(Some(key))) => problems.note("key", encoding.decode(key)),
            Some(Err(why)) => problems.invalid("key", why),
            _ => {}
        }
        let algorithm = input.get("algorithm").and_then(Value::as_str).unwrap_or("argon2id");
        if let Some(Value::Object(params)) = input.get("params") {
            password::check(algorithm, params, &mut problems);
        }
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &ENTRY;
        Ok(Box::new(CryptoTask {
            operation: Self::operation(table, input, cx)?,
            data: ByteEncoding::from_name_or(text(input, "input_encoding"), ByteEncoding::Utf8),
            inputs: Inputs::new(table, input, cx)?,
            output: input::output(input)?,
            blocking: self.blocking.clone(),
        }))
    }
}

enum Operation {
    Hash(HashFunction, ByteEncoding),
    Hmac(LoadedSecret<KeyedHash>, ByteEncoding),
    HmacVerify(LoadedSecret<KeyedHash>),
    PasswordHash(PasswordScheme),
    PasswordVerify,
}

struct CryptoTask {
    operation: Operation,
    /// Encoding of a text in `data`.
    data: ByteEncoding,
    inputs: Inputs,
    output: Path,
    blocking: BlockingPool,
}

impl CryptoTask {
    async fn result(&self, cx: &TaskCx<'_>) -> Result<Value, TaskError> {
        Ok(match &self.operation {
            Operation::Hash(hash, encoding) => encoding.encode(&hash.compute(&self.data(cx)?)).into(),
            Operation::Hmac(code, encoding) => {
                let code = code.as_ref().map_err(|unset| unset.error())?;
                encoding.encode(&code.compute(&self.data(cx)?)).into()
            }
            Operation::HmacVerify(code) => {
                let code = code.as_ref().map_err(|unset| unset.error())?;
                let signature = self.inputs.require_text(cx, "signature")?;
                code.verify(&self.data(cx)?, &signature).into()
            }
            Operation::PasswordHash(scheme) => {
                let (scheme, password) = (*scheme, self.inputs.require_text(cx, "password")?);
                let salt = password::draw_salt(cx)?;
                self.blocking.run(move || scheme.hash(&password, salt)).await??.into()
            }
            Operation::PasswordVerify => {
                let password = self.inputs.require_text(cx, "password")?;
                let stored = password::StoredPasswordHash::parse(&self.inputs.require_text(cx, "hash")?)?;
                self.blocking.run(move || stored.verify(&password)).await??.into()
            }
        })
    }

    /// Returns the bytes of the data: a text is decoded, any other value is serialized as compact JSON.
    fn data(&self, cx: &TaskCx<'_>) -> Result<Vec<u8>, TaskError> {
        match self.inputs.require(cx, "data")? {
            Value::Null => Err(TaskError::validation("data: null has no bytes")),
            Value::String(text) => {
                self.data.decode(&text).map_err(|why| TaskError::validation(format!("data: {why}")))
            }
            other => Ok(other.to_string().into_bytes()),
        }
    }
}

impl CompiledTask for CryptoTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let result = self.result(cx).await?;
            cx.write(&self.output, result)?;
            Ok(TaskOutcome::Success)
        })
    }
}
