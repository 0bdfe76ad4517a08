//! The callbacks of a client: each becomes an event for the actor, which decides.

use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaRespErr;
use slog::{Logger, warn};
use svc_connectors::ClientLog;
use tokio::sync::{mpsc, oneshot};

/// The facility in which the client reports that it fetches from another offset than the one it was given: the
/// brokers do not have that any more.
const OFFSET_RESET: &str = "OFFSET";

/// An event of the client.
#[derive(Debug)]
pub(super) enum ClientEvent {
    /// The group assigns partitions: the client waits for the order to fetch them.
    Assign(TopicPartitionList),
    /// The group revokes partitions: the client waits for the order to give them up.
    Revoke(TopicPartitionList),
}

/// The context of a consumer.
pub(super) struct GroupContext {
    events: mpsc::UnboundedSender<ClientEvent>,
    client_log: ClientLog,
    /// Dropped with the client, which has left its group then.
    _end: oneshot::Sender<()>,
}

impl GroupContext {
    /// Builds a context; returns the receiver of its events, and one that closes when the client has ended.
    pub(super) fn new(log: Logger) -> (Self, mpsc::UnboundedReceiver<ClientEvent>, oneshot::Receiver<()>) {
        let (events, received) = mpsc::unbounded_channel();
        let (end, client_end) = oneshot::channel();
        (Self { events, client_log: ClientLog { log }, _end: end }, received, client_end)
    }
}

impl ClientContext for GroupContext {
    fn log(&self, level: RDKafkaLogLevel, fac: &str, message: &str) {
        match (level, fac) {
            (RDKafkaLogLevel::Warning, OFFSET_RESET) => {
                warn!(self.client_log.log, "records of a partition are gone, it is read from another offset";
                    "said" => message);
            }
            _ => self.client_log.log(level, fac, message),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.client_log.error(error, reason);
    }
}

impl ConsumerContext for GroupContext {
    /// Defers the change of the assignment to the actor: records in progress may take a while to end. When
    /// no task takes events any more, the client ends, and gives its partitions up at once.
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        error: RDKafkaRespErr,
        partitions: &mut TopicPartitionList,
    ) {
        let event = match error {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => ClientEvent::Assign(partitions.clone()),
            _ => ClientEvent::Revoke(partitions.clone()),
        };
        if let Err(unsent) = self.events.send(event)
            && matches!(unsent.0, ClientEvent::Revoke(_))
        {
            give_up(consumer, partitions);
        }
    }
}

/// Orders the client to fetch assigned partitions.
pub(super) fn take_over<C: ConsumerContext>(
    consumer: &impl Consumer<C>,
    partitions: &TopicPartitionList,
) -> KafkaResult<()> {
    match consumer.rebalance_protocol() {
        RebalanceProtocol::Cooperative => consumer.incremental_assign(partitions),
        _ => consumer.assign(partitions),
    }
}

/// Informs the client that revoked partitions are given up.
pub(super) fn give_up<C: ConsumerContext>(consumer: &impl Consumer<C>, partitions: &TopicPartitionList) {
    // A client that refuses has no group any more, and rejoins.
    let _ = match consumer.rebalance_protocol() {
        RebalanceProtocol::Cooperative => consumer.incremental_unassign(partitions),
        _ => consumer.unassign(),
    };
}
