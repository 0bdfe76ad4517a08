//! Reads and validates the `oauth2_login` block. References are resolved when the channel is loaded; what they lead to is
//! checked then.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::instance::{FROM_INSTANCE, read_partial};
use super::{
    CookieSite, IdTokenConfig, PROVIDER_PARAMETER, SignInConfig, SignInKeys, SignInKind, SignInProvider,
    SignInProviders, StateCookieConfig,
};
use crate::config::SecretText;
use crate::config::auth::{JwtAlgorithm, is_https_url, is_issuer};
use crate::config::block::ConfigBlock;
use crate::config::declare::KeyValue;
use crate::config::value_reference::is_value_reference;
use crate::field::FieldError;
use crate::http::token::is_token;
use crate::mask::{is_reserved_reference, is_secret_reference};
use crate::route::RoutePattern;

/// Shortest secret of the state cookie, in bytes.
const MIN_STATE_SECRET: usize = 32;
/// Longest life of the state cookie, in seconds.
const MAX_COOKIE_AGE: u32 = 86_400;
/// Longest address of a page to return to, in bytes.
const MAX_RETURN_TO: usize = 512;
/// Most providers of one block.
const MAX_PROVIDERS: usize = 32;
/// Longest name of a provider, in bytes.
const MAX_PROVIDER_NAME: usize = 32;
/// Names that metrics use for other things than a provider of the author.
const RESERVED_NAMES: [&str; 2] = ["default", "unknown"];
/// Parameters of the page that only the service sets, and those that would take the place of all of them (RFC 9101).
const RESERVED_PARAMS: [&str; 10] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
    "request",
    "request_uri",
];
/// The end of the paths of submissions, which browsers do not come back to.
const SUBMISSIONS: &str = "/async";
/// The part of a redirect URI that the name of the provider replaces.
const PLACEHOLDER: &str = "{provider}";

type Read<T> = Result<Option<T>, FieldError>;

impl KeyValue for SignInConfig {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        block.block(name, parse)
    }
}

fn parse(block: &mut ConfigBlock<'_>) -> Result<SignInConfig, FieldError> {
    let SignInKeys {
        redirect_uri,
        callback_path,
        state_secret,
        state_cookie,
        return_to,
        run_workflow_on_authorize,
        providers_from_instance,
        providers,
    } = SignInKeys::read(block)?;
    check_cookie(block, &state_cookie)?;
    let providers = providers.or_else(|| providers_from_instance.then(BTreeMap::new));
    check_paths(block, &redirect_uri, &callback_path, providers.is_some())?;
    let providers = match providers {
        Some(providers) => {
            refuse_keys_of_one(block)?;
            SignInProviders::Named(providers)
        }
        None => {
            let provider = SignInProvider::read(block)?;
            SignInProviders::One(Box::new(check_provider(block, provider)?))
        }
    };
    Ok(SignInConfig {
        redirect_uri,
        callback_path,
        state_secret,
        state_cookie,
        return_to,
        run_workflow_on_authorize,
        providers,
    })
}

/// Refuses the keys of a provider in a block that lists `providers`.
fn refuse_keys_of_one(block: &mut ConfigBlock<'_>) -> Result<(), FieldError> {
    for key in SignInProvider::KEYS {
        if block.any(key.name).is_some() {
            let why = "the block has providers by their names: move this key into one of them";
            return Err(block.invalid(key.name, why));
        }
    }
    Ok(())
}

/// Checks that both addresses name the provider if there are several, and neither does otherwise.
fn check_paths(
    block: &ConfigBlock<'_>,
    redirect_uri: &str,
    callback_path: &str,
    has_names: bool,
) -> Result<(), FieldError> {
    let pattern = RoutePattern::parse(callback_path).map_err(|why| block.invalid("callback_path", why))?;
    if callback_path.ends_with(SUBMISSIONS) {
        return Err(block.invalid("callback_path", "a path that ends in /async takes submissions alone"));
    }
    let params: Vec<_> = pattern.params().collect();
    let count = redirect_uri.matches(PLACEHOLDER).count();
    if has_names {
        if params != [PROVIDER_PARAMETER] {
            return Err(block.invalid("callback_path", "with providers it has the one parameter {provider}"));
        }
        if !is_reference(redirect_uri) && count != 1 {
            return Err(block.invalid("redirect_uri", "with providers it has {provider} once"));
        }
        return Ok(());
    }
    if !params.is_empty() {
        return Err(
            block.invalid("callback_path", "this is a path without parameters; only providers have one")
        );
    }
    if count > 0 {
        return Err(block.invalid("redirect_uri", "{provider} needs providers, which name them"));
    }
    Ok(())
}

fn check_cookie(block: &ConfigBlock<'_>, cookie: &StateCookieConfig) -> Result<(), FieldError> {
    if cookie.same_site == CookieSite::Cross && !cookie.secure {
        return Err(
            block.invalid("state_cookie", "browsers drop a cookie of same_site none that is not secure")
        );
    }
    Ok(())
}

/// Checks the keys of a provider together.
fn check_provider(block: &ConfigBlock<'_>, provider: SignInProvider) -> Result<SignInProvider, FieldError> {
    if provider.issuer.is_none() {
        for (name, url) in [("authorize_url", &provider.authorize_url), ("token_url", &provider.token_url)] {
            if url.is_none() {
                let why = "give this address, or issuer, whose discovery document has it";
                return Err(block.invalid(name, why));
            }
        }
    }
    match provider.protocol() {
        SignInKind::OAuth2 if provider.id_token.is_some() => {
            Err(block.invalid("kind", "oauth2 has no id token: use oidc, or omit id_token"))
        }
        SignInKind::OAuth2 => Ok(provider),
        SignInKind::Oidc => {
            check_id_token(block, &provider)?;
            Ok(provider)
        }
    }
}

/// Checks that the id token of a provider can be verified.
fn check_id_token(block: &ConfigBlock<'_>, provider: &SignInProvider) -> Result<(), FieldError> {
    if !provider.requested_scopes().iter().any(|scope| scope == "openid") {
        return Err(block.invalid("scopes", "oidc needs the scope openid"));
    }
    if provider.issuer.is_some() {
        return Ok(());
    }
    let rules = provider.id_token.as_ref();
    if rules.is_none_or(|rules| rules.jwks_url.is_none()) {
        return Err(block.invalid("id_token", "give id_token.jwks_url, or issuer, which names the key set"));
    }
    if rules.is_none_or(|rules| rules.issuers.is_empty()) {
        return Err(block.invalid("id_token", "give id_token.issuer, or issuer: any other token would pass"));
    }
    Ok(())
}

impl KeyValue for BTreeMap<String, SignInProvider> {
    const KIND: &'static str = "object of blocks";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        let Some(members) = block.map(name)? else { return Ok(None) };
        let is_completed = block.any(FROM_INSTANCE) == Some(Value::Bool(true));
        if (members.is_empty() && !is_completed) || members.len() > MAX_PROVIDERS {
            return Err(block.invalid(name, format!("list 1 to {MAX_PROVIDERS} providers")));
        }
        let mut providers = Self::new();
        for (slug, member) in members {
            let place = format!("{name}.{slug}");
            if let Some(why) = name_problem(slug) {
                return Err(block.invalid(&place, why));
            }
            let provider = match is_completed {
                true => read_partial(&block.field(&place), member)?,
                false => block.member(name, slug, member, |block| {
                    let provider = SignInProvider::read(block)?;
                    check_provider(block, provider)
                })?,
            };
            providers.insert(slug.clone(), provider);
        }
        Ok(Some(providers))
    }
}

/// Returns the reason why no provider has this name.
pub(super) fn name_problem(name: &str) -> Option<&'static str> {
    if RESERVED_NAMES.contains(&name) {
        return Some("this name is reserved, choose another one");
    }
    let why = "the name of a provider has up to 32 small letters, digits, '-' and '_'";
    (!is_provider_name(name)).then_some(why)
}

fn is_provider_name(name: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= MAX_PROVIDER_NAME && name.bytes().all(is_plain)
}

/// Returns true if the value is a reference, whose target is unknown here: to a secret, or to a declared value, which
/// takes its place before a channel is served.
fn is_reference(text: &str) -> bool {
    is_secret_reference(text) || is_reserved_reference(text) || is_value_reference(text)
}

/// Reads an https address or a reference to one.
pub(super) fn https_url(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    match block.string(name)? {
        Some(url) if !is_https_url(&url) && !is_reference(&url) => {
            Err(block.invalid(name, "must start with https://"))
        }
        url => Ok(url),
    }
}

/// Reads the address of an issuer or a reference to one.
pub(super) fn issuer_url(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    match https_url(block, name)? {
        Some(url) if !is_issuer(&url) && !is_reference(&url) => {
            Err(block.invalid(name, "an issuer has no query and no fragment"))
        }
        url => Ok(url),
    }
}

/// Reads the route of the address to which browsers come back.
pub(super) fn callback_path(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    match block.string(name)? {
        Some(path) if path.chars().count() > RoutePattern::MAX_LENGTH => {
            let (most, length) = (RoutePattern::MAX_LENGTH, path.chars().count());
            Err(FieldError::too_long(block.field(name), most, length, "characters"))
        }
        path => Ok(path),
    }
}

/// Reads the secret of the state cookie.
pub(super) fn state_secret(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<SecretText> {
    match block.string(name)? {
        Some(text) if !is_reference(&text) && text.len() < MIN_STATE_SECRET => {
            Err(block.invalid(name, format!("needs at least {MIN_STATE_SECRET} bytes")))
        }
        text => Ok(text.map(SecretText::new)),
    }
}

/// Reads the client id.
pub(super) fn client_id(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    match block.string(name)? {
        Some(text) if text.trim().is_empty() => Err(block.invalid(name, "this is blank")),
        text => Ok(text),
    }
}

/// Reads the client secret.
pub(super) fn client_secret(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<SecretText> {
    Ok(client_id(block, name)?.map(SecretText::new))
}

/// Reads the scopes that are asked for (RFC 6749, section 3.3).
pub(super) fn scopes(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let Some(scopes) = block.strings(name)? else { return Ok(None) };
    let is_scope = |scope: &String| {
        !scope.is_empty()
            && scope.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
    };
    match scopes.iter().position(|scope| !is_scope(scope)) {
        Some(index) => {
            let why = "a scope has visible letters without blanks, '\"' and '\\'; list each by itself";
            Err(block.invalid(&format!("{name}[{index}]"), why))
        }
        None => Ok(Some(scopes)),
    }
}

/// Returns true for a parameter of the page that only the service sets.
pub fn is_reserved_parameter(name: &str) -> bool {
    RESERVED_PARAMS.contains(&name)
}

/// Reads further parameters of the page.
pub(super) fn extra_params(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Map<String, Value>> {
    let Some(params) = block.map(name)? else { return Ok(None) };
    for (param, value) in params {
        let place = format!("{name}.{param}");
        if is_reserved_parameter(param) {
            return Err(block.invalid(&place, "only the service sets this parameter"));
        }
        if !value.is_string() {
            return Err(block.invalid(&place, "a parameter of the page is a text"));
        }
    }
    Ok(Some(params.clone()))
}

/// Reads the accepted values of a claim.
pub(super) fn accepted_values(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    match block.one_or_many(name)? {
        Some(values) if values.is_empty() => Err(block.invalid(name, "an empty list accepts no token")),
        Some(values) if values.iter().any(|value| value.trim().is_empty()) => {
            Err(block.invalid(name, "an entry is blank"))
        }
        values => Ok(values),
    }
}

/// Reads the algorithms of id tokens, whose keys are published: a shared secret cannot be.
pub(super) fn algorithms(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<JwtAlgorithm>> {
    let Some(texts) = block.strings(name)? else { return Ok(Some(IdTokenConfig::default().algorithms())) };
    if texts.is_empty() {
        return Err(block.invalid(name, "an empty list accepts no token"));
    }
    let mut algorithms = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let problem = match JwtAlgorithm::parse(text) {
            Some(algorithm) if algorithm.min_key_bytes().is_none() => {
                algorithms.push(algorithm);
                continue;
            }
            Some(_) => format!("'{text}' signs with a shared secret, and no provider publishes that"),
            None => JwtAlgorithm::describe_unknown(text),
        };
        return Err(block.invalid(&format!("{name}[{index}]"), problem));
    }
    Ok(Some(algorithms))
}

impl IdTokenConfig {
    /// Returns the accepted algorithms; `RS256` if none is listed.
    pub fn algorithms(&self) -> Vec<JwtAlgorithm> {
        if self.algorithms.is_empty() { vec![JwtAlgorithm::Rs256] } else { self.algorithms.clone() }
    }
}

/// Reads the name of the state cookie.
pub(super) fn cookie_name(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    match block.string(name)? {
        Some(text) if !is_token(&text) => Err(block.invalid(name, "this is no name of a cookie")),
        text => Ok(text),
    }
}

/// Reads the sites whose requests carry the state cookie.
pub(super) fn same_site(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<CookieSite> {
    if block.any(name).as_ref().and_then(Value::as_str) == Some("strict") {
        let why = "a strict cookie is withheld when the provider sends the browser back: use lax";
        return Err(block.invalid(name, why));
    }
    CookieSite::read(block, name)
}

/// Reads the paths that get the state cookie.
pub(super) fn cookie_path(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    let is_path = |text: &str| {
        text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';')
    };
    match block.string(name)? {
        Some(text) if !is_path(&text) => {
            Err(block.invalid(name, "a path starts with '/' and has no blank and no ';'"))
        }
        text => Ok(text),
    }
}

/// Reads the life of the state cookie.
pub(super) fn max_age(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u64> {
    Ok(block.integer_up_to(name, MAX_COOKIE_AGE)?.map(u64::from))
}

/// Reads the name of the query parameter that names a page.
pub(super) fn parameter(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    client_id(block, name)
}

/// Reads the name of the claim that every identity has. No claim has an empty one, so that each sign-in would be refused.
pub(super) fn claim(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    client_id(block, name)
}

/// Reads the pages to which a caller may be sent.
pub(super) fn allow_list(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let Some(pages) = block.strings(name)? else { return Ok(None) };
    if pages.is_empty() {
        return Err(block.invalid(name, "an empty list lists no page, omit return_to"));
    }
    let is_page =
        |page: &String| is_https_url(page) && page.len() <= MAX_RETURN_TO && !page.contains(['?', '#', ' ']);
    match pages.iter().position(|page| !is_page(page)) {
        Some(index) => {
            let why =
                format!("an https address of at most {MAX_RETURN_TO} bytes, without query and fragment");
            Err(block.invalid(&format!("{name}[{index}]"), why))
        }
        None => Ok(Some(pages)),
    }
}
