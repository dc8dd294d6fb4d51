//! Tests of several servers on one database.

use std::collections::HashSet;

use deliberate_testkit::{MockProvider, StdioClient};

use crate::support::{TestHome, serve, shut_down, text, think, think_in_session};

const PROCESSES: usize = 8;
const CALLS: usize = 12;

/// Runs calls of which half continue the previous session and half start one.
async fn run_calls(mut client: StdioClient) -> Vec<String> {
    let mut thoughts = Vec::new();
    let mut session: Option<String> = None;
    for number in 0..CALLS {
        let content = format!("call {number}");
        let answer = match session.take() {
            Some(session) => think_in_session(&mut client, &session, &content).await,
            None => think(&mut client, &content).await,
        };
        if number % 2 == 0 {
            session = Some(text(&answer, "session_id").to_owned());
        }
        thoughts.push(text(&answer, "thought_id").to_owned());
    }
    shut_down(client).await;
    thoughts
}

#[tokio::test]
async fn eight_processes_make_twelve_calls_each_and_all_are_kept() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut working = Vec::new();
    for _ in 0..PROCESSES {
        let client = serve(&mut home.command_with_provider(&standin)).await;
        working.push(tokio::spawn(run_calls(client)));
    }
    let mut answered = HashSet::new();
    for done in working {
        answered.extend(done.await.unwrap());
    }
    assert_eq!(answered.len(), PROCESSES * CALLS);
    let mut database = home.open_database().await;
    let kept: Vec<String> = sqlx::query_scalar("SELECT id FROM thoughts")
        .fetch_all(&mut database)
        .await
        .unwrap();
    assert_eq!(kept.into_iter().collect::<HashSet<_>>(), answered);
    let (sessions, failures): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM invocations WHERE success = 0)",
    )
    .fetch_one(&mut database)
    .await
    .unwrap();
    assert_eq!((sessions, failures), (48, 0));
}

#[tokio::test]
async fn eight_processes_may_make_the_database_together() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut clients = Vec::new();
    for _ in 0..PROCESSES {
        clients.push(serve(&mut home.command_with_provider(&standin)).await);
    }
    // Nothing is opened before the first call, so none of them finds a file.
    assert!(!home.database().exists());
    let first = clients.into_iter().map(|mut client| async move {
        text(&think(&mut client, "first!").await, "thought_id");
        shut_down(client).await;
    });
    futures::future::join_all(first).await;
    assert_eq!(home.stored_counts().await, (PROCESSES, PROCESSES as u64));
}

#[tokio::test]
async fn a_session_can_be_continued_by_every_process_at_once() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let session = text(&think(&mut client, "begin").await, "session_id").to_owned();
    shut_down(client).await;
    let mut working = Vec::new();
    for _ in 0..4 {
        let mut client = serve(&mut home.command_with_provider(&standin)).await;
        let session = session.clone();
        working.push(tokio::spawn(async move {
            for number in 0..5 {
                text(
                    &think_in_session(&mut client, &session, &format!("{number}")).await,
                    "thought_id",
                );
            }
            shut_down(client).await;
        }));
    }
    for done in working {
        done.await.unwrap();
    }
    assert_eq!(home.stored_counts().await, (1, 21));
}
