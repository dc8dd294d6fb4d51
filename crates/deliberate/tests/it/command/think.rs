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
    let usage = home.run_json(&["usage", "--by", "model", "--json"]).await;
    let model = usage["rows"][0]["model"].as_str().unwrap();
    assert_eq!(
        output.stdout,
        format!(
            "Because it can.\n\nConfidence 72 %. Model: {model}. Continue with:\n  deliberate think --session {session} \"…\"\n"
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
        nothing
            .stderr
            .starts_with("error: the question must not be empty"),
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
        output.stderr.starts_with(
            "error: there is no session with id \"nope\". `deliberate sessions` lists "
        ),
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

/// The replies to a tree, one for each approach, each ended by an empty line.
const TREE_REPLIES: &str = concat!(
    r#"{"name": "Train", "thought": "The train takes three hours.", "answer": "the train", "#,
    r#""weakest_point": "strikes", "confidence_percent": 80}"#,
    "\n\n",
    r#"{"name": "Bus", "thought": "The bus is cheap.", "answer": "the bus", "#,
    r#""weakest_point": "traffic", "confidence_percent": 60}"#,
    "\n\n",
    r#"{"name": "Night train", "thought": "It saves a hotel.", "answer": "the train", "#,
    r#""weakest_point": "sleep", "confidence_percent": 70}"#,
    "\n\n",
    r#"{"name": "Car", "thought": "Trains are faster than cars here.", "answer": "The train.", "#,
    r#""weakest_point": "the last mile", "confidence_percent": 50}"#,
    "\n\n",
);

/// Runs `think --manual` and returns what it prints, with the session's id hidden.
async fn think_by_hand(home: &TestHome, arguments: &[&str], typed: &str) -> String {
    let arguments = [&["think", "--manual"], arguments].concat();
    let output = run_with_input(home.command().args(arguments), typed).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let (text, id) = output.stdout.split_once("--session ").unwrap();
    let (id, rest) = id.split_once(' ').unwrap();
    assert_eq!(id.len(), 36, "{id}");
    format!("{text}--session ID {rest}")
}

#[tokio::test]
async fn a_tree_is_drawn_with_its_recommended_branch_in_full() {
    let home = TestHome::new();
    let printed = think_by_hand(&home, &["--mode", "tree", "How to travel?"], TREE_REPLIES).await;
    insta::assert_snapshot!("think_tree", printed);
}

#[tokio::test]
async fn a_tree_is_drawn_while_its_approaches_are_worked_out() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    for reply in TREE_REPLIES.split_terminator("\n\n") {
        standin.push_fault(MockFault::Text(reply.to_owned()));
    }
    let mut command = home.command_with_provider(&standin);
    let output = run_command(command.args(["think", "--mode", "tree", "How to travel?"])).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let (growth, tree) = output.stdout.split_once("How to travel? (").unwrap();
    let mut lines: Vec<&str> = growth.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "How to travel?",
            "├─ Bus (60 %)",
            "├─ Car (50 %)",
            "├─ Night train (70 %)",
            "├─ Train (80 %)",
        ]
    );
    assert!(tree.contains("★ 80 %  Train: The train takes"), "{tree}");
    assert!(tree.contains("\nWeakest point: strikes\n"), "{tree}");
}

#[tokio::test]
async fn a_graph_is_drawn_as_it_grows_and_concluded() {
    let home = TestHome::new();
    let thought = |text: &str| format!(r#"{{"thought": "{text}", "confidence_percent": 70}}"#);
    let score = |percent: u8| {
        format!(
            r#"{{"relevance_percent": {percent}, "validity_percent": {percent}, "depth_percent": {percent}, "novelty_percent": {percent}, "rationale": "so", "weakest_point": "point {percent}"}}"#
        )
    };
    let scores: Vec<String> = [60, 90, 70].map(score).into();
    let replies = [
        thought("Shelf."),
        thought("List."),
        thought("Labels."),
        format!(
            r#"{{"rationale": "so", "scores": [{}]}}"#,
            scores.join(", ")
        ),
        r#"{"thought": "A list with labels.", "approach": "both", "conflicts_resolved": [], "answer": "a list", "weakest_point": "it takes time", "confidence_percent": 80}"#.to_owned(),
    ];
    let typed = replies.join("\n\n") + "\n\n";
    let printed = think_by_hand(&home, &["--mode", "graph", "Where is it?"], &typed).await;
    insta::assert_snapshot!("think_graph", printed);
}

#[tokio::test]
async fn json_has_the_outputs_of_all_tools_of_a_mode() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let think = async |arguments: &[&str]| -> Value {
        let mut command = home.command_with_provider(&standin);
        let output = run_command(command.args(["think", "--json"]).args(arguments)).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    };
    let tree = think(&["--mode", "tree", "Why?"]).await;
    assert!(tree["recommended_branch"].is_string(), "{tree}");
    let graph = think(&["--mode", "graph", "Why?"]).await;
    assert_eq!(
        graph["finalize"]["conclusions"].as_array().unwrap().len(),
        1
    );
    assert!(
        graph["scores"][0]["scores"].as_array().unwrap().len() > 1,
        "{graph}"
    );
    let reflected = think(&["--mode", "reflect", "Why?"]).await;
    assert_eq!(
        reflected["reflection"]["reflected_thought_id"],
        reflected["thought"]["thought_id"]
    );
    let session = reflected["thought"]["session_id"].as_str().unwrap();
    let latest = think(&["--mode", "reflect", "--session", session]).await;
    assert_eq!(latest["reflection"]["session_id"], session);
    assert_eq!(latest.get("thought"), None);
    let auto = think(&["--mode", "auto", "Prove it step by step: use linear"]).await;
    assert_eq!(auto["auto"]["recommended_mode"], "linear");
    assert!(auto["auto"]["result"]["content"].is_string(), "{auto}");
}

#[tokio::test]
async fn only_a_reflection_needs_no_question() {
    let home = TestHome::new();
    let output = home.run(&["think", "--session", "x"]).await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("--mode reflect"),
        "{}",
        output.stderr
    );
}
