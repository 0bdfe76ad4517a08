//! The guards of a channel as this node serves it: the refusals that it counted, and the trial of a request.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_api::{
    ChannelQuota, ChannelStats, GuardTrialResult, GuardVerdict, QuotaKeyUse, RefusalCount, RequestRefusal,
};
use svc_auth::RefusalReason;
use svc_channels::{CountedRefusal, GuardTrial, TrialRefusal, TrialResult, TriedGuard};
use svc_model::{AuditAction, Channel, EntityKind, ServiceError};

use super::entities::not_found;
use super::trial_request::TrialRequest;
use crate::admin::query::QueryParameters;
use crate::admin::response::data_response;
use crate::http::{AdminCaller, Error, OptionalJsonBody, RequestContext};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// `GET /channels/{id}/stats`.
pub(crate) async fn stats(state: Data<AppState>, id: Path<String>) -> Answer {
    let channel = find_channel(&state, &id).await?;
    let snapshot = state.serving.registry.snapshot();
    let loaded = snapshot.channel_by_id(&channel.channel_id);
    let compiled = loaded.and_then(|loaded| loaded.compiled_channel());
    let quarantine = loaded.and_then(|loaded| loaded.quarantine());
    let totals = compiled.map(|compiled| compiled.refusals());
    let guards = compiled.map(|compiled| compiled.guard_names()).unwrap_or_default();
    Ok(data_response(ChannelStats {
        channel: loaded.map_or(channel.content.name, |loaded| loaded.name().to_owned()),
        channel_id: channel.channel_id,
        node: state.work.nodes.id().to_string(),
        served: loaded.is_some() && quarantine.is_none(),
        version: compiled.map(|compiled| compiled.version()),
        quarantined: quarantine.map(|quarantine| quarantine.reason.to_string()),
        guards: guards.into_iter().map(str::to_owned).collect(),
        free_permits: compiled.and_then(|compiled| compiled.free_permits()),
        since: totals.as_ref().map(|totals| totals.since),
        refusals: totals.into_iter().flat_map(|totals| totals.counts).map(to_refusal_count).collect(),
    }))
}

/// `GET /channels/{id}/quotas`.
pub(crate) async fn quotas(state: Data<AppState>, id: Path<String>) -> Answer {
    let channel = find_channel(&state, &id).await?;
    let terms = {
        let snapshot = state.serving.registry.snapshot();
        let loaded = snapshot.channel_by_id(&channel.channel_id);
        loaded.and_then(|loaded| loaded.compiled_channel()).and_then(|compiled| compiled.quota_terms())
    };
    let usages = match terms {
        Some(terms) => state.store.quota_counts().list(&channel.channel_id, terms).await?,
        None => Vec::new(),
    };
    let limit = terms.map(|terms| terms.limit);
    let unused = state.serving.quotas.count_unused(&channel.channel_id);
    let keys = usages.into_iter().map(|usage| {
        let used = usage.used.saturating_sub(unused.get(&usage.key).copied().unwrap_or_default());
        QuotaKeyUse {
            used,
            remaining: limit.unwrap_or_default().saturating_sub(used),
            resets_in_secs: usage.window_left.as_secs(),
            key: usage.key,
        }
    });
    Ok(data_response(ChannelQuota {
        channel_id: channel.channel_id,
        limit,
        per: terms.map(|terms| terms.per.name().to_owned()),
        window: terms.map(|terms| terms.window.name().to_owned()),
        keys: keys.collect(),
    }))
}

/// `POST /channels/{id}/test`: meets the guards without taking anything.
pub(crate) async fn test(
    state: Data<AppState>,
    caller: AdminCaller,
    context: RequestContext,
    id: Path<String>,
    query: QueryParameters,
    body: OptionalJsonBody,
) -> Answer {
    query.refuse_dry_run()?;
    let request = TrialRequest::parse(&body.0)?;
    let channel = find_channel(&state, &id).await?;
    let loaded = {
        let snapshot = state.serving.registry.snapshot();
        snapshot.channel_by_id(&channel.channel_id).cloned()
    };
    let loaded = loaded.ok_or_else(|| {
        ServiceError::conflict(format!("this node does not serve channel '{id}': activate a version of it"))
    })?;
    // Recorded before it happens: a trial is a way to guess credentials.
    let entry = caller.audit(AuditAction::Test, EntityKind::Channel, &channel.channel_id);
    state.store.audit().record(entry).await?;
    state.metrics.record_audit_event(AuditAction::Test, EntityKind::Channel);
    let message = {
        let snapshot = state.serving.registry.snapshot();
        request.to_message(&state, &snapshot, &loaded, &context)
    };
    let trial = match (message, loaded.compiled_channel()) {
        (Err(refusal), _) => GuardTrial { guards: Vec::new(), refusal: Some(refusal) },
        (Ok(message), Some(compiled)) => compiled.try_request(message).await,
        (Ok(_), None) => return Err(svc_channels::refusal::quarantined().into()),
    };
    Ok(data_response(GuardTrialResult {
        channel_id: channel.channel_id,
        channel: loaded.name().to_owned(),
        node: state.work.nodes.id().to_string(),
        admitted: trial.refusal.is_none(),
        refusal: trial.refusal.map(to_request_refusal),
        guards: trial.guards.into_iter().map(to_verdict).collect(),
    }))
}

async fn find_channel(state: &AppState, id: &str) -> Result<Channel, ServiceError> {
    let channel = state.store.channels().latest(id).await?;
    channel.ok_or_else(|| not_found::<Channel>(id))
}

fn to_refusal_count(counted: CountedRefusal) -> RefusalCount {
    let CountedRefusal { guard, status, reason, count, last_seen } = counted;
    RefusalCount {
        guard: guard.to_owned(),
        status,
        reason: reason.to_owned(),
        explanation: explain_reason(guard, reason).to_owned(),
        count,
        last_seen,
    }
}

fn to_request_refusal(TrialRefusal { guard, reason, error }: TrialRefusal) -> RequestRefusal {
    RequestRefusal {
        guard: guard.to_owned(),
        reason: reason.to_owned(),
        explanation: explain_reason(guard, reason).to_owned(),
        status: error.status(),
        code: error.code().name().to_owned(),
        message: error.message().to_owned(),
    }
}

fn to_verdict(TriedGuard { guard, result }: TriedGuard) -> GuardVerdict {
    let (result, note) = match result {
        TrialResult::Passed => ("passed", None),
        TrialResult::Refused => ("refused", None),
        TrialResult::Unchecked(note) => ("unchecked", Some(note.to_owned())),
        TrialResult::NotMet => ("not_met", None),
    };
    GuardVerdict { guard: guard.to_owned(), result: result.to_owned(), note }
}

/// Returns the inner reason of a refusal as a sentence for operators.
fn explain_reason(guard: &str, reason: &str) -> &'static str {
    match (guard, reason) {
        ("auth", "insufficient_scope") => "The claims of the token do not satisfy `authorization_logic`.",
        ("auth", reason) => explain_credential(reason).unwrap_or("The credential was refused."),
        ("oauth2_login", reason) => explain_sign_in(reason),
        (_, "over_limit") => "More requests came under this key than the rate allows.",
        (_, "over_quota") => "The requests that the quota allows this key within its window are used up.",
        ("rate_limit" | "principal_rate_limit" | "quota", "no_key") => {
            "`key_logic` has no value for the request, and a request without a key is refused."
        }
        (_, "no_key") => "The expression of the key failed over the message.",
        (_, "unchecked") => {
            "The store that keeps the counts or keys did not answer, and `on_backend_error` is `deny`."
        }
        (_, "too_wide") => "An object or a list of the body has more entries than the service takes.",
        (_, "origin_not_allowed") => "The header `Origin` is none of `origin_allow_list`, byte for byte.",
        (_, "delivery_time") => "`svc-delay` or `svc-deliver-at` is no time at which the work can run.",
        (_, "not_in_schema") => "The payload does not match `request.schema`.",
        (_, "not_valid") => "`validation_logic` is false over the message, or failed.",
        (_, "duplicate") => {
            "The idempotency key was seen within the window; with `on_duplicate` `accept` the answer is 200."
        }
        (_, "in_progress") => "The first request with the idempotency key had not ended.",
        (_, "key_reused") => "The idempotency key came before with another body.",
        (_, "not_kept") => {
            "The first answer set a cookie, was longer than `max_answer_bytes`, or cannot be decrypted any more."
        }
        (_, "at_capacity") => "Every permit of `backpressure` is in use.",
        (_, "paused") => "The channel is paused.",
        (_, "quarantined") => "The channel is quarantined on this node; `GET /health` has the reason.",
        ("mailbox", _) => "More messages wait for the actor of the channel than its mailbox holds.",
        ("route", "no_route") => "No route and no name of a channel matches the path.",
        ("route", "method") => "The path does not take the method.",
        ("route", "other_channel") => "The path leads to another channel, whose route wins.",
        ("route", "no_data_path") => "The path is below no mount of the data plane.",
        (_, "too_slow") => "The body did not arrive in time.",
        (_, "too_large") => {
            "The body, or what it becomes once decoded, is larger than `ingest.max_payload_size`."
        }
        (_, "content_type") => {
            "The channel does not take the content type or the content encoding of the body."
        }
        (_, "batch") => "A batch of events came to a channel that answers each, or keeps the answer to each.",
        (_, "no_room") => "The requests in progress hold as many bytes as the service allows.",
        (_, "malformed") => "The body, the path or the query is not what it should be.",
        _ => "The request was refused.",
    }
}

/// Returns the inner reason of a refused sign-in as a sentence for operators.
fn explain_sign_in(reason: &str) -> &'static str {
    match reason {
        "state_missing" => "The browser brought no cookie of a sign-in under way.",
        "state_forged" => "The cookie was not made with this `state_secret`, or was changed.",
        "state_expired" => "The sign-in took longer than `state_cookie.max_age`.",
        "state_mismatch" => "`state` is not that of the cookie: it is of another sign-in.",
        "unknown_provider" => "The path names none of `providers`.",
        "no_code" => "The provider sent neither a code nor an error.",
        "code_refused" => "The provider gave no token for the code; the log has its error.",
        "no_token" => "The answer of the provider lacks a token; the log says which one.",
        "nonce_mismatch" => "The id token is not of this sign-in.",
        "subject_mismatch" => "The provider describes no person, or another one than the id token.",
        "userinfo_refused" => "`userinfo_url` does not describe the holder of the token.",
        "provider_unavailable" => "The provider could not be asked; the log has the cause.",
        "async" => "A sign-in cannot be accepted for later.",
        reason => explain_credential(reason).unwrap_or("The person was not signed in."),
    }
}

/// Returns the inner reason of a refused credential as a sentence for operators; `None` for another reason.
fn explain_credential(reason: &str) -> Option<&'static str> {
    RefusalReason::ALL.iter().find(|known| known.name() == reason).map(|known| known.sentence())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refused_credential_has_its_own_explanation() {
        let mut sentences: Vec<_> =
            RefusalReason::ALL.iter().map(|reason| explain_reason("auth", reason.name())).collect();
        sentences.push(explain_reason("auth", "insufficient_scope"));
        for sentence in &sentences {
            assert!(sentence.ends_with('.') && sentence.starts_with(char::is_uppercase), "{sentence}");
        }
        sentences.sort_unstable();
        let count = sentences.len();
        sentences.dedup();
        assert_eq!(sentences.len(), count);
    }
}
