//! The contract of `Store` as tests of the trait alone. `store_contract!` runs all of them on a
//! backend.

pub(crate) mod ancestors;
pub(crate) mod chain_run_histories;
pub(crate) mod chain_run_lists;
pub(crate) mod chain_runs;
pub(crate) mod checkpoints;
pub(crate) mod commits;
pub(crate) mod documents;
pub(crate) mod epochs;
pub(crate) mod handles;
pub(crate) mod history;
pub(crate) mod lists;
pub(crate) mod node_metadata;
pub(crate) mod node_updates;
pub(crate) mod preconditions;
pub(crate) mod references;
pub(crate) mod revisions;
pub(crate) mod round_trip;
pub(crate) mod search;
pub(crate) mod search_entities;
mod session_view;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod suspended_calls;
pub(crate) mod tool_usage;

use std::{any::Any, sync::Arc};

use deliberate_core::{Branch, BranchState, Change, NodeId, NodeUpdate, SessionId};
pub(crate) use deliberate_store::EpochFilter::{self, All, Current};
use deliberate_store::{Pagination, Store, StoreError};

use crate::samples::at_second;

/// A new, empty store, and a way to open the same data again.
pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    /// Opens the same data with another handle, as another process would.
    pub(crate) reopen: Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>,
    /// Keeps the data until the test ends.
    pub(crate) _folder: Box<dyn Any + Send + Sync>,
}

/// More than any of these tests puts into a list, except tests of this limit.
pub(crate) const ALL: Pagination = Pagination::limit(Pagination::MAX);

/// Commits, and fails the test if that fails.
pub(crate) async fn commit(store: &dyn Store, changes: Vec<Change>) {
    store.commit(changes).await.expect("the commit is accepted");
}

/// Returns a session's branches without the other data of list entries.
pub(crate) async fn branches(
    store: &dyn Store,
    session: &SessionId,
    which: EpochFilter,
) -> Vec<Branch> {
    let entries = store.branches(session, which, ALL).await.unwrap();
    entries.into_iter().map(|entry| entry.branch).collect()
}

/// Commits one change that must be rejected as a conflict.
pub(crate) async fn assert_conflict(store: &dyn Store, change: Change) {
    let shown = format!("{change:?}");
    let outcome = store.commit(vec![change]).await;
    assert!(
        matches!(outcome, Err(StoreError::Conflict { .. })),
        "{outcome:?} for {shown}"
    );
}

/// Updates a node, at a time before the latest change of the samples' graphs.
pub(crate) fn update_node(id: &str, marks: NodeUpdate) -> Change {
    Change::UpdateNode {
        id: id.into(),
        marks,
        at: at_second(20),
    }
}

pub(crate) fn set_state(id: &str, state: BranchState) -> Change {
    Change::SetBranchState {
        id: id.into(),
        state,
        at: at_second(20),
    }
}

pub(crate) fn prune(graph: &str, nodes: &[&str]) -> Change {
    Change::PruneNodes {
        graph_id: graph.into(),
        nodes: nodes.iter().copied().map(NodeId::from).collect(),
        at: at_second(20),
    }
}

/// Runs every test of the contract on a backend; `$fixture` is an async function that returns a
/// [`Fixture`].
macro_rules! store_contract {
    ($backend:ident, $fixture:path) => {
        mod $backend {
            store_contract! { @tests $fixture;
                round_trip {
                    one_of_everything_comes_back_whole,
                    one_of_everything_is_found_by_its_id,
                    every_word_of_every_kind_is_kept,
                    moments_and_scores_are_kept_exactly,
                    long_text_is_kept_whole,
                    what_is_not_there_is_none_or_empty,
                    recording_a_call_twice_records_it_once,
                    a_call_on_an_unknown_session_is_recorded_without_it,
                    the_state_counts_what_is_there,
                }
                sessions {
                    a_session_is_renamed,
                    a_thread_is_kept_and_let_go_of_beside_other_metadata,
                    a_thread_is_kept_where_there_was_no_metadata,
                    metadata_that_is_no_object_is_left_as_it_is,
                    a_node_moves_the_times_of_its_graph_and_session,
                    marks_states_and_prunes_move_the_times_of_what_they_belong_to,
                    what_is_refused_moves_no_times,
                    a_sessions_time_never_goes_back,
                    a_session_follows_a_branch_and_lets_go_of_it,
                }
                lists {
                    lists_follow_the_order_of_insertion_not_of_time,
                    a_page_gives_its_part_and_no_more,
                    no_read_gives_more_than_the_most,
                    the_latest_thoughts_come_newest_first,
                    sessions_come_last_changed_first_with_their_counts,
                    a_branch_is_listed_with_its_opening_and_its_count,
                    records_come_newest_first_for_all_or_for_one_session,
                    lists_keep_to_their_session_and_graph,
                }
                ancestors {
                    the_latest_on_a_branch_come_newest_first,
                    the_thoughts_on_a_branch_come_oldest_first_in_pages,
                    a_session_opens_with_the_first_current_thought_that_was_given_something,
                    a_line_goes_from_a_thought_to_what_it_built_on,
                    a_line_may_lead_through_what_was_set_aside,
                    every_fork_of_a_line_starts_where_the_line_does,
                    a_line_starts_where_it_did_whatever_was_set_aside,
                    a_line_out_of_a_deleted_session_starts_where_it_left_it,
                }
                node_updates {
                    a_mark_changes_its_part_and_no_other,
                    marks_of_different_parts_hold_in_any_order,
                    marks_of_different_parts_made_at_once_all_hold,
                    a_pruned_or_set_aside_node_can_not_be_marked,
                    a_branch_takes_on_each_state_and_nothing_else,
                    a_branch_that_was_set_aside_keeps_its_state,
                    what_was_set_aside_is_not_pruned,
                }
                node_metadata {
                    notes_join_the_metadata_and_the_rest_of_it_stays,
                    a_note_takes_the_place_of_one_of_its_name,
                    a_note_of_null_takes_the_field_away,
                    metadata_that_is_no_object_becomes_a_field,
                    fractions_and_large_numbers_keep_all_digits,
                    notes_without_fields_change_no_metadata,
                    notes_return_with_their_checkpoint,
                }
                checkpoints {
                    no_checkpoint_is_made_on_a_branch_that_was_set_aside,
                    no_checkpoint_is_made_at_a_thought_that_was_set_aside,
                    a_refused_checkpoint_leaves_no_trace,
                    nobody_leaves_a_place_that_was_set_aside,
                    a_snapshot_may_be_anything,
                    a_checkpoint_is_found_by_its_name,
                    checkpoints_come_newest_first_in_pages,
                    a_list_of_checkpoints_is_without_their_snapshots,
                }
                commits {
                    no_changes_are_no_problem,
                    a_bad_change_in_the_middle_leaves_nothing,
                    a_failing_commit_spoils_no_other_at_the_same_time,
                    a_broken_link_that_shows_only_at_the_end_spoils_no_other,
                    two_hundred_commits_at_once_are_all_there,
                    commits_at_once_to_one_session_are_all_there,
                    a_read_sees_every_commit_that_returned_before,
                    a_commit_that_nobody_waits_for_is_whole_or_absent,
                }
                handles {
                    another_handle_sees_everything,
                    what_was_committed_survives_closing,
                    a_closed_store_refuses_everything,
                    a_store_closed_before_its_first_use_stays_closed,
                    closing_finishes_what_was_begun,
                    handles_write_side_by_side,
                }
                references {
                    what_belongs_to_an_unknown_session_is_refused,
                    what_refers_to_something_unknown_is_refused,
                    an_id_can_be_used_once,
                    what_is_not_there_can_not_be_changed,
                    deleting_a_session_takes_along_all_that_belongs_to_it,
                    deleting_a_session_leaves_the_others_alone,
                    references_into_a_deleted_session_are_let_go,
                    the_id_of_a_deleted_session_can_be_used_again,
                    records_and_calls_that_name_a_deleted_session_lose_their_texts,
                    records_of_chains_that_show_a_deleted_session_lose_their_texts,
                    a_record_of_a_call_that_outlived_its_session_has_no_texts,
                    a_record_that_is_written_after_the_deletion_has_no_texts,
                    records_of_a_deleted_run_lose_their_texts,
                }
                epochs {
                    what_came_later_is_set_aside_and_stays_as_history,
                    returning_to_the_place_one_left_undoes_it,
                    a_way_that_was_left_can_be_taken_up_from_its_middle,
                    what_follows_a_return_in_its_commit_belongs_to_the_new_way,
                    the_branch_that_was_followed_is_followed_again,
                    a_return_that_can_not_be_changes_nothing,
                    sessions_go_back_each_on_their_own,
                    the_way_back_tells_what_will_move,
                }
                revisions {
                    changed_values_return_exactly,
                    pruning_is_undone_and_done_again,
                    pruning_nothing_is_no_problem,
                    a_node_is_found_by_its_words_whatever_becomes_of_it,
                }
                history {
                    any_history_is_as_if_checkpoints_were_copies,
                }
                preconditions {
                    nothing_is_built_on_what_was_set_aside,
                    what_is_there_is_not_taken_for_what_was_refused,
                    a_branch_can_be_required_to_be_open,
                    a_node_can_be_required_to_be_usable,
                    a_node_can_be_required_to_be_no_conclusion,
                    a_name_can_be_required_to_be_free,
                    a_graph_can_be_required_not_to_have_grown,
                    a_requirement_sees_the_changes_before_it,
                }
                search {
                    any_word_is_enough_and_all_words_come_first,
                    rare_words_count_more_than_common_ones,
                    every_hit_is_found_once_however_few_are_wanted,
                    a_quoted_phrase_must_occur,
                    stop_words_are_searched_only_if_there_are_no_others,
                    case_accents_and_endings_do_not_matter,
                    input_and_content_are_both_searched,
                    words_may_be_spread_over_input_and_content,
                    a_search_keeps_to_its_session_and_mode,
                    no_more_are_found_than_asked_for,
                    the_best_match_comes_first,
                    the_passage_is_marked,
                    hostile_words_are_only_words,
                    punctuation_alone_finds_nothing,
                    very_many_words_are_no_problem,
                    words_of_other_scripts_are_found,
                    the_thoughts_of_a_deleted_session_are_not_found,
                }
                search_entities {
                    nodes_are_found_whole_with_their_passage,
                    the_best_match_comes_first_whatever_its_kind,
                    session_and_mode_hold_for_both_kinds,
                    times_hold_for_both_kinds_and_count_themselves,
                    what_was_set_aside_is_found_and_says_so,
                    the_nodes_of_a_deleted_session_are_not_found,
                    terms_are_found_in_the_middle_of_a_sentence_without_blanks,
                    texts_with_all_terms_without_blanks_come_first_and_all_are_marked,
                    the_passage_around_a_term_is_short,
                    texts_with_all_words_and_terms_come_first,
                    the_passage_of_words_and_terms_is_short_too,
                    the_case_of_letters_within_a_term_does_not_matter,
                    the_newest_comes_first_where_nothing_tells_matches_apart,
                    the_newest_are_listed_by_the_filters_alone,
                    the_texts_of_entities_are_cut,
                }
                suspended_calls {
                    a_suspended_call_comes_back_whole,
                    a_lease_is_renewed_with_its_progress_by_who_has_the_fence,
                    who_lost_the_lease_can_not_commit,
                    a_lease_that_was_renewed_is_not_taken,
                    a_call_that_ended_runs_no_more_and_may_have_failed,
                    one_of_several_takes_over_a_call,
                    a_new_round_changes_only_what_belongs_to_the_round,
                    a_call_ends_once,
                    an_ended_call_is_not_suspended_again,
                    ending_twice_at_once_takes_effect_once,
                    what_comes_with_a_second_ending_leaves_nothing,
                    a_call_that_was_never_suspended_can_not_end,
                    an_expired_call_is_kept_until_another_is_suspended,
                }
                chain_runs {
                    a_run_and_its_events_come_back_whole,
                    what_never_ran_is_none_or_empty,
                    a_number_is_begun_once,
                    a_number_is_begun_by_one_of_many,
                    events_follow_each_other_and_no_other_way,
                    an_event_that_comes_too_late_leaves_nothing,
                    an_ended_run_takes_no_more_events,
                    a_runs_time_never_goes_back,
                    of_two_who_go_on_at_once_one_does,
                    a_read_shows_one_moment,
                    hundreds_of_events_come_in_order,
                    what_happened_survives_closing,
                    a_deleted_run_takes_its_events_along,
                }
                chain_run_lists {
                    forgetting_keeps_the_newest_and_all_that_are_open,
                    open_runs_that_nobody_goes_on_with_are_forgotten,
                    the_newest_run_is_looked_up_among_those_of_an_owner,
                    runs_come_last_changed_first_without_their_plans,
                    runs_are_listed_by_base_state_and_owner,
                }
                chain_run_histories {
                    any_history_of_runs_is_as_if_they_were_lists,
                }
                documents {
                    an_item_comes_back_as_it_was,
                    who_has_not_seen_the_last_version_is_refused,
                    what_only_one_may_have_is_one_items,
                    items_are_found_and_put_in_order_by_their_keys,
                    long_texts_stay_until_they_are_replaced,
                    who_reads_on_hears_of_every_change,
                }
                settings {
                    a_setting_is_made_replaced_and_removed,
                    settings_survive_closing,
                    no_more_settings_are_made_than_can_be_read,
                }
                tool_usage {
                    figures_are_those_of_each_tool,
                    figures_count_what_is_not_older,
                    a_tools_calls_come_newest_first_in_pages,
                    a_time_that_is_not_known_counts_nothing,
                    an_unknown_cost_is_not_zero,
                    usage_is_of_the_session_and_the_time_that_are_asked_for,
                    totals_count_the_groups_beyond_the_limit,
                    days_are_those_of_the_time_zone,
                }
            }
        }
    };
    (@tests $fixture:path; $($area:ident { $($test:ident,)+ })+) => {$(
        mod $area {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                $crate::contract::$area::$test($fixture().await).await;
            }
        )+}
    )+};
}
