//! One message through the guards and the workflow.

use serde_json::Value;
use svc_engine::{Message, RunOptions};
use svc_model::{Code, ServiceError, rollout};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::answer::{self, Answer};
use crate::definition::Definition;
use crate::metadata;
use crate::metrics::{Ending, Meters};
use crate::refusal;
use crate::request::{DataRequest, Ingress};

impl Definition {
    /// Runs one message and counts how it ended.
    pub(crate) async fn serve(&self, request: DataRequest) -> Result<Answer, ServiceError> {
        let mut tally = Tally { meters: &self.meters, started: Instant::now(), ending: Ending::Error };
        let answer = self.run(request, tally.started).await;
        tally.ending = ending(&answer);
        answer
    }

    /// The guards in their fixed order, then the workflow.
    async fn run(&self, mut request: DataRequest, started: Instant) -> Result<Answer, ServiceError> {
        self.check_origin(&request)?;
        let settings = &self.tools.settings;
        let bucket = match self.flow.versions.as_slice() {
            [_] => None,
            _ => request.identity(settings.rollout_sticky_header.as_deref()).map(rollout::bucket),
        };
        let profile = request.profile && settings.profiles;
        let (payload, caller) =
            metadata::open(request.body.take(), self.envelope && request.ingress == Ingress::Http);
        let stamped =
            metadata::stamp(caller, &mut request, &self.name, settings.vars.as_ref(), &self.cookies);
        let mut metadata = Value::Object(stamped);
        self.validate(&payload, &metadata)?;
        let _permit = self.permit()?;
        let stamped = metadata.as_object_mut().map(std::mem::take).unwrap_or_default();
        let message = Message::new(payload, stamped);
        let options = RunOptions { bucket, deadline: self.timeout, ..RunOptions::default() };
        let outcome = self.tools.engine.run(&self.flow, message, options).await;
        self.flow_meters.count(&outcome.timings);
        let answer =
            answer::render(outcome, &request.request_id, settings, profile.then(|| started.elapsed()));
        if let Err(error) = &answer {
            self.count_error(error.code());
        }
        answer
    }

    /// A present `Origin` must be listed, byte for byte; `*` lists all.
    fn check_origin(&self, request: &DataRequest) -> Result<(), ServiceError> {
        let Some(origins) = self.origins.as_ref().filter(|_| request.ingress == Ingress::Http) else {
            return Ok(());
        };
        let Some((_, origin)) = request.headers.iter().find(|(name, _)| name == "origin") else {
            return Ok(());
        };
        if origins.iter().any(|listed| listed == "*" || listed.as_bytes() == origin) {
            return Ok(());
        }
        Err(ServiceError::forbidden("Origin not allowed"))
    }

    /// A falsy result and a failing expression are the same refusal: it tells nothing of the rule.
    fn validate(&self, payload: &Value, metadata: &Value) -> Result<(), ServiceError> {
        let Some(expression) = &self.validation else { return Ok(()) };
        match self.tools.engine.evaluate(expression, &[("data", payload), ("metadata", metadata)]) {
            Ok(value) if is_truthy(&value) => Ok(()),
            _ => Err(ServiceError::validation("Input validation failed")),
        }
    }

    fn permit(&self) -> Result<Option<OwnedSemaphorePermit>, ServiceError> {
        let Some(permits) = &self.permits else { return Ok(None) };
        permits.pool.clone().try_acquire_owned().map(Some).map_err(|_| {
            self.tools.metrics.error("backpressure");
            refusal::at_capacity(&self.name)
        })
    }

    fn count_error(&self, code: Code) {
        match code {
            Code::Timeout => self.tools.metrics.error("timeout"),
            Code::ResponseTooLarge => self.tools.metrics.error("result_size_exceeded"),
            Code::EngineError => self.tools.metrics.error("engine"),
            _ => {}
        }
    }
}

/// Counts a message when it goes out of sight: answered, crashed or given up.
struct Tally<'m> {
    meters: &'m Meters,
    started: Instant,
    ending: Ending,
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        self.meters.count(self.ending, self.started.elapsed().as_secs_f64());
    }
}

fn ending(answer: &Result<Answer, ServiceError>) -> Ending {
    match answer.as_ref().map_err(ServiceError::code) {
        Ok(_) => Ending::Ok,
        Err(Code::Timeout) => Ending::Timeout,
        Err(Code::Unauthorized) => Ending::Unauthorized,
        Err(Code::Conflict) => Ending::Duplicate,
        Err(_) => Ending::Error,
    }
}

/// Null, false, zero, and the empty string and array are falsy; an empty object is not.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_truthy;

    #[test]
    fn only_the_empty_and_the_false_fail() {
        for falsy in [json!(null), json!(false), json!(0), json!(0.0), json!(""), json!([])] {
            assert!(!is_truthy(&falsy), "{falsy}");
        }
        for truthy in [json!(true), json!(1), json!(-0.1), json!("0"), json!([0]), json!({})] {
            assert!(is_truthy(&truthy), "{truthy}");
        }
    }
}
