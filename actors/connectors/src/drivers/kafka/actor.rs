//! The actor of one Kafka connector.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use slog::Logger;
use tokio::time::timeout;

use super::broker_config::BrokerConfig;
use super::messages::Publish;
use super::probe::{probe, refusal};
use super::producer::Producer;
use super::settings::KafkaSettings;
use crate::driver::{Driver, DriverSettings, SpawnContext};
use crate::drivers::failure::CallFailure;
use crate::drivers::pool::PoolSlot;
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Time limit of a call's wait for the producer, whichever call opens it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The actor of a Kafka connector.
pub(crate) struct KafkaActor {
    brokers: Result<Brokers, CallFailure>,
}

#[derive(Clone)]
struct Brokers {
    broker_config: BrokerConfig,
    slot: PoolSlot<Producer>,
    log: Logger,
}

impl Brokers {
    async fn publish(&self, record: &Publish) -> Result<(), CallFailure> {
        self.slot.discard(Producer::is_broken);
        let open = async || {
            let topic = Some(record.topic.clone());
            Producer::open(&self.broker_config, topic, self.log.clone()).await
        };
        let late = |_| Err(CallFailure::Timeout("the brokers did not answer in time".to_owned()));
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

/// The driver of Kafka brokers: its settings and the address of its actor.
pub(crate) struct KafkaDriver {
    pub(crate) settings: Arc<KafkaSettings>,
    pub(crate) address: Address<KafkaActor>,
}

impl KafkaDriver {
    async fn start(settings: &Arc<KafkaSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let broker_config = BrokerConfig::new(settings, context.settings);
        let (pools, log) = (context.pools.clone(), context.log.clone());
        let factory = move |_: StartContext| {
            let brokers = broker_config.clone().map(|broker_config| Brokers {
                broker_config,
                slot: pools.slot(),
                log: log.clone(),
            });
            std::future::ready(Ok::<_, StartError>(KafkaActor { brokers }))
        };
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for KafkaDriver {
    const REQUIREMENT: &'static str = "of type kafka";
}

impl DriverSettings for KafkaSettings {
    type Driver = KafkaDriver;

    async fn probe(&self, _: &str, settings: &Settings) -> ConnectorProbe {
        probe(self, settings).await
    }

    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<KafkaDriver, SpawnError> {
        KafkaDriver::start(&self, context).await
    }

    fn refusal(&self, settings: &Settings) -> Option<String> {
        refusal(self, settings)
    }

    fn names_topic(&self) -> Option<bool> {
        Some(self.topic.is_some())
    }
}
