//! The facts about a request that the edge hands to handlers.

use std::future::{Ready, ready};
use std::net::IpAddr;
use std::rc::Rc;

use actix_web::dev::Payload;
use actix_web::http::header::{HeaderMap, HeaderName, USER_AGENT};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use serde_json::{Map, Value};
use svc_model::{AUDIT_ORIGIN, AuditAction, AuditResource, ServiceError};
use svc_store::{AuditEntry, AuditReceipt};
use svc_transport::{ConnectionState, TlsPeer};

use super::{Error, Principal, RequestId};

/// Returns the client of the TLS connection of a request; `None` in plain text.
pub(crate) fn tls_peer(request: &HttpRequest) -> Option<TlsPeer> {
    match request.conn_data::<Rc<ConnectionState>>() {
        Some(connection) => connection.tls(),
        // A request of HTTP/2 shares its connection with others.
        None => request.extensions().get::<TlsPeer>().cloned(),
    }
}

/// The reason of a change, kept in the audit row.
const CHANGE_CONTEXT: HeaderName = HeaderName::from_static("x-svc-change-context");
/// Longest caller text an audit row keeps, in characters.
const AUDIT_TEXT: usize = 256;

/// The facts about a request, put into its extensions by the edge middleware.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The correlation id.
    pub id: RequestId,
    /// The client's address, trusted proxies resolved.
    pub client_ip: IpAddr,
    /// `true` if the address came from a trusted proxy's header rather than from the connection.
    pub forwarded: bool,
    /// The authenticated author: always set below the admin base, on open endpoints if the request has a
    /// valid key.
    pub principal: Option<Principal>,
    /// `true` for a HEAD, which a handler of GET answers.
    pub is_head: bool,
    /// Length of the prefix in the raw path below which a larger application has mounted the service.
    pub host_length: usize,
    /// Position in the raw path of a data request at which the part starts that names the channel.
    pub channel_path_start: usize,
}

impl FromRequest for RequestContext {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let context = request.extensions().get::<Self>().cloned();
        ready(
            context.ok_or_else(|| ServiceError::internal_error("the edge middleware is not mounted").into()),
        )
    }
}

/// The authenticated author of an admin request, with the request's details for audit rows.
#[derive(Clone, Debug)]
pub struct AdminCaller {
    /// The author.
    pub principal: Principal,
    /// The correlation id.
    pub request_id: RequestId,
    details: Map<String, Value>,
    receipt: AuditReceipt,
}

impl AdminCaller {
    /// Returns the audit record of an action, with `request_id`, `client_ip`, `user_agent` and
    /// `change_context` as far as known. The store fills in an empty `resource_id`.
    pub fn audit(
        &self,
        action: AuditAction,
        resource: impl Into<AuditResource>,
        resource_id: &str,
    ) -> AuditEntry {
        AuditEntry {
            principal: self.principal.name().to_owned(),
            action: action.name().to_owned(),
            resource_type: resource.into().name().to_owned(),
            resource_id: resource_id.to_owned(),
            details: Some(Value::Object(self.details.clone())),
            receipt: self.receipt.clone(),
        }
    }
}

impl FromRequest for AdminCaller {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let extensions = request.extensions();
        // A request without a principal did not pass the guard: it is refused here too, whatever the routing
        // did.
        let admin_context = extensions.get::<RequestContext>().and_then(|context| {
            Some(Self {
                principal: context.principal.clone()?,
                request_id: context.id.clone(),
                details: details(context, request.headers()),
                receipt: extensions.get::<AuditReceipt>().cloned().unwrap_or_default(),
            })
        });
        ready(admin_context.ok_or_else(|| ServiceError::unauthorized().into()))
    }
}

fn details(context: &RequestContext, headers: &HeaderMap) -> Map<String, Value> {
    let [request_id, client_ip, user_agent, change_context] = AUDIT_ORIGIN;
    let mut details = Map::new();
    details.insert(request_id.into(), context.id.as_str().into());
    details.insert(client_ip.into(), context.client_ip.to_string().into());
    for (key, name) in [(user_agent, USER_AGENT), (change_context, CHANGE_CONTEXT)] {
        if let Some(value) = headers.get(name) {
            // Names of people and teams are not ASCII everywhere.
            let text = String::from_utf8_lossy(value.as_bytes());
            details.insert(key.into(), text.chars().take(AUDIT_TEXT).collect::<String>().into());
        }
    }
    details
}
