//! The log of librdkafka in the log of the service.

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use slog::{Logger, debug, warn};

/// Forwards the log of a client. Failures of calls are errors of their callers; the rest is logged for debugging.
#[derive(Clone, Debug)]
pub struct ClientLog {
    /// The log of the service.
    pub log: Logger,
}

impl ClientContext for ClientLog {
    fn log(&self, level: RDKafkaLogLevel, fac: &str, message: &str) {
        match level {
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
                warn!(self.log, "the kafka client is in trouble"; "facility" => fac, "said" => message);
            }
            _ => debug!(self.log, "the kafka client said"; "facility" => fac, "said" => message),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        debug!(self.log, "the kafka client reports an error"; "error" => %error, "reason" => reason);
    }
}
