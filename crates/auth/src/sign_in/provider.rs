//! One provider of a channel, loaded: its addresses, the client that this service is there, and the rules of its tokens.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use svc_model::config::auth::is_issuer;
use svc_model::config::connector::OAuth2ClientAuth;
use svc_model::config::{IdentityClaims, SignInKind, SignInProvider};
use svc_secrets::{ReferenceError, ResolveError, Resolver, Secret};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::access::{IssuerAccess, ProviderAccess, ProviderRequest};
use super::additions::SignInAdditions;
use super::refusal::SignInRefusal;
use super::state::{PendingSignIn, code_challenge};
use crate::issuer::IssuerDocument;
use crate::jwt::{ClaimRules, TokenVerifier};
use crate::key_sets::KeySets;

/// Clock skew that is tolerated in id tokens, in seconds.
const LEEWAY_SECS: u64 = 30;
/// Longest id token, in bytes.
const MAX_ID_TOKEN: usize = 32_768;

/// A loaded provider. `Debug` shows no secrets.
pub(super) struct LoadedProvider {
    /// Its name, if there are several.
    pub(super) name: Option<String>,
    pub(super) kind: SignInKind,
    pub(super) identity: IdentityClaims,
    pub(super) id_token: Option<IdTokenRules>,
    pub(super) userinfo_url: Option<String>,
    /// The issuer, as it names itself.
    pub(super) issuer_name: Option<String>,
    issuer: Option<Arc<dyn IssuerAccess>>,
    authorize_url: Option<String>,
    token_url: Option<String>,
    redirect_uri: String,
    pub(super) client_id: String,
    client_secret: Secret,
    client_auth: OAuth2ClientAuth,
    scopes: Vec<String>,
    extra_params: Vec<(String, String)>,
    pub(super) pkce: bool,
}

/// The rules for the id token of a provider.
pub(super) struct IdTokenRules {
    pub(super) verifier: TokenVerifier,
    pub(super) claims: ClaimRules,
    pub(super) is_required: bool,
    pub(super) has_nonce: bool,
}

/// The inputs of loading a provider.
pub(super) struct ProviderInputs<'i> {
    pub(super) resolver: &'i dyn Resolver,
    pub(super) key_sets: &'i dyn KeySets,
    pub(super) access: &'i dyn ProviderAccess,
    /// The path of the block of the provider, for problems.
    pub(super) path: String,
}

impl ProviderInputs<'_> {
    /// Returns the value of a field: a literal unchanged, a reference resolved.
    pub(super) fn resolve(&self, field: &str, text: &str) -> Result<Secret, String> {
        let fail = |why: &dyn fmt::Display| format!("{}.{field}: {why}", self.path);
        let value = match svc_secrets::parse(text) {
            Ok(None) => Secret::new(text),
            Ok(Some(reference)) => self.resolver.resolve(&reference).map_err(|error| match error {
                ResolveError::Reference(error) => fail(&describe_reference(&error)),
                error => fail(&error),
            })?,
            Err(error) => return Err(fail(&describe_reference(&error))),
        };
        if value.expose().trim().is_empty() { Err(fail(&"the value is blank")) } else { Ok(value) }
    }

    /// Returns the https address in a field that the service dials.
    fn dialled(&self, field: &str, text: Option<&String>) -> Result<Option<String>, String> {
        let Some(text) = text else { return Ok(None) };
        let url = self.https_address(field, text)?;
        self.access.check(&url).map_err(|why| format!("{}.{field}: {why}", self.path))?;
        Ok(Some(url))
    }

    /// Returns the https address in a field.
    pub(super) fn https_address(&self, field: &str, text: &str) -> Result<String, String> {
        let url = self.resolve(field, text)?;
        // The value is not repeated: it may have been meant for another field.
        let is_address = Url::parse(url.expose()).is_ok_and(|url| url.scheme() == "https" && url.has_host());
        let remedy = match field {
            "redirect_uri" => {
                "; [server.tls] or a proxy in front of the service has one, also on your own machine"
            }
            _ => "",
        };
        match is_address {
            true => Ok(url.expose().to_owned()),
            false => Err(format!("{}.{field}: the value is no https address{remedy}", self.path)),
        }
    }
}

/// Describes a malformed reference without its text, which may be a secret.
fn describe_reference(error: &ReferenceError) -> &'static str {
    match error {
        ReferenceError::Reserved { .. } => "this scheme is reserved; use env://, file:// or vault://",
        _ => "malformed reference",
    }
}

impl LoadedProvider {
    /// Resolves the references of a provider and checks what they lead to.
    ///
    /// # Errors
    /// The reason to quarantine the channel. It names the field and contains no value.
    pub(super) fn build(
        name: Option<&str>,
        config: &SignInProvider,
        redirect_uri: &str,
        inputs: &ProviderInputs<'_>,
    ) -> Result<Self, String> {
        let issuer_name =
            config.issuer.as_ref().map(|text| inputs.https_address("issuer", text)).transpose()?;
        if issuer_name.as_deref().is_some_and(|issuer| !is_issuer(issuer)) {
            return Err(format!("{}.issuer: the value has a query or a fragment", inputs.path));
        }
        let issuer = issuer_name.as_deref().map(|issuer| inputs.access.issuer(issuer)).transpose();
        let issuer = issuer.map_err(|why| format!("{}.issuer: {why}", inputs.path))?;
        let authorize_url = config.authorize_url.as_ref();
        let authorize_url =
            authorize_url.map(|text| inputs.https_address("authorize_url", text)).transpose()?;
        let client_id = inputs.resolve("client_id", &config.client_id)?.expose().to_owned();
        let id_token = match config.protocol() {
            SignInKind::OAuth2 => None,
            SignInKind::Oidc => {
                Some(IdTokenRules::build(config, issuer_name.as_deref(), &client_id, inputs)?)
            }
        };
        let extra = config.extra_authorize_params.iter();
        let extra = extra.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Ok(Self {
            name: name.map(str::to_owned),
            kind: config.protocol(),
            identity: config.identity.clone(),
            id_token,
            userinfo_url: inputs.dialled("userinfo_url", config.userinfo_url.as_ref())?,
            issuer_name,
            issuer,
            authorize_url,
            token_url: inputs.dialled("token_url", config.token_url.as_ref())?,
            redirect_uri: redirect_uri.to_owned(),
            client_id,
            client_secret: inputs.resolve("client_secret", config.client_secret.expose())?,
            client_auth: config.client_auth,
            scopes: config.requested_scopes(),
            extra_params: extra.collect(),
            pkce: config.pkce,
        })
    }

    /// Returns the name in metadata and metrics.
    pub(super) fn label(&self) -> &str {
        self.name.as_deref().unwrap_or("default")
    }

    /// Returns the address to which the browser is sent for a sign-in.
    pub(super) async fn authorize_address(
        &self,
        pending: &PendingSignIn,
        additions: &SignInAdditions,
    ) -> Result<String, SignInRefusal> {
        let page = match &self.authorize_url {
            Some(url) => url.clone(),
            None => {
                self.discover("authorization_endpoint", |known| known.authorization_endpoint.as_deref())
                    .await?
            }
        };
        let mut page = Url::parse(&page).map_err(|_| SignInRefusal::Broken)?;
        let mut query = page.query_pairs_mut();
        for (name, value) in self.extra_params.iter().chain(&additions.extra_params) {
            query.append_pair(name, value);
        }
        query.append_pair("response_type", "code").append_pair("client_id", &self.client_id);
        query.append_pair("redirect_uri", &self.redirect_uri).append_pair("state", &pending.state);
        let scopes: Vec<_> = self.scopes.iter().chain(&additions.scopes).map(String::as_str).collect();
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        if self.id_token.as_ref().is_some_and(|rules| rules.has_nonce) {
            query.append_pair("nonce", &pending.nonce);
        }
        if let Some(verifier) = &pending.verifier {
            query.append_pair("code_challenge", &code_challenge(verifier));
            query.append_pair("code_challenge_method", "S256");
        }
        drop(query);
        Ok(page.into())
    }

    /// Makes the request that exchanges a code for tokens.
    pub(super) async fn token_request(
        &self,
        code: &str,
        pending: &PendingSignIn,
    ) -> Result<ProviderRequest, SignInRefusal> {
        let url = match &self.token_url {
            Some(url) => url.clone(),
            None => self.discover("token_endpoint", |known| known.token_endpoint.as_deref()).await?,
        };
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code").append_pair("code", code);
        form.append_pair("redirect_uri", &self.redirect_uri);
        if let Some(verifier) = &pending.verifier {
            form.append_pair("code_verifier", verifier);
        }
        let secret = self.client_secret.expose();
        let authorization = match self.client_auth {
            OAuth2ClientAuth::Body => {
                form.append_pair("client_id", &self.client_id).append_pair("client_secret", secret);
                None
            }
            OAuth2ClientAuth::Basic => Some(basic(&self.client_id, secret)),
        };
        Ok(ProviderRequest { url, authorization, form: Some(form.finish()) })
    }

    /// Returns an address out of the document of the issuer.
    async fn discover(
        &self,
        name: &str,
        select: fn(&IssuerDocument) -> Option<&str>,
    ) -> Result<String, SignInRefusal> {
        let issuer = self.issuer.as_ref().ok_or(SignInRefusal::Broken)?;
        let document = issuer.document().await.ok_or_else(|| {
            SignInRefusal::Unavailable("the discovery document of the issuer cannot be had".to_owned())
        })?;
        let missing =
            || SignInRefusal::Unavailable(format!("the discovery document has no {name} over https"));
        select(&document).map(str::to_owned).ok_or_else(missing)
    }
}

impl IdTokenRules {
    fn build(
        config: &SignInProvider,
        issuer: Option<&str>,
        client_id: &str,
        inputs: &ProviderInputs<'_>,
    ) -> Result<Self, String> {
        let rules = config.id_token.clone().unwrap_or_default();
        let fail = |field: &str, why: String| format!("{}.{field}: {why}", inputs.path);
        let key_set = match (&rules.jwks_url, issuer) {
            (Some(url), _) => {
                let url = inputs.https_address("id_token.jwks_url", url)?;
                inputs.key_sets.key_set(&url).map_err(|why| fail("id_token.jwks_url", why))?
            }
            (None, Some(issuer)) => {
                inputs.key_sets.issuer_key_set(issuer).map_err(|why| fail("issuer", why))?
            }
            (None, None) => return Err(fail("id_token", "no key set is named".to_owned())),
        };
        let or_default = |given: &Vec<String>, default: Option<&str>| match given.is_empty() {
            true => default.map(str::to_owned).into_iter().collect(),
            false => given.clone(),
        };
        Ok(Self {
            verifier: TokenVerifier::new(rules.algorithms(), Vec::new(), Some(key_set))
                .max_bytes(MAX_ID_TOKEN),
            claims: ClaimRules {
                issuers: or_default(&rules.issuers, issuer),
                audiences: or_default(&rules.audiences, Some(client_id)),
                leeway_secs: LEEWAY_SECS,
                require_exp: true,
            },
            is_required: rules.required,
            has_nonce: rules.nonce,
        })
    }
}

/// Both parts are form-encoded before they are joined (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &str) -> String {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))))
}

impl fmt::Debug for LoadedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedProvider").field("name", &self.name).finish_non_exhaustive()
    }
}
