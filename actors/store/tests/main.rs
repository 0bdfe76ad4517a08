//! The store's promises, each held against SQLite and against a real PostgreSQL.
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

on_both! {
    schema::migrations_run_once_and_back,
    schema::a_fresh_schema_equals_a_migrated_one,
    schema::a_newer_schema_is_refused_by_name,
    schema::pending_migrations_are_refused_when_they_must_not_run,
    schema::the_tables_are_those_the_queries_know,
    schema::the_database_keeps_one_draft_and_freezes_what_is_active,
    workflows::a_workflow_is_stored_whole,
    workflows::an_id_is_taken_once,
    workflows::a_draft_is_edited_and_nothing_else,
    workflows::versions_follow_one_another,
    workflows::activation_at_a_share_keeps_the_newest_active_version,
    workflows::a_rollout_moves_the_split,
    workflows::an_activation_names_every_connector_that_is_missing,
    workflows::lists_filter_sort_and_page,
    workflows::an_import_follows_its_conflict_rule,
    workflows::a_dry_run_leaves_nothing,
    workflows::only_what_is_active_is_loaded,
    channels::a_channel_is_stored_whole,
    channels::a_name_belongs_to_one_channel,
    channels::a_route_belongs_to_one_active_channel,
    channels::a_channel_needs_an_active_workflow,
    channels::a_dry_run_lists_every_objection,
    channels::a_deleted_channel_is_gone,
    channels::a_foreign_row_spoils_no_other,
    channels::lists_know_type_and_protocol,
    metrics::every_query_is_timed_and_the_pool_is_counted,
    mutations::every_mutation_leaves_its_record,
    mutations::a_refused_mutation_leaves_none,
    mutations::the_epoch_counts_what_serves,
    mutations::records_are_filtered_and_newest_first,
    mutations::what_no_text_can_hold_is_found_nowhere,
    races::one_of_many_activations_of_a_draft_wins,
    races::one_of_many_channels_wins_a_name,
    races::one_of_many_channels_wins_a_route,
    races::many_writers_are_all_answered_and_all_kept,
    races::a_refused_unit_takes_no_neighbour_along,
    writer::a_crash_of_the_writer_is_told_and_survived,
    writer::a_call_waits_for_a_restart_that_is_near,
    writer::a_failed_commit_fails_every_unit_of_it,
    writer::what_was_admitted_is_committed_before_the_end,
    outages::a_database_that_cannot_be_opened_is_one_clear_line,
}

#[test]
fn a_server_may_stop_and_start_again() {
    suite::database::on_own_postgres(suite::outages::a_server_may_stop_and_start_again);
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
fn a_locked_file_is_unavailable_and_then_fine() {
    suite::database::on_sqlite(suite::outages::a_locked_file_is_unavailable_and_then_fine);
}

#[test]
fn what_an_activation_asks_is_answered_by_an_index() {
    suite::database::on_sqlite(suite::schema::what_an_activation_asks_is_answered_by_an_index);
}
