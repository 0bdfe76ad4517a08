//! The tables of consumers and of the endpoints that they registered.

use diesel::table;

table! {
    /// The holders of keys that channels may accept.
    consumers (name) {
        name -> Text,
        tags -> Text,
        quota -> Nullable<Text>,
        expires_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

table! {
    /// The keys of consumers.
    consumer_keys (id) {
        id -> Text,
        consumer -> Text,
        kind -> Text,
        secret -> Text,
        expires_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
    }
}

table! {
    /// The addresses of customers that get webhooks.
    webhook_endpoints (id) {
        id -> Text,
        url -> Text,
        consumer -> Nullable<Text>,
        connector -> Text,
        secrets_json -> Text,
        state -> Text,
        reason -> Nullable<Text>,
        failing_since -> Nullable<Timestamp>,
        verified_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

table! {
    /// The topics of each endpoint.
    webhook_topics (topic, endpoint_id) {
        topic -> Text,
        endpoint_id -> Text,
    }
}

table! {
    /// One row for each event and endpoint.
    webhook_deliveries (id) {
        id -> Text,
        endpoint_id -> Text,
        webhook_id -> Text,
        topic -> Text,
        payload -> Text,
        state -> Text,
        attempts -> BigInt,
        claim -> BigInt,
        claimed_by -> Nullable<Text>,
        due_at -> Timestamp,
        last_status -> Nullable<BigInt>,
        last_error -> Nullable<Text>,
        created_at -> Timestamp,
        ended_at -> Nullable<Timestamp>,
    }
}

table! {
    /// The attempts at deliveries, and the test events.
    webhook_attempts (id) {
        id -> Text,
        endpoint_id -> Text,
        webhook_id -> Text,
        topic -> Text,
        attempt -> BigInt,
        status -> Nullable<BigInt>,
        error -> Nullable<Text>,
        duration_ms -> BigInt,
        created_at -> Timestamp,
    }
}

diesel::allow_tables_to_appear_in_same_query!(webhook_endpoints, webhook_topics);
diesel::allow_tables_to_appear_in_same_query!(webhook_endpoints, webhook_deliveries);
