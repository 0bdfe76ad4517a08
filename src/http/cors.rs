//! Cross-origin rules: every `OPTIONS` that asks for no permission to deliver events is answered here, before routing
//! and authentication.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{
    self, ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue,
};
use arc_swap::ArcSwap;
use serde_json::Value;
use svc_registry::{LoadedChannel, Snapshot};

use super::plane::{Plane, channel_path_start};
use super::security_headers::HeaderWriter;
use crate::config;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS");
const ALLOWED: [&str; 7] = [
    "content-type",
    "authorization",
    "accept",
    "x-api-key",
    "idempotency-key",
    "x-request-id",
    "x-trace-token",
];
const EXPOSED: [&str; 4] = ["x-request-id", "x-trace-id", "retry-after", "location"];

/// The configured rules.
#[derive(Debug)]
pub(crate) struct CorsPolicy(ArcSwap<CorsRules>);

/// The rules, rendered once into header values.
#[derive(Debug)]
struct CorsRules {
    origins: Origins,
    allowed: Option<HeaderValue>,
    exposed: Option<HeaderValue>,
    credentials: bool,
    max_age: Option<HeaderValue>,
}

#[derive(Debug)]
enum Origins {
    Any,
    List(Vec<String>),
}

impl CorsRules {
    fn new(config: &config::CorsSection) -> Self {
        let origins = if config.allowed_origins.iter().any(|origin| origin == "*") {
            Origins::Any
        } else {
            Origins::List(config.allowed_origins.clone())
        };
        Self {
            origins,
            allowed: join_header_names(&ALLOWED, &config.additional_allowed_headers),
            exposed: join_header_names(&EXPOSED, &config.additional_exposed_headers),
            credentials: config.allow_credentials,
            max_age: config.max_age_secs.map(HeaderValue::from),
        }
    }
}

impl CorsPolicy {
    pub(crate) fn new(config: &config::CorsSection) -> Self {
        Self(ArcSwap::from_pointee(CorsRules::new(config)))
    }

    /// Replaces the rules.
    pub(crate) fn replace(&self, config: &config::CorsSection) {
        self.0.store(Arc::new(CorsRules::new(config)));
    }

    /// Returns the value that the answer to a request of this origin may carry; `None` if the origin is
    /// refused or absent. The admin API and the metrics are read only by origins that are listed: `*` does not open
    /// them to every web site.
    pub(crate) fn allowed_origin(&self, request: &HeaderMap, plane: Plane) -> Option<HeaderValue> {
        match &self.0.load().origins {
            Origins::Any if matches!(plane, Plane::Admin | Plane::Operational("/metrics")) => None,
            Origins::Any => Some(HeaderValue::from_static("*")),
            Origins::List(list) => {
                let origin = request.get(header::ORIGIN)?;
                list.iter().any(|known| known.as_bytes() == origin.as_bytes()).then(|| origin.clone())
            }
        }
    }

    /// Writes the headers of an ordinary answer. `has_own_origins` is true for that of a channel which lists its own.
    pub(crate) fn write_headers(
        &self,
        grant: Option<HeaderValue>,
        has_own_origins: bool,
        answer: &mut HeaderWriter<'_>,
    ) {
        let rules = self.0.load();
        if has_own_origins || matches!(rules.origins, Origins::List(_)) {
            answer.append(header::VARY, HeaderValue::from_static("origin"));
        }
        let Some(origin) = grant else { return };
        // No browser takes the two together.
        let admits_credentials = rules.credentials && origin != "*";
        answer.set(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if let Some(exposed) = &rules.exposed {
            answer.set(ACCESS_CONTROL_EXPOSE_HEADERS, exposed.clone());
        }
        if admits_credentials {
            answer.set(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
    }

    /// Returns the response to any `OPTIONS`, without the headers that [`write_headers`](Self::write_headers)
    /// adds.
    pub(crate) fn preflight(&self) -> HttpResponse {
        let mut answer = HttpResponse::Ok().finish();
        let rules = self.0.load();
        let headers = answer.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        if let Some(allowed) = &rules.allowed {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed.clone());
        }
        if let Some(max_age) = &rules.max_age {
            headers.insert(ACCESS_CONTROL_MAX_AGE, max_age.clone());
        }
        answer
    }
}

/// Returns the channel of a request to the data plane, if it lists the origins that may read its answers. A preflight
/// is for the method that it asks about.
pub(super) fn find_listing_channel(
    snapshot: &Snapshot,
    request: &ServiceRequest,
    host_length: usize,
) -> Option<Arc<LoadedChannel>> {
    if !snapshot.has_cors_lists() {
        return None;
    }
    let own = request.path().get(host_length..)?;
    let asked = request.headers().get(ACCESS_CONTROL_REQUEST_METHOD).and_then(|method| method.to_str().ok());
    let is_preflight = *request.method() == Method::OPTIONS;
    let method = if is_preflight { asked.unwrap_or("POST") } else { request.method().as_str() };
    snapshot.channel_with_origins(own.get(channel_path_start(own)..)?, method)
}

/// Returns the value that the answer of a channel with its own list of origins may carry; `None` if the origin is not
/// listed or absent.
pub(super) fn find_listed_origin(listed: &[Value], request: &HeaderMap) -> Option<HeaderValue> {
    if listed.iter().any(|origin| origin == "*") {
        return Some(HeaderValue::from_static("*"));
    }
    let origin = request.get(header::ORIGIN)?;
    let is_listed = |known: &Value| known.as_str().is_some_and(|known| known.as_bytes() == origin.as_bytes());
    listed.iter().any(is_listed).then(|| origin.clone())
}

/// Joins header names to one value; never `None` for names that the configuration accepted.
fn join_header_names(fixed: &[&str], additional: &[String]) -> Option<HeaderValue> {
    let names: Vec<&str> = fixed.iter().copied().chain(additional.iter().map(String::as_str)).collect();
    HeaderValue::from_str(&names.join(", ")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(cors: &CorsPolicy, origin: Option<&str>) -> HeaderMap {
        let mut request = HeaderMap::new();
        if let Some(origin) = origin {
            request.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        let mut preflight = cors.preflight();
        let mut headers = HeaderWriter::new(preflight.headers_mut());
        cors.write_headers(cors.allowed_origin(&request, Plane::Data), false, &mut headers);
        preflight.headers().clone()
    }

    #[test]
    fn default_lets_any_origin_read_without_an_age() {
        let headers = answer(&CorsPolicy::new(&config::CorsSection::default()), None);
        assert_eq!(headers.get(ACCESS_CONTROL_ALLOW_ORIGIN).unwrap(), "*");
        assert_eq!(
            headers.get(ACCESS_CONTROL_EXPOSE_HEADERS).unwrap(),
            "x-request-id, x-trace-id, retry-after, location"
        );
        assert!(headers.get(ACCESS_CONTROL_MAX_AGE).is_none() && headers.get(header::VARY).is_none());
    }

    #[test]
    fn only_listed_origin_reads_the_admin_api() {
        let mut request = HeaderMap::new();
        request.insert(header::ORIGIN, HeaderValue::from_static("https://a.example"));
        let any = CorsPolicy::new(&config::CorsSection::default());
        assert!(any.allowed_origin(&request, Plane::Admin).is_none());
        assert!(any.allowed_origin(&request, Plane::Operational("/metrics")).is_none());
        assert!(any.allowed_origin(&request, Plane::Other).is_some());
        let allowed_origins = vec!["https://a.example".to_owned()];
        let listed =
            CorsPolicy::new(&config::CorsSection { allowed_origins, ..config::CorsSection::default() });
        assert_eq!(listed.allowed_origin(&request, Plane::Admin).unwrap(), "https://a.example");
    }

    #[test]
    fn a_preflight_names_every_method_and_every_header() {
        let headers = answer(
            &CorsPolicy::new(&config::CorsSection {
                additional_exposed_headers: vec!["etag".into()],
                ..config::CorsSection::default()
            }),
            Some("https://a.example"),
        );
        let expected = [
            (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS"),
            (
                ACCESS_CONTROL_ALLOW_HEADERS,
                "content-type, authorization, accept, x-api-key, idempotency-key, x-request-id, x-trace-token",
            ),
            (ACCESS_CONTROL_EXPOSE_HEADERS, "x-request-id, x-trace-id, retry-after, location, etag"),
            (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        ];
        for (name, value) in expected {
            assert_eq!(headers.get(&name).unwrap(), value, "{name}");
        }
        assert!(headers.get(ACCESS_CONTROL_ALLOW_CREDENTIALS).is_none());
    }

    #[test]
    fn origins_match_by_bytes_empty_list_allows_none() {
        let listed = |origins: &[&str]| {
            let allowed_origins = origins.iter().map(|&origin| origin.to_owned()).collect();
            CorsPolicy::new(&config::CorsSection { allowed_origins, ..config::CorsSection::default() })
        };
        let granted =
            |cors: &CorsPolicy, origin| answer(cors, Some(origin)).contains_key(ACCESS_CONTROL_ALLOW_ORIGIN);
        assert!(!granted(&listed(&[]), "https://a.example"));
        let one = listed(&["https://a.example"]);
        assert!(granted(&one, "https://a.example"));
        for other in
            ["https://A.example", "https://a.example/", "https://a.example:443", "http://a.example", "null"]
        {
            assert!(!granted(&one, other), "{other}");
        }
    }

    #[test]
    fn listed_origins_are_echoed_and_others_get_nothing() {
        let cors = CorsPolicy::new(&config::CorsSection {
            allowed_origins: vec!["https://a.example".into()],
            additional_allowed_headers: vec!["x-shop".into()],
            allow_credentials: true,
            max_age_secs: Some(0),
            ..config::CorsSection::default()
        });
        let granted = answer(&cors, Some("https://a.example"));
        assert_eq!(granted.get(ACCESS_CONTROL_ALLOW_ORIGIN).unwrap(), "https://a.example");
        assert_eq!(granted.get(ACCESS_CONTROL_ALLOW_CREDENTIALS).unwrap(), "true");
        assert_eq!(granted.get(ACCESS_CONTROL_MAX_AGE).unwrap(), "0");
        assert_eq!(granted.get(header::VARY).unwrap(), "origin");
        let allowed = granted.get(ACCESS_CONTROL_ALLOW_HEADERS).unwrap().to_str().unwrap();
        assert!(allowed.ends_with("x-trace-token, x-shop"), "{allowed}");
        let refused = answer(&cors, Some("https://b.example"));
        assert!(refused.get(ACCESS_CONTROL_ALLOW_ORIGIN).is_none());
        assert!(refused.get(ACCESS_CONTROL_ALLOW_CREDENTIALS).is_none());
    }
}
