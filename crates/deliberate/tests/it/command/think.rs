//! Tests of `deliberate think`.

use deliberate_testkit::{MockFault, MockProvider};
use serde_json::Value;

use crate::support::{TestHome, run_command, run_with_input};

#[tokio::test]
async fn a_question_is_answered_with_the_thought_and_how_to_go_on() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.push_fault(MockFault::Text(
        r#"{"thought": "Because it can.", "confidence_percent": 72}"#.to_owned(),
    ));
    let output = run_command(home.command_with_provider(&standin).args(["think", "Why?"])).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let listed = home.run_json(&["sessions", "list", "--json"]).await;
    let session = listed[0]["session"]["id"].as_str().unwrap();
    assert_eq!(
        output.stdout,
        format!(
            "Because it can.\n\nConfidence 72 %. Continue with:\n  deliberate think --session {session} \"…\"\n"
        )
    );
}

#[tokio::test]
async fn json_is_the_tools_answer_and_a_session_is_continued() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let first = run_command(
        home.command_with_provider(&standin)
            .args(["think", "--json", "Why?"]),
    )
    .await;
    let first: Value = serde_json::from_str(&first.stdout).unwrap();
    let session = first["session_id"].as_str().unwrap();
    let second = run_command(home.command_with_provider(&standin).args([
        "think",
        "--json",
        "--session",
        session,
        "And?",
    ]))
    .await;
    let second: Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!(second["session_id"], first["session_id"]);
    assert_eq!(second["previous_thought"], first["thought_id"]);
    assert_eq!(home.stored_counts().await, (1, 2));
}

#[tokio::test]
async fn a_question_may_come_from_standard_input() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let output = run_with_input(
        home.command_with_provider(&standin).args(["think", "-"]),
        "a long story\nof two lines\n",
    )
    .await;
    assert_eq!(output.code, Some(0));
    let cli_output = home.run(&["sessions"]).await;
    assert!(
        cli_output.stdout.contains("a long story of two lines"),
        "{}",
        cli_output.stdout
    );
    let nothing = run_with_input(
        home.command_with_provider(&standin).args(["think", "-"]),
        " \n",
    )
    .await;
    assert_eq!(nothing.code, Some(2));
    assert!(
        nothing.stderr.contains("content: must not be empty"),
        "{}",
        nothing.stderr
    );
}

#[tokio::test]
async fn without_a_provider_it_says_how_to_get_one() {
    let home = TestHome::new();
    let output = home.run(&["think", "Why?"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(1), ""));
    insta::assert_snapshot!("think_without_provider", output.stdout);
    assert!(!home.database().exists());
}

#[tokio::test]
async fn a_person_can_answer_by_hand() {
    let home = TestHome::new();
    let cases = [
        ("Because I say so.\n", "Because I say so."),
        ("Two\nlines.\n\nnot this\n", "Two\nlines."),
        ("\n\nAfter blanks.\n", "After blanks."),
        (
            "{\"thought\": \"As JSON.\", \"confidence_percent\": 55}\n",
            "As JSON.",
        ),
        ("No newline", "No newline"),
    ];
    for (typed, kept) in cases {
        let cli_output = run_with_input(
            home.command().args(["think", "--manual", "--json", "Why?"]),
            typed,
        )
        .await;
        assert_eq!(cli_output.code, Some(0), "{typed:?}: {}", cli_output.stderr);
        assert!(
            cli_output.stderr.contains("Why?"),
            "the ask is shown, beside the answer"
        );
        let output: Value = serde_json::from_str(&cli_output.stdout).unwrap();
        assert_eq!(output["content"], kept, "{typed:?}");
    }
    assert_eq!(
        home.stored_counts().await,
        (cases.len(), cases.len() as u64)
    );
}

#[tokio::test]
async fn saying_nothing_by_hand_keeps_nothing() {
    let home = TestHome::new();
    let output = run_with_input(home.command().args(["think", "--manual", "Why?"]), "").await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(
        output
            .stderr
            .ends_with("error: there was no reply; nothing was stored\n"),
        "{}",
        output.stderr
    );
    assert_eq!(home.stored_counts().await, (0, 0));
}

#[tokio::test]
async fn by_hand_nobody_else_is_asked() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let output = run_with_input(
        home.command_with_provider(&standin)
            .args(["think", "--manual", "Why?"]),
        "Me.\n",
    )
    .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(standin.requests().is_empty());
}

#[tokio::test]
async fn an_unknown_session_is_told_and_what_fails_ends_with_two() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let output = run_command(home.command_with_provider(&standin).args([
        "think",
        "--session",
        "nope",
        "Why?",
    ]))
    .await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(
        output
            .stderr
            .starts_with("error: there is no session with id \"nope\". "),
        "{}",
        output.stderr
    );
    standin.set_default_fault(MockFault::status(403));
    let output = run_command(home.command_with_provider(&standin).args(["think", "Why?"])).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(
        output.stderr.contains("langbase answered 403"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("Check the provider's API key"),
        "{}",
        output.stderr
    );
    assert_eq!(home.stored_counts().await, (0, 0));
}
