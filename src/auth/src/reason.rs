//! Why a credential was refused, in words for metrics and traces.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why a credential was refused. Never shown to a caller, but for [`RefusalReason::Expired`] of a token.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RefusalReason { $($(#[$doc])* $variant,)* }

        impl RefusalReason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The value of a metric's label.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

reasons! {
    /// No credential where one is expected.
    Missing = "missing",
    /// A credential longer than allowed.
    Oversized = "oversized",
    /// Not a credential by its form.
    Malformed = "malformed",
    /// An algorithm that is not allowed; `none` is one.
    AlgRejected = "alg_rejected",
    /// No key of that id.
    UnknownKid = "unknown_kid",
    /// The signature is not the one of any key.
    BadSignature = "bad_signature",
    /// The token is no longer valid.
    Expired = "expired",
    /// The token is not valid yet.
    NotYetValid = "not_yet_valid",
    /// Another issuer.
    IssuerMismatch = "issuer_mismatch",
    /// Another audience.
    AudienceMismatch = "audience_mismatch",
    /// A claim that must be there is not, or has the wrong type.
    MissingClaim = "missing_claim",
    /// The key set could not be had.
    KeysUnavailable = "keys_unavailable",
    /// An API key that is none of the accepted ones.
    UnknownKey = "unknown_key",
    /// A signed instant outside the replay window, or none.
    StaleTimestamp = "stale_timestamp",
    /// A header that is part of what is signed is not there.
    MissingSignedHeader = "missing_signed_header",
}
