//! The sign-in of a channel: a request to its route begins one, a request to its callback completes it.

mod step;

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use svc_auth::{SignIn, SignInAdditions, SignInOutcome, SignInRedirect, SignInRefusal};
use svc_model::config::{PROVIDER_PARAMETER, SignInConfig};
use svc_model::{Code, ServiceError, Timestamp};
use svc_secrets::Resolver;

use super::passage::{GuardRefusal, RefusalKind};
use crate::answer::response::ChannelResponse;
use crate::log_rate_limit::LogRateLimit;
use crate::metrics::SignInLeg;
use crate::request::{DataRequest, Delivery};
use crate::services::ChannelServices;

/// The status of the answer that sends a browser to its provider.
const FOUND: u16 = 302;

/// Seconds after which a caller may try again whose provider cannot be asked.
const RETRY_AFTER: u32 = 5;

/// The message of every sign-in that fails.
const REFUSED: &str = "Sign-in failed; begin again";

/// The place of what a workflow adds to a sign-in, in its data.
const PLATFORM: &str = "_svc";
const ADDITIONS: &str = "oauth";

/// The `oauth2_login` block of a channel.
pub(crate) struct SignInGuard {
    sign_in: SignIn,
    log_limit: LogRateLimit,
}

impl SignInGuard {
    /// Loads the block of a channel.
    ///
    /// # Errors
    /// The reason to quarantine the channel.
    pub(super) fn build(
        channel: &str,
        config: &SignInConfig,
        references: &dyn Resolver,
        services: &ChannelServices,
    ) -> Result<Arc<Self>, String> {
        let sign_in =
            SignIn::build(channel, config, references, &*services.key_sets, &services.identity_providers)?;
        Ok(Arc::new(Self { sign_in, log_limit: LogRateLimit::default() }))
    }

    /// Returns the value of `Set-Cookie` that removes the cookie of a sign-in.
    pub(crate) fn clearing_cookie(&self) -> String {
        self.sign_in.clearing_cookie()
    }

    /// Returns `true` if the workflow runs before a browser is sent to its provider, too.
    pub(crate) fn runs_on_authorize(&self) -> bool {
        self.sign_in.runs_on_authorize()
    }

    /// Returns what the workflow sees of a sign-in that has not begun.
    pub(super) fn describe(
        &self,
        channel: &str,
        request: &DataRequest,
        services: &ChannelServices,
    ) -> Result<SignInOutcome, GuardRefusal> {
        refuse_for_later(request)?;
        let described = self.sign_in.describe(provider_name(request), &request.query);
        described.map_err(|refusal| self.refuse(channel, &refusal, request, services))
    }

    /// Counts a sign-in that the workflow does not let begin.
    pub(crate) fn count_stopped(&self, channel: &str, request: &DataRequest, services: &ChannelServices) {
        self.count(channel, provider_name(request), SignInLeg::Authorize, "refused", services);
    }

    /// Sends the browser to its provider, with the additions of the workflow.
    pub(crate) async fn begin(
        &self,
        channel: &str,
        request: &DataRequest,
        additions: &SignInAdditions,
        services: &ChannelServices,
    ) -> Result<ChannelResponse, GuardRefusal> {
        refuse_for_later(request)?;
        let name = provider_name(request);
        let begun = self.sign_in.begin(name, &request.query, additions, now()).await;
        let outcome = begun.as_ref().map_or_else(SignInRefusal::name, |_| "redirected");
        self.count(channel, name, SignInLeg::Authorize, outcome, services);
        let SignInRedirect { location, cookie } =
            begun.map_err(|refusal| self.refuse(channel, &refusal, request, services))?;
        let header = |name: &str, value: String| (name.to_owned(), value);
        Ok(ChannelResponse {
            status: FOUND,
            headers: vec![
                header("location", location),
                header("set-cookie", cookie),
                header("cache-control", "no-store".to_owned()),
            ],
            body: Bytes::new(),
            is_guess: false,
            is_envelope: false,
        })
    }

    /// Completes a sign-in. Nothing is asked of the provider, and nothing runs, unless the state matches.
    pub(super) async fn complete(
        &self,
        channel: &str,
        request: &DataRequest,
        services: &ChannelServices,
    ) -> Result<SignInOutcome, GuardRefusal> {
        let name = provider_name(request);
        let completed = self.sign_in.complete(name, &request.query, &request.headers, now()).await;
        let outcome = match &completed {
            Ok(outcome) if outcome.is_refused() => "refused",
            Ok(_) => "signed_in",
            Err(refusal) => refusal.name(),
        };
        self.count(channel, name, SignInLeg::Callback, outcome, services);
        completed.map_err(|refusal| self.refuse(channel, &refusal, request, services))
    }

    fn count(
        &self,
        channel: &str,
        name: Option<&str>,
        leg: SignInLeg,
        outcome: &'static str,
        services: &ChannelServices,
    ) {
        services.metrics.count_sign_in(channel, self.sign_in.provider_label(name), leg, outcome);
    }

    /// Logs the reason for operators, a bounded number of times, and builds the refusal, which does not show it.
    fn refuse(
        &self,
        channel: &str,
        refusal: &SignInRefusal,
        request: &DataRequest,
        services: &ChannelServices,
    ) -> GuardRefusal {
        if let Some(suppressed) = self.log_limit.allow_line() {
            slog::info!(services.log, "sign-in refused";
                "channel" => channel, "reason" => refusal.name(), "detail" => refusal.detail(),
                "client_ip" => request.client_ip.map(|address| address.to_string()),
                "request_id" => &request.request_id, "suppressed" => suppressed);
        }
        match refusal {
            SignInRefusal::UnknownProvider => RefusalKind::Final.with(
                refusal.name(),
                ServiceError::not_found("The channel has no identity provider of that name"),
            ),
            SignInRefusal::Broken => RefusalKind::Final.with(
                refusal.name(),
                ServiceError::internal_error("random bytes or a cipher are not available"),
            ),
            refusal if refusal.is_temporary() => {
                let error = ServiceError::unavailable("The identity provider cannot be asked now");
                RefusalKind::Deferred.with(refusal.name(), error.with_retry_after(RETRY_AFTER))
            }
            refusal => {
                RefusalKind::Final.with(refusal.name(), ServiceError::new(Code::Unauthorized, REFUSED))
            }
        }
    }
}

/// Refuses a sign-in that would be accepted for later.
fn refuse_for_later(request: &DataRequest) -> Result<(), GuardRefusal> {
    if request.delivery == Delivery::Sync {
        return Ok(());
    }
    let error = ServiceError::method_not_allowed("A sign-in cannot be accepted for later");
    Err(RefusalKind::Final.with("async", error.with_allow("GET")))
}

/// Returns what the workflow adds to a sign-in; `None` if its answer is one of its own, which stops the sign-in: a shaped
/// one, or one with errors.
pub(crate) fn find_additions(answer: &ChannelResponse) -> Option<SignInAdditions> {
    let body: Value = serde_json::from_slice(&answer.body).ok().filter(|_| answer.status == 200)?;
    let is_envelope = body["status"] == "ok" && body["id"].is_string() && body["data"].is_object();
    let has_errors = body["errors"].as_array().is_none_or(|errors| !errors.is_empty());
    (is_envelope && !has_errors).then(|| SignInAdditions::parse(&body["data"][PLATFORM][ADDITIONS]))
}

/// Removes what the workflow adds to a sign-in from its answer: it is for the service alone.
pub(crate) fn strip_additions(answer: &mut ChannelResponse) {
    let Ok(mut body) = serde_json::from_slice::<Value>(&answer.body) else { return };
    let is_shaped = strip(&mut body);
    let is_wrapped = body.get_mut("data").is_some_and(strip);
    if is_shaped || is_wrapped {
        answer.body = body.to_string().into();
    }
}

/// Removes the additions from data; `false` if there are none.
fn strip(data: &mut Value) -> bool {
    let Some(platform) = data.get_mut(PLATFORM).and_then(Value::as_object_mut) else { return false };
    let is_taken = platform.shift_remove(ADDITIONS).is_some();
    if is_taken
        && platform.is_empty()
        && let Some(data) = data.as_object_mut()
    {
        data.shift_remove(PLATFORM);
    }
    is_taken
}

/// Returns the name of the provider in the path of a request.
fn provider_name(request: &DataRequest) -> Option<&str> {
    request.params.get(PROVIDER_PARAMETER)?.as_str()
}

fn now() -> i64 {
    Timestamp::now().naive().and_utc().timestamp()
}
