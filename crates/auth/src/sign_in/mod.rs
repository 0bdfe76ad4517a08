//! Sign-in at an identity provider: the authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core 1.0).
//!
//! A sign-in has two legs. [`SignIn::begin`] sends the browser to the page of the provider and gives it a sealed cookie.
//! [`SignIn::complete`] takes what the provider sends back: the request must have the state of the cookie before anything
//! else is done with it. Then the code is exchanged, and the id token verified.
//!
//! Nothing is kept between the legs: the cookie holds all of it, and any process with the same secret opens it. The
//! network is that of a [`ProviderAccess`]. Callers get one text for every refusal; the [reason](SignInRefusal) is for
//! logs, metrics and bodies of operators.

mod access;
mod additions;
mod answers;
mod provider;
mod refusal;
mod return_pages;
mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::config::{SignInConfig, SignInKind, SignInProvider, SignInProviders, StateCookieConfig};
use svc_secrets::Resolver;

use crate::jwt::find_cookie;
use crate::key_sets::KeySets;
use crate::reason::RefusalReason;
use answers::{complete, description, error_code, identity, read_grant, read_userinfo};
use provider::{IdTokenRules, LoadedProvider, ProviderInputs};
use return_pages::ReturnPages;
use state::{PendingSignIn, StateSealer, is_equal, random_text};

pub use access::{
    IssuerAccess, MAX_PROVIDER_ANSWER, NoProviderAccess, ProviderAccess, ProviderAnswer, ProviderRequest,
};
pub use additions::SignInAdditions;
pub use refusal::SignInRefusal;

/// The path of the block, for problems of loading.
const PATH: &str = "oauth2_login";

/// A page of the provider to which the browser is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInRedirect {
    /// The address.
    pub location: String,
    /// The value of `Set-Cookie`.
    pub cookie: String,
}

/// The outcome of a sign-in, as a workflow sees it. Holds the tokens of the provider, so that it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInOutcome {
    /// The grant with its claims, or the error of the provider.
    pub oauth: Map<String, Value>,
    /// The person; `None` if the provider refused, or does not say who it is.
    pub identity: Option<Map<String, Value>>,
}

impl SignInOutcome {
    /// Returns true if the provider refused, or the person did.
    pub fn is_refused(&self) -> bool {
        self.oauth.contains_key("error")
    }
}

/// The `oauth2_login` block of a channel, loaded. Shared by all threads; `Debug` shows no secrets.
pub struct SignIn {
    providers: Providers,
    sealer: StateSealer,
    cookie: StateCookieConfig,
    return_pages: Option<ReturnPages>,
    runs_on_authorize: bool,
    access: Arc<dyn ProviderAccess>,
}

#[derive(Debug)]
enum Providers {
    One(Box<LoadedProvider>),
    Named(BTreeMap<String, LoadedProvider>),
}

impl SignIn {
    /// Resolves the references of a block and checks what they lead to. `channel` is the name of the channel.
    ///
    /// # Errors
    /// The quarantine reason of the channel. It starts with `oauth2_login`, names the field and contains no value.
    pub fn build(
        channel: &str,
        config: &SignInConfig,
        resolver: &dyn Resolver,
        key_sets: &dyn KeySets,
        access: &Arc<dyn ProviderAccess>,
    ) -> Result<Self, String> {
        let inputs = |path: String| ProviderInputs { resolver, key_sets, access: &**access, path };
        let own = inputs(PATH.to_owned());
        let redirect_uri = own.https_address("redirect_uri", &config.redirect_uri)?;
        let load = |name: Option<&str>, provider: &SignInProvider| {
            let path = name.map_or_else(|| PATH.to_owned(), |name| format!("{PATH}.providers.{name}"));
            let redirect_uri = redirect_uri.replace("{provider}", name.unwrap_or("{provider}"));
            LoadedProvider::build(name, provider, &redirect_uri, &inputs(path))
        };
        let providers = match &config.providers {
            SignInProviders::One(provider) => Providers::One(Box::new(load(None, provider)?)),
            SignInProviders::Named(providers) => {
                if redirect_uri.matches("{provider}").count() != 1 {
                    return Err(format!("{PATH}.redirect_uri: the value has not {{provider}} once"));
                }
                let load = |(name, provider): (&String, &SignInProvider)| {
                    load(Some(name.as_str()), provider).map(|provider| (name.clone(), provider))
                };
                Providers::Named(providers.iter().map(load).collect::<Result<_, _>>()?)
            }
        };
        let secret = own.resolve("state_secret", config.state_secret.expose())?;
        if secret.expose().len() < 32 {
            return Err(format!("{PATH}.state_secret: the value has less than 32 bytes"));
        }
        let sealer = StateSealer::new(secret.expose(), channel);
        let return_pages = config.return_to.as_ref().map(ReturnPages::build).transpose();
        Ok(Self {
            providers,
            sealer: sealer.ok_or_else(|| format!("{PATH}.state_secret: not usable as a key"))?,
            cookie: config.state_cookie.clone(),
            return_pages: return_pages.map_err(|why| format!("{PATH}.{why}"))?,
            runs_on_authorize: config.run_workflow_on_authorize,
            access: Arc::clone(access),
        })
    }

    /// Returns true if the workflow runs before a browser is sent to its provider, too.
    pub fn runs_on_authorize(&self) -> bool {
        self.runs_on_authorize
    }

    /// Returns the name by which metrics and logs know the provider of a path: one of the block, or `unknown`.
    pub fn provider_label(&self, name: Option<&str>) -> &str {
        self.provider(name).map_or("unknown", LoadedProvider::label)
    }

    /// Begins a sign-in with a provider, which `name` selects from several. `query` is that of the request, `now` the Unix
    /// time in seconds. A page to return to that is not listed is dropped. `additions` are those of the workflow.
    ///
    /// # Errors
    /// [`SignInRefusal::UnknownProvider`], or [`SignInRefusal::Unavailable`] if the page of the provider is not known yet.
    pub async fn begin(
        &self,
        name: Option<&str>,
        query: &Map<String, Value>,
        additions: &SignInAdditions,
        now: i64,
    ) -> Result<SignInRedirect, SignInRefusal> {
        let provider = self.provider(name).ok_or(SignInRefusal::UnknownProvider)?;
        let pending = PendingSignIn {
            state: random_text()?,
            verifier: provider.pkce.then(random_text).transpose()?,
            nonce: random_text()?,
            return_to: self.find_return_page(query),
            provider: provider.name.clone(),
            expires: now.saturating_add_unsigned(self.cookie.max_age),
        };
        let location = provider.authorize_address(&pending, additions).await?;
        Ok(SignInRedirect {
            location,
            cookie: self.write_cookie(&self.sealer.seal(&pending)?, self.cookie.max_age),
        })
    }

    /// Returns what a workflow sees of a sign-in that has not begun.
    ///
    /// # Errors
    /// [`SignInRefusal::UnknownProvider`].
    pub fn describe(
        &self,
        name: Option<&str>,
        query: &Map<String, Value>,
    ) -> Result<SignInOutcome, SignInRefusal> {
        let provider = self.provider(name).ok_or(SignInRefusal::UnknownProvider)?;
        let oauth = describe_leg("authorize", provider, self.find_return_page(query).as_deref());
        Ok(SignInOutcome { oauth, identity: None })
    }

    /// Completes a sign-in with what the provider sent back. `headers` are those of the request, their names in lower case.
    ///
    /// # Errors
    /// The [`SignInRefusal`]. Nothing was asked of the provider if the state is refused.
    pub async fn complete(
        &self,
        name: Option<&str>,
        query: &Map<String, Value>,
        headers: &[(String, Vec<u8>)],
        now: i64,
    ) -> Result<SignInOutcome, SignInRefusal> {
        let provider = self.provider(name).ok_or(SignInRefusal::UnknownProvider)?;
        let pending = self.check_state(provider, query, headers, now)?;
        // RFC 9207: a provider that says who it is must be the one that was asked.
        let is_other = |issuer: &str| provider.issuer_name.as_deref().is_some_and(|own| own != issuer);
        if text(query, "iss").is_some_and(is_other) {
            return Err(SignInRefusal::IssuerMismatch);
        }
        let mut oauth = describe_leg("callback", provider, pending.return_to.as_deref());
        if let Some(error) = text(query, "error") {
            let code = error_code(error).unwrap_or_else(|| "invalid_error".to_owned());
            oauth.insert("error".to_owned(), code.into());
            if let Some(text) = text(query, "error_description") {
                oauth.insert("error_description".to_owned(), description(text).into());
            }
            return Ok(SignInOutcome { oauth, identity: None });
        }
        let code = text(query, "code").filter(|code| !code.is_empty()).ok_or(SignInRefusal::NoCode)?;
        let grant = self.exchange(provider, code, &pending).await?;
        let claims = self.find_claims(provider, &grant, &pending, now).await?;
        let identity = identity(&claims, &provider.identity, provider.label(), provider.kind.name());
        if identity.is_none() && (provider.kind == SignInKind::Oidc || provider.userinfo_url.is_some()) {
            return Err(SignInRefusal::SubjectMismatch);
        }
        oauth.insert("grant".to_owned(), grant.into());
        oauth.insert("claims".to_owned(), claims.into());
        Ok(SignInOutcome { oauth, identity })
    }

    /// Returns the value of `Set-Cookie` that removes the cookie of a sign-in.
    pub fn clearing_cookie(&self) -> String {
        self.write_cookie("", 0)
    }

    /// Returns the page to return to that a request names, if it is listed.
    fn find_return_page(&self, query: &Map<String, Value>) -> Option<String> {
        let pages = self.return_pages.as_ref()?;
        pages.accept(text(query, &pages.param)?)
    }

    fn provider(&self, name: Option<&str>) -> Option<&LoadedProvider> {
        match &self.providers {
            Providers::One(provider) => Some(provider),
            Providers::Named(providers) => providers.get(name?),
        }
    }

    /// Opens the state in the cookie and compares it with that of the request.
    fn check_state(
        &self,
        provider: &LoadedProvider,
        query: &Map<String, Value>,
        headers: &[(String, Vec<u8>)],
        now: i64,
    ) -> Result<PendingSignIn, SignInRefusal> {
        let cookie = find_cookie(headers, &self.cookie.name).ok_or(SignInRefusal::StateMissing)?;
        let pending = self.sealer.open(cookie, now)?;
        let is_same = text(query, "state").is_some_and(|state| is_equal(state, &pending.state));
        if is_same && pending.provider == provider.name {
            Ok(pending)
        } else {
            Err(SignInRefusal::StateMismatch)
        }
    }

    async fn exchange(
        &self,
        provider: &LoadedProvider,
        code: &str,
        pending: &PendingSignIn,
    ) -> Result<Map<String, Value>, SignInRefusal> {
        let request = provider.token_request(code, pending).await?;
        let answer = self.access.send(request).await.map_err(SignInRefusal::Unavailable)?;
        read_grant(&answer)
    }

    /// Returns the claims of a verified id token, completed by what the provider says of the holder of the grant.
    async fn find_claims(
        &self,
        provider: &LoadedProvider,
        grant: &Map<String, Value>,
        pending: &PendingSignIn,
        now: i64,
    ) -> Result<Map<String, Value>, SignInRefusal> {
        let verified = match (&provider.id_token, text(grant, "id_token")) {
            (Some(rules), Some(token)) => {
                Some(verify_id_token(rules, token, &provider.client_id, pending, now).await?)
            }
            (Some(rules), None) if rules.is_required => {
                return Err(SignInRefusal::NoToken("the answer has no id_token"));
            }
            _ => None,
        };
        let Some(url) = &provider.userinfo_url else { return Ok(verified.unwrap_or_default()) };
        let bearer = format!("Bearer {}", text(grant, "access_token").unwrap_or_default());
        let request = ProviderRequest { url: url.clone(), authorization: Some(bearer), form: None };
        let answer = self.access.send(request).await.map_err(SignInRefusal::Unavailable)?;
        let person = read_userinfo(&answer)?;
        let Some(mut claims) = verified else { return Ok(person) };
        // OpenID Connect Core 1.0, section 5.3.2: the answer may have been put in the place of another.
        if person.get("sub") != claims.get("sub") {
            return Err(SignInRefusal::SubjectMismatch);
        }
        complete(&mut claims, person);
        Ok(claims)
    }

    fn write_cookie(&self, value: &str, max_age: u64) -> String {
        let StateCookieConfig { name, secure, same_site, path, .. } = &self.cookie;
        let secure = if *secure { "; Secure" } else { "" };
        let site = same_site.attribute();
        format!("{name}={value}; Path={path}; Max-Age={max_age}; HttpOnly{secure}; SameSite={site}")
    }
}

/// Returns what a workflow sees of a sign-in at either leg.
fn describe_leg(leg: &str, provider: &LoadedProvider, return_to: Option<&str>) -> Map<String, Value> {
    let mut oauth = Map::new();
    oauth.insert("leg".to_owned(), leg.into());
    oauth.insert("provider".to_owned(), provider.label().into());
    oauth.insert("kind".to_owned(), provider.kind.name().into());
    if let Some(page) = return_to {
        oauth.insert("return_to".to_owned(), page.into());
    }
    oauth
}

/// Verifies an id token: signature, issuer, audience, time, and that it is of this sign-in.
async fn verify_id_token(
    rules: &IdTokenRules,
    token: &str,
    client_id: &str,
    pending: &PendingSignIn,
    now: i64,
) -> Result<Map<String, Value>, SignInRefusal> {
    let verified = rules.verifier.claims(token.as_bytes(), &rules.claims, now).await;
    let claims = verified.map_err(SignInRefusal::IdToken)?;
    if rules.has_nonce && !text(&claims, "nonce").is_some_and(|nonce| is_equal(nonce, &pending.nonce)) {
        return Err(SignInRefusal::NonceMismatch);
    }
    // The party that the token was issued to, if it names one (section 3.1.3.7).
    if claims.get("azp").is_some_and(|party| party.as_str() != Some(client_id)) {
        return Err(SignInRefusal::IdToken(RefusalReason::AudienceMismatch));
    }
    Ok(claims)
}

fn text<'m>(members: &'m Map<String, Value>, name: &str) -> Option<&'m str> {
    members.get(name)?.as_str()
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIn").field("providers", &self.providers).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
