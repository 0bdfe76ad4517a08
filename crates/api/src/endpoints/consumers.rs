//! Endpoints of consumers.

use crate::endpoint::{
    Answer, DRY_RUN, DRY_RUN_PARAMETER, DRY_RUN_REPORT, Endpoint, LIMIT, Method, OFFSET, SchemaSource, TAG,
    Tag,
};
use crate::entities::consumers::{
    ConsumerChange, ConsumerDetail, ConsumerKeyDetail, ConsumerKeyRequest, ConsumerRequest,
    CreatedConsumerKey,
};
use crate::envelope::{DataEnvelope, ListEnvelope, PageEnvelope};
use crate::parameter::PathParameter;

const NAME: &[PathParameter] = &[PathParameter::new("name", "Name of the consumer", "acme")];

const KEY: &[PathParameter] = &[
    PathParameter::new("name", "Name of the consumer", "acme"),
    PathParameter::new("id", "Id of the key", "01890a5d-ac96-774b-bcce-b302099a8057"),
];

const ONE: SchemaSource = SchemaSource::for_type::<DataEnvelope<ConsumerDetail>>();

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint::new(Method::Get, "/api/v1/admin/consumers", "listConsumers", Tag::Consumers, "Lists the consumers by name")
        .with_query(&[TAG, LIMIT, OFFSET])
        .answers(&[Answer::json(200, "A page of consumers", &[SchemaSource::for_type::<PageEnvelope<ConsumerDetail>>()])]),
    Endpoint::new(Method::Post, "/api/v1/admin/consumers", "createConsumer", Tag::Consumers, "Creates a consumer without keys")
        .describes("It serves on every node within two seconds, as every change of a consumer does.")
        .with_query(&[DRY_RUN_PARAMETER])
        .takes::<ConsumerRequest>(r#"{"name": "acme", "tags": ["gold"], "quota": {"limit": 10000, "per": "day"}}"#)
        .answers(&[Answer::json(201, "The consumer", &[ONE]), DRY_RUN])
        .refuses(&[409]),
    Endpoint::new(Method::Get, "/api/v1/admin/consumers/{name}", "getConsumer", Tag::Consumers, "Reads a consumer")
        .path_parameters(NAME)
        .answers(&[Answer::json(200, "The consumer", &[ONE])]),
    Endpoint::new(
        Method::Patch,
        "/api/v1/admin/consumers/{name}",
        "changeConsumer",
        Tag::Consumers,
        "Changes tags, quota or end of a consumer",
    )
    .path_parameters(NAME)
    .with_query(&[DRY_RUN_PARAMETER])
    .takes::<ConsumerChange>(r#"{"tags": ["gold", "eu"]}"#)
    .answers(&[Answer::json(200, "The consumer; with `dry_run=true` the report", &[ONE, DRY_RUN_REPORT])]),
    Endpoint::new(
        Method::Delete,
        "/api/v1/admin/consumers/{name}",
        "deleteConsumer",
        Tag::Consumers,
        "Deletes a consumer with its keys",
    )
    .path_parameters(NAME)
    .with_query(&[DRY_RUN_PARAMETER])
    .answers(&[Answer::empty(204, "The consumer is deleted"), DRY_RUN]),
    Endpoint::new(
        Method::Get,
        "/api/v1/admin/consumers/{name}/keys",
        "listConsumerKeys",
        Tag::Consumers,
        "Lists the keys of a consumer without their secrets, the oldest first",
    )
    .path_parameters(NAME)
    .answers(&[Answer::json(200, "The keys", &[SchemaSource::for_type::<ListEnvelope<ConsumerKeyDetail>>()])]),
    Endpoint::new(
        Method::Post,
        "/api/v1/admin/consumers/{name}/keys",
        "createConsumerKey",
        Tag::Consumers,
        "Creates a key of a consumer",
    )
    .describes(
        "The response alone has the secret. Other keys of the consumer stay: a rotation creates the next key, hands it \
         over, and deletes the one before. A consumer has ten keys at most.",
    )
    .path_parameters(NAME)
    .with_query(&[DRY_RUN_PARAMETER])
    .takes::<ConsumerKeyRequest>(r#"{"kind": "api_key"}"#)
    .answers(&[
        Answer::json(201, "The key with its secret", &[SchemaSource::for_type::<DataEnvelope<CreatedConsumerKey>>()]),
        DRY_RUN,
    ])
    .refuses(&[409]),
    Endpoint::new(
        Method::Delete,
        "/api/v1/admin/consumers/{name}/keys/{id}",
        "deleteConsumerKey",
        Tag::Consumers,
        "Deletes a key of a consumer",
    )
    .path_parameters(KEY)
    .with_query(&[DRY_RUN_PARAMETER])
    .answers(&[Answer::empty(204, "The key is deleted"), DRY_RUN]),
];
