//! Reasons for the refusal of a credential, for metrics and traces.

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal,)*) => {
        /// The reason for the refusal of a credential. Never shown to a caller, except for
        /// [`RefusalReason::Expired`] of a token.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RefusalReason { $($(#[doc = $doc])* $variant,)* }

        impl RefusalReason {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the sentence for operators.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),*).trim_ascii_start(),)* }
            }

            /// Returns the value of the metric label.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

reasons! {
    /// The required credential is missing.
    Missing = "missing",
    /// The credential is longer than allowed.
    Oversized = "oversized",
    /// The credential is malformed.
    Malformed = "malformed",
    /// The algorithm is not allowed, or is `none`.
    AlgRejected = "alg_rejected",
    /// There is no key with that id.
    UnknownKid = "unknown_kid",
    /// No key matches the signature.
    BadSignature = "bad_signature",
    /// The token has expired.
    Expired = "expired",
    /// The token is not valid yet.
    NotYetValid = "not_yet_valid",
    /// The issuer is not accepted.
    IssuerMismatch = "issuer_mismatch",
    /// The audience is not accepted.
    AudienceMismatch = "audience_mismatch",
    /// A required claim is missing or has the wrong type.
    MissingClaim = "missing_claim",
    /// The key set is unavailable, so that the token cannot be judged.
    KeysUnavailable = "keys_unavailable",
    /// The API key is not accepted.
    UnknownKey = "unknown_key",
    /// The signed timestamp is missing or outside of the replay window.
    StaleTimestamp = "stale_timestamp",
    /// A header that is part of the signed message is missing.
    MissingSignedHeader = "missing_signed_header",
}
