//! The requirements of a task on its connector, from what the engine reads off a workflow.

use svc_engine::ConnectorUse;
use svc_engine::catalogue::QueryLanguage;
use svc_model::ConnectorNeed;

use super::topics::{NO_TOPIC, lacks_topic};

/// Returns the requirements of a task on its connector. `is_mongodb` and `names_topic` are what a loaded
/// connector shows.
pub fn connector_need(
    used: ConnectorUse,
    is_mongodb: Option<bool>,
    names_topic: Option<bool>,
) -> ConnectorNeed {
    ConnectorNeed {
        is_mongodb,
        objection: lacks_topic(&used, names_topic).then(|| NO_TOPIC.to_owned()),
        field: used.path,
        connector: used.connector,
        accepts: used.accepts.iter().map(|kind| kind.name().to_owned()).collect(),
        speaks_sql: used.language == Some(QueryLanguage::Sql),
        speaks_mongodb: used.language == Some(QueryLanguage::MongoDb),
        names_database: used.names_database,
        computes_address: used.computes_address,
    }
}
