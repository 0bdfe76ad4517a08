//! Endpoints of webhooks to customers.

use crate::endpoint::{
    Access, Answer, DRY_RUN, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, LIMIT, Method, NO_DRY_RUN, OFFSET,
    SchemaSource, Tag,
};
use crate::envelope::{DataEnvelope, PageEnvelope};
use crate::names::{WEBHOOK_DELIVERY_STATES, WEBHOOK_STATES};
use crate::parameter::{ParameterKind, PathParameter, QueryParameter};
use crate::server::webhooks::{
    OwnWebhookDetail, WebhookAttemptDetail, WebhookDeliveryDetail, WebhookDetail, WebhookEnabling,
    WebhookPatch, WebhookRegistration, WebhookReplayRequest, WebhookReplayResult, WebhookRotation,
    WebhookTest,
};

const ID: &[PathParameter] =
    &[PathParameter::new("id", "Id of the endpoint", "0190a1b2-0000-7000-8000-000000000000")];

const WEBHOOK: SchemaSource = SchemaSource::for_type::<DataEnvelope<WebhookDetail>>();
const PAGE: SchemaSource = SchemaSource::for_type::<PageEnvelope<WebhookDetail>>();
const OWN_PAGE: SchemaSource = SchemaSource::for_type::<PageEnvelope<OwnWebhookDetail>>();
const ATTEMPTS: SchemaSource = SchemaSource::for_type::<PageEnvelope<WebhookAttemptDetail>>();
const DELIVERIES: SchemaSource = SchemaSource::for_type::<PageEnvelope<WebhookDeliveryDetail>>();
const REPLAY: SchemaSource = SchemaSource::for_type::<DataEnvelope<WebhookReplayResult>>();
const TEST: SchemaSource = SchemaSource::for_type::<DataEnvelope<WebhookTest>>();

const SINCE: &str = r#"{"since": "2026-01-01T00:00:00Z", "failed_only": true}"#;

const fn endpoint(method: Method, path: &'static str, id: &'static str, summary: &'static str) -> Endpoint {
    Endpoint::new(method, path, id, Tag::Webhooks, summary)
}

/// Describes an endpoint of the data plane for a consumer with its own API key.
const fn own(method: Method, path: &'static str, id: &'static str, summary: &'static str) -> Endpoint {
    Endpoint::new(method, path, id, Tag::Data, summary).with_access(Access::Consumer).refuses(&[401])
}

pub(super) const ENDPOINTS: &[Endpoint] = &[
    endpoint(Method::Get, "/api/v1/admin/webhooks", "listWebhooks", "Lists the endpoints, oldest first")
        .with_query(&[
            QueryParameter::new("consumer", ParameterKind::Text, "Only endpoints of this consumer"),
            QueryParameter::new("state", ParameterKind::OneOf(WEBHOOK_STATES), "Only endpoints in this state"),
            LIMIT,
            OFFSET,
        ])
        .answers(&[Answer::json(200, "A page of endpoints", &[PAGE])]),
    endpoint(Method::Post, "/api/v1/admin/webhooks", "createWebhook", "Registers an endpoint")
        .describes(
            "The endpoint gets a signed `POST` of type `webhook.challenge`, whose `data.challenge` it must echo with a 2xx: \
             as the member `challenge` of a JSON object, or as plain text. Until it has, it is `unverified` and gets \
             nothing. The secret is shown in this response alone.",
        )
        .with_query(&[DRY_RUN_PARAMETER])
        .takes::<WebhookRegistration>(
            r#"{"url": "https://hooks.example.com/in", "topics": ["order.paid"], "connector": "customers"}"#,
        )
        .answers(&[Answer::json(201, "The endpoint, with its secret", &[WEBHOOK]), DRY_RUN])
        .refuses(&[409]),
    endpoint(Method::Get, "/api/v1/admin/webhooks/{id}", "getWebhook", "Reads an endpoint")
        .path_parameters(ID)
        .answers(&[Answer::json(200, "The endpoint", &[WEBHOOK])]),
    endpoint(Method::Patch, "/api/v1/admin/webhooks/{id}", "updateWebhook", "Changes an endpoint")
        .describes("With another `url` the endpoint is challenged again, and gets nothing until it is verified.")
        .path_parameters(ID)
        .with_query(&[DRY_RUN_PARAMETER])
        .takes::<WebhookPatch>(r#"{"topics": ["order.paid", "order.sent"]}"#)
        .answers(&[Answer::json(200, "The endpoint", &[WEBHOOK, DRY_RUN_REPORT])]),
    endpoint(Method::Delete, "/api/v1/admin/webhooks/{id}", "deleteWebhook", "Deletes an endpoint")
        .describes("What it was to get is not sent any more.")
        .path_parameters(ID)
        .with_query(&[DRY_RUN_PARAMETER])
        .answers(&[Answer::empty(204, "The endpoint is deleted"), DRY_RUN]),
    endpoint(
        Method::Post,
        "/api/v1/admin/webhooks/{id}/enable",
        "enableWebhook",
        "Enables an endpoint that is unverified or disabled",
    )
    .describes("It is challenged first; `\"verify\": false` enables it without.")
    .path_parameters(ID)
    .with_query(&[NO_DRY_RUN])
    .may_take::<WebhookEnabling>(r#"{"verify": false}"#)
    .answers(&[Answer::json(200, "The endpoint", &[WEBHOOK])])
    .refuses(&[409]),
    endpoint(
        Method::Post,
        "/api/v1/admin/webhooks/{id}/rotate",
        "rotateWebhookSecret",
        "Replaces the secret of an endpoint",
    )
    .describes("Messages carry a signature of each secret until the overlap ends.")
    .path_parameters(ID)
    .with_query(&[DRY_RUN_PARAMETER])
    .may_take::<WebhookRotation>(r#"{"overlap_secs": 3600}"#)
    .answers(&[Answer::json(200, "The endpoint, with the new secret", &[WEBHOOK, DRY_RUN_REPORT])]),
    endpoint(
        Method::Post,
        "/api/v1/admin/webhooks/{id}/test",
        "testWebhook",
        "Sends a test event to an endpoint and waits for its answer",
    )
    .path_parameters(ID)
    .with_query(&[NO_DRY_RUN])
    .answers(&[Answer::json(200, "The outcome", &[TEST])])
    .refuses(&[409]),
    endpoint(
        Method::Post,
        "/api/v1/admin/webhooks/{id}/replay",
        "replayWebhooks",
        "Makes ended deliveries again that were accepted since an instant",
    )
    .describes("Receivers see the same `webhook-id` as before. One call takes 10000 deliveries.")
    .path_parameters(ID)
    .with_query(&[DRY_RUN_PARAMETER])
    .takes::<WebhookReplayRequest>(SINCE)
    .answers(&[Answer::json(200, "The number of deliveries", &[REPLAY, DRY_RUN_REPORT])])
    .refuses(&[409]),
    endpoint(
        Method::Get,
        "/api/v1/admin/webhooks/{id}/attempts",
        "listWebhookAttempts",
        "Lists the attempts at an endpoint, newest first",
    )
    .path_parameters(ID)
    .with_query(&[LIMIT, OFFSET])
    .answers(&[Answer::json(200, "A page of attempts", &[ATTEMPTS])]),
    endpoint(
        Method::Get,
        "/api/v1/admin/webhooks/{id}/deliveries",
        "listWebhookDeliveries",
        "Lists the deliveries to an endpoint, newest first; those that failed are its dead letters",
    )
    .path_parameters(ID)
    .with_query(&[
        QueryParameter::new(
            "state",
            ParameterKind::OneOf(WEBHOOK_DELIVERY_STATES),
            "Only deliveries in this state",
        ),
        LIMIT,
        OFFSET,
    ])
    .answers(&[Answer::json(200, "A page of deliveries", &[DELIVERIES])]),
    own(Method::Get, "/api/v1/data/webhooks", "listOwnWebhooks", "Lists the endpoints of the consumer")
        .with_query(&[LIMIT, OFFSET])
        .answers(&[Answer::json(200, "A page of endpoints", &[OWN_PAGE])]),
    own(
        Method::Get,
        "/api/v1/data/webhooks/{id}/attempts",
        "listOwnWebhookAttempts",
        "Lists the attempts at an endpoint of the consumer",
    )
    .path_parameters(ID)
    .with_query(&[LIMIT, OFFSET])
    .answers(&[Answer::json(200, "A page of attempts", &[ATTEMPTS])]),
    own(
        Method::Post,
        "/api/v1/data/webhooks/{id}/test",
        "testOwnWebhook",
        "Sends a test event to an endpoint of the consumer",
    )
    .path_parameters(ID)
    .answers(&[Answer::json(200, "The outcome", &[TEST])])
    .refuses(&[401, 409]),
    own(
        Method::Post,
        "/api/v1/data/webhooks/{id}/replay",
        "replayOwnWebhooks",
        "Makes ended deliveries to an endpoint of the consumer again",
    )
    .path_parameters(ID)
    .takes::<WebhookReplayRequest>(SINCE)
    .answers(&[Answer::json(200, "The number of deliveries", &[REPLAY])])
    .refuses(&[401, 409]),
];
