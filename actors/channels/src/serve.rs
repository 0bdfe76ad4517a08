//! One message from its arrival to its answer.

use svc_model::{Code, ServiceError, Timestamp};
use tokio::time::Instant;

use crate::answer::ChannelResponse;
use crate::definition::CompiledChannel;
use crate::error_body;
use crate::guards::Stop;
use crate::metrics::{Ending, Meters};
use crate::request::{DataRequest, Delivery};

impl CompiledChannel {
    /// Leads a message past the guards, runs it or queues it, and counts how it ended.
    pub(crate) async fn serve(&self, mut request: DataRequest) -> Result<ChannelResponse, ServiceError> {
        let mut tally = Tally::start(&self.meters);
        let request_id = std::mem::take(&mut request.request_id);
        let delivery = request.delivery;
        let _held_until_answered = request.reservation.take();
        let admitted = match self.admit(request).await {
            Ok(admitted) => admitted,
            Err(Stop::Answered(answer)) => {
                tally.ending = Some(Ending::Ok);
                return Ok(answer);
            }
            Err(Stop::Refused(refusal)) => {
                tally.ending = Some(match refusal.code() {
                    Code::Unauthorized => Ending::Unauthorized,
                    Code::Conflict => Ending::Duplicate,
                    _ => Ending::Error,
                });
                return self.error_response(refusal, &request_id);
            }
        };
        let answer = match delivery {
            Delivery::Sync => {
                let answer = self.run(admitted, &request_id, tally.started).await;
                tally.ending = Some(answer.as_ref().map_or_else(ending, |_| Ending::Ok));
                answer
            }
            Delivery::Async => {
                let accepted = self.enqueue(admitted).await;
                // What was accepted is counted when it has run.
                tally.ending = accepted.as_ref().err().map(ending);
                accepted
            }
        };
        answer.or_else(|error| self.error_response(error, &request_id))
    }

    /// Answers an error with the body that the channel gives errors of its status. What only the log may say is logged.
    ///
    /// # Errors
    /// The error itself, where the channel has no body for it. A payload that is too large never gets one: it is refused
    /// before the channel has a say.
    pub fn error_response(
        &self,
        error: ServiceError,
        request_id: &str,
    ) -> Result<ChannelResponse, ServiceError> {
        if error.code() == Code::PayloadTooLarge {
            return Err(error);
        }
        let answer = self.response.error_body(error.status()).and_then(|template| {
            error_body::render(&error, template, &self.name, request_id, Timestamp::now())
        });
        let Some(answer) = answer else { return Err(error) };
        if let Some(internal) = error.internal() {
            slog::error!(self.tools.log, "request failed"; "code" => error.code().name(), "detail" => internal,
                "channel" => &*self.name, "request_id" => request_id);
        }
        Ok(answer)
    }
}

/// How a run, or an attempt to queue one, ended.
pub(crate) fn ending(error: &ServiceError) -> Ending {
    match error.code() {
        Code::Timeout => Ending::Timeout,
        _ => Ending::Error,
    }
}

/// Counts a message when it goes out of sight: answered, crashed or given up.
pub(crate) struct Tally<'m> {
    meters: &'m Meters,
    pub(crate) started: Instant,
    /// `None` for a message that is counted later.
    pub(crate) ending: Option<Ending>,
}

impl<'m> Tally<'m> {
    /// From now; an error until something better is known.
    pub(crate) fn start(meters: &'m Meters) -> Self {
        Self { meters, started: Instant::now(), ending: Some(Ending::Error) }
    }
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        if let Some(ending) = self.ending {
            self.meters.count(ending, self.started.elapsed().as_secs_f64());
        }
    }
}
