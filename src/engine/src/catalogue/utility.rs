//! Functions without a connector.

use super::field::{InputField, PathUse};
use super::{FunctionEntry, FunctionSource, OperationCase};

const BUILT_IN: FunctionEntry = FunctionEntry {
    name: "",
    category: "data",
    source: FunctionSource::Engine,
    aliases: &[],
    retry_safety: "pure",
    description: "",
    strict: false,
    fields: &[],
    cases: &[],
};

pub(super) static FILTER: FunctionEntry = FunctionEntry {
    name: "filter",
    description: "Stops the workflow, or only itself, unless its condition is true",
    fields: &[
        InputField::condition("condition", "Expression; only true passes").required(),
        InputField::string("on_reject", "halt stops the workflow, skip only this task; halt by default")
            .one_of(&["halt", "skip"]),
    ],
    ..BUILT_IN
};

pub(super) static LOG: FunctionEntry = FunctionEntry {
    name: "log",
    description: "Writes a line to the service's log",
    fields: &[
        InputField::string("level", "Level of the line, info by default")
            .one_of(&["trace", "debug", "info", "warn", "error"]),
        InputField::logic("message", "Expression for the text; a text stands for itself"),
        InputField::object("fields", "Expressions for values to add to the line, by name").of_logic(),
    ],
    ..BUILT_IN
};

pub(super) static MAP: FunctionEntry = FunctionEntry {
    name: "map",
    description: "Writes the results of expressions into the message",
    fields: &[InputField::array(
        "mappings",
        "What is written, in order; each sees the writes of those before it",
    )
    .required()
    .each(&[
        InputField::string("path", "Path that is written, below data, metadata or temp_data")
            .required()
            .path(PathUse::Target { alone: true }),
        InputField::logic("logic", "Expression for the value; null leaves the path alone").required(),
    ])],
    ..BUILT_IN
};

const PARSE_TARGET: InputField = InputField::string("target", "Path below data that is written").required();
const PUBLISH_SOURCE: InputField = InputField::string("source", "Path below data that is read").required();

pub(super) static PARSE_JSON: FunctionEntry = FunctionEntry {
    name: "parse_json",
    description: "Brings JSON, as text or value, into data",
    fields: &[
        InputField::string(
            "source",
            "Path that is read: payload, or below payload, data, metadata or temp_data",
        )
        .required()
        .path(PathUse::Source),
        PARSE_TARGET,
    ],
    ..BUILT_IN
};

pub(super) static PARSE_XML: FunctionEntry = FunctionEntry {
    name: "parse_xml",
    description: "Brings XML text into data as a value",
    fields: &[
        InputField::string(
            "source",
            "Path of a text of XML: payload, or below payload, data, metadata or temp_data",
        )
        .required()
        .path(PathUse::Source),
        PARSE_TARGET,
    ],
    ..BUILT_IN
};

pub(super) static PUBLISH_JSON: FunctionEntry = FunctionEntry {
    name: "publish_json",
    description: "Writes a value of data as JSON text into data",
    fields: &[
        PUBLISH_SOURCE,
        PARSE_TARGET,
        InputField::bool("pretty", "Writes one member to a line, false by default"),
    ],
    ..BUILT_IN
};

pub(super) static PUBLISH_XML: FunctionEntry = FunctionEntry {
    name: "publish_xml",
    description: "Writes a value of data as XML text into data",
    fields: &[
        PUBLISH_SOURCE,
        PARSE_TARGET,
        InputField::string("root_element", "Name of the outermost element, root by default"),
    ],
    ..BUILT_IN
};

pub(super) static VALIDATION: FunctionEntry = FunctionEntry {
    name: "validation",
    aliases: &["validate"],
    description: "Reports every rule that is not true; the workflow goes on",
    fields: &[InputField::array("rules", "What must hold; all rules are looked at").required().each(&[
        InputField::condition("logic", "Expression; only true passes").required(),
        InputField::string("message", "Text of the error where it is not true").required(),
    ])],
    ..BUILT_IN
};

const UTILITY: FunctionEntry = FunctionEntry {
    name: "",
    category: "utility",
    source: FunctionSource::Service,
    aliases: &[],
    retry_safety: "pure",
    description: "",
    strict: true,
    fields: &[],
    cases: &[],
};

pub(super) static CHANNEL_CALL: FunctionEntry = FunctionEntry {
    name: "channel_call",
    category: "control",
    retry_safety: "depends_on:channel",
    description: "Runs the workflow of another channel and takes over its data",
    strict: false,
    fields: &[
        InputField::string("channel", "Channel name; this or channel_logic")
            .required()
            .alias("channel_logic"),
        InputField::any("data", "Payload; data_logic wins, and without either it is the original payload")
            .overridden_by("data_logic"),
        InputField::output().alias("response_path"),
        InputField::number("timeout_ms", "Milliseconds the call may take"),
    ],
    ..UTILITY
};

/// Hashes of a keyed hash, the default first.
const MACS: &[&str] = &["sha256", "sha512", "sha1"];

const ENCODINGS: &[&str] = &["utf8", "hex", "base64"];

pub(super) static CRYPTO: FunctionEntry = FunctionEntry {
    name: "crypto",
    description: "Hashes, keyed hashes and password hashes",
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
            .one_of(ENCODINGS),
        InputField::string("key", "Key").secret_at(&[""]),
        InputField::string("key_encoding", "How the key is read, utf8 by default").one_of(ENCODINGS),
        InputField::string("signature", "Signature to verify: hex, base64 or base64url").resolvable(),
        InputField::string("password", "Password").resolvable(),
        InputField::string("hash", "Stored password hash").resolvable(),
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
    ..UTILITY
};

pub(super) static JWT_SIGN: FunctionEntry = FunctionEntry {
    name: "jwt_sign",
    description: "Signs a JSON Web Token",
    fields: &[
        InputField::string("algorithm", "Signature algorithm").required().one_of(&[
            "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256",
            "ES384", "EdDSA",
        ]),
        InputField::string("key", "Shared secret, or private key as PEM").required().secret_at(&[""]),
        InputField::string("key_encoding", "How a shared secret is read, utf8 by default").one_of(ENCODINGS),
        InputField::object("claims", "Claims").resolvable(),
        InputField::any(
            "expires_in",
            "Seconds, or a duration such as 15m; required unless claims.exp is given",
        )
        .resolvable(),
        InputField::string("issuer", "Claim iss; wins over claims"),
        InputField::any("audience", "Claim aud; wins over claims").resolvable(),
        InputField::any("not_before", "Claim nbf as a duration from now; wins over claims").resolvable(),
        InputField::string("kid", "Key id of the header"),
        InputField::output(),
    ],
    ..UTILITY
};

pub(super) static JWT_VERIFY: FunctionEntry = FunctionEntry {
    name: "jwt_verify",
    retry_safety: "read",
    description: "Verifies a JSON Web Token and returns its claims",
    fields: &[
        InputField::string("token", "Token, without a leading Bearer").required().resolvable(),
        InputField::array("algorithms", "Accepted algorithms").required(),
        InputField::array("keys", "Accepted keys").secret_at(&["[].key"]),
        InputField::string("jwks_url", "Where a key set is fetched, https only"),
        InputField::any("issuer", "Accepted issuer or issuers").resolvable().secret_at(&[""]),
        InputField::any("audience", "Accepted audience or audiences").resolvable().secret_at(&[""]),
        InputField::number("leeway_secs", "Seconds clocks may differ, 30 by default"),
        InputField::bool("require_exp", "Refuses a token without an expiry, true by default"),
        InputField::output(),
    ],
    ..UTILITY
};
