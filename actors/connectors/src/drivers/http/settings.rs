//! The settings of an HTTP API, ready for use.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use svc_auth::{RequestSigner, UnsignedRequest};
use svc_credentials::tokens::{TokenSource, Tokens};
use svc_model::Timestamp;
use svc_model::config::connector::{HttpAuth, HttpConfig, OAuth2};
use svc_outbound::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION,
};
use svc_outbound::{HttpsUrls, PeerRequest, PeerUrl, Url, check_peer_url, check_url};
use svc_secrets::redact;

/// The OAuth2 grant of an API.
struct TokenTerms {
    oauth: OAuth2,
    /// The token endpoint.
    url: Url,
}

/// The settings of an HTTP API.
pub(crate) struct HttpSettings {
    /// Its URL, without credentials.
    pub(crate) base: Url,
    /// Sent with every call, credentials included.
    pub(crate) headers: HeaderMap,
    /// The source of bearer tokens, for an API with OAuth2.
    tokens: Option<TokenTerms>,
    /// Appended to every URL.
    pub(crate) params: Vec<(String, String)>,
    pub(crate) max_retries: u32,
    pub(crate) retry_delay_ms: u64,
    pub(crate) retry_non_idempotent: bool,
    pub(crate) max_response_size: usize,
    pub(crate) allow_private: bool,
    /// Methods that tasks may use; empty for all.
    pub(crate) methods: Vec<String>,
    /// Makes the signature of every call, if calls are signed.
    pub(crate) signer: Option<RequestSigner>,
    /// The computed addresses that tasks may call, if any.
    pub(crate) urls: Option<HttpsUrls>,
    /// Calls of one computed address at once.
    pub(crate) max_concurrent_per_host: u32,
    /// Values that no text may show.
    secrets: Vec<String>,
}

impl HttpSettings {
    /// Makes the settings of a config whose placeholders and references are replaced.
    ///
    /// # Errors
    /// A text that names the unusable field without its value.
    pub(crate) fn new(config: &HttpConfig) -> Result<Self, String> {
        let PeerUrl { url: base, credentials } = check_peer_url(&config.url, config.allow_private_urls)
            .map_err(|error| format!("connector.config.url: {error}"))?;
        let mut settings = Self {
            base,
            headers: HeaderMap::new(),
            tokens: None,
            params: config
                .query_params
                .iter()
                .map(|(name, value)| (name.clone(), value.expose().to_owned()))
                .collect(),
            max_retries: config.retry.max_retries,
            retry_delay_ms: config.retry.retry_delay_ms,
            retry_non_idempotent: config.retry_non_idempotent,
            max_response_size: usize::try_from(config.max_response_size).unwrap_or(usize::MAX),
            allow_private: config.allow_private_urls,
            methods: config.operations.methods.clone(),
            signer: config
                .sign
                .as_ref()
                .map(RequestSigner::build)
                .transpose()
                .map_err(|why| format!("connector.config.sign: {why}"))?,
            urls: Some(config.url_ports()).filter(|ports| !ports.is_empty()).map(HttpsUrls::new),
            max_concurrent_per_host: config.max_concurrent_per_host,
            secrets: Vec::new(),
        };
        let signing = config.sign.iter().flat_map(|sign| &sign.secrets);
        settings.secrets.extend(signing.map(|secret| secret.expose().to_owned()));
        for (name, value) in &config.headers {
            settings.header(name, value.expose())?;
        }
        match (&config.auth, credentials) {
            (None, Some((user, password))) => settings.basic(&user, &password)?,
            (None, None) => {}
            (Some(HttpAuth::OAuth2(oauth)), _) => {
                settings.set_token_source(oauth, config.allow_private_urls)?
            }
            (Some(HttpAuth::Basic { username, password }), _) => {
                settings.basic(username.expose(), password.expose())?;
            }
            (Some(HttpAuth::Bearer { token }), _) => {
                settings.header(AUTHORIZATION.as_str(), &format!("Bearer {}", token.expose()))?;
            }
            (Some(HttpAuth::ApiKey { header, key }), _) => settings.header(header, key.expose())?,
        }
        settings.secrets.extend(settings.params.iter().map(|(_, value)| value.clone()));
        settings.secrets.extend(values_of_query(&settings.base));
        Ok(settings)
    }

    fn set_token_source(&mut self, oauth: &OAuth2, allow_private: bool) -> Result<(), String> {
        let url = check_url(&oauth.token_url, allow_private)
            .map_err(|error| format!("connector.config.auth.token_url: {error}"))?;
        self.headers.remove(AUTHORIZATION);
        self.secrets.extend(svc_credentials::tokens::secrets(oauth, None));
        self.tokens = Some(TokenTerms { oauth: oauth.clone(), url });
        Ok(())
    }

    fn basic(&mut self, user: &str, password: &str) -> Result<(), String> {
        let credentials = STANDARD.encode(format!("{user}:{password}"));
        // Where there is no password, the user is the secret. The padding is not always repeated.
        let secret = if password.is_empty() { user } else { password };
        self.secrets.extend([secret.to_owned(), credentials.trim_end_matches('=').to_owned()]);
        self.header(AUTHORIZATION.as_str(), &format!("Basic {credentials}"))
    }

    fn header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let unusable = || format!("the header '{name}' cannot be sent");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        let mut sent = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| unusable())?;
        sent.set_sensitive(true);
        if header == AUTHORIZATION || header == PROXY_AUTHORIZATION {
            // It may be repeated without its scheme, and a password as what it means.
            let credential =
                value.split_once(' ').map(|(_, credential)| credential.trim()).unwrap_or_default();
            let password = STANDARD.decode(credential).ok().and_then(|pair| String::from_utf8(pair).ok());
            let password = password.and_then(|pair| Some(pair.split_once(':')?.1.to_owned()));
            self.secrets.extend(password.into_iter().chain([credential.to_owned()]));
        }
        self.headers.insert(header, sent);
        self.secrets.push(value.to_owned());
        Ok(())
    }

    /// Returns the source of a connector's tokens; `None` for an API without OAuth2.
    pub(crate) fn token_source(&self, connector: &str, tokens: &Tokens) -> Option<TokenSource> {
        let TokenTerms { oauth, url } = self.tokens.as_ref()?;
        Some(tokens.source(connector, oauth, url, self.allow_private))
    }

    /// A text without the values that are not shown, and without the token that was sent, however it spells
    /// them.
    pub(crate) fn redact(&self, text: String, token: Option<&str>) -> String {
        redact(text, token.into_iter().chain(self.secrets.iter().map(String::as_str)))
    }
}

/// Signs a request as of now: the headers of the signature replace those of the same name. A signed request is not
/// redirected, because its signature is of this request alone.
///
/// # Errors
/// A text that names the header that the signature covers and the request lacks.
pub(crate) fn sign_request(
    signer: &RequestSigner,
    id: &str,
    request: &mut PeerRequest,
) -> Result<(), String> {
    let body = request.body.as_ref();
    let mut headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    if let Some(body) = body.filter(|_| !request.headers.contains_key(CONTENT_TYPE)) {
        headers.push((CONTENT_TYPE.as_str().to_owned(), body.content_type.as_bytes().to_vec()));
    }
    let body = body.map(|body| &body.bytes[..]).unwrap_or_default();
    let now = Timestamp::now().naive().and_utc().timestamp();
    let unsigned = UnsignedRequest { headers: &headers, body, now };
    let signed = signer.sign(id, unsigned).map_err(|error| error.to_string())?;
    for (name, value) in signed {
        let unusable = || format!("the header '{name}' of the signature cannot be sent");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| unusable())?;
        request.headers.insert(header, value);
    }
    request.follow = false;
    Ok(())
}

/// The values of a URL's query, as they are written and as they are meant.
fn values_of_query(url: &Url) -> impl Iterator<Item = String> {
    let written = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let decoded_values = url.query_pairs().map(|(_, value)| value.into_owned());
    written.map(|(_, value)| value.to_owned()).chain(decoded_values)
}
