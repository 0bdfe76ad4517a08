//! Tests of the store on SQLite and on a real PostgreSQL.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod suite;

/// Makes each case a test of each backend.
macro_rules! on_both {
    ($($module:ident :: $case:ident,)*) => {
        mod sqlite {
            $(#[test] fn $case() { crate::suite::database::on_sqlite(crate::suite::$module::$case); })*
        }
        mod postgres {
            $(#[test] fn $case() { crate::suite::database::on_postgres(crate::suite::$module::$case); })*
        }
    };
}

/// Makes each case a test that starts the servers which it needs.
macro_rules! on_their_own {
    ($($module:ident :: $case:ident,)*) => { $(#[test] fn $case() { suite::$module::$case(); })* };
}

on_both! {
    schema::migrations_run_once_and_back,
    definitions::database_holds_what_a_model_does,
    earlier::earlier_database_is_taken_over_whole,
    earlier::taken_over_schema_equals_a_fresh_one,
    earlier::secrets_of_earlier_databases_move_with_their_keys,
    earlier::earlier_database_without_its_keys_is_refused,
    earlier::live_node_refuses_the_takeover,
    earlier::earlier_database_in_part_is_refused,
    earlier::one_of_many_takes_over_others_wait,
    earlier::damaged_definitions_are_taken_over_as_damaged,
    inspect::database_is_measured_without_a_change,
    inspect::pending_migrations_are_listed_without_a_change,
    inspect::stored_definitions_are_read_without_a_change,
    inspect::database_of_a_newer_program_is_refused,
    schema::one_of_many_migrates_others_wait,
    schema::a_fresh_schema_equals_a_migrated_one,
    schema::a_newer_schema_is_refused_by_name,
    schema::newer_schema_with_only_additions_is_accepted,
    schema::an_altered_migration_refuses_the_start_by_name,
    schema::pending_migrations_are_refused_when_they_must_not_run,
    schema::the_tables_are_those_the_queries_know,
    schema::page_of_traces_is_read_from_an_index,
    schema::claim_finds_waiting_rows_among_ended_ones,
    schema::connector_names_are_unique,
    schema::database_keeps_one_draft_and_frozen_versions,
    schema::database_marks_the_latest_version_of_every_program,
    workflows::a_workflow_is_stored_whole,
    workflows::an_id_is_taken_once,
    workflows::a_draft_is_edited_and_nothing_else,
    workflows::versions_follow_one_another,
    workflows::second_canary_is_refused_unless_it_replaces_the_first,
    workflows::rollback_makes_a_version_of_the_one_active_before,
    workflows::change_based_on_another_state_is_refused,
    workflows::a_rollout_moves_the_split,
    rollouts::canary_is_moved_once_for_each_step,
    rollouts::share_by_hand_needs_override,
    rollouts::operator_steers_open_canary_alone,
    rollouts::canary_needs_older_active_version,
    rollouts::reports_add_up_by_step_and_version,
    rollouts::shadow_keeps_newer_version_active_without_traffic,
    connectors::a_connector_is_stored_changed_and_removed,
    connectors::name_is_unique_and_kept_while_used,
    connectors::an_import_goes_by_the_name,
    connectors::import_raises_the_epoch_once,
    connectors::settings_are_read_under_current_or_former_key,
    connectors::settings_open_after_rename_but_not_as_copy,
    connectors::older_settings_are_read_and_bound_by_rewriting,
    token_states::next_turn_finds_tokens_of_the_last,
    token_states::of_many_at_once_one_has_the_turn,
    token_states::overtaken_save_keeps_nothing,
    token_states::tokens_follow_their_connector_and_its_end,
    token_states::turn_follows_connector_rename,
    token_states::tokens_are_encrypted_and_move_to_another_key,
    token_states::tokens_are_bound_to_their_connector_whatever_its_name,
    workflows::an_activation_names_every_connector_that_is_missing,
    workflows::encrypted_settings_are_judged_at_activation,
    workflows::lists_filter_sort_and_page,
    workflows::an_import_follows_its_conflict_rule,
    workflows::a_dry_run_leaves_nothing,
    workflows::only_what_is_active_is_loaded,
    channels::a_channel_is_stored_whole,
    channels::a_name_belongs_to_one_channel,
    channels::a_route_belongs_to_one_active_channel,
    channels::a_channel_needs_an_active_workflow,
    channels::a_dry_run_lists_every_objection,
    channels::callback_of_sign_in_claims_its_route,
    channels::a_deleted_channel_is_gone,
    channels::named_channel_is_deleted_only_by_force,
    channels::a_foreign_row_spoils_no_other,
    channels::lists_know_type_and_protocol,
    backtests::backtest_of_dead_node_goes_on,
    backtests::aborted_backtest_keeps_its_report,
    backtests::ended_backtests_are_deleted_after_their_time,
    bulk_runs::third_run_is_refused_with_both_open_ones,
    bulk_runs::letters_are_requeued_once_over_dying_drivers,
    bulk_runs::letters_that_changed_or_are_due_are_skipped,
    bulk_runs::purge_ends_work_that_waited_for_retries,
    bulk_runs::occurrences_are_retried_where_status_allows,
    bulk_runs::ended_runs_are_deleted_after_their_time,
    bulk_runs::history_has_known_occurrences_of_schedule,
    bulk_runs::backfill_keeps_its_bound_and_runs_last,
    bulk_runs::skipped_rows_are_used_again_by_backfill,
    bulk_runs::work_and_occurrences_are_cancelled_once,
    bulk_runs::trace_is_run_again_once_with_its_input,
    bulk_runs::held_run_stays_until_aborted,
    bulk_runs::run_keeps_its_first_hundred_errors,
    channel_pauses::pause_is_stored_replaced_and_ended,
    channel_pauses::pause_of_several_channels_is_one_change,
    channel_pauses::impossible_pause_leaves_nothing,
    channel_pauses::pause_ends_at_its_time_and_with_channel,
    channel_pauses::repeated_failure_within_time_pauses_channel_once,
    channel_pauses::failure_reported_twice_counts_once,
    channel_pauses::retries_of_paused_channel_rest_until_resume,
    channel_pauses::failed_resume_frees_nothing,
    channel_pauses::run_that_called_paused_channel_rests,
    consumers::consumer_is_created_changed_and_deleted,
    consumers::consumers_are_listed_by_tag,
    consumers::consumer_keys_are_kept_apart_and_bounded,
    consumers::consumer_secrets_are_hashed_or_sealed,
    consumers::unknown_bounds_close_one_consumer_alone,
    kept_answers::kept_answer_has_one_claim_until_expiry,
    kept_answers::kept_answer_is_changed_by_its_owner,
    kept_answers::expired_answers_are_deleted_in_steps,
    quota_counts::reservations_never_exceed_the_limit,
    quota_counts::unused_requests_come_back,
    quota_counts::ended_quota_windows_are_deleted,
    plugins::plugin_has_one_draft_and_one_active_version,
    plugins::component_is_kept_while_a_version_has_it,
    plugins::imported_plugin_is_a_draft_of_what_differs,
    plugins::plugin_that_workflows_call_is_kept,
    recordings::recordings_are_listed_and_deleted_by_key,
    recordings::recordings_are_deleted_after_their_time,
    recordings::next_recordings_follow_their_position,
    webhooks::event_becomes_one_row_for_each_endpoint,
    webhooks::claim_excludes_others_until_its_lease_ends,
    webhooks::late_end_of_attempt_changes_nothing,
    webhooks::failures_alone_disable_endpoint_after_their_time,
    webhooks::gone_endpoint_keeps_dead_letters_for_replay,
    webhooks::changed_address_must_be_verified_anew,
    webhooks::next_consumer_sees_no_earlier_delivery,
    webhooks::rotated_secret_signs_with_its_successor,
    webhooks::unreadable_secrets_stop_their_endpoint_alone,
    webhooks::deleted_consumer_leaves_its_endpoints_disabled,
    webhooks::deliveries_without_endpoint_end_with_retention,
    webhooks::expired_deliveries_and_attempts_are_deleted,
    metrics::every_query_is_timed_and_the_pool_is_counted,
    mutations::every_mutation_leaves_its_record,
    mutations::a_refused_mutation_leaves_none,
    mutations::the_epoch_counts_what_serves,
    mutations::records_are_filtered_and_newest_first,
    epoch::each_epoch_tells_what_changed,
    epoch::change_whose_epoch_cannot_be_raised_is_not_applied,
    epoch::resets_of_breakers_follow_each_other,
    epoch::committed_changes_are_announced,
    epoch::job_lease_has_one_holder_until_expiry,
    epoch::job_lease_ends_with_its_holder,
    mutations::nul_character_is_found_nowhere,
    packages::receipt_of_an_applied_version_keeps_its_content,
    packages::receipt_writes_have_distinct_times,
    packages::version_applied_last_is_the_current_one,
    packages::one_of_many_simultaneous_applies_wins,
    packages::dry_run_of_a_receipt_leaves_nothing,
    packages::inventory_stays_until_another_is_told,
    races::one_of_many_activations_of_a_draft_wins,
    races::one_of_many_rollbacks_wins,
    races::activation_on_another_node_is_a_conflict,
    races::refusals_at_once_make_no_conflict,
    races::one_of_many_channels_wins_a_name,
    races::one_of_many_channels_wins_a_route,
    races::many_writers_are_all_answered_and_all_kept,
    races::a_refused_unit_takes_no_neighbour_along,
    writer::a_crash_of_the_writer_is_told_and_survived,
    writer::a_call_waits_for_a_restart_that_is_near,
    writer::a_failed_commit_fails_every_unit_of_it,
    writer::admitted_writes_are_committed_before_shutdown,
    traces::a_trace_is_stored_whole,
    traces::a_run_begins_and_ends_once,
    traces::unmarked_run_keeps_its_start_time,
    traces::the_database_keeps_when_a_trace_was_last_changed,
    traces::a_refused_row_fails_alone,
    traces::rows_of_a_batch_are_stored_together,
    traces::rows_and_units_are_written_together,
    traces::a_failed_commit_fails_every_row_of_it,
    traces::a_crash_of_the_writer_loses_no_row,
    open_traces::open_row_is_written_with_its_end,
    open_traces::end_after_the_open_row_is_a_change,
    open_traces::open_rows_of_a_refused_set_keep_their_ends,
    open_traces::refused_row_ends_trust_until_a_success,
    traces::unfinished_traces_are_found_in_order,
    traces::a_page_of_foreign_rows_hides_none_behind_it,
    traces::expired_traces_are_deleted_in_steps,
    trace_lists::traces_are_filtered_by_request,
    trace_lists::pages_of_channels_merge_statuses_and_modes,
    trace_lists::traffic_counts_recent_runs_of_channel,
    trace_lists::pages_of_statuses_are_merged,
    trace_lists::reruns_are_found_among_runs_of_channel,
    trace_lists::traces_are_found_by_run_key,
    trace_lists::traces_are_sorted_by_duration_code_and_version,
    trace_lists::traces_are_filtered_and_sorted,
    trace_lists::a_cursor_goes_with_the_default_order_only,
    trace_lists::pages_stay_what_they_were_while_rows_arrive,
    trace_lists::pages_by_cursor_are_pages_by_offset,
    trace_lists::cursor_passes_a_whole_second_once,
    trace_lists::a_foreign_row_spoils_no_list,
    error_groups::each_failure_counts_once,
    error_groups::samples_are_failures_that_count,
    error_groups::failure_without_group_gets_one_of_its_message,
    error_groups::group_is_filter_of_every_list,
    error_groups::counts_are_by_status_beside_the_page,
    error_groups::counts_follow_the_words_of_the_list,
    error_groups::cursor_of_another_list_is_refused,
    error_groups::scan_without_index_is_bounded,
    error_groups::hundred_thousand_letters_are_grouped,
    error_groups::unnamed_group_is_deleted_once_old,
    error_groups::failures_of_last_minutes_are_counted,
    error_groups::old_counts_are_in_no_list,
    list_pages::pages_of_occurrences_merge_several_values,
    list_pages::pages_of_letters_merge_several_values,
    list_pages::pages_of_audit_entries_merge_several_values,
    list_pages::traces_of_groups_and_workflows_are_merged,
    list_pages::occurrences_are_found_by_names_of_versions,
    list_pages::rare_rows_are_found_in_bounded_calls,
    list_pages::rare_version_is_found_in_bounded_calls,
    list_pages::rows_of_one_instant_are_read_on,
    list_pages::page_that_ends_within_instant_is_read_on,
    list_pages::many_values_of_two_words_are_found,
    list_pages::total_is_left_out_if_asked,
    list_pages::counts_leave_out_later_attempts,
    dead_letters::a_failed_run_leaves_its_letter_in_one_transaction,
    dead_letters::a_letter_keeps_what_is_no_proper_input,
    dead_letters::failure_report_is_atomic_with_its_letter,
    dead_letters::next_due_passes_over_held_and_exhausted_letters,
    trace_lists::traces_are_filtered_by_the_version_that_ran,
    ledger_runs::failure_report_is_written_with_the_end,
    ledger_runs::occurrence_is_found_by_its_trace,
    dead_letters::letters_are_filtered_and_newest_first,
    dead_letters::letters_are_found_by_the_time_of_their_failure,
    dead_letters::a_requeued_letter_is_due_and_free,
    dead_letters::a_purge_takes_what_is_exhausted_and_old,
    dead_letters::retention_takes_exhausted_letters_and_leaves_waiting_ones,
    dead_letters::a_letter_is_held_by_one,
    dead_letters::a_retry_makes_a_trace_of_the_letter,
    dead_letters::a_letter_put_back_waits,
    dead_letters::simultaneous_end_and_failure_leave_one,
    attempts::work_has_the_state_of_its_newest_attempt,
    attempts::work_without_retries_left_fails_until_requeued,
    attempts::unfinished_accepted_work_outlives_retention,
    waiting::scheduled_work_is_due_by_the_database_clock,
    waiting::waiting_work_belongs_to_no_node,
    waiting::due_work_waits_on_in_line,
    waiting::keys_that_wait_take_turns,
    waiting::shares_are_exact_over_nodes,
    waiting::work_of_dead_node_keeps_its_share,
    waiting::run_that_did_not_begin_is_put_back,
    waiting::retry_takes_the_share_of_its_work,
    waiting::later_attempt_takes_one_share,
    waiting::facts_give_reason_of_wait,
    cancels::waiting_work_is_cancelled_at_once,
    cancels::retrying_work_ends_with_its_letter,
    cancels::running_work_is_ended_by_its_node,
    cancels::cancelled_attempt_ends_its_work,
    cancels::work_of_dead_node_is_cancelled_at_once,
    cancels::order_outlives_another_end_of_run,
    cancels::failure_is_left_if_asked_for,
    cancels::first_attempt_shows_its_own_end,
    cancels::only_open_accepted_work_is_cancelled,
    reruns::rerun_waits_with_the_stored_input,
    reruns::rerun_takes_the_share_of_its_work,
    reruns::rerun_of_version_needs_one_that_ran,
    reruns::trace_that_cannot_run_again_is_refused,
    schema::waiting_work_is_found_by_an_index,
    nodes::lease_is_renewed_until_it_has_run_out,
    nodes::run_of_a_live_node_is_nobody_elses,
    nodes::late_writes_of_a_former_owner_change_no_row,
    nodes::one_of_many_nodes_takes_a_run_over,
    nodes::run_without_a_known_owner_is_taken_over,
    nodes::run_that_was_handed_back_says_so,
    nodes::recovery_is_counted_once_however_often_it_is_asked,
    nodes::lone_node_ends_all_other_leases,
    nodes::node_is_looked_after_until_it_owns_nothing,
    nodes::attempt_of_retried_work_is_taken_over_alone,
    nodes::work_of_a_recovered_attempt_is_running,
    nodes::nodes_are_listed_as_they_stand,
    nodes::figures_are_replaced_and_go_with_their_node,
    nodes::reencryption_needs_the_key_on_every_live_node,
    ledger_cursors::a_cursor_is_made_taken_over_and_begun_anew,
    ledger_cursors::of_many_nodes_that_are_as_far_one_writes,
    ledger_cursors::missed_instants_are_one_row_recorded_ones_stay,
    ledger_cursors::instants_without_free_slot_are_skipped,
    ledger_cursors::archived_channel_keeps_cursor_deleted_does_not,
    ledger_cursors::cursor_of_a_deleted_channel_begins_anew,
    ledger_cursors::a_cursor_that_nobody_moves_is_paused,
    ledger_runs::a_run_is_claimed_started_renewed_and_settled,
    ledger_runs::oldest_due_row_is_claimed_first,
    ledger_runs::a_late_write_changes_no_row,
    ledger_runs::row_with_repeatedly_ending_leases_fails,
    ledger_runs::returned_row_waits_as_if_unclaimed,
    ledger_runs::a_key_that_is_held_skips_who_comes_after,
    ledger_runs::a_run_that_lost_its_slot_is_not_renewed,
    ledger_runs::a_start_whose_trace_is_refused_begins_nothing,
    ledger_cancels::occurrence_without_holder_is_cancelled_at_once,
    ledger_cancels::running_occurrence_is_ended_by_its_holder,
    ledger_cancels::occurrence_of_lost_holder_is_cancelled_not_claimed,
    ledger_cancels::cancelled_claim_starts_no_run,
    ledger_cancels::cancelled_run_is_retried_with_its_version,
    ledger_cancels::retry_runs_the_version_it_names,
    ledger_admin::only_failed_or_skipped_row_is_retried,
    ledger_admin::triggered_row_is_due_now_and_audited,
    ledger_admin::occurrences_are_filtered_and_newest_first,
    ledger_admin::arriving_rows_repeat_no_row_on_pages,
    ledger_admin::cursor_pages_are_stable_while_rows_arrive,
    ledger_admin::concurrent_triggers_get_distinct_instants,
    ledger_admin::backlog_and_schedules_are_counted,
    ledger_admin::only_ended_rows_expire_with_age,
    ledger_explanations::instant_has_its_row_and_neighbours,
    ledger_explanations::missed_instant_has_the_row_of_its_range,
    ledger_explanations::skipped_instant_names_holder_of_slot,
    ledger_explanations::pause_of_channel_explains_open_instants,
    ledger_explanations::occurrence_rests_until_called_channel_resumes,
    ledger_groups::each_call_of_a_group_gets_its_own_answer,
    ledger_groups::one_of_many_nodes_writes_each_instant,
    ledger_groups::a_call_that_the_database_refuses_fails_alone,
    ledger_groups::calls_on_one_cursor_are_made_in_order,
    ledger_races::no_row_is_claimed_twice,
    ledger_races::a_key_never_has_more_holders_than_slots,
    ledger_races::abandoned_row_is_taken_over_once,
    ledger_races::in_the_crowd_nothing_fails_and_everything_ends,
    ledger_model::the_database_holds_what_the_rules_alone_leave,
    mutations::old_records_are_deleted_in_steps,
    outages::unopenable_database_is_reported_in_one_line,
}

#[test]
fn isolation_follows_no_default_of_the_database() {
    suite::database::on_postgres(suite::races::isolation_follows_no_default_of_the_database);
}

#[test]
fn new_database_of_narrow_encoding_is_refused() {
    suite::database::on_postgres(suite::outages::new_database_of_narrow_encoding_is_refused);
}

#[test]
fn every_row_moves_to_postgres_unchanged() {
    suite::transfer::run(suite::transfer::every_row_moves_to_postgres_unchanged);
}

#[test]
fn target_with_rows_takes_no_others() {
    suite::transfer::run(suite::transfer::target_with_rows_takes_no_others);
}

#[test]
fn failed_move_leaves_nothing_and_begins_anew() {
    suite::transfer::run(suite::transfer::failed_move_leaves_nothing_and_begins_anew);
}

#[test]
fn source_that_does_not_fit_is_refused() {
    suite::transfer::run(suite::transfer::source_that_does_not_fit_is_refused);
}

#[test]
fn a_server_may_stop_and_start_again() {
    suite::database::on_own_postgres(suite::outages::a_server_may_stop_and_start_again);
}

#[test]
fn waiting_rows_fail_when_the_server_ends() {
    suite::database::on_own_postgres(suite::outages::waiting_rows_fail_when_the_server_ends);
}

#[test]
fn killed_connections_are_replaced_unnoticed() {
    suite::database::on_own_postgres(suite::outages::killed_connections_are_replaced_unnoticed);
}

#[test]
fn a_server_that_starts_late_is_waited_for() {
    suite::database::on_own_postgres(suite::outages::a_server_that_starts_late_is_waited_for);
}

#[test]
fn writes_recover_after_failover_of_the_server() {
    suite::outages::writes_recover_after_failover_of_the_server();
}

on_their_own! {
    encryption::modes_encrypt_every_connection_to_a_server_they_trust,
    encryption::refused_certificate_is_told_with_its_remedy,
    encryption::certificate_in_root_file_is_trusted_as_it_is,
    encryption::server_without_tls_is_used_where_sslmode_allows_it,
    encryption::preferred_tls_falls_back_on_refused_encryption,
    encryption::preferred_tls_falls_back_after_failed_handshake,
}

#[cfg(unix)]
#[test]
fn unix_socket_errors_are_judged_by_code() {
    suite::database::on_postgres(suite::outages::unix_socket_errors_are_judged_by_code);
}

#[test]
fn errors_in_another_language_are_judged_by_their_codes() {
    suite::database::on_postgres(suite::outages::errors_in_another_language_are_judged_by_their_codes);
}

#[test]
fn ends_are_found_by_id_in_large_table() {
    suite::database::on_postgres(suite::traces::ends_are_found_by_id_in_large_table);
}

#[test]
fn a_locked_row_delays_no_other_call() {
    suite::database::on_postgres(suite::ledger::groups::a_locked_row_delays_no_other_call);
}

#[test]
fn wait_for_resume_delays_no_other_write() {
    suite::database::on_postgres(suite::channel_pauses::wait_for_resume_delays_no_other_write);
}

#[test]
fn lost_connection_answers_every_call_of_group() {
    suite::database::on_postgres(suite::ledger::groups::lost_connection_answers_every_call_of_group);
}

#[test]
fn runs_are_found_in_a_ledger_that_has_grown() {
    suite::database::on_postgres(suite::ledger::groups::runs_are_found_in_a_ledger_that_has_grown);
}

#[test]
fn contention_in_another_language_is_tried_again() {
    suite::database::on_postgres(suite::outages::contention_in_another_language_is_tried_again);
}

#[test]
fn row_ending_the_transaction_spares_its_neighbours() {
    suite::database::on_sqlite(suite::traces::row_ending_the_transaction_spares_its_neighbours);
}

#[test]
fn a_locked_file_is_unavailable_and_then_fine() {
    suite::database::on_sqlite(suite::outages::a_locked_file_is_unavailable_and_then_fine);
}

#[test]
fn late_health_check_marks_database_away() {
    suite::database::on_sqlite(suite::outages::late_health_check_marks_database_away);
}

#[test]
fn row_without_readable_time_ends_no_list() {
    suite::database::on_sqlite(suite::list_pages::row_without_readable_time_ends_no_list);
}

#[test]
fn page_of_definitions_follows_an_index() {
    suite::database::on_sqlite(suite::schema::page_of_definitions_follows_an_index);
}

#[test]
fn backup_of_an_earlier_database_is_restored() {
    suite::database::on_sqlite(suite::earlier::backup_of_an_earlier_database_is_restored);
}

#[test]
fn activation_checks_use_an_index() {
    suite::database::on_sqlite(suite::schema::activation_checks_use_an_index);
}

#[cfg(unix)]
#[test]
fn database_files_are_readable_by_owner_only() {
    suite::database::on_sqlite(suite::schema::database_files_are_readable_by_owner_only);
}

#[test]
fn only_new_file_has_large_pages() {
    suite::database::on_sqlite(suite::schema::only_new_file_has_large_pages);
}
