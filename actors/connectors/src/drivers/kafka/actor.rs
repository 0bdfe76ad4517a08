//! The actor of one Kafka connector.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use slog::Logger;
use tokio::time::timeout;

use super::producer::Producer;
use super::reach::Reach;
use super::settings::KafkaSettings;
use crate::drivers::failure::Failure;
use crate::drivers::{Driver, Kind, Slot, Spot};

/// How long a call waits for the producer, whoever opens it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Publish a record. Answered when the brokers have it.
#[derive(Message)]
#[rtype(result = "Result<(), Failure>")]
pub(crate) struct Publish {
    pub(crate) topic: String,
    pub(crate) key: Option<String>,
    pub(crate) value: String,
}

/// The actor.
pub(crate) struct KafkaActor {
    brokers: Result<Brokers, Failure>,
}

#[derive(Clone)]
struct Brokers {
    reach: Reach,
    slot: Slot<Producer>,
    log: Logger,
}

impl Brokers {
    async fn publish(&self, record: &Publish) -> Result<(), Failure> {
        self.slot.discard(Producer::is_broken);
        let open = async || {
            let topic = Some(record.topic.clone());
            Producer::open(&self.reach, topic, self.log.clone()).await
        };
        let late = |_| Err(Failure::Timeout("the brokers did not answer in time".to_owned()));
        let producer = timeout(PATIENCE, self.slot.get(open)).await.unwrap_or_else(late)?;
        producer.publish(record).await
    }
}

impl Actor for KafkaActor {
    type Context = Context<Self>;
}

impl Supervised for KafkaActor {}

impl ReadHandler<Publish> for KafkaActor {
    fn read(&self, record: Publish) -> ReadReply<<Publish as Message>::Result> {
        match &self.brokers {
            Ok(brokers) => {
                let brokers = brokers.clone();
                ReadReply::later(async move { brokers.publish(&record).await })
            }
            Err(off) => ReadReply::Now(Err(off.clone())),
        }
    }
}

/// The way to Kafka: the settings of a connector, and the actor that publishes.
pub(crate) struct KafkaDriver {
    pub(crate) settings: Arc<KafkaSettings>,
    pub(crate) address: Address<KafkaActor>,
}

impl KafkaDriver {
    pub(crate) async fn start(settings: &Arc<KafkaSettings>, spot: Spot<'_>) -> Result<Self, SpawnError> {
        let reach = Reach::new(settings, spot.with);
        let (pools, log) = (spot.pools.clone(), spot.log.clone());
        let factory = move |_: StartContext| {
            let brokers = reach.clone().map(|reach| Brokers { reach, slot: pools.slot(), log: log.clone() });
            std::future::ready(Ok::<_, StartError>(KafkaActor { brokers }))
        };
        let address = spot.tree.spawn(spot.path, spot.spec, spot.at, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Kind for KafkaDriver {
    const NEEDED: &'static str = "of type kafka";

    fn of(driver: &Driver) -> Option<&Self> {
        match driver {
            Driver::Kafka(kafka) => Some(kafka),
            _ => None,
        }
    }
}
