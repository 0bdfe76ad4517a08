//! A request to try against the guards of a channel: read from the body of the admin API, and brought to the guards on the
//! way of a real one.

use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use actix_web::web::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use svc_channels::{CompiledChannel, DataRequest, Delivery, Ingress, TrialRefusal};
use svc_model::{Code, FieldError, ServiceError};
use svc_registry::{LoadedChannel, Resolution, Snapshot};
use svc_spans::TraceContext;

use crate::admin::request_body::{read_text, require_known_keys};
use crate::http::{
    BodyDecoding, BodyLimit, DecodedBody, Plane, RequestContext, body_refusal_reason, channel_path_start,
    parse_query, read_encodings,
};
use crate::state::AppState;

/// The keys of the body.
const KEYS: [&str; 5] = ["method", "path", "headers", "body", "body_base64"];

/// A request to try. Not printable: its headers hold credentials.
pub(super) struct TrialRequest {
    method: String,
    /// The path with its query.
    path: Option<String>,
    headers: HeaderMap,
    raw: Bytes,
}

/// The channel that a path leads to, and what the path says.
#[derive(Default)]
struct TrialRoute {
    params: Map<String, Value>,
    query: Map<String, Value>,
    is_async: bool,
}

impl TrialRequest {
    /// Reads the body of the admin API.
    pub(super) fn parse(body: &Value) -> Result<Self, ServiceError> {
        let members = require_known_keys(body, &KEYS)?;
        let mut headers = parse_headers(members.get("headers"))?;
        let raw = match (members.get("body"), read_text(members, "body_base64")?) {
            (None | Some(Value::Null), None) => Bytes::new(),
            (Some(Value::String(text)), None) => Bytes::from(text.clone()),
            (Some(value), None) => {
                if !headers.contains_key(CONTENT_TYPE) {
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                }
                Bytes::from(value.to_string())
            }
            (None | Some(Value::Null), Some(encoded)) => Bytes::from(
                STANDARD
                    .decode(encoded)
                    .map_err(|_| FieldError::invalid("body.body_base64", "it is not base64"))?,
            ),
            (Some(_), Some(_)) => {
                return Err(FieldError::invalid("body.body_base64", "write it or `body`, not both").into());
            }
        };
        Ok(Self {
            method: read_text(members, "method")?.unwrap_or("POST").to_ascii_uppercase(),
            path: read_text(members, "path")?.map(str::to_owned),
            headers,
            raw,
        })
    }

    /// Returns the message that the guards of the channel meet.
    ///
    /// # Errors
    /// The refusal that the request would meet before the guards.
    pub(super) fn to_message(
        &self,
        state: &AppState,
        snapshot: &Snapshot,
        channel: &LoadedChannel,
        context: &RequestContext,
    ) -> Result<Box<DataRequest>, TrialRefusal> {
        let route = match &self.path {
            Some(path) => self.find_route(state, snapshot, channel, path)?,
            None => TrialRoute::default(),
        };
        let limit = BodyLimit::of_payloads(state);
        if self.raw.len() > limit.bytes {
            let BodyLimit { bytes, setting } = limit;
            let message = format!("The body is larger than the limit of {bytes} bytes ({setting})");
            return Err(refusal("body", "too_large", ServiceError::new(Code::PayloadTooLarge, message)));
        }
        if channel.quarantine().is_some() {
            return Err(refusal("quarantine", "quarantined", svc_channels::refusal::quarantined()));
        }
        let decoded = self.read_body(channel, limit);
        let decoded = decoded.map_err(|error| refusal("body", body_refusal_reason(&error), error))?;
        let body_bytes = decoded.as_ref().map_or(0, |body| body.bytes);
        let (body, body_kind, cloud_events) =
            decoded.map_or_else(Default::default, |body| (Some(body.value), body.kind, body.events));
        let headers = self.headers.iter();
        Ok(Box::new(DataRequest {
            ingress: Ingress::Http,
            delivery: if route.is_async { Delivery::Async } else { Delivery::Sync },
            method: self.method.clone().into(),
            is_callback: false,
            params: route.params,
            query: route.query,
            headers: headers
                .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
                .collect(),
            raw: self.raw.clone(),
            body_bytes,
            body,
            body_kind,
            cloud_events,
            client_ip: Some(context.client_ip),
            forwarded: context.forwarded,
            request_id: context.id.as_str().to_owned(),
            profile: false,
            reservation: None,
            trace_context: TraceContext::default(),
            crash_trace: None,
            pause: channel.pause().cloned(),
        }))
    }

    /// Reads the body as that of a real request.
    fn read_body(
        &self,
        channel: &LoadedChannel,
        limit: BodyLimit,
    ) -> Result<Option<DecodedBody>, ServiceError> {
        let compiled = channel.compiled_channel().map(|compiled| &**compiled);
        let accepted = compiled.map(CompiledChannel::decompress).unwrap_or_default();
        if self.raw.is_empty() && !compiled.is_some_and(CompiledChannel::takes_events) {
            return Ok(None);
        }
        read_encodings(&self.headers, accepted)?;
        BodyDecoding::select(compiled, &self.headers, limit)?.read(&self.raw)
    }

    /// Follows the path as a real request does.
    fn find_route(
        &self,
        state: &AppState,
        snapshot: &Snapshot,
        channel: &LoadedChannel,
        path: &str,
    ) -> Result<TrialRoute, TrialRefusal> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query = parse_query(query).map_err(|error| refusal("route", "malformed", error))?;
        if state.edge.planes.plane_of(path) != Plane::Data {
            let error = ServiceError::not_found("The path is none of the data plane");
            return Err(refusal("route", "no_data_path", error));
        }
        let rest = path.get(channel_path_start(path)..).unwrap_or(path);
        let resolved = snapshot.resolve(rest, &self.method).and_then(Resolution::require_channel);
        let resolution = resolved.map_err(|error| {
            let reason = match error.code() {
                Code::MethodNotAllowed => "method",
                Code::NotFound => "no_route",
                _ => "malformed",
            };
            refusal("route", reason, error)
        })?;
        match resolution.channel() {
            Some(found) if found.id() == channel.id() => {
                Ok(TrialRoute { params: resolution.params, query, is_async: resolution.is_async })
            }
            found => {
                let name = found.map(|found| found.name()).unwrap_or_default();
                let error = ServiceError::not_found(format!("The path leads to the channel '{name}'"));
                Err(refusal("route", "other_channel", error))
            }
        }
    }
}

fn refusal(guard: &'static str, reason: &'static str, error: ServiceError) -> TrialRefusal {
    TrialRefusal { guard, reason, error }
}

/// Reads the headers: a text, or a list of texts, for each name. No value is repeated in an error: it may be a secret.
fn parse_headers(given: Option<&Value>) -> Result<HeaderMap, ServiceError> {
    let mut headers = HeaderMap::new();
    let members = match given {
        None | Some(Value::Null) => return Ok(headers),
        Some(Value::Object(members)) => members,
        Some(other) => return Err(FieldError::type_mismatch("body.headers", "object", other).into()),
    };
    for (name, value) in members {
        let path = format!("body.headers.{name}");
        let header = HeaderName::try_from(name.as_str())
            .map_err(|_| FieldError::invalid(&path, "it is no name of a header"))?;
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            let text = value.as_str().ok_or_else(|| {
                FieldError::invalid(&path, "write a string, or a list of strings for several values")
            })?;
            let value = HeaderValue::from_str(text)
                .map_err(|_| FieldError::invalid(&path, "it is no value of a header"))?;
            headers.append(header.clone(), value);
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn body_is_sent_as_text_json_or_bytes() {
        for (body, raw, media_type) in [
            (json!({}), "", None),
            (json!({"body": "{\"a\": 1}"}), "{\"a\": 1}", None),
            (json!({"body": {"a": 1}}), "{\"a\":1}", Some("application/json")),
            (
                json!({"body": [1], "headers": {"Content-Type": "application/vnd.x+json"}}),
                "[1]",
                Some("application/vnd.x+json"),
            ),
            (json!({"body_base64": "aGk="}), "hi", None),
        ] {
            let request = TrialRequest::parse(&body).unwrap();
            assert_eq!((request.method.as_str(), request.raw.as_ref()), ("POST", raw.as_bytes()), "{body}");
            let sent = request.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap());
            assert_eq!(sent, media_type, "{body}");
        }
    }

    #[test]
    fn repeated_header_keeps_its_values_in_order() {
        let body = json!({"method": "put", "headers": {"X-A": ["1", "2"], "x-b": "3"}});
        let request = TrialRequest::parse(&body).unwrap();
        let values: Vec<_> = request.headers.get_all("x-a").map(HeaderValue::as_bytes).collect();
        assert_eq!((request.method.as_str(), values), ("PUT", vec![b"1".as_slice(), b"2"]));
    }

    #[test]
    fn wrong_member_is_refused_by_place_without_value() {
        for (body, place) in [
            (json!([]), "body"),
            (json!({"pth": "/x"}), "path"),
            (json!({"method": 1}), "body.method"),
            (json!({"headers": []}), "body.headers"),
            (json!({"headers": {"a b": "secret"}}), "body.headers.a b"),
            (json!({"headers": {"authorization": 7}}), "body.headers.authorization"),
            (json!({"headers": {"authorization": "secret\n"}}), "body.headers.authorization"),
            (json!({"body_base64": "secret!"}), "body.body_base64"),
            (json!({"body": "a", "body_base64": "aGk="}), "body.body_base64"),
        ] {
            let refused = TrialRequest::parse(&body).err().unwrap();
            let text = refused.body(None).to_string();
            assert_eq!(refused.status(), 400, "{body}");
            assert!(text.contains(place) && !text.contains("secret"), "{text}");
        }
    }
}
