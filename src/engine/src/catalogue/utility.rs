//! Functions without a connector.

use super::field::{Field, PathUse};
use super::{Case, Entry, Source};

const BUILT_IN: Entry = Entry {
    name: "",
    category: "data",
    source: Source::Engine,
    aliases: &[],
    retry_safety: "pure",
    description: "",
    strict: false,
    fields: &[],
    cases: &[],
};

pub(super) static FILTER: Entry = Entry {
    name: "filter",
    description: "Stops the workflow, or only itself, unless its condition is true",
    fields: &[
        Field::condition("condition", "Expression; only true passes").required(),
        Field::string("on_reject", "halt stops the workflow, skip only this task; halt by default")
            .one_of(&["halt", "skip"]),
    ],
    ..BUILT_IN
};

pub(super) static LOG: Entry = Entry {
    name: "log",
    description: "Writes a line to the service's log",
    fields: &[
        Field::string("level", "Level of the line, info by default")
            .one_of(&["trace", "debug", "info", "warn", "error"]),
        Field::logic("message", "Expression for the text; a text stands for itself"),
        Field::object("fields", "Expressions for values to add to the line, by name").of_logic(),
    ],
    ..BUILT_IN
};

pub(super) static MAP: Entry = Entry {
    name: "map",
    description: "Writes the results of expressions into the message",
    fields: &[Field::array("mappings", "What is written, in order; each sees the writes of those before it")
        .required()
        .each(&[
            Field::string("path", "Path that is written, below data, metadata or temp_data")
                .required()
                .path(PathUse::Target { alone: true }),
            Field::logic("logic", "Expression for the value; null leaves the path alone").required(),
        ])],
    ..BUILT_IN
};

const PARSE_TARGET: Field = Field::string("target", "Path below data that is written").required();
const PUBLISH_SOURCE: Field = Field::string("source", "Path below data that is read").required();

pub(super) static PARSE_JSON: Entry = Entry {
    name: "parse_json",
    description: "Brings JSON, as text or value, into data",
    fields: &[
        Field::string("source", "Path that is read: payload, or below payload, data, metadata or temp_data")
            .required()
            .path(PathUse::Source),
        PARSE_TARGET,
    ],
    ..BUILT_IN
};

pub(super) static PARSE_XML: Entry = Entry {
    name: "parse_xml",
    description: "Brings XML text into data as a value",
    fields: &[
        Field::string(
            "source",
            "Path of a text of XML: payload, or below payload, data, metadata or temp_data",
        )
        .required()
        .path(PathUse::Source),
        PARSE_TARGET,
    ],
    ..BUILT_IN
};

pub(super) static PUBLISH_JSON: Entry = Entry {
    name: "publish_json",
    description: "Writes a value of data as JSON text into data",
    fields: &[
        PUBLISH_SOURCE,
        PARSE_TARGET,
        Field::bool("pretty", "Writes one member to a line, false by default"),
    ],
    ..BUILT_IN
};

pub(super) static PUBLISH_XML: Entry = Entry {
    name: "publish_xml",
    description: "Writes a value of data as XML text into data",
    fields: &[
        PUBLISH_SOURCE,
        PARSE_TARGET,
        Field::string("root_element", "Name of the outermost element, root by default"),
    ],
    ..BUILT_IN
};

pub(super) static VALIDATION: Entry = Entry {
    name: "validation",
    aliases: &["validate"],
    description: "Reports every rule that is not true; the workflow goes on",
    fields: &[Field::array("rules", "What must hold; all rules are looked at").required().each(&[
        Field::condition("logic", "Expression; only true passes").required(),
        Field::string("message", "Text of the error where it is not true").required(),
    ])],
    ..BUILT_IN
};

const UTILITY: Entry = Entry {
    name: "",
    category: "utility",
    source: Source::Service,
    aliases: &[],
    retry_safety: "pure",
    description: "",
    strict: true,
    fields: &[],
    cases: &[],
};

pub(super) static CHANNEL_CALL: Entry = Entry {
    name: "channel_call",
    category: "control",
    retry_safety: "depends_on:channel",
    description: "Runs the workflow of another channel and takes over its data",
    strict: false,
    fields: &[
        Field::string("channel", "Channel name; this or channel_logic").required().alias("channel_logic"),
        Field::any("data", "Payload; data_logic wins, and without either it is the original payload")
            .overridden_by("data_logic"),
        Field::output().alias("response_path"),
        Field::number("timeout_ms", "Milliseconds the call may take"),
    ],
    ..UTILITY
};

/// Hashes of a keyed hash, the default first.
const MACS: &[&str] = &["sha256", "sha512", "sha1"];

const ENCODINGS: &[&str] = &["utf8", "hex", "base64"];

pub(super) static CRYPTO: Entry = Entry {
    name: "crypto",
    description: "Hashes, keyed hashes and password hashes",
    fields: &[
        Field::string("op", "What to do").required().one_of(&[
            "hash",
            "hmac",
            "hmac_verify",
            "password_hash",
            "password_verify",
        ]),
        Field::string("algorithm", "Algorithm; its default depends on op")
            .one_of(&["sha256", "sha512", "sha1", "md5", "argon2id", "bcrypt"]),
        Field::any("data", "What is hashed").resolvable(),
        Field::string("input_encoding", "How a string of data is read, utf8 by default").one_of(ENCODINGS),
        Field::string("key", "Key").secret_at(&[""]),
        Field::string("key_encoding", "How the key is read, utf8 by default").one_of(ENCODINGS),
        Field::string("signature", "Signature to verify: hex, base64 or base64url").resolvable(),
        Field::string("password", "Password").resolvable(),
        Field::string("hash", "Stored password hash").resolvable(),
        Field::string("encoding", "How the result is written, hex by default").one_of(&[
            "hex",
            "base64",
            "base64url",
        ]),
        Field::object(
            "params",
            "Cost of a password hash: memory_kib, iterations, parallelism for argon2id; cost for bcrypt",
        ),
        Field::output(),
    ],
    cases: &[
        Case {
            op: "hash",
            required: &["data"],
            optional: &["algorithm", "input_encoding", "encoding"],
            algorithms: &["sha256", "sha512", "sha1", "md5"],
        },
        Case {
            op: "hmac",
            required: &["data", "key"],
            optional: &["algorithm", "input_encoding", "key_encoding", "encoding"],
            algorithms: MACS,
        },
        Case {
            op: "hmac_verify",
            required: &["data", "key", "signature"],
            optional: &["algorithm", "input_encoding", "key_encoding"],
            algorithms: MACS,
        },
        Case {
            op: "password_hash",
            required: &["password"],
            optional: &["algorithm", "params"],
            algorithms: &["argon2id", "bcrypt"],
        },
        Case { op: "password_verify", required: &["password", "hash"], optional: &[], algorithms: &[] },
    ],
    ..UTILITY
};

pub(super) static JWT_SIGN: Entry = Entry {
    name: "jwt_sign",
    description: "Signs a JSON Web Token",
    fields: &[
        Field::string("algorithm", "Signature algorithm").required().one_of(&[
            "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256",
            "ES384", "EdDSA",
        ]),
        Field::string("key", "Shared secret, or private key as PEM").required().secret_at(&[""]),
        Field::string("key_encoding", "How a shared secret is read, utf8 by default").one_of(ENCODINGS),
        Field::object("claims", "Claims").resolvable(),
        Field::any("expires_in", "Seconds, or a duration such as 15m; required unless claims.exp is given")
            .resolvable(),
        Field::string("issuer", "Claim iss; wins over claims"),
        Field::any("audience", "Claim aud; wins over claims").resolvable(),
        Field::any("not_before", "Claim nbf as a duration from now; wins over claims").resolvable(),
        Field::string("kid", "Key id of the header"),
        Field::output(),
    ],
    ..UTILITY
};

pub(super) static JWT_VERIFY: Entry = Entry {
    name: "jwt_verify",
    retry_safety: "read",
    description: "Verifies a JSON Web Token and returns its claims",
    fields: &[
        Field::string("token", "Token, without a leading Bearer").required().resolvable(),
        Field::array("algorithms", "Accepted algorithms").required(),
        Field::array("keys", "Accepted keys").secret_at(&["[].key"]),
        Field::string("jwks_url", "Where a key set is fetched, https only"),
        Field::any("issuer", "Accepted issuer or issuers").resolvable().secret_at(&[""]),
        Field::any("audience", "Accepted audience or audiences").resolvable().secret_at(&[""]),
        Field::number("leeway_secs", "Seconds clocks may differ, 30 by default"),
        Field::bool("require_exp", "Refuses a token without an expiry, true by default"),
        Field::output(),
    ],
    ..UTILITY
};
