//! Named presets for the signatures of well-known providers.

use super::{HmacAlgorithm, SignatureEncoding};

/// The fields of a preset; an explicit field takes precedence.
pub(in crate::config) struct Preset {
    pub(in crate::config) header: Option<&'static str>,
    pub(in crate::config) prefix: Option<&'static str>,
    pub(in crate::config) packed: Option<&'static str>,
    pub(in crate::config) encoding: Option<SignatureEncoding>,
    pub(in crate::config) message: Option<&'static str>,
    pub(in crate::config) timestamp: Option<&'static str>,
    pub(in crate::config) tolerance_secs: Option<i64>,
    pub(in crate::config) algorithm: Option<HmacAlgorithm>,
    /// The header with the id of the message, which senders choose.
    pub(in crate::config) id: Option<&'static str>,
}

impl Preset {
    /// The empty preset.
    pub(in crate::config) const NONE: &'static Self = &Self {
        header: None,
        prefix: None,
        packed: None,
        encoding: None,
        message: None,
        timestamp: None,
        tolerance_secs: None,
        algorithm: None,
        id: None,
    };
}

/// The presets as (name, alias, fields).
static PRESETS: [(&str, &str, Preset); 7] = [
    (
        "zoom",
        "P1",
        Preset {
            header: Some("x-zm-signature"),
            prefix: Some("v0="),
            encoding: Some(SignatureEncoding::Hex),
            message: Some("v0:{header:x-zm-request-timestamp}:{body}"),
            timestamp: Some("x-zm-request-timestamp"),
            tolerance_secs: Some(300),
            ..*Preset::NONE
        },
    ),
    (
        "slack",
        "P2",
        Preset {
            header: Some("x-slack-signature"),
            prefix: Some("v0="),
            encoding: Some(SignatureEncoding::Hex),
            message: Some("v0:{header:x-slack-request-timestamp}:{body}"),
            timestamp: Some("x-slack-request-timestamp"),
            tolerance_secs: Some(300),
            ..*Preset::NONE
        },
    ),
    (
        "stripe",
        "P3",
        Preset {
            header: Some("stripe-signature"),
            packed: Some("v1"),
            encoding: Some(SignatureEncoding::Hex),
            message: Some("{header:stripe-signature:t}.{body}"),
            timestamp: Some("stripe-signature:t"),
            tolerance_secs: Some(300),
            ..*Preset::NONE
        },
    ),
    (
        "github",
        "P4",
        Preset {
            header: Some("x-hub-signature-256"),
            prefix: Some("sha256="),
            encoding: Some(SignatureEncoding::Hex),
            ..*Preset::NONE
        },
    ),
    (
        "shopify",
        "P5",
        Preset {
            header: Some("x-shopify-hmac-sha256"),
            encoding: Some(SignatureEncoding::Base64),
            ..*Preset::NONE
        },
    ),
    (
        "webex",
        "P6",
        Preset {
            header: Some("x-spark-signature"),
            encoding: Some(SignatureEncoding::Hex),
            algorithm: Some(HmacAlgorithm::Sha1),
            ..*Preset::NONE
        },
    ),
    (
        "standard_webhooks",
        "P7",
        Preset {
            header: Some("webhook-signature"),
            prefix: Some("v1,"),
            encoding: Some(SignatureEncoding::Base64),
            message: Some("{header:webhook-id}.{header:webhook-timestamp}.{body}"),
            timestamp: Some("webhook-timestamp"),
            tolerance_secs: Some(300),
            id: Some("webhook-id"),
            ..*Preset::NONE
        },
    ),
];

/// Returns the preset with that name or alias.
pub(in crate::config) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|(known, alias, _)| *known == name || *alias == name).map(|(.., preset)| preset)
}

/// Names and aliases of the presets whose senders put `data` among other members of the body.
const DATA_BESIDE_OTHERS: [&str; 6] = ["stripe", "P3", "webex", "P6", "standard_webhooks", "P7"];

/// Returns true for a preset whose sender puts `data` among other members of the body.
pub(crate) fn sends_data_beside_others(name: &str) -> bool {
    DATA_BESIDE_OTHERS.contains(&name)
}

/// Returns the names of all presets for messages.
pub(in crate::config) fn names() -> String {
    PRESETS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}
