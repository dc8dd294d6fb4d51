//! Tests of sessions: continued, never invented, and without remains of failed calls.

use deliberate_testkit::{MockFault, MockProvider};
use serde_json::json;

use crate::support::{
    TestHome, output, serve, shut_down, text, think, think_in_session, tool_failure,
};

#[tokio::test]
async fn a_session_that_does_not_exist_is_an_error_and_is_not_made() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let first = think(&mut client, "the only one").await;
    let real = text(&first, "session_id");
    let mistyped = format!(
        "{}{}",
        &real[..real.len() - 1],
        if real.ends_with('0') { '1' } else { '0' }
    );
    let shouted = real.to_uppercase();
    let huge = "x".repeat(1 << 20);
    let ids = [
        "",
        " ",
        "none",
        &mistyped,
        &real[..3],
        "ffffffff",
        "'; DROP TABLE sessions; --",
        "' OR '1'='1",
        "%",
        "../../etc/passwd",
        "a\u{0}b",
        "\u{202e}dlrow",
        &huge,
    ];
    for id in ids {
        let answer = think_in_session(&mut client, id, "lost").await;
        let failure = tool_failure(&answer);
        assert!(
            matches!(failure.code, "SessionNotFound" | "Validation"),
            "{:?}: {failure:?}",
            id.chars().take(40).collect::<String>()
        );
        assert!(
            answer.to_string().len() < 3_000,
            "a long id is not repeated in full"
        );
        assert!(failure.hint.is_some());
    }
    if shouted != real {
        assert_eq!(
            tool_failure(&think_in_session(&mut client, &shouted, "lost").await).code,
            "SessionNotFound"
        );
    }
    assert_eq!(
        standin.model_requests().len(),
        1,
        "nobody was asked on behalf of a session that is not"
    );
    output(&think_in_session(&mut client, real, "and on").await);
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (1, 2));
}

#[tokio::test]
async fn the_beginning_of_an_id_is_enough_if_no_other_id_begins_so() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let first = think(&mut client, "the first").await;
    let real = text(&first, "session_id");
    let next = think_in_session(&mut client, &real[..8], "and on").await;
    assert_eq!(text(&next, "session_id"), real);
    let second = think(&mut client, "the second").await;
    let other = text(&second, "session_id");
    let shared = real.bytes().zip(other.bytes());
    let shared = shared.take_while(|(one, other)| one == other).count();
    let ambiguous = think_in_session(&mut client, &real[..shared], "which?").await;
    let failure = tool_failure(&ambiguous);
    assert_eq!(failure.code, "Validation", "{failure:?}");
    assert!(failure.text.contains("several ids"), "{failure:?}");
    let next = think_in_session(&mut client, &other[..=shared], "and on").await;
    assert_eq!(text(&next, "session_id"), other);
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (2, 4));
}

#[tokio::test]
async fn a_failed_call_leaves_its_record_and_nothing_else() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut command = home.command_with_provider(&standin);
    command.env("MAX_RETRIES", "0");
    let mut client = serve(&mut command).await;
    let first = think(&mut client, "good").await;
    let session = text(&first, "session_id").to_owned();
    let faults = [
        MockFault::status(401),
        MockFault::status(500),
        MockFault::CutConnection,
        MockFault::CutBody,
        MockFault::Html200,
        MockFault::Text(String::new()),
    ];
    for fault in &faults {
        standin.set_default_fault(fault.clone());
        tool_failure(&think(&mut client, "bad").await);
        tool_failure(&think_in_session(&mut client, &session, "bad").await);
    }
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (1, 1));
    let mut database = home.open_database().await;
    let failed: i64 = sqlx::query_scalar("SELECT count(*) FROM invocations WHERE success = 0")
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert_eq!(failed, 2 * i64::try_from(faults.len()).unwrap());
    for table in [
        "SELECT count(*) FROM branches",
        "SELECT count(*) FROM checkpoints",
        "SELECT count(*) FROM suspensions",
        "SELECT count(*) FROM graph_nodes",
    ] {
        let rows: i64 = sqlx::query_scalar(table)
            .fetch_one(&mut database)
            .await
            .unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

#[tokio::test]
async fn each_step_keeps_what_was_asked_and_follows_the_one_before() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let mut before = json!(null);
    let mut session: Option<String> = None;
    for number in 1..=3 {
        let content = format!("step {number} of «three» 🦀");
        let answer = match &session {
            None => think(&mut client, &content).await,
            Some(session) => think_in_session(&mut client, session, &content).await,
        };
        assert_eq!(output(&answer)["previous_thought"], before);
        before = output(&answer)["thought_id"].clone();
        session = Some(text(&answer, "session_id").to_owned());
    }
    shut_down(client).await;
    let shown = home
        .run_json(&["sessions", "show", &session.unwrap(), "--json"])
        .await;
    let thoughts = shown["thoughts"].as_array().unwrap();
    let inputs: Vec<&str> = thoughts
        .iter()
        .filter_map(|thought| thought["input"].as_str())
        .collect();
    assert_eq!(
        inputs,
        [
            "step 1 of «three» 🦀",
            "step 2 of «three» 🦀",
            "step 3 of «three» 🦀"
        ]
    );
    assert_eq!(thoughts[0]["parent_id"], json!(null));
    assert_eq!(thoughts[1]["parent_id"], thoughts[0]["id"]);
    assert_eq!(thoughts[2]["parent_id"], thoughts[1]["id"]);
    let last = standin.model_requests().pop().unwrap().body["messages"].to_string();
    assert!(
        last.contains("step 1 of") && last.contains("Thought 2 on"),
        "the past is told: {last}"
    );
}

#[tokio::test]
async fn a_session_of_another_mode_is_continued_with_its_context() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let views = json!({ "content": "begin", "num_perspectives": 2 });
    let first = client.call("reasoning_divergent", views).await.unwrap();
    let session = text(&first, "session_id").to_owned();
    let before = home.stored_counts().await;
    let answer = think_in_session(&mut client, &session, "go on").await;
    assert_eq!(text(&answer, "session_id"), session);
    assert_eq!(
        output(&answer)["previous_thought"],
        output(&first)["thought_id"]
    );
    let asked = standin.model_requests().pop().unwrap().body["messages"].to_string();
    assert!(
        asked.contains(text(&first, "synthesis")) && asked.contains("go on"),
        "the synthesis is told: {asked}"
    );
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (before.0, before.1 + 1));
    let mode: String = sqlx::query_scalar("SELECT mode FROM sessions")
        .fetch_one(&mut home.open_database().await)
        .await
        .unwrap();
    assert_eq!(mode, "divergent", "a session keeps the mode it began in");
}

#[tokio::test]
async fn without_a_provider_the_client_replies_and_the_step_is_kept_once() {
    let home = TestHome::new();
    let mut client = serve(&mut home.command()).await;
    let asked = think(&mut client, "think yourself").await;
    let needs = &output(&asked)["needs_reply"];
    assert!(
        needs["asks"][0]["messages"]
            .to_string()
            .contains("think yourself"),
        "{needs}"
    );
    assert_eq!(home.stored_counts().await, (0, 0));
    let replies = json!({ "id": needs["id"], "replies": ["{\"thought\": \"Done.\", \"confidence_percent\": 60}"] });
    let done = client
        .call("reasoning_resume", replies.clone())
        .await
        .unwrap();
    assert_eq!(text(&done, "content"), "Done.");
    let again = client.call("reasoning_resume", replies).await.unwrap();
    assert_eq!(
        output(&again),
        output(&done),
        "a repeated reply gives the same answer"
    );
    shut_down(client).await;
    assert_eq!(home.stored_counts().await, (1, 1));
}

const PONDER: &str = "id: ponder\nname: Ponder\ndescription: d\narguments:\n  \
    - {name: topic, required: true}\nchainSteps:\n  - stepName: Think\n    \
    tool: reasoning_linear\n    arguments: {content: \"{{ topic }}\"}\n";

#[tokio::test]
async fn a_deleted_session_leaves_no_text_in_the_invocation_log() {
    const SECRET: &str = "a-plan-that-nobody-may-read";
    const TITLE: &str = "A-title-that-nobody-may-read";
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let chain = home.path("data/deliberate/prompts/prompts/general/ponder/prompt.yaml");
    std::fs::create_dir_all(chain.parent().unwrap()).unwrap();
    std::fs::write(chain, PONDER).unwrap();
    let mut command = home.command_with_provider(&standin);
    command.env("MAX_RETRIES", "0");
    let mut client = serve(&mut command).await;
    let ponder = json!({ "command": format!(">>ponder {SECRET}") });
    let run = client.call("prompt_engine", ponder).await.unwrap();
    let step = output(&run)["results"]["Think"].as_str().unwrap();
    let step: serde_json::Value = serde_json::from_str(step).unwrap();
    let of_chain = step["session_id"].as_str().unwrap().to_owned();
    let first = think(&mut client, SECRET).await;
    let id = text(&first, "session_id").to_owned();
    let short = &id[..id.len() - 1];
    let rename = json!({ "action": "rename", "session_id": id, "title": TITLE });
    output(&client.call("reasoning_sessions", rename).await.unwrap());

    // One is rejected before the short id is looked up, the other one fails later.
    let wrong = json!({ "session_id": short, "content": SECRET, "wrong": true });
    tool_failure(&client.call("reasoning_linear", wrong).await.unwrap());
    standin.set_default_fault(MockFault::status(401));
    tool_failure(&think_in_session(&mut client, short, SECRET).await);
    for (tool, arguments) in [
        ("reasoning_search", json!({ "query": SECRET })),
        ("reasoning_get", json!({ "id": short })),
        (
            "reasoning_sessions",
            json!({ "action": "delete", "session_id": id }),
        ),
    ] {
        output(&client.call(tool, arguments).await.unwrap());
    }
    for id in [id.as_str(), &of_chain] {
        let delete = json!({ "action": "delete", "session_id": id, "confirm": true });
        let deleted = client.call("reasoning_sessions", delete).await.unwrap();
        assert_eq!(output(&deleted)["deleted"], true);
    }
    shut_down(client).await;

    let mut database = home.open_database().await;
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT tool_name, input || coalesce(output, '') || coalesce(error, '') FROM invocations",
    )
    .fetch_all(&mut database)
    .await
    .unwrap();
    assert_eq!(rows.len(), 10, "every call is logged");
    for (tool, texts) in rows {
        let texts = texts.to_lowercase();
        assert!(!texts.contains("nobody-may-read"), "{tool}: {texts}");
    }
}
