//! The resolution of a request path to a channel.

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_channels::ChannelResponse;
use svc_model::{RequestPath, ServiceError};

use crate::routes::{RouteMatch, takes, with_head};
use crate::snapshot::{LoadedChannel, Snapshot};

/// The channel that a path and a method lead to. Its availability is checked later, with
/// [`callable_channel`](Self::callable_channel): a request with a bad body is refused for its body first.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// Values of the route parameters, by name; empty for a channel found by its name.
    pub params: Map<String, Value>,
    /// The path ended in `/async`.
    pub is_async: bool,
    /// The path is that of the callback of the channel's sign-in.
    pub is_callback: bool,
    target: Target,
}

#[derive(Clone, Debug)]
enum Target {
    Channel(Arc<LoadedChannel>),
    Unknown(String),
}

impl Resolution {
    /// Resolves the name of a channel.
    pub(crate) fn of_name(snapshot: &Snapshot, name: &str) -> Self {
        let target = match snapshot.channel_by_name(name) {
            Some(entry) => Target::Channel(Arc::clone(entry)),
            None => Target::Unknown(name.to_owned()),
        };
        Self { params: Map::new(), is_async: false, is_callback: false, target }
    }

    /// Requires that the name is that of an active channel, whatever else the request says.
    ///
    /// # Errors
    /// 404 for an unknown name.
    pub fn require_channel(self) -> Result<Self, ServiceError> {
        match &self.target {
            Target::Channel(_) => Ok(self),
            Target::Unknown(name) => Err(unknown(name)),
        }
    }

    /// Returns the channel if it can be called.
    ///
    /// # Errors
    /// 503 for a quarantined channel, 404 for an unknown name, 405 for a channel that runs by the clock.
    pub fn callable_channel(&self) -> Result<&Arc<LoadedChannel>, ServiceError> {
        let entry = match &self.target {
            Target::Channel(entry) => entry,
            Target::Unknown(name) => return Err(unknown(name)),
        };
        if entry.quarantine().is_some() {
            return Err(svc_channels::refusal::quarantined());
        }
        if entry.is_cron() {
            let hint = format!(
                "Channel '{}' runs by the clock; POST /api/v1/admin/channels/{}/trigger starts it once",
                entry.name(),
                entry.id()
            );
            return Err(ServiceError::method_not_allowed(hint).with_allow(""));
        }
        Ok(entry)
    }

    /// Renders an error with the error body of the channel, if the channel serves and has one.
    ///
    /// # Errors
    /// The error itself, otherwise.
    pub fn error_response(
        &self,
        error: ServiceError,
        request_id: &str,
    ) -> Result<ChannelResponse, ServiceError> {
        let serving = self.channel().filter(|entry| entry.quarantine().is_none());
        match serving.and_then(|entry| entry.compiled_channel()) {
            Some(definition) => definition.error_response(error, request_id),
            None => Err(error),
        }
    }

    /// Returns the channel in whatever state, for metrics and logs.
    pub fn channel(&self) -> Option<&Arc<LoadedChannel>> {
        match &self.target {
            Target::Channel(entry) => Some(entry),
            Target::Unknown(_) => None,
        }
    }
}

/// Builds the 404 of an unknown name.
pub(crate) fn unknown(name: &str) -> ServiceError {
    ServiceError::not_found(format!("No active channel is named '{name}'"))
}

impl Snapshot {
    /// Resolves the part of a path that names the channel, still percent-encoded.
    ///
    /// Routes are tried first: of those that fit path and method the one with the highest priority wins, then
    /// the first by channel name. A single segment that no route claims is a channel name, unless the channel
    /// is closed to it; by name a channel takes POST and the methods it declares. What is submitted
    /// asynchronously is a POST, whatever methods the channel declares.
    ///
    /// # Errors
    /// 400 for an empty path or a broken escape, 405 with the methods that the path takes if this is none
    /// of them, 404 for several segments no route claims.
    pub fn resolve(&self, rest: &str, method: &str) -> Result<Resolution, ServiceError> {
        let path = RequestPath::parse(rest)?;
        let submits = path.is_async && is_post(method);
        let routed = match path.is_async {
            true => self.routes.find_for_submission(&path.segments),
            false => self.routes.find(&path.segments, method),
        };
        let has_route = routed.is_some();
        if let Some(route) = routed.filter(|_| submits || !path.is_async) {
            let RouteMatch { entry, params, is_callback } = route;
            let target = Target::Channel(Arc::clone(entry));
            return Ok(Resolution { params, is_async: path.is_async, is_callback, target });
        }
        let name = path.channel_name()?;
        let named = name.and_then(|name| self.channel_by_name(name)).filter(|entry| entry.answers_to_name());
        if let Some(entry) = named
            && takes_by_name(entry, method, path.is_async)
        {
            let target = Target::Channel(Arc::clone(entry));
            let is_async = path.is_async;
            return Ok(Resolution { params: Map::new(), is_async, is_callback: false, target });
        }
        let mut allowed = Vec::new();
        if path.is_async {
            allowed.extend((has_route || named.is_some()).then(|| "POST".to_owned()));
        } else {
            allowed.extend(self.routes.methods(&path.segments));
            allowed.extend(named.into_iter().flat_map(|entry| methods_by_name(entry)));
        }
        match (allowed.is_empty(), name) {
            (false, _) => Err(not_allowed(method, allowed)),
            (true, Some(name)) => Ok(Resolution {
                params: Map::new(),
                is_async: path.is_async,
                is_callback: false,
                target: Target::Unknown(name.to_owned()),
            }),
            (true, None) => Err(ServiceError::not_found("No route matches this path")),
        }
    }

    /// Returns the channel that a request is for, or whose accepted work it asks about, if it lists its own origins.
    pub fn channel_with_origins(&self, rest: &str, method: &str) -> Option<Arc<LoadedChannel>> {
        let find = |rest: &str, method: &str| {
            let resolution = self.resolve(rest, method).ok()?;
            resolution.channel().filter(|channel| channel.cors_origins().is_some()).cloned()
        };
        // The state of accepted work is below the path that accepts it.
        let accepting = || rest.get(..rest.rfind("/async/")? + "/async".len());
        find(rest, method).or_else(|| find(accepting()?, "POST"))
    }
}

fn is_post(method: &str) -> bool {
    method.eq_ignore_ascii_case("POST")
}

/// Returns `true` if a channel addressed by its name takes a method. A scheduled channel refuses every method
/// later, with a hint how it is started.
fn takes_by_name(entry: &LoadedChannel, method: &str, is_async: bool) -> bool {
    if is_post(method) || entry.is_cron() {
        return true;
    }
    !is_async && entry.row.content.protocol.is_http() && takes(entry.methods(), method)
}

/// Returns the methods that a channel takes when it is addressed by its name.
fn methods_by_name(entry: &LoadedChannel) -> Vec<String> {
    let declared = if entry.row.content.protocol.is_http() { entry.methods() } else { &[] };
    ["POST".to_owned()].into_iter().chain(with_head(declared)).collect()
}

/// Builds the 405 that lists the methods of a path, each once.
fn not_allowed(method: &str, mut allowed: Vec<String>) -> ServiceError {
    allowed.sort_unstable();
    allowed.dedup();
    let allowed = allowed.join(", ");
    ServiceError::method_not_allowed(format!("{method} is not allowed here; use {allowed}"))
        .with_allow(allowed)
}
