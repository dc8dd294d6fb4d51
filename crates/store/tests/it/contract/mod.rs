//! The contract of `Store`, as tests of the trait alone. `store_contract!` runs all of them on a
//! backend.

pub(crate) mod commits;
pub(crate) mod handles;
pub(crate) mod lists;
pub(crate) mod references;
pub(crate) mod round_trip;
pub(crate) mod search;
pub(crate) mod suspensions;

use std::{any::Any, sync::Arc};

use deliberate_core::Change;
use deliberate_store::{Page, Store, StoreError};

/// A fresh, empty store, and a way to open the same data again.
pub(crate) struct Fixture {
    /// The store under test.
    pub(crate) store: Arc<dyn Store>,
    /// Opens the same data as another handle, as another process would.
    pub(crate) reopen: Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>,
    /// Holds the place of the data until the test is over.
    pub(crate) _place: Box<dyn Any + Send + Sync>,
}

/// More than any of these tests puts into a list, unless it tests that very bound.
pub(crate) const ALL: Page = Page::first(Page::MOST);

/// Commits, and fails the test if that fails.
pub(crate) async fn commit(store: &dyn Store, changes: Vec<Change>) {
    store.commit(changes).await.expect("the commit is accepted");
}

/// Commits one change that must be refused as not fitting what is stored.
pub(crate) async fn refused(store: &dyn Store, change: Change) {
    let shown = format!("{change:?}");
    let outcome = store.commit(vec![change]).await;
    assert!(
        matches!(outcome, Err(StoreError::Conflict { .. })),
        "{outcome:?} for {shown}"
    );
}

/// Runs every test of the contract on a backend; `$fixture` is an async function that gives a
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
                    a_session_becomes_what_an_update_says,
                    a_sessions_time_never_goes_back,
                    a_branch_becomes_what_an_update_says,
                    a_node_becomes_what_an_update_says,
                    a_session_follows_a_branch_and_lets_go_of_it,
                    recording_a_call_twice_records_it_once,
                    a_call_on_an_unknown_session_is_recorded_without_it,
                    the_state_counts_what_is_there,
                }
                lists {
                    lists_follow_the_order_of_insertion_not_of_time,
                    a_page_gives_its_part_and_no_more,
                    no_read_gives_more_than_the_most,
                    the_latest_thoughts_come_newest_first,
                    sessions_come_last_changed_first_with_their_counts,
                    records_come_newest_first_for_all_or_for_one_session,
                    lists_keep_to_their_session_and_graph,
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
                }
                search {
                    all_words_must_occur,
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
                suspensions {
                    a_suspended_call_comes_back_whole,
                    a_new_round_changes_only_what_belongs_to_the_round,
                    a_call_ends_once,
                    an_ended_call_is_not_suspended_again,
                    ending_twice_at_once_takes_effect_once,
                    what_comes_with_a_second_ending_leaves_nothing,
                    a_call_that_was_never_suspended_can_not_end,
                    an_expired_call_is_kept_until_another_is_suspended,
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
