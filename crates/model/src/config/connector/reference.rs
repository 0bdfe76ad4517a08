//! The reference of the `config` of connectors, for the schemas. Tests compare each row with the reader of its block.

use crate::config::key_reference::{BlockReference, KeyReference, NUMBER, SWITCH, TEXT, TEXTS, key};
use crate::entity::ConnectorType;

/// The reference of one connector type.
#[derive(Clone, Copy, Debug)]
pub struct ConnectorReference {
    /// The connector type.
    pub kind: ConnectorType,
    /// The blocks; the first is the config itself, which takes unknown keys with a warning. The others refuse them.
    pub blocks: &'static [BlockReference],
}

const PRIVATE: KeyReference =
    key("allow_private_urls", SWITCH, "true", "the host may have a private address").default("false");
const HTTP_URL: KeyReference =
    key("url", TEXT, r#""https://api.example""#, "base URL, http or https").required();
const OPERATIONS: KeyReference = key("operations", "block", "{}", "operations that tasks may use");
const DIALECT: KeyReference =
    key("dialect", "block", "{}", "restrictions of the portable dialect on this system");
const MAX_RESPONSE: KeyReference =
    key("max_response_size", NUMBER, "1048576", "bytes of a response at most").default("10485760");
const REQUEST_TIMEOUT: KeyReference =
    key("timeout_ms", NUMBER, "5000", "milliseconds for each step").default("10000");
const AUTH: KeyReference =
    key("auth", "block", r#"{"type": "bearer", "token": "env://API_TOKEN"}"#, "credentials that are sent");

const BEARER: BlockReference = BlockReference {
    path: "auth",
    form: r#"{"type": "bearer"}"#,
    keys: &[
        key("type", "`bearer`", r#""bearer""#, "`Authorization: Bearer`").required(),
        key("token", TEXT, r#""env://API_TOKEN""#, "the token, literal or a reference").required(),
    ],
};
const BASIC: BlockReference = BlockReference {
    path: "auth",
    form: r#"{"type": "basic"}"#,
    keys: &[
        key("type", "`basic`", r#""basic""#, "`Authorization: Basic`").required(),
        key("username", TEXT, r#""svc""#, "the user name").required(),
        key("password", TEXT, r#""env://API_PASSWORD""#, "the password, literal or a reference").required(),
    ],
};
const API_KEY: BlockReference = BlockReference {
    path: "auth",
    form: r#"{"type": "apikey"}"#,
    keys: &[
        key("type", "`apikey`", r#""apikey""#, "a key in a header").required(),
        key("header", TEXT, r#""x-api-key""#, "the header").required(),
        key("key", TEXT, r#""env://API_KEY""#, "the key, literal or a reference").required(),
    ],
};
const OAUTH2: BlockReference = BlockReference {
    path: "auth",
    form: r#"{"type": "oauth2"}"#,
    keys: &[
        key("type", "`oauth2`", r#""oauth2""#, "access tokens that the service obtains itself").required(),
        key(
            "grant",
            "`client_credentials`, `refresh_token`, `account_credentials`",
            r#""client_credentials""#,
            "the grant type",
        )
        .required(),
        key("token_url", TEXT, r#""https://id.example/token""#, "the token endpoint, http or https")
            .required(),
        key("client_id", TEXT, r#""svc""#, "the client id").required(),
        key("client_secret", TEXT, r#""env://CLIENT_SECRET""#, "the client secret").required(),
        key("client_auth", "`basic`, `body`", r#""body""#, "the way the client proves its identity")
            .default(r#""basic""#),
        key("refresh_token", TEXT, r#""env://REFRESH_TOKEN""#, "the first refresh token, for that grant"),
        key("account_id", TEXT, r#""a1""#, "the account, for `account_credentials`"),
        key("scopes", TEXTS, r#"["orders.read"]"#, "the scopes that are asked for"),
        key("audience", TEXT, r#""https://api.example""#, "the form parameter `audience`"),
        key("resource", TEXT, r#""https://api.example""#, "the form parameter `resource`"),
        key("extra_params", "object of scalars", r#"{"tenant": "t1"}"#, "further form parameters"),
        key("refresh_margin_secs", NUMBER, "30", "seconds before its expiry at which a token is renewed")
            .default("60"),
    ],
};

const DIALECT_BLOCK: BlockReference = BlockReference {
    path: "dialect",
    form: "",
    keys: &[
        key("require_schema", SWITCH, "true", "a task must declare its entities in `schema`")
            .default("false"),
        key("allowed_entities", TEXTS, r#"["orders"]"#, "entities that tasks may access; absent, all"),
    ],
};

/// Allows or denies an operation.
const fn operation(name: &'static str, description: &'static str) -> KeyReference {
    key(name, SWITCH, "false", description).default("true")
}

const DATA_OPERATIONS: BlockReference = BlockReference {
    path: "operations",
    form: "",
    keys: &[
        operation("read", "tasks may read"),
        operation("insert", "tasks may insert"),
        operation("update", "tasks may update"),
        operation("delete", "tasks may delete"),
        operation("upsert", "tasks may upsert"),
        operation("raw_write", "tasks may write with statements of their own"),
    ],
};

/// All connector types.
pub static CONNECTORS: [ConnectorReference; ConnectorType::ALL.len()] = [
    ConnectorReference {
        kind: ConnectorType::Http,
        blocks: &[
            BlockReference {
                path: "",
                form: "",
                keys: &[
                    HTTP_URL,
                    key(
                        "headers",
                        "object of texts",
                        r#"{"accept": "application/json"}"#,
                        "sent with every call",
                    ),
                    key("query_params", "object of scalars", r#"{"v": 2}"#, "appended to every URL"),
                    AUTH,
                    key("retry", "block", "{}", "attempts after a failure that may pass"),
                    key("retry_non_idempotent", SWITCH, "true", "POST and PATCH are retried too")
                        .default("false"),
                    key("method", TEXT, r#""GET""#, "without effect: the task names the method"),
                    MAX_RESPONSE,
                    PRIVATE,
                    OPERATIONS,
                ],
            },
            BEARER,
            BASIC,
            API_KEY,
            OAUTH2,
            BlockReference {
                path: "retry",
                form: "",
                keys: &[
                    key("max_retries", NUMBER, "5", "retries after the first attempt, at most 16")
                        .default("3"),
                    key("retry_delay_ms", NUMBER, "200", "milliseconds before the first retry; doubles")
                        .default("1000"),
                ],
            },
            BlockReference {
                path: "operations",
                form: "",
                keys: &[key(
                    "methods",
                    "list of `GET`, `POST`, `PUT`, `PATCH`, `DELETE`",
                    r#"["GET"]"#,
                    "methods that tasks may use; absent, all",
                )],
            },
        ],
    },
    ConnectorReference {
        kind: ConnectorType::Es,
        blocks: &[
            BlockReference {
                path: "",
                form: "",
                keys: &[
                    HTTP_URL,
                    AUTH,
                    key("request_timeout_ms", NUMBER, "5000", "milliseconds for one request"),
                    MAX_RESPONSE,
                    PRIVATE,
                    OPERATIONS,
                    DIALECT,
                ],
            },
            BEARER,
            BASIC,
            API_KEY,
            DATA_OPERATIONS,
            DIALECT_BLOCK,
        ],
    },
    ConnectorReference {
        kind: ConnectorType::Db,
        blocks: &[
            BlockReference {
                path: "",
                form: "",
                keys: &[
                    key(
                        "connection_string",
                        TEXT,
                        r#""postgres://svc:${DB_PASSWORD}@db/orders""#,
                        "address and credentials; the scheme selects PostgreSQL, MySQL, SQLite or MongoDB",
                    )
                    .required(),
                    key("max_connections", NUMBER, "5", "connections at most"),
                    key("connect_timeout_ms", NUMBER, "1000", "milliseconds to connect").default("5000"),
                    key("query_timeout_ms", NUMBER, "5000", "milliseconds for one statement")
                        .default("30000"),
                    key("max_result_bytes", NUMBER, "1048576", "bytes of a result at most"),
                    PRIVATE,
                    OPERATIONS,
                    DIALECT,
                    key("aggregate_write_stages", SWITCH, "true", "a pipeline of MongoDB may write")
                        .default("false"),
                ],
            },
            DATA_OPERATIONS,
            DIALECT_BLOCK,
        ],
    },
    ConnectorReference {
        kind: ConnectorType::Cache,
        blocks: &[
            BlockReference {
                path: "",
                form: "",
                keys: &[
                    key("backend", "`memory`, `redis`", r#""memory""#, "the place of the entries").required(),
                    key("url", TEXT, r#""redis://redis/0""#, "the server, for `redis`"),
                    PRIVATE,
                    OPERATIONS,
                ],
            },
            BlockReference {
                path: "operations",
                form: "",
                keys: &[operation("read", "tasks may read"), operation("write", "tasks may write")],
            },
        ],
    },
    ConnectorReference {
        kind: ConnectorType::Kafka,
        blocks: &[
            BlockReference {
                path: "",
                form: "",
                keys: &[
                    key(
                        "brokers",
                        TEXTS,
                        r#"["broker:9092"]"#,
                        "`host:port`; empty, those of the server's settings",
                    )
                    .required(),
                    key("topic", TEXT, r#""orders""#, "for tasks that name none"),
                    key(
                        "auth",
                        "block",
                        r#"{"security_protocol": "ssl"}"#,
                        "transport security and credentials",
                    ),
                    PRIVATE,
                    OPERATIONS,
                ],
            },
            BlockReference {
                path: "auth",
                form: "",
                keys: &[
                    key(
                        "security_protocol",
                        "`plaintext`, `ssl`, `sasl_plaintext`, `sasl_ssl`",
                        r#""ssl""#,
                        "the security protocol",
                    )
                    .required(),
                    key("sasl_mechanism", "`PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`", "", "with `sasl_…`"),
                    key("sasl_username", TEXT, "", "the user name, with `sasl_…`"),
                    key("sasl_password", TEXT, "", "the password, literal or a reference, with `sasl_…`"),
                ],
            },
            BlockReference {
                path: "operations",
                form: "",
                keys: &[operation("publish", "tasks may publish")],
            },
        ],
    },
    ConnectorReference {
        kind: ConnectorType::Smtp,
        blocks: &[
            BlockReference {
                path: "",
                form: "",
                keys: &[
                    key("host", TEXT, r#""mail.example""#, "the mail server").required(),
                    key("port", NUMBER, "465", "its port").default("587"),
                    key("tls", "`starttls`, `implicit`, `none`", r#""implicit""#, "the transport security")
                        .default(r#""starttls""#),
                    key("auth", "block", r#"{"type": "none"}"#, "credentials"),
                    key("from", TEXT, r#""svc@example.com""#, "the sender").required(),
                    key("allow_from_override", SWITCH, "true", "a task may name another sender")
                        .default("false"),
                    PRIVATE,
                    REQUEST_TIMEOUT,
                ],
            },
            BlockReference {
                path: "auth",
                form: r#"{"type": "none"}"#,
                keys: &[key("type", "`none`", r#""none""#, "no credentials").default(r#""none""#)],
            },
            BASIC,
        ],
    },
    ConnectorReference {
        kind: ConnectorType::Storage,
        blocks: &[
            BlockReference {
                path: "",
                form: "",
                keys: &[
                    key("provider", "`s3`", r#""s3""#, "the protocol").default(r#""s3""#),
                    key("endpoint", TEXT, r#""https://s3.example""#, "URL of the store, http or https")
                        .required(),
                    key("region", TEXT, r#""eu-central-1""#, "the region of the bucket").required(),
                    key("bucket", TEXT, r#""invoices""#, "the bucket").required(),
                    key("access_key", TEXT, r#""env://S3_ACCESS_KEY""#, "the access key id").required(),
                    key("secret_key", TEXT, r#""env://S3_SECRET_KEY""#, "the secret access key").required(),
                    key("session_token", TEXT, r#""env://S3_SESSION""#, "of temporary credentials"),
                    key("force_path_style", SWITCH, "true", "the bucket stands in the path, not in the host")
                        .default("false"),
                    PRIVATE,
                    REQUEST_TIMEOUT,
                    OPERATIONS,
                ],
            },
            BlockReference {
                path: "operations",
                form: "",
                keys: &[
                    operation("presign_get", "tasks may sign URLs for reads"),
                    operation("presign_put", "tasks may sign URLs for writes"),
                    operation("head", "tasks may ask about objects"),
                ],
            },
        ],
    },
];
