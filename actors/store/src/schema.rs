//! The tables, as the migrations of both backends leave them.

mod customers;

use diesel::table;

pub(crate) use customers::{
    consumer_keys, consumers, webhook_attempts, webhook_deliveries, webhook_endpoints, webhook_topics,
};

table! {
    /// One row per version of a workflow or a channel, and one per connector.
    definitions (kind, id, version) {
        kind -> Text,
        id -> Text,
        version -> BigInt,
        status -> Nullable<Text>,
        name -> Text,
        rollout -> BigInt,
        content -> Text,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        is_latest -> Bool,
        priority -> BigInt,
        #[sql_name = "type"]
        type_ -> Nullable<Text>,
        protocol -> Nullable<Text>,
        route_shape -> Nullable<Text>,
        workflow_id -> Nullable<Text>,
        tags -> Text,
    }
}

table! {
    /// Tokens of connectors.
    connector_oauth_state (connector_name) {
        connector_name -> Text,
        fingerprint -> Text,
        state_json -> Text,
        updated_at -> Timestamp,
    }
}

table! {
    /// Audit records of changes.
    audit_logs (id) {
        id -> Text,
        principal -> Text,
        action -> Text,
        resource_type -> Text,
        resource_id -> Text,
        details -> Nullable<Text>,
        created_at -> Timestamp,
    }
}

table! {
    /// A single row that counts the changes of the active configuration, and serializes mutations.
    config_epoch (id) {
        id -> BigInt,
        epoch -> BigInt,
        breaker_epoch -> BigInt,
        breaker_key -> Text,
        updated_at -> Timestamp,
    }
}

table! {
    /// The changes of the served configuration, by the epoch that each made.
    config_changes (epoch) {
        epoch -> BigInt,
        kind -> Text,
        entity_id -> Text,
        change_id -> Text,
    }
}

table! {
    /// The circuit breakers that were reset, in order.
    breaker_resets (sequence) {
        sequence -> BigInt,
        breaker_key -> Text,
        change_id -> Text,
    }
}

table! {
    /// The channels that are paused.
    channel_pauses (channel_id) {
        channel_id -> Text,
        paused_since -> Timestamp,
        paused_until -> Nullable<Timestamp>,
        paused_by -> Text,
        reason -> Text,
    }
}

table! {
    /// The failures of channels that pause themselves.
    channel_failures (id) {
        id -> Text,
        channel_id -> Text,
        failed_at -> Timestamp,
    }
}

table! {
    /// Receipts of applied packages.
    packages (name, version) {
        name -> Text,
        version -> Text,
        content_hash -> Text,
        state -> Text,
        principal -> Text,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        inventory_json -> Nullable<Text>,
    }
}

table! {
    /// Leases of jobs that only one node at a time may run.
    job_leases (job_name) {
        job_name -> Text,
        holder -> Text,
        expires_at -> Timestamp,
    }
}

table! {
    /// One row per traced run.
    traces (id) {
        id -> Text,
        channel -> Text,
        channel_id -> Nullable<Text>,
        mode -> Text,
        status -> Text,
        input_json -> Nullable<Text>,
        result_json -> Nullable<Text>,
        error_message -> Nullable<Text>,
        duration_ms -> Nullable<Double>,
        started_at -> Nullable<Timestamp>,
        completed_at -> Nullable<Timestamp>,
        task_trace_json -> Nullable<Text>,
        access_token_hash -> Nullable<Text>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        owner -> Nullable<Text>,
        recoveries -> BigInt,
        workflow_id -> Nullable<Text>,
        workflow_version -> Nullable<BigInt>,
        request_id -> Nullable<Text>,
        error_code -> Nullable<Text>,
        attempt -> BigInt,
        attempt_of -> Nullable<Text>,
        next_retry_at -> Nullable<Timestamp>,
        first_attempt_json -> Nullable<Text>,
        deliver_at -> Nullable<Timestamp>,
        waiting -> Nullable<Text>,
        waits_until -> Nullable<Timestamp>,
        queue_channel -> Nullable<Text>,
        queue_key -> Nullable<Text>,
        error_group -> Nullable<Text>,
        cancel_requested_at -> Nullable<Timestamp>,
        cancelled_by -> Nullable<Text>,
        cancel_reports -> Nullable<Bool>,
        in_flight_json -> Nullable<Text>,
        rerun_of -> Nullable<Text>,
        run_key -> Nullable<Text>,
        awaited_channel -> Nullable<Text>,
        distributed_trace_id -> Nullable<Text>,
    }
}

table! {
    /// The key of each channel with shares that had the last turn.
    queue_turns (channel_id) {
        channel_id -> Text,
        last_key -> Text,
    }
}

table! {
    /// The lease of each process.
    nodes (id) {
        id -> Text,
        version -> Text,
        pid -> BigInt,
        started_at -> Timestamp,
        renewed_at -> Timestamp,
        lease_until -> Timestamp,
        stopped_at -> Nullable<Timestamp>,
        emptied_at -> Nullable<Timestamp>,
        applied_epoch -> Nullable<BigInt>,
        encryption_key_ids -> Nullable<Text>,
    }
}

table! {
    /// Failed asynchronous runs that wait for another attempt.
    trace_dlq (id) {
        id -> Text,
        trace_id -> Text,
        channel -> Text,
        payload_json -> Text,
        metadata_json -> Text,
        error_message -> Text,
        retry_count -> BigInt,
        max_retries -> BigInt,
        next_retry_at -> Timestamp,
        claimed_by -> Nullable<Text>,
        claimed_until -> Nullable<Timestamp>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        attempt_of -> Nullable<Text>,
        error_group -> Nullable<Text>,
        awaited_channel -> Nullable<Text>,
    }
}

table! {
    /// Groups of failures by their cause.
    error_groups (id) {
        id -> Text,
        channel -> Text,
        workflow_id -> Nullable<Text>,
        task_id -> Nullable<Text>,
        code -> Nullable<Text>,
        status -> Nullable<BigInt>,
        message -> Text,
        first_seen -> Timestamp,
        seen_at -> Timestamp,
    }
}

table! {
    /// Failures by error group and minute since 1970.
    error_counts (minute, error_group) {
        minute -> BigInt,
        error_group -> Text,
        failures -> BigInt,
    }
}

table! {
    /// The figures of each node.
    node_figures (node_id) {
        node_id -> Text,
        figures_json -> Text,
        written_at -> Timestamp,
    }
}

table! {
    /// The cursor of each schedule.
    cron_schedule_state (channel_id) {
        channel_id -> Text,
        channel_version -> BigInt,
        config_hash -> Text,
        next_fire_at -> Timestamp,
        paused_at -> Nullable<Timestamp>,
        updated_at -> Timestamp,
    }
}

table! {
    /// One row per instant of a schedule.
    cron_occurrences (id) {
        id -> Text,
        channel_id -> Text,
        channel_name -> Text,
        channel_version -> BigInt,
        executing_version -> Nullable<BigInt>,
        workflow_id -> Nullable<Text>,
        #[sql_name = "trigger"]
        trigger_kind -> Text,
        scheduled_for -> Timestamp,
        status -> Text,
        attempt -> BigInt,
        claimed_by -> Nullable<Text>,
        claimed_until -> Nullable<Timestamp>,
        singleton_key -> Nullable<Text>,
        singleton_slot -> Nullable<BigInt>,
        fencing_token -> Nullable<BigInt>,
        trace_id -> Nullable<Text>,
        error_message -> Nullable<Text>,
        started_at -> Nullable<Timestamp>,
        completed_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        recoveries -> BigInt,
        claims -> BigInt,
        attempt_counted -> Bool,
        error_group -> Nullable<Text>,
        cancel_requested_at -> Nullable<Timestamp>,
        cancelled_by -> Nullable<Text>,
        cancel_reports -> Nullable<Bool>,
        workflow_version -> Nullable<BigInt>,
        bulk_run_id -> Nullable<Text>,
        awaited_channel -> Nullable<Text>,
    }
}

table! {
    /// Slots held by running occurrences.
    cron_singletons (singleton_key, slot) {
        singleton_key -> Text,
        slot -> BigInt,
        occurrence_id -> Text,
        holder -> Text,
        fencing_token -> BigInt,
        lease_until -> Timestamp,
        updated_at -> Timestamp,
    }
}

table! {
    /// Checksums of the migrations that were run.
    migration_checksums (version) {
        version -> Text,
        checksum -> Text,
        requires -> Nullable<Text>,
    }
}

table! {
    /// Actions on many rows.
    bulk_runs (id) {
        id -> Text,
        kind -> Text,
        action -> Text,
        filter_json -> Text,
        instants_json -> Nullable<Text>,
        rate_per_second -> BigInt,
        state -> Text,
        matched -> BigInt,
        done -> BigInt,
        failed -> BigInt,
        skipped -> BigInt,
        errors_json -> Text,
        reason -> Nullable<Text>,
        position -> Nullable<Text>,
        holder -> Nullable<Text>,
        held_until -> Nullable<Timestamp>,
        started_by -> Text,
        started_at -> Timestamp,
        ended_at -> Nullable<Timestamp>,
    }
}

table! {
    /// Answers that repeats of a request get.
    kept_answers (name) {
        name -> Text,
        entry -> Text,
        expires_at -> Timestamp,
    }
}

table! {
    /// Requests that were counted against quotas.
    quota_counts (channel_id, quota_key, slice) {
        channel_id -> Text,
        quota_key -> Text,
        slice -> BigInt,
        used -> BigInt,
        ends_at -> Timestamp,
    }
}

table! {
    /// The last rollout of each workflow that moves by itself.
    canary_rollouts (workflow_id) {
        workflow_id -> Text,
        rollout_id -> Text,
        canary_version -> BigInt,
        stable_version -> BigInt,
        plan -> Text,
        state -> Text,
        reason -> Nullable<Text>,
        step -> BigInt,
        looks -> BigInt,
        figures -> Nullable<Text>,
        step_since -> Timestamp,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

table! {
    /// The outcomes of the versions of a rollout, as nodes have counted them.
    canary_outcomes (rollout_id, step, version, reporter) {
        rollout_id -> Text,
        step -> BigInt,
        version -> BigInt,
        reporter -> Text,
        runs -> BigInt,
        errors -> BigInt,
        durations -> Text,
    }
}

table! {
    /// The messages that both versions of a rollout ran, as nodes have counted them.
    shadow_outcomes (rollout_id, step, reporter) {
        rollout_id -> Text,
        step -> BigInt,
        reporter -> Text,
        runs -> BigInt,
        different -> BigInt,
    }
}

table! {
    /// The recorded runs.
    run_recordings (id) {
        id -> Text,
        run_id -> Text,
        run_key -> Text,
        channel_id -> Text,
        channel -> Text,
        workflow_id -> Nullable<Text>,
        workflow_version -> Nullable<BigInt>,
        source -> Text,
        outcome -> Text,
        recording_json -> Text,
        bytes -> BigInt,
        created_at -> Timestamp,
    }
}

table! {
    /// One row per version of a plugin.
    plugins (id, version) {
        id -> Text,
        version -> BigInt,
        status -> Text,
        manifest -> Text,
        digest -> Text,
        signature -> Nullable<Text>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

table! {
    /// The components of plugins.
    plugin_components (digest) {
        digest -> Text,
        component -> Text,
        bytes -> BigInt,
        created_at -> Timestamp,
    }
}

table! {
    /// Backtests of workflows and channels.
    backtests (id) {
        id -> Text,
        kind -> Text,
        definition -> Text,
        version -> BigInt,
        terms_json -> Text,
        run_limit -> BigInt,
        state -> Text,
        done -> BigInt,
        position -> Nullable<Text>,
        report_json -> Nullable<Text>,
        reason -> Nullable<Text>,
        holder -> Nullable<Text>,
        held_until -> Nullable<Timestamp>,
        started_by -> Text,
        started_at -> Timestamp,
        ended_at -> Nullable<Timestamp>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(cron_schedule_state, cron_occurrences);
diesel::allow_tables_to_appear_in_same_query!(definitions, connector_oauth_state);
diesel::allow_tables_to_appear_in_same_query!(traces, nodes);
diesel::allow_tables_to_appear_in_same_query!(job_leases, nodes);
diesel::allow_tables_to_appear_in_same_query!(bulk_runs, nodes);
diesel::allow_tables_to_appear_in_same_query!(backtests, nodes);
diesel::allow_tables_to_appear_in_same_query!(node_figures, nodes);
