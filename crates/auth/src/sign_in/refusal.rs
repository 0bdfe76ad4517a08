//! The reasons for which a sign-in is refused.

use crate::reason::RefusalReason;

/// The reason for which a request of a sign-in is refused. Callers see none of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInRefusal {
    /// The path names no provider of the channel.
    UnknownProvider,
    /// The request has no cookie of a sign-in under way.
    StateMissing,
    /// The cookie was not made here, or was changed.
    StateForged,
    /// The sign-in took too long.
    StateExpired,
    /// The state of the request is not that of the cookie.
    StateMismatch,
    /// The request brings neither a code nor an error.
    NoCode,
    /// The request is of another issuer than the provider.
    IssuerMismatch,
    /// The provider gave no token for the code; its error code, if it is one.
    CodeRefused(Option<String>),
    /// The answer of the provider has no usable token.
    NoToken(&'static str),
    /// The id token is not accepted.
    IdToken(RefusalReason),
    /// The id token is not of this sign-in.
    NonceMismatch,
    /// The provider describes another person than the id token, or none.
    SubjectMismatch,
    /// The provider does not describe the holder of the token.
    UserinfoRefused,
    /// The provider cannot be asked now.
    Unavailable(String),
    /// The cryptographic library failed.
    Broken,
}

impl SignInRefusal {
    /// Returns the name in logs, bodies of operators and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UnknownProvider => "unknown_provider",
            Self::StateMissing => "state_missing",
            Self::StateForged => "state_forged",
            Self::StateExpired => "state_expired",
            Self::StateMismatch => "state_mismatch",
            Self::NoCode => "no_code",
            Self::IssuerMismatch => "issuer_mismatch",
            Self::CodeRefused(_) => "code_refused",
            Self::NoToken(_) => "no_token",
            Self::IdToken(reason) => reason.name(),
            Self::NonceMismatch => "nonce_mismatch",
            Self::SubjectMismatch => "subject_mismatch",
            Self::UserinfoRefused => "userinfo_refused",
            Self::Unavailable(_) => "provider_unavailable",
            Self::Broken => "internal",
        }
    }

    /// Returns more for the log: an error code of the provider or the fault of a connection, never a secret.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::CodeRefused(code) => code.as_deref(),
            Self::NoToken(detail) => Some(detail),
            Self::Unavailable(cause) => Some(cause),
            _ => None,
        }
    }

    /// Returns true if the same request may succeed later.
    pub const fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::IdToken(RefusalReason::KeysUnavailable))
    }
}
