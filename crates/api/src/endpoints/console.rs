//! Endpoints of the console: the live stream, the configuration in effect, and the errors of the last hour.

use crate::endpoint::{Answer, Endpoint, Method, SchemaSource, Tag};
use crate::envelope::DataEnvelope;
use crate::error_groups::RecentErrorCounts;
use crate::parameter::ParameterKind::{Boolean, Integer, SeveralOf};
use crate::parameter::QueryParameter;
use crate::server::config::EffectiveConfig;
use crate::server::live::{LiveChanges, LiveEnd, LivePicture};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/live",
        "streamLive",
        Tag::Engine,
        "Streams what happens on this node as server-sent events",
    )
    .describes(
        "Begins with the event `picture` (`LivePicture`), followed by `changes` (`LiveChanges`) once a second. The last \
         event of a stream that the server ends is `end` (`LiveEnd`): the node is stopping, or the key is no longer \
         accepted. A reader that sends the id of its last event in `Last-Event-ID` gets the events since, at most five \
         minutes back; otherwise, and if it reads too slowly, it gets a new `picture`. 404 where the console is off, 503 \
         beyond `server.console.max_viewers` streams.",
    )
    .with_query(&[
        QueryParameter::new(
            "history",
            SeveralOf(&["hour", "day"]),
            "Adds the history to the first picture: of the last hour by seconds, of the last day by minutes",
        ),
        QueryParameter::new("once", Boolean, "`true` ends the stream after the first picture"),
    ])
    .answers(&[Answer::events(
        200,
        "The events",
        &[
            SchemaSource::for_type::<LivePicture>(),
            SchemaSource::for_type::<LiveChanges>(),
            SchemaSource::for_type::<LiveEnd>(),
        ],
    )])
    .refuses(&[404]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/config",
        "getConfig",
        Tag::Engine,
        "Shows the configuration in effect on this node, secrets struck out, each value with its source",
    )
    .answers(&[Answer::json(
        200,
        "The configuration",
        &[SchemaSource::for_type::<DataEnvelope<EffectiveConfig>>()],
    )]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/errors/recent",
        "listRecentErrors",
        Tag::Traces,
        "Shows the most frequent errors of the last hour by counts that each node keeps a minute each",
    )
    .describes(
        "Cheap whatever the number of failures. A count lacks what other nodes have counted in the last ten seconds, \
         counts each attempt at accepted work, and lacks the failures of nodes whose console is off. `GET \
         /api/v1/admin/errors` counts the failures that are stored, each once.",
    )
    .with_query(&[
        QueryParameter::new("minutes", Integer, "Length of the window; 60 by default, moved into 1 to 60"),
        QueryParameter::new("limit", Integer, "Maximum number of groups; 20 by default, moved into 1 to 200"),
    ])
    .answers(&[Answer::json(
        200,
        "The groups",
        &[SchemaSource::for_type::<DataEnvelope<RecentErrorCounts>>()],
    )]),
];
