//! The reference of a channel's `config`, for the manual and the schemas. Tests compare each row with the reader of its
//! block.

/// A block of the config, or one form of it.
#[derive(Clone, Copy, Debug)]
pub struct BlockReference {
    /// Path below `config`; empty for the config itself. `*` stands for a key that the author chooses.
    pub path: &'static str,
    /// Key and value that select this form of the block, as JSON; empty if there is only one form.
    pub form: &'static str,
    /// The keys of the block.
    pub keys: &'static [KeyReference],
}

/// A key of a block.
#[derive(Clone, Copy, Debug)]
pub struct KeyReference {
    /// The key.
    pub name: &'static str,
    /// The JSON type, in words.
    pub kind: &'static str,
    /// The default value as JSON; empty if there is none.
    pub default: &'static str,
    /// True if the block requires the key.
    pub required: bool,
    /// Another key; the block requires one of the two. Empty if there is none.
    pub alternative: &'static str,
    /// A valid value as JSON.
    pub example: &'static str,
    /// A description in one line.
    pub description: &'static str,
}

pub(crate) const fn key(
    name: &'static str,
    kind: &'static str,
    example: &'static str,
    description: &'static str,
) -> KeyReference {
    KeyReference { name, kind, default: "", required: false, alternative: "", example, description }
}

impl KeyReference {
    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    const fn or(self, alternative: &'static str) -> Self {
        Self { alternative, ..self }
    }

    pub(crate) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }
}

pub(crate) const TEXT: &str = "text";
pub(crate) const TEXTS: &str = "list of texts";
pub(crate) const NUMBER: &str = "integer";
pub(crate) const SWITCH: &str = "boolean";
pub(crate) const LOGIC: &str = "expression";

const PER_SECOND: KeyReference =
    key("requests_per_second", NUMBER, "10", "requests a second for each bucket, at least 1").required();
const BURST: KeyReference =
    key("burst", NUMBER, "20", "requests at once; half of a second's and one more by default");
const KEY_HEADERS: KeyReference =
    key("key_headers", TEXTS, r#"["x-device"]"#, "headers that `key_logic` reads beyond the known ones");
const GROUP: KeyReference = key(
    "group",
    TEXT,
    r#""partners""#,
    "channels that name the same group, with the same rate, share their buckets",
);
const ON_BACKEND_ERROR: KeyReference =
    key("on_backend_error", "`allow`, `deny`", r#""deny""#, "what happens while the shared store is away")
        .default(r#""allow""#);
const CONNECTOR: KeyReference =
    key("connector", TEXT, r#""redis""#, "a `cache` connector of Redis that keeps it for all processes");

/// All blocks in the order of the manual.
pub static BLOCKS: [BlockReference; 16] = [
    BlockReference {
        path: "",
        form: "",
        keys: &[
            key("auth", "block", r#"{"mode": "api_key", "keys": ["k"]}"#, "who may call"),
            key("request", "block", "{}", "how a request becomes a message"),
            key("response", "block", "{}", "how a result becomes an answer"),
            key("rate_limit", "block", r#"{"requests_per_second": 1}"#, "how often anybody may call"),
            key(
                "principal_rate_limit",
                "block",
                r#"{"requests_per_second": 1, "key_logic": {"var": "auth.claims.sub"}}"#,
                "how often each verified caller may call; needs `auth.mode` `jwt`",
            ),
            key(
                "origin_allow_list",
                TEXTS,
                r#"["https://shop.example"]"#,
                "values of `Origin` that are let in; a request without one passes",
            ),
            key(
                "validation_logic",
                LOGIC,
                "true",
                "what a message must fulfil, over `{data, metadata}`; `data` is the payload",
            ),
            key(
                "deduplication",
                "block",
                r#"{"header": "idempotency-key"}"#,
                "refusal of repeated deliveries",
            ),
            key("cache", "block", r#"{"enabled": true}"#, "reuse of answers"),
            key("backpressure", "block", r#"{"max_concurrent_per_node": 5}"#, "how many runs at once"),
            key("timeout_ms", NUMBER, "5000", "the time a run may take"),
            key(
                "on_failure",
                TEXT,
                "\"alerts\"",
                "name of the channel that is told of runs which failed for good",
            ),
            key("tracing", "block", "{}", "what is recorded of a run"),
            key("kafka", "block", "{}", "what becomes of the records of a topic"),
        ],
    },
    BlockReference {
        path: "auth",
        form: r#"{"mode": "api_key"}"#,
        keys: &[
            key("mode", "`api_key`", r#""api_key""#, "this form of the block").required(),
            key("keys", TEXTS, r#"["k"]"#, "accepted keys, literal or references").required(),
            key("header", TEXT, r#""x-api-key""#, "the header that carries the key")
                .default(r#""Authorization""#),
            key(
                "scheme",
                TEXT,
                r#""Token""#,
                "stands in front of the key; `Bearer` by default in `Authorization`, else none",
            ),
        ],
    },
    BlockReference {
        path: "auth",
        form: r#"{"mode": "hmac"}"#,
        keys: &[
            key("mode", "`hmac`", r#""hmac""#, "this form of the block").required(),
            key("secret", TEXT, r#""s""#, "the secret, literal or a reference; this or `secrets`")
                .required()
                .or("secrets"),
            key("secrets", TEXTS, r#"["s"]"#, "further secrets; any of them is accepted"),
            key(
                "preset",
                TEXT,
                r#""github""#,
                "a provider, see [Signatures](#signatures); keys beside it go first",
            ),
            key("header", TEXT, r#""x-hub-signature""#, "the header that carries the signature")
                .default(r#""X-Signature""#),
            key("signature_prefix", TEXT, r#""v1=""#, "stands in front of the signature"),
            key(
                "signature_key",
                TEXT,
                r#""v1""#,
                "the key of the signature where the header is packed, `k=v,k=v`; not with `signature_prefix`",
            ),
            key("algorithm", "`sha1`, `sha256`, `sha512`", r#""sha512""#, "the hash").default(r#""sha256""#),
            key(
                "message",
                TEXT,
                r#""{header:x-time}.{body}""#,
                "what is signed: `{body}`, `{header:<name>}`, `{header:<name>:<key>}` and literal text",
            )
            .default(r#""{body}""#),
            key(
                "encoding",
                "`hex`, `base64`, `base64url`",
                r#""hex""#,
                "the encoding of the signature; hex, then base64 is tried by default",
            ),
            key(
                "timestamp",
                TEXT,
                r#""x-time""#,
                "where the signed time stands, `<header>` or `<header>:<key>`; with `tolerance_secs`",
            ),
            key("tolerance_secs", NUMBER, "300", "how far the signed time may be from now; with `timestamp`"),
        ],
    },
    BlockReference {
        path: "auth",
        form: r#"{"mode": "jwt"}"#,
        keys: &[
            key("mode", "`jwt`", r#""jwt""#, "this form of the block").required(),
            key(
                "algorithms",
                TEXTS,
                r#"["RS256"]"#,
                "accepted algorithms: HS, RS, PS with 256, 384, 512; ES256, ES384; EdDSA",
            )
            .required(),
            key(
                "jwks_url",
                TEXT,
                r#""https://id.example/keys""#,
                "the key set of an issuer, https only; this or `jwt_keys`",
            )
            .required()
            .or("jwt_keys"),
            key(
                "jwt_keys",
                "list of blocks",
                r#"[{"algorithm": "HS256", "key": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}]"#,
                "static keys",
            ),
            key(
                "issuer",
                "text or list",
                r#""https://id.example""#,
                "accepted `iss`; absent, it is not checked",
            ),
            key("audience", "text or list", r#"["orders"]"#, "accepted `aud`; absent, it is not checked"),
            key("leeway_secs", NUMBER, "10", "how far clocks may differ, at most 300").default("30"),
            key("require_exp", SWITCH, "false", "a token must expire").default("true"),
            key(
                "required",
                SWITCH,
                "false",
                "a request must have a token; a wrong one is refused in any case",
            )
            .default("true"),
            key("source", "block", r#"{"cookie": "session"}"#, "where the token is")
                .default(r#"{"header": "Authorization", "scheme": "Bearer"}"#),
            key("max_token_bytes", NUMBER, "4096", "the longest token").default("8192"),
            key(
                "claims_to_metadata",
                TEXTS,
                r#"["sub"]"#,
                "claims that reach `metadata.auth.claims`; all by default",
            ),
            key(
                "authorization_logic",
                LOGIC,
                r#"{"in": ["orders", {"var": "claims.scope"}]}"#,
                "what the claims must fulfil, over `{claims}`; else 403",
            ),
        ],
    },
    BlockReference {
        path: "auth.jwt_keys[]",
        form: "",
        keys: &[
            key("algorithm", TEXT, r#""HS256""#, "the one algorithm of the key").required(),
            key(
                "key",
                TEXT,
                r#""0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef""#,
                "a public key as PEM, or a secret of 32, 48 or 64 bytes at least; literal or a reference",
            )
            .required(),
            key("kid", TEXT, r#""2026-11""#, "the id that tokens name the key by"),
            key("key_encoding", "`utf8`, `base64`, `hex`", r#""hex""#, "how a secret is written")
                .default(r#""utf8""#),
        ],
    },
    BlockReference {
        path: "auth.source",
        form: "",
        keys: &[
            key("header", TEXT, r#""x-token""#, "a header; named alone it carries the bare token"),
            key("scheme", TEXT, r#""Token""#, "stands in front of the token"),
            key("cookie", TEXT, r#""session""#, "a cookie, instead of a header"),
        ],
    },
    BlockReference {
        path: "request",
        form: "",
        keys: &[
            key(
                "mode",
                "`answer`, `accept`",
                r#""accept""#,
                "`accept` answers every call of the channel with 202 and runs it later, as `/async` does",
            )
            .default(r#""answer""#),
            key(
                "body_mode",
                "`auto`, `payload`",
                r#""payload""#,
                "`auto` takes `{\"data\", \"metadata\"}` as an envelope and drops its other keys",
            )
            .default(r#""auto""#),
            key(
                "body",
                "`json`, `form`, `text`, `raw`, `auto`",
                r#""auto""#,
                "the reading of a body; its default is `auto` where `auth` names a preset. Records are read as `json` or `raw`",
            )
            .default(r#""json""#),
            key("cookies_to_metadata", TEXTS, r#"["session"]"#, "cookies that workflows see"),
            key("by_name", SWITCH, "false", "the channel answers to its name, beside its route")
                .default("true"),
        ],
    },
    BlockReference {
        path: "response",
        form: "",
        keys: &[
            key(
                "mode",
                "`envelope`, `shaped`",
                r#""shaped""#,
                "`shaped` answers as the workflow says at `data._svc.response`",
            )
            .default(r#""envelope""#),
            key("allowed_headers", TEXTS, r#"["location"]"#, "headers that the workflow may set"),
            key(
                "error_bodies",
                "object of blocks",
                r#"{"default": {"body": "{}"}}"#,
                "bodies of refusals and errors by status, `400` to `599`, or `default`",
            ),
        ],
    },
    BlockReference {
        path: "response.error_bodies.*",
        form: "",
        keys: &[
            key(
                "body",
                TEXT,
                r#""{\"code\": \"{code}\"}""#,
                "the body; `{status} {code} {message} {request_id} {channel} {timestamp}` are filled in",
            )
            .required(),
            key("content_type", TEXT, r#""text/plain""#, "its `Content-Type`")
                .default(r#""application/json""#),
        ],
    },
    BlockReference {
        path: "rate_limit",
        form: "",
        keys: &[
            PER_SECOND,
            BURST,
            key(
                "key_logic",
                LOGIC,
                r#"{"var": "headers.x-tenant-id"}"#,
                "the bucket, over `{client_ip, channel, headers}`; the address of the caller by default",
            ),
            KEY_HEADERS,
            GROUP,
            ON_BACKEND_ERROR,
        ],
    },
    BlockReference {
        path: "principal_rate_limit",
        form: "",
        keys: &[
            PER_SECOND,
            BURST,
            key(
                "key_logic",
                LOGIC,
                r#"{"var": "auth.claims.sub"}"#,
                "the bucket, over `{client_ip, channel, headers, auth}`",
            )
            .required(),
            KEY_HEADERS,
            GROUP,
            ON_BACKEND_ERROR,
        ],
    },
    BlockReference {
        path: "deduplication",
        form: "",
        keys: &[
            key(
                "header",
                TEXT,
                r#""idempotency-key""#,
                "the header that carries the key; **required** without `key_logic`",
            )
            .or("key_logic"),
            key(
                "key_logic",
                LOGIC,
                r#"{"var": "data.event_id"}"#,
                "the key, over `{data, metadata}`; it wins over `header`, and null is not checked",
            ),
            key("window_secs", NUMBER, "60", "how long a key is remembered").default("300"),
            key(
                "per_principal",
                SWITCH,
                "false",
                "each caller has keys of its own, by default where `auth` names callers; `false` shares them, as a \
                 channel without `auth` does",
            ),
            key(
                "on_duplicate",
                "`refuse`, `accept`",
                r#""accept""#,
                "the answer to a repeat: 409, or 200 with `{\"status\": \"duplicate\"}`",
            )
            .default(r#""refuse""#),
            CONNECTOR,
            ON_BACKEND_ERROR,
        ],
    },
    BlockReference {
        path: "cache",
        form: "",
        keys: &[
            key("enabled", SWITCH, "true", "answers are reused").required(),
            key("ttl_secs", NUMBER, "60", "how long an answer is kept").default("300"),
            key(
                "cache_key_fields",
                TEXTS,
                r#"["id"]"#,
                "paths of the payload that make the key; the whole payload by default",
            ),
            key(
                "per_principal",
                SWITCH,
                "true",
                "each caller has answers of its own; a channel with `auth` has to say it",
            ),
            key(
                "statuses",
                "list of integers",
                "[200, 404]",
                "statuses of answers that are kept; those below 400 by default",
            ),
            CONNECTOR,
        ],
    },
    BlockReference {
        path: "backpressure",
        form: "",
        keys: &[key("max_concurrent_per_node", NUMBER, "5", "runs at once in one process; no request waits")
            .required()],
    },
    BlockReference {
        path: "tracing",
        form: "",
        keys: &[
            key(
                "mode",
                "`sync`, `async`, `batch`, `off`",
                r#""batch""#,
                "when a trace is stored; `trace_storage.mode` by default",
            ),
            key(
                "sample_rate",
                "number",
                "0.5",
                "share of the runs, 0 to 1; that of `trace_storage` by default",
            ),
            key("errors_only", SWITCH, "true", "only runs with errors; as `trace_storage` says by default"),
            key("task_details", SWITCH, "true", "every task's view of the message").default("false"),
        ],
    },
    BlockReference {
        path: "kafka",
        form: "",
        keys: &[key(
            "tombstones",
            "`skip`, `run`",
            r#""run""#,
            "records without a value: passed over and counted, or run with the payload null",
        )
        .default(r#""skip""#)],
    },
];
