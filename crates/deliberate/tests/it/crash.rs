//! Tests of kill -9 at any moment: every answered thought is stored, and nothing is stored
//! partially.

use std::{collections::HashMap, time::Duration};

use deliberate_testkit::MockProvider;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::support::{TestHome, serve, text, wait_until};

pub(crate) const ROUNDS: u64 = 60;
const CALLS: u64 = 6;

/// Reproducible linear congruential generator (Knuth's constants).
pub(crate) struct CrashRandom(pub(crate) u64);

impl CrashRandom {
    pub(crate) fn next_below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Answered thoughts, with their sessions.
type AnsweredThoughts = HashMap<String, String>;

/// Starts calls in new and existing sessions and kills the server during them: after some answers
/// and a short delay, which falls anywhere in the other calls.
async fn run_round(
    home: &TestHome,
    standin: &MockProvider,
    dice: &mut CrashRandom,
    thoughts: &mut AnsweredThoughts,
) {
    standin.update_settings(|settings| settings.delay = Duration::from_millis(dice.next_below(4)));
    let mut client = serve(&mut home.command_with_provider(standin)).await;
    let mut known: Vec<String> = thoughts.values().cloned().collect();
    known.sort_unstable();
    known.dedup();
    for number in 0..CALLS {
        let mut arguments = json!({ "content": format!("call {number}") });
        if dice.next_below(2) == 0 && !known.is_empty() {
            arguments["session_id"] = json!(choose_one(dice, &known));
        }
        let params = json!({ "name": "reasoning_linear", "arguments": arguments });
        client.send_request("tools/call", params).await.unwrap();
    }
    for _ in 0..dice.next_below(CALLS) {
        let message = client.next_message().await.unwrap().unwrap();
        record_answer(&message, thoughts);
    }
    tokio::time::sleep(Duration::from_micros(dice.next_below(4_000))).await;
    client.kill().await.unwrap();
    // Answers sent before the kill count.
    while let Some(message) = client.next_message().await.unwrap() {
        record_answer(&message, thoughts);
    }
}

fn record_answer(message: &Value, thoughts: &mut AnsweredThoughts) {
    let (thought, session) = (text(message, "thought_id"), text(message, "session_id"));
    let twice = thoughts.insert(thought.to_owned(), session.to_owned());
    assert_eq!(twice, None, "an id was given twice");
}

pub(crate) fn choose_one<'a, T>(dice: &mut CrashRandom, items: &'a [T]) -> Option<&'a T> {
    let end = items.len() as u64;
    (end > 0).then(|| &items[usize::try_from(dice.next_below(end)).unwrap()])
}

async fn count_rows(database: &mut SqliteConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(database).await.unwrap()
}

#[tokio::test]
async fn sixty_kills_lose_nothing_that_was_answered_and_leave_nothing_by_half() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut dice = CrashRandom(20_261_115);
    let mut answered = HashMap::new();
    for _ in 0..ROUNDS {
        run_round(&home, &standin, &mut dice, &mut answered).await;
        wait_until(|| standin.in_flight() == 0).await;
    }
    let total = usize::try_from(ROUNDS * CALLS).unwrap();
    assert!(
        answered.len() < total,
        "killed too late to interrupt anything"
    );

    let mut database = home.open_database().await;
    let kept: Vec<(String, String)> = sqlx::query_as("SELECT id, session_id FROM thoughts")
        .fetch_all(&mut database)
        .await
        .unwrap();
    let kept: HashMap<String, String> = kept.into_iter().collect();
    for (thought, session) in &answered {
        assert_eq!(
            kept.get(thought),
            Some(session),
            "an answered thought is missing"
        );
    }
    let checks = [
        (
            "a session without thoughts",
            "SELECT count(*) FROM sessions WHERE id NOT IN (SELECT session_id FROM thoughts)",
        ),
        (
            "a thought without session",
            "SELECT count(*) FROM thoughts WHERE session_id NOT IN (SELECT id FROM sessions)",
        ),
        (
            "a thought by half",
            "SELECT count(*) FROM thoughts WHERE coalesce(input, '') = '' OR content = ''",
        ),
        (
            "a parent elsewhere",
            "SELECT count(*) FROM thoughts AS child JOIN thoughts AS parent ON parent.id = child.parent_id WHERE parent.session_id <> child.session_id",
        ),
        (
            "a first step with a parent, or a later one without",
            "SELECT count(*) FROM thoughts AS it WHERE (parent_id IS NULL) <> (seq = (SELECT min(seq) FROM thoughts WHERE session_id = it.session_id))",
        ),
        (
            "a thought that no call recorded",
            "SELECT count(*) FROM thoughts WHERE id NOT IN (SELECT output ->> 'thought_id' FROM invocations WHERE success = 1)",
        ),
        (
            "a record without its thought",
            "SELECT count(*) FROM invocations WHERE success = 1 AND output ->> 'thought_id' NOT IN (SELECT id FROM thoughts)",
        ),
        (
            "a failed call",
            "SELECT count(*) FROM invocations WHERE success = 0",
        ),
        (
            "a thought that search does not know",
            "SELECT (SELECT count(*) FROM thoughts) - (SELECT count(*) FROM thoughts_text_docsize)",
        ),
    ];
    assert_no_rows(&mut database, &checks).await;
}

/// Checks that none of these queries finds a row and that the file is intact.
pub(crate) async fn assert_no_rows(
    database: &mut SqliteConnection,
    checks: &[(&str, &'static str)],
) {
    for (what, sql) in checks {
        assert_eq!(count_rows(database, sql).await, 0, "{what}");
    }
    let whole: String = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_one(&mut *database)
        .await
        .unwrap();
    assert_eq!(whole, "ok");
    let strays: Vec<(String,)> = sqlx::query_as("SELECT \"table\" FROM pragma_foreign_key_check")
        .fetch_all(&mut *database)
        .await
        .unwrap();
    assert_eq!(strays, []);
}
