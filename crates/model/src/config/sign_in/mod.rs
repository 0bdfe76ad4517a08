//! The `oauth2_login` block: people sign in with the page of an identity provider.
//!
//! The block has one provider, whose keys are its own, or several below `providers`.

mod instance;
mod parse;

pub use instance::InstanceProviders;
pub use parse::is_reserved_parameter;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::auth::JwtAlgorithm;
use super::connector::OAuth2ClientAuth;
use super::declare::{Choice, block, choice};
use super::key_reference::KeyReference;
use super::secret::SecretText;

/// The parameter of a path, and the part of a redirect URI, that names one of several providers.
pub const PROVIDER_PARAMETER: &str = "provider";

/// The `oauth2_login` block.
#[derive(Clone, Debug, PartialEq)]
pub struct SignInConfig {
    /// The address to which providers send browsers back. With several providers it holds `{provider}`.
    pub redirect_uri: String,
    /// The route of that address below the data plane.
    pub callback_path: String,
    /// The secret from which the key of the state cookie is made.
    pub state_secret: SecretText,
    /// The cookie that keeps a sign-in under way.
    pub state_cookie: StateCookieConfig,
    /// The pages to which a caller may ask to be sent afterwards.
    pub return_to: Option<ReturnToConfig>,
    /// The workflow runs before a browser is sent to its provider, too.
    pub run_workflow_on_authorize: bool,
    /// The providers.
    pub providers: SignInProviders,
}

/// The providers of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum SignInProviders {
    /// One, without a name.
    One(Box<SignInProvider>),
    /// Several by their names, which paths carry.
    Named(BTreeMap<String, SignInProvider>),
}

impl SignInConfig {
    /// The keys of the block in the order of the manual: its own, and those of its only provider.
    pub(crate) const KEYS: &'static [KeyReference] = &join_keys::<
        { SignInKeys::KEYS.len() + SignInProvider::KEYS.len() },
    >(SignInKeys::KEYS, SignInProvider::KEYS);
}

/// Joins the keys of the block with those of a provider, which are required unless `providers` are listed.
const fn join_keys<const N: usize>(own: &[KeyReference], provider: &[KeyReference]) -> [KeyReference; N] {
    let mut keys = [own[0]; N];
    let mut at = 0;
    while at < N {
        if at < own.len() {
            keys[at] = own[at];
        } else {
            keys[at] = provider[at - own.len()];
            if keys[at].required {
                keys[at].alternative = "providers providers_from_instance";
            }
        }
        at += 1;
    }
    keys
}

block! {
    /// The keys of the block but those of a provider, as they are written.
    struct SignInKeys {
        /// the https address to which the provider sends browsers back, as it is registered there; with `{provider}` once
        /// if `providers` are listed
        redirect_uri: String => "https://shop.example/login/callback", by(parse::https_url);
        /// the route of that address below `/api/v1/data`, not that of the channel; both have `{provider}` if `providers`
        /// are listed
        callback_path: String => "/login/callback", by(parse::callback_path);
        /// makes the key of the state cookie: 32 bytes or more, the same on every node; literal or a reference
        state_secret: SecretText => "0123456789abcdef0123456789abcdef", by(parse::state_secret), secret();
        /// the cookie that keeps a sign-in under way
        state_cookie: StateCookieConfig = _ => {"name": "login_state"};
        /// the pages to which a caller may ask to be sent afterwards
        return_to: Option<ReturnToConfig> => {"allow_list": ["https://shop.example/"]};
        /// the workflow runs before a browser is sent to its provider, too: it may refuse, or add parameters and scopes
        run_workflow_on_authorize: bool = false => true;
        /// the providers of `[oauth2_login.providers]` of the instance join those of the channel; of one that both
        /// have, the channel writes the keys that differ
        providers_from_instance: bool = false => true;
        /// several providers by their names, in place of the keys of one
        providers: Option<BTreeMap<String, SignInProvider>> =>
            {"corp": {"issuer": "https://id.example", "client_id": "shop", "client_secret": "s"}};
    }
}

block! {
    /// An identity provider, and the client that this service is there.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SignInProvider {
        /// finds the addresses and the key set at `<issuer>/.well-known/openid-configuration`; this, or `authorize_url` and
        /// `token_url`
        pub issuer: Option<String> => "https://id.example", by(parse::issuer_url);
        /// the page to which browsers are sent
        pub authorize_url: Option<String> => "https://id.example/authorize", by(parse::https_url);
        /// the endpoint that gives tokens for a code
        pub token_url: Option<String> => "https://id.example/token", by(parse::https_url);
        /// the endpoint that describes who signed in; its members complete the claims of the id token
        pub userinfo_url: Option<String> => "https://id.example/userinfo", by(parse::https_url);
        /// the client id
        pub client_id: String => "shop", by(parse::client_id);
        /// the client secret, literal or a reference
        pub client_secret: SecretText => "s", by(parse::client_secret), secret();
        /// the way the client proves its identity
        pub client_auth: OAuth2ClientAuth = "basic" => "body";
        /// the scopes that are asked for; `openid` alone by default, none for `oauth2`
        pub scopes: Option<Vec<String>> => ["openid", "email"], by(parse::scopes);
        /// further texts in the query of the page
        pub extra_authorize_params: Map<String, Value> = _ => {"prompt": "login"}, by(parse::extra_params);
        /// `oidc` has an id token, `oauth2` has none; `oidc` by default with `issuer` or `id_token`
        pub kind: Option<SignInKind> => "oidc";
        /// the code is bound to the browser by PKCE (S256)
        pub pkce: bool = true => false;
        /// what the id token must fulfil
        pub id_token: Option<IdTokenConfig> => {"algorithms": ["ES256"]};
        /// the claims that `metadata.identity` is made of
        pub identity: IdentityClaims = _ => {"login": "email"};
    }
}

choice! {
    /// The protocol of a provider.
    pub enum SignInKind {
        /// OpenID Connect: a signed token states who signed in.
        Oidc = "oidc",
        /// OAuth 2.0: a token gives access, and `userinfo_url` may say who signed in.
        OAuth2 = "oauth2",
    }
}

impl SignInKind {
    /// Returns the word of the configuration.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

impl SignInProvider {
    /// Returns the protocol of the provider.
    pub fn protocol(&self) -> SignInKind {
        let has_id_token = self.issuer.is_some() || self.id_token.is_some();
        self.kind.unwrap_or(if has_id_token { SignInKind::Oidc } else { SignInKind::OAuth2 })
    }

    /// Returns the scopes that are asked for.
    pub fn requested_scopes(&self) -> Vec<String> {
        match (&self.scopes, self.protocol()) {
            (Some(scopes), _) => scopes.clone(),
            (None, SignInKind::Oidc) => vec!["openid".to_owned()],
            (None, SignInKind::OAuth2) => Vec::new(),
        }
    }
}

block! {
    /// The rules for the id token of a provider. The lists of issuers and audiences are empty if they are those of the
    /// provider.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct IdTokenConfig: Default {
        /// an answer without an id token is refused
        pub required: bool = true => false;
        /// accepted `iss`; `issuer` of the provider by default
        pub issuers as "issuer": Vec<String> = _ =>
            "https://id.example", kind("text or list"), by(parse::accepted_values);
        /// accepted `aud`; `client_id` by default
        pub audiences as "audience": Vec<String> = _ =>
            ["shop"], kind("text or list"), by(parse::accepted_values);
        /// the key set, https; found by `issuer` of the provider by default
        pub jwks_url: Option<String> => "https://id.example/keys", by(parse::https_url);
        /// accepted algorithms: RS, PS with 256, 384, 512; ES256, ES384; EdDSA
        pub algorithms: Vec<JwtAlgorithm> = _ => ["ES256"], default("[\"RS256\"]"), by(parse::algorithms);
        /// the token must carry the nonce of this sign-in
        pub nonce: bool = true => false;
    }
}

block! {
    /// The names of the claims that an identity is made of.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct IdentityClaims: Default {
        /// the claim with the id of the person, a text or a number
        pub subject: String = "sub" => "id", by(parse::claim);
        /// the claim with the name for signing in
        pub login: String = "preferred_username" => "login";
        /// the claim with the name for people
        pub name: String = "name" => "full_name";
        /// the claim with the address
        pub email: String = "email" => "mail";
        /// the claim with the address of a picture
        pub picture: String = "picture" => "avatar_url";
    }
}

block! {
    /// The cookie that keeps a sign-in under way.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StateCookieConfig: Default {
        /// its name
        pub name: String = "svc_sign_in" => "login_state", by(parse::cookie_name);
        /// it travels over https alone
        pub secure: bool = true => false;
        /// `lax` or `none`; a strict one would be withheld when the provider sends the browser back
        pub same_site: CookieSite = "lax" => "none", by(parse::same_site);
        /// the paths that get it
        pub path: String = "/" => "/api/v1/data/login", by(parse::cookie_path);
        /// seconds that a sign-in may take, 1 to 86400
        pub max_age: u64 = 600 => 300, by(parse::max_age);
    }
}

choice! {
    /// The sites whose requests carry a cookie.
    pub enum CookieSite {
        /// The own site, and links of others.
        Lax = "lax",
        /// Every site.
        Cross = "none",
    }
}

impl CookieSite {
    /// Returns the value of the attribute.
    pub const fn attribute(self) -> &'static str {
        match self {
            Self::Lax => "Lax",
            Self::Cross => "None",
        }
    }
}

block! {
    /// The pages to which a caller may ask to be sent afterwards.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ReturnToConfig {
        /// the query parameter that names the page when a sign-in begins
        pub param: String = "return_to" => "next", by(parse::parameter);
        /// https addresses; a page passes if it has the origin of one, and its path or one below it
        pub allow_list: Vec<String> => ["https://shop.example/account"], by(parse::allow_list);
    }
}
