//! The scope of an error that a client reports. Pure, no I/O.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// The part of the work that an error concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorScope {
    /// The brokers do not answer. Their monitor watches them, and the client connects by itself.
    Brokers,
    /// A topic cannot be read. Topics are looked at one by one.
    Topic,
    /// A partition cannot be read. The client goes on with the others, and backs off from this one by itself.
    Partition,
    /// Nothing can be received.
    Client,
    /// The client is of no use any more.
    Fatal,
}

/// Returns the scope of an error.
pub(super) fn scope_of(error: &KafkaError) -> ErrorScope {
    use RDKafkaErrorCode as Code;
    if matches!(error, KafkaError::MessageConsumptionFatal(_)) {
        return ErrorScope::Fatal;
    }
    match error.rdkafka_error_code() {
        Some(
            Code::AllBrokersDown | Code::BrokerTransportFailure | Code::Resolve | Code::OperationTimedOut,
        ) => ErrorScope::Brokers,
        Some(Code::UnknownTopicOrPartition | Code::TopicAuthorizationFailed) => ErrorScope::Topic,
        Some(
            Code::AutoOffsetReset
            | Code::BadMessage
            | Code::BadCompression
            | Code::InvalidMessage
            | Code::MessageSizeTooLarge
            | Code::NotImplemented,
        ) => ErrorScope::Partition,
        _ => ErrorScope::Client,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_limited_to_its_topic_or_partition() {
        use RDKafkaErrorCode as Code;
        for (code, expected) in [
            (Code::AllBrokersDown, ErrorScope::Brokers),
            (Code::TopicAuthorizationFailed, ErrorScope::Topic),
            (Code::UnknownTopicOrPartition, ErrorScope::Topic),
            (Code::AutoOffsetReset, ErrorScope::Partition),
            (Code::BadCompression, ErrorScope::Partition),
            (Code::MessageSizeTooLarge, ErrorScope::Partition),
            (Code::GroupAuthorizationFailed, ErrorScope::Client),
        ] {
            assert_eq!(scope_of(&KafkaError::MessageConsumption(code)), expected, "{code:?}");
        }
        let fenced = KafkaError::MessageConsumptionFatal(Code::FencedInstanceId);
        assert_eq!(scope_of(&fenced), ErrorScope::Fatal);
    }
}
