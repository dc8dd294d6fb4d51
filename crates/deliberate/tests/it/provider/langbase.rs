//! Tests of Langbase: response shapes, pipes and threads.

use deliberate_testkit::{MockFault, MockProvider, mock_provider::MockSettings};
use serde_json::json;

use crate::support::{
    TestHome, output, serve, shut_down, text, think, think_in_session, tool_failure,
};

async fn start_strict_provider() -> MockProvider {
    let settings = MockSettings {
        strict_pipes: true,
        strict_threads: true,
        ..MockSettings::default()
    };
    MockProvider::start_with(settings, 0).await.unwrap()
}

#[tokio::test]
async fn the_envelope_may_be_nested_or_flat_with_or_without_success() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    for success in [None, Some(true)] {
        for flat in [false, true] {
            standin.update_settings(|settings| {
                settings.success = success;
                settings.flat = flat;
            });
            let answer = think(&mut client, "which form?").await;
            assert!(
                text(&answer, "content").contains("which form?"),
                "{success:?} {flat}"
            );
        }
    }
    assert_eq!(standin.model_requests().len(), 4);
    shut_down(client).await;
}

#[tokio::test]
async fn a_failure_in_a_good_status_keeps_its_message_and_is_not_tried_again() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let body = json!({
        "success": false,
        "error": { "code": "FORBIDDEN", "status": 403, "message": "Your plan has run out." },
    });
    standin.push_fault(MockFault::Body(body.to_string()));
    let answer = think(&mut client, "please").await;
    let failure = tool_failure(&answer);
    assert_eq!(failure.code, "ApiError");
    assert!(
        failure.text.contains("Your plan has run out."),
        "{failure:?}"
    );
    assert_eq!(standin.model_requests().len(), 1);
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (0, 0));
}

#[tokio::test]
async fn nothing_is_asked_or_made_before_the_first_call() {
    let (home, standin) = (TestHome::new(), start_strict_provider().await);
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    client.request("tools/list", json!({})).await.unwrap();
    shut_down(client).await;
    assert!(standin.requests().is_empty());
    assert!(!home.database().exists(), "nor is a database");
}

#[tokio::test]
async fn a_missing_pipe_is_made_once_private_and_storing_nothing() {
    let (home, standin) = (TestHome::new(), start_strict_provider().await);
    let mut command = home.command_with_provider(&standin);
    command
        .env("PIPE_LINEAR", "my-own-name")
        .env("DELIBERATE_MODEL", "openai:gpt-9");
    let mut client = serve(&mut command).await;
    let mut ids = Vec::new();
    for number in 0..4 {
        let params =
            json!({ "name": "reasoning_linear", "arguments": { "content": format!("{number}") } });
        ids.push(client.send_request("tools/call", params).await.unwrap());
    }
    for id in ids {
        output(&client.response(id).await.unwrap());
    }
    shut_down(client).await;
    let pipes = standin.pipes();
    assert_eq!(pipes.len(), 1);
    let (name, pipe) = &pipes[0];
    assert_eq!(name, "my-own-name");
    assert_eq!(pipe["status"], "private");
    assert_eq!(pipe["store"], false);
    assert_eq!(pipe["upsert"], false);
    assert_eq!(pipe["model"], "openai:gpt-9");
    assert_eq!(
        standin.pipe_writes().len(),
        1,
        "four calls at once make it once"
    );
    assert_eq!(standin.overwritten_pipes(), 0);
}

#[tokio::test]
async fn a_pipe_of_the_users_own_is_used_and_left_alone() {
    let (home, standin) = (TestHome::new(), start_strict_provider().await);
    let own = json!({ "name": "linear-reasoning-v1", "model": "mine", "status": "public" });
    standin.add_pipe("linear-reasoning-v1", own.clone());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    output(&think(&mut client, "with mine").await);
    shut_down(client).await;
    assert_eq!(standin.pipe_writes().len(), 0);
    assert_eq!(standin.pipes(), [("linear-reasoning-v1".to_owned(), own)]);
}

#[tokio::test]
async fn a_pipe_that_cannot_be_made_is_an_error_and_not_tried_for_ever() {
    let (home, standin) = (TestHome::new(), start_strict_provider().await);
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    standin.push_pipe_fault(MockFault::status(403));
    assert_eq!(
        tool_failure(&think(&mut client, "no").await).code,
        "ApiError"
    );
    assert_eq!(
        (standin.model_requests().len(), standin.pipe_writes().len()),
        (1, 1)
    );
    output(&think(&mut client, "now it may").await);
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (1, 1));
}

#[tokio::test]
async fn a_session_continues_the_thread_that_was_issued_for_it_in_another_process_too() {
    let (home, standin) = (TestHome::new(), start_strict_provider().await);
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let first = think(&mut client, "one").await;
    let session = text(&first, "session_id").to_owned();
    output(&think(&mut client, "elsewhere").await);
    output(&think_in_session(&mut client, &session, "two").await);
    shut_down(client).await;
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    output(&think_in_session(&mut client, &session, "three").await);
    shut_down(client).await;

    let threads = |content: &str| {
        let asks = standin.model_requests();
        let ask = asks
            .iter()
            .rev()
            .find(|ask| ask.body["variables"] == json!([{ "name": "content", "value": content }]));
        ask.unwrap().body["threadId"].clone()
    };
    assert_eq!(threads("one"), json!(null));
    assert_eq!(threads("elsewhere"), json!(null));
    assert_eq!(threads("two"), json!("thread-1"));
    assert_eq!(threads("three"), json!("thread-1"));
    assert_eq!(standin.threads().len(), 2);
}

/// Langbase may delete the thread; the reasoning is stored here and sent with the request.
#[tokio::test]
async fn a_session_whose_thread_is_forgotten_can_be_continued() {
    let (home, standin) = (TestHome::new(), start_strict_provider().await);
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let first = think(&mut client, "one").await;
    let session = text(&first, "session_id").to_owned();
    sqlx::query("UPDATE sessions SET metadata = '{\"thread\": \"thread-gone\"}'")
        .execute(&mut home.open_database().await)
        .await
        .unwrap();
    let second = think_in_session(&mut client, &session, "two").await;
    assert_eq!(
        output(&second)["previous_thought"],
        output(&first)["thought_id"]
    );
    shut_down(client).await;
}

#[tokio::test]
async fn a_pipe_that_stays_missing_is_an_error_after_one_attempt_to_make_it() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.set_default_fault(MockFault::status(404));
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let answer = think(&mut client, "anyone?").await;
    assert_eq!(tool_failure(&answer).code, "ApiError");
    assert!(tool_failure(&answer).text.contains("404"), "{answer}");
    assert_eq!(
        (standin.model_requests().len(), standin.pipe_writes().len()),
        (2, 1)
    );
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (0, 0));
}
