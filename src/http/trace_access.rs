//! Access to one trace: for the holder of the token that its submission returned, and for operators.
//!
//! The edge lets such a read pass, because the rule depends on the trace. Failures share the budget of wrong
//! admin keys.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::{FromRequest, HttpRequest};
use svc_model::ServiceError;

use super::auth::TraceView;
use super::submissions::token_of;
use super::{Error, RequestContext, query};
use crate::state::AppState;

/// A request for one trace, with its credentials.
#[derive(Debug)]
pub(crate) struct TraceReader {
    context: RequestContext,
    headers: HeaderMap,
    token: Option<Vec<u8>>,
}

impl TraceReader {
    /// Lets the request read a trace whose token has this SHA-256 in hexadecimal digits; `None` for a trace
    /// that has no token, which only operators read.
    ///
    /// # Errors
    /// 401, counted and logged.
    pub(crate) fn admit(
        &self,
        state: &AppState,
        token_hash: Option<&str>,
    ) -> Result<TraceView, ServiceError> {
        let client = self.context.client_ip;
        // While an author works, whoever may use the admin API sees each run.
        let is_shown = self.token.is_none() && state.process.dev.get().is_some();
        let token_hash = token_hash.filter(|_| !is_shown);
        let decided =
            state.edge.auth.authorize_trace(&self.headers, client, self.token.as_deref(), token_hash);
        decided.map_err(|refusal| {
            state.record_auth_refusal(refusal.reason, self.context.client_ip, &self.context.id);
            refusal.error
        })
    }
}

impl FromRequest for TraceReader {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let context = RequestContext::from_request(request, payload).into_inner();
        ready(context.and_then(|context| {
            let query = query::parse(request.query_string())?;
            let token = token_of(request.headers(), Some(&query));
            Ok(Self { context, headers: request.headers().clone(), token })
        }))
    }
}
