//! Messages to the actor of a Kafka connector.

use actix::Message;

use crate::drivers::failure::CallFailure;

/// Publishes a record. Answered when the brokers have acknowledged it.
#[derive(Message)]
#[rtype(result = "Result<(), CallFailure>")]
pub(crate) struct Publish {
    pub(crate) topic: String,
    pub(crate) key: Option<String>,
    /// `None` for a tombstone.
    pub(crate) value: Option<String>,
    /// Headers of the record.
    pub(crate) headers: Vec<(String, String)>,
}
