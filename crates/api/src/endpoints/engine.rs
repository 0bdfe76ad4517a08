//! Endpoints of the engine: status and reload, the nodes, the supervision tree, and the partitions of topics.

use crate::endpoint::{Answer, Endpoint, Method, NO_DRY_RUN, NODE, SchemaSource, Tag};
use crate::envelope::{DataEnvelope, ListEnvelope};
use crate::parameter::ParameterKind::Natural;
use crate::parameter::{PathParameter, QueryParameter};
use crate::runs::kafka::{AssignedPartition, SkippedRecord};
use crate::server::actors::{ActorNode, ActorTree};
use crate::server::caches::{CacheInvalidationRequest, InvalidatedCaches};
use crate::server::dev::DevProject;
use crate::server::engine::{EngineReloaded, EngineStatus};
use crate::server::nodes::{DrainedNode, NodeSummary};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/engine/status",
        "getEngineStatus",
        Tag::Engine,
        "Shows the channels and workflows that serve",
    )
    .answers(&[Answer::json(
        200,
        "The status",
        &[SchemaSource::for_type::<DataEnvelope<EngineStatus>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/engine/reload",
        "reloadEngine",
        Tag::Engine,
        "Reads the settings again and serves the stored definitions",
    )
    .describes(
        "A file of settings that is wrong changes nothing (400). After another failure the previous definitions go on \
         serving.",
    )
    .with_query(&[NO_DRY_RUN])
    .answers(&[Answer::json(
        200,
        "The stored definitions serve",
        &[SchemaSource::for_type::<DataEnvelope<EngineReloaded>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/cache/invalidate",
        "invalidateCache",
        Tag::Engine,
        "Makes the cached answers of namespaces stale",
    )
    .describes(
        "Namespaces are those of `cache.namespaces` of channels. Answers in the memory of a node become stale on the \
         node that is asked, those in a shared cache for all.",
    )
    .with_query(&[NO_DRY_RUN])
    .takes::<CacheInvalidationRequest>(r#"{"namespaces": ["catalogue"]}"#)
    .answers(&[Answer::json(
        200,
        "The answers are stale",
        &[SchemaSource::for_type::<DataEnvelope<InvalidatedCaches>>()],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/dev",
        "getDevProject",
        Tag::Engine,
        "Shows the project that `svc-server dev` watches, with the findings about what was saved last",
    )
    .describes("Only of a server that `svc-server dev` started; any other answers 404.")
    .answers(&[Answer::json(200, "The project", &[SchemaSource::for_type::<DataEnvelope<DevProject>>()])])
    .refuses(&[404]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/nodes",
        "listNodes",
        Tag::Engine,
        "Lists the nodes that share the database, youngest first",
    )
    .answers(&[Answer::json(200, "The nodes", &[SchemaSource::for_type::<ListEnvelope<NodeSummary>>()])]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/nodes/drain",
        "drainNode",
        Tag::Engine,
        "Ends a node as the signal to terminate does, so that its supervisor starts it anew",
    )
    .describes(
        "`node` is required. The node reports not ready at once, serves until `server.shutdown_drain_secs` have passed, and \
         then ends. In a larger application only the first is done, and the host ends it.",
    )
    .with_query(&[NO_DRY_RUN, NODE])
    .answers(&[Answer::json(
        202,
        "The node drains",
        &[SchemaSource::for_type::<DataEnvelope<DrainedNode>>()],
    )])
    .refuses(&[421]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/actors",
        "listActors",
        Tag::Engine,
        "Shows the supervision tree and its last events",
    )
    .answers(&[Answer::json(200, "The tree", &[SchemaSource::for_type::<DataEnvelope<ActorTree>>()])]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/actors/{path}/restart",
        "restartActor",
        Tag::Engine,
        "Restarts an actor, or every actor of a group; ends a quarantine",
    )
    .path_parameters(&[PathParameter::new("path", "Path of the node, with its slashes", "traces/recorder")])
    .with_query(&[NO_DRY_RUN, NODE])
    .answers(&[Answer::json(200, "The node", &[SchemaSource::for_type::<DataEnvelope<ActorNode>>()])])
    .refuses(&[409, 421]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/kafka/partitions",
        "listKafkaPartitions",
        Tag::Engine,
        "Lists the partitions that are assigned to this node",
    )
    .answers(&[Answer::json(
        200,
        "The partitions",
        &[SchemaSource::for_type::<ListEnvelope<AssignedPartition>>()],
    )]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/kafka/partitions/{topic}/{partition}/skip",
        "skipKafkaRecord",
        Tag::Engine,
        "Writes the record that a partition holds back to the topic of dead letters",
    )
    .path_parameters(&[
        PathParameter::new("topic", "The topic", "orders"),
        PathParameter::new("partition", "The number of the partition", "0"),
    ])
    .with_query(&[
        NO_DRY_RUN,
        NODE,
        QueryParameter::new("offset", Natural, "Only if the record at this offset is the one held back"),
        QueryParameter::new(
            "until_offset",
            Natural,
            "Gives up also the records before this offset at which an attempt fails; at most 1000 above the held one",
        ),
    ])
    .answers(&[Answer::json(
        200,
        "The record is a dead letter",
        &[SchemaSource::for_type::<DataEnvelope<SkippedRecord>>()],
    )])
    .refuses(&[409, 421]),
];
