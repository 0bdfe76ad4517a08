//! One message from its arrival to its answer.

use svc_model::{Code, ServiceError, Timestamp};
use tokio::time::Instant;

use crate::answer::Answer;
use crate::definition::Definition;
use crate::error_body;
use crate::guards::Stop;
use crate::metrics::{Ending, Meters};
use crate::request::{DataRequest, Delivery};

impl Definition {
    /// Leads a message past the guards, runs it or queues it, and counts how it ended.
    pub(crate) async fn serve(&self, mut request: DataRequest) -> Result<Answer, ServiceError> {
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
                return self.refuse(refusal, &request_id);
            }
        };
        match delivery {
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
        }
    }

    /// A refusal in the words of the channel, where it has some.
    fn refuse(&self, refusal: ServiceError, request_id: &str) -> Result<Answer, ServiceError> {
        let body = self.response.error_body(refusal.status()).and_then(|template| {
            error_body::render(&refusal, template, &self.name, request_id, Timestamp::now())
        });
        body.ok_or(refusal)
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
