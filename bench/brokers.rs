//! A mock cluster of Kafka brokers as a process of its own: prints its address, and ends with its standard
//! input.

use std::error::Error;
use std::io::{Read, Write};

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

const TOPIC: &str = "orders";

fn main() -> Result<(), Box<dyn Error>> {
    let cluster: MockCluster<'_, DefaultProducerContext> = MockCluster::new(1)?;
    cluster.create_topic(TOPIC, 1, 1)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", cluster.bootstrap_servers())?;
    out.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
