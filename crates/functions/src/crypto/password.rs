//! Password hashes: Argon2 (RFC 9106) as PHC strings, and bcrypt in its own format.

use std::ops::RangeInclusive;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::try_generate_salt;
use argon2::{Argon2, Params, PasswordHasher as _, PasswordVerifier as _};
use serde_json::{Map, Value};
use svc_engine::{ErrorCode, TaskCx, TaskError};

use crate::encoding::ByteEncoding;
use crate::input::InputProblems;

/// The salt of a password hash: 16 bytes, the length that both schemes recommend.
pub(super) type Salt = [u8; 16];

/// A cost parameter of a scheme.
struct Param {
    scheme: &'static str,
    name: &'static str,
    range: RangeInclusive<u32>,
    default: u32,
}

const fn param(scheme: &'static str, name: &'static str, range: RangeInclusive<u32>, default: u32) -> Param {
    Param { scheme, name, range, default }
}

const MEMORY: Param = param("argon2id", "memory_kib", 8192..=131_072, 19_456);
const ITERATIONS: Param = param("argon2id", "iterations", 1..=10, 2);
const PARALLELISM: Param = param("argon2id", "parallelism", 1..=4, 1);
const COST: Param = param("bcrypt", "cost", 10..=14, 12);
const PARAMS: [&Param; 4] = [&MEMORY, &ITERATIONS, &PARALLELISM, &COST];

/// Maximum cost of verifying a hash. Hashes may come from other systems and from messages.
const MAX_MEMORY_KIB: u32 = 262_144;
const MAX_ITERATIONS: u32 = 16;
const MAX_PARALLELISM: u32 = 16;
const MAX_COST: u32 = 16;

/// Maximum length of a password in bytes that bcrypt processes.
const BCRYPT_BYTES: usize = 72;

impl Param {
    fn read(&self, params: Option<&Value>) -> u32 {
        let number = params.and_then(|params| params.get(self.name)?.as_u64());
        number.and_then(|given| u32::try_from(given).ok()).unwrap_or(self.default)
    }
}

/// Reports parameters that are unknown, out of range, or belong to another scheme.
pub(super) fn check(scheme: &str, params: &Map<String, Value>, problems: &mut InputProblems<'_>) {
    for (name, value) in params {
        let field = format!("params.{name}");
        let Some(param) = PARAMS.into_iter().find(|param| param.scheme == scheme && param.name == name)
        else {
            let names = PARAMS.iter().filter(|param| param.scheme == scheme).map(|param| param.name);
            let names: Vec<_> = names.collect();
            problems.invalid(&field, format!("{scheme} has no {name}, but {}", names.join(", ")));
            continue;
        };
        let (least, most) = (param.range.start(), param.range.end());
        match value.as_u64() {
            Some(given) if (u64::from(*least)..=u64::from(*most)).contains(&given) => {}
            _ if value.is_number() => problems.invalid(&field, format!("an integer from {least} to {most}")),
            _ => problems.mismatch(&field, "number", value),
        }
    }
}

/// A password hash scheme with its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) enum PasswordScheme {
    Argon2id { memory_kib: u32, iterations: u32, parallelism: u32 },
    Bcrypt { cost: u32 },
}

impl PasswordScheme {
    /// Returns the scheme with validated parameters.
    pub(super) fn parse(name: &str, params: Option<&Value>) -> Self {
        match name {
            "bcrypt" => Self::Bcrypt { cost: COST.read(params) },
            _ => Self::Argon2id {
                memory_kib: MEMORY.read(params),
                iterations: ITERATIONS.read(params),
                parallelism: PARALLELISM.read(params),
            },
        }
    }

    /// Hashes a password. CPU-bound: call it on a blocking thread.
    pub(super) fn hash(self, password: &str, salt: Salt) -> Result<String, TaskError> {
        let failed = || TaskError::new(ErrorCode::Function, "the password could not be hashed");
        match self {
            Self::Bcrypt { cost } => {
                bcrypt_takes(password)?;
                let hash = bcrypt::hash_with_salt(password, cost, salt).map_err(|_| failed())?;
                Ok(hash.format_for_version(bcrypt::Version::TwoB))
            }
            Self::Argon2id { memory_kib, iterations, parallelism } => {
                let params = Params::new(memory_kib, iterations, parallelism, None).map_err(|_| failed())?;
                let hash = Argon2::from(params).hash_password_with_salt(password.as_bytes(), &salt);
                hash.map(|hash: PasswordHash| hash.to_string()).map_err(|_| failed())
            }
        }
    }
}

/// Draws the salt of a hash: that of the recorded run in a run over a recording, else a new one.
///
/// # Errors
/// A function error if there is no random source, or the recorded salt is not one.
pub(super) fn draw_salt(cx: &TaskCx<'_>) -> Result<Salt, TaskError> {
    let failed = || TaskError::new(ErrorCode::Function, "the salt of the password could not be drawn");
    let drawn = cx.draw("password_hash salt", || {
        let salt = try_generate_salt().map_err(|_| failed())?;
        Ok::<Value, TaskError>(ByteEncoding::Hex.encode(&salt).into())
    })?;
    let bytes = drawn.as_str().and_then(|text| ByteEncoding::Hex.decode(text).ok());
    bytes.and_then(|bytes| Salt::try_from(bytes).ok()).ok_or_else(failed)
}

/// Refuses passwords that bcrypt would truncate: it ignores bytes beyond its limit, and everything from a NUL
/// byte on.
fn bcrypt_takes(password: &str) -> Result<(), TaskError> {
    if password.len() > BCRYPT_BYTES {
        return Err(TaskError::validation(format!("password: bcrypt reads at most {BCRYPT_BYTES} bytes")));
    }
    if password.contains('\0') {
        return Err(TaskError::validation("password: bcrypt cannot hold the character U+0000"));
    }
    Ok(())
}

#[derive(Debug)]
pub(super) enum StoredPasswordHash {
    Argon2(Box<PasswordHash>),
    Bcrypt(String),
}

impl StoredPasswordHash {
    /// Parses a hash by its prefix: `$argon2` or `$2`.
    ///
    /// # Errors
    /// A validation error if the hash is malformed, has another scheme, or exceeds the maximum cost.
    pub(super) fn parse(text: &str) -> Result<Self, TaskError> {
        let malformed = || TaskError::validation("hash: this is no password hash that can be read");
        let (stored, fits) = if text.starts_with("$argon2") {
            let mut hash = PasswordHash::new(text).map_err(|_| malformed())?;
            argon2::Algorithm::new(hash.algorithm.as_str()).map_err(|_| malformed())?;
            let params = Params::try_from(&hash).map_err(|_| malformed())?;
            if hash.salt.is_none() || hash.hash.is_none() {
                return Err(malformed());
            }
            // Only version 1.0 omits its number.
            hash.version.get_or_insert(argon2::Version::V0x10.into());
            let fits = params.m_cost() <= MAX_MEMORY_KIB
                && params.t_cost() <= MAX_ITERATIONS
                && params.p_cost() <= MAX_PARALLELISM;
            (Self::Argon2(Box::new(hash)), fits)
        } else if text.starts_with("$2") {
            let parts: bcrypt::HashParts = text.parse().map_err(|_| malformed())?;
            if !(4..=31).contains(&parts.get_cost()) {
                return Err(malformed());
            }
            (Self::Bcrypt(text.to_owned()), parts.get_cost() <= MAX_COST)
        } else {
            return Err(malformed());
        };
        if fits {
            Ok(stored)
        } else {
            Err(TaskError::validation("hash: its cost is above what is spent on one"))
        }
    }

    /// Returns true if this is the hash of the password. CPU-bound: call it on a blocking thread.
    pub(super) fn verify(&self, password: &str) -> Result<bool, TaskError> {
        use argon2::password_hash::Error;
        let failed = || TaskError::new(ErrorCode::Function, "the password hash could not be computed");
        match self {
            Self::Argon2(hash) => match Argon2::default().verify_password(password.as_bytes(), hash.as_ref())
            {
                Ok(()) => Ok(true),
                Err(Error::PasswordInvalid) => Ok(false),
                Err(_) => Err(failed()),
            },
            Self::Bcrypt(hash) => bcrypt::verify(password, hash).map_err(|_| failed()),
        }
    }
}
