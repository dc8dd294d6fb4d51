//! Tests of answers to "answer with one JSON object": used if possible, else asked for once more,
//! else a clear error; and only whole steps are stored.

use deliberate_testkit::{MockFault, MockProvider, StdioClient};
use serde_json::{Value, json};

use crate::support::{
    ProviderFormat, TestHome, output, serve, shut_down, text, think, tool_failure,
};

async fn serve_with_provider(
    home: &TestHome,
    wire: ProviderFormat,
    standin: &MockProvider,
) -> StdioClient {
    let mut command = home.command();
    wire.configure(&mut command, standin);
    command.env("MAX_RETRIES", "1");
    serve(&mut command).await
}

fn model_reply(text: &str) -> MockFault {
    MockFault::Text(text.to_owned())
}

#[tokio::test]
async fn what_models_write_around_their_json_is_understood() {
    let json_in = |before: &str, after: &str| {
        model_reply(&format!(
            "{before}{{\"thought\": \"It rains.\", \"confidence_percent\": 70}}{after}"
        ))
    };
    let cases = [
        ("bare", json_in("", "")),
        ("fenced", json_in("```json\n", "\n```")),
        ("fenced without a name", json_in("```\n", "\n```")),
        (
            "fenced amid prose",
            json_in("Sure! Here it is:\n```json\n", "\n```\nHope it helps."),
        ),
        (
            "amid prose",
            json_in("Here is my answer: ", " Let me know!"),
        ),
        (
            "after thinking",
            json_in("<think>{\"thought\": \"no\"}</think>\n", ""),
        ),
        (
            "with a trailing comma",
            model_reply("{\"thought\": \"It rains.\", \"confidence_percent\": 70,}"),
        ),
        (
            "a number as text",
            model_reply(r#"{"thought": "It rains.", "confidence_percent": "70"}"#),
        ),
        (
            "a number with a sign",
            model_reply(r#"{"thought": "It rains.", "confidence_percent": "70%"}"#),
        ),
        (
            "a fraction",
            model_reply(r#"{"thought": "It rains.", "confidence_percent": 0.7}"#),
        ),
        (
            "of an old pipe",
            model_reply(r#"{"thought": "It rains.", "confidence": 0.7, "metadata": {}}"#),
        ),
    ];
    for wire in ProviderFormat::ALL {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut client = serve_with_provider(&home, wire, &standin).await;
        for (what, fault) in &cases {
            standin.push_fault(fault.clone());
            let answer = think(&mut client, "What is the weather?").await;
            assert_eq!(text(&answer, "content"), "It rains.", "{wire:?} {what}");
            assert_eq!(output(&answer)["confidence"], 0.7, "{wire:?} {what}");
        }
        assert_eq!(
            standin.model_requests().len(),
            cases.len(),
            "{wire:?}: none was asked twice"
        );
        shut_down(client).await;
        assert_eq!(
            home.stored_counts().await,
            (cases.len(), cases.len() as u64)
        );
    }
}

#[tokio::test]
async fn scores_out_of_range_are_brought_into_it() {
    let cases = [
        // Scores are whole percentages.
        ("76.8", 0.77),
        ("90", 0.9),
        ("100", 1.0),
        ("101", 1.0),
        ("1e308", 1.0),
        ("-5", 0.0),
        ("null", 0.8),
    ];
    for wire in ProviderFormat::ALL {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut client = serve_with_provider(&home, wire, &standin).await;
        for (written, kept) in cases {
            // The same answer twice, in case the first is rejected.
            for _ in 0..2 {
                standin.push_fault(model_reply(&format!(
                    r#"{{"thought": "So.", "confidence": {written}}}"#
                )));
            }
            let answer = think(&mut client, "How sure?").await;
            assert_eq!(output(&answer)["confidence"], kept, "{wire:?} {written}");
            standin.reset();
        }
        shut_down(client).await;
        let scores: Vec<f64> = sqlx::query_scalar("SELECT confidence FROM thoughts ORDER BY seq")
            .fetch_all(&mut home.open_database().await)
            .await
            .unwrap();
        assert_eq!(scores, cases.map(|(_, kept)| kept));
    }
}

#[tokio::test]
async fn plain_text_is_a_thought_without_fences_or_quotes() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve_with_provider(&home, ProviderFormat::Langbase, &standin).await;
    for text_said in ["Just words.", "  Just words.\n", "\"Just words.\""] {
        // Without its fields, a text has the usual confidence.
        for (fields, confidence) in [
            (r#"{"confidence_percent": 40}"#, 0.4),
            ("Just words, again.", 0.8),
            ("", 0.8),
        ] {
            standin.reset();
            standin.push_fault(model_reply(text_said));
            standin.push_fault(model_reply(fields));
            let answer = think(&mut client, "Plainly?").await;
            let what = format!("{text_said:?} {fields:?}");
            assert_eq!(text(&answer, "content"), "Just words.", "{what}");
            assert_eq!(output(&answer)["confidence"], confidence, "{what}");
            let asks = standin.model_requests();
            assert_eq!(asks.len(), 2, "{what}: the fields are asked for once");
            let told = asks[1].body["messages"].to_string();
            assert!(told.contains("Just words."), "{what}: {told}");
        }
    }
    shut_down(client).await;
}

#[tokio::test]
async fn an_unusable_answer_is_asked_for_once_more_with_what_is_wrong() {
    let bad = [
        model_reply(""),
        model_reply("   \n"),
        model_reply("```json\n{\"thou\n```"),
        model_reply("{\"thought\": \"\"}"),
        model_reply("{\"confidence\": 0.9}"),
        model_reply("[{}]"),
        MockFault::Truncated(String::new()),
        MockFault::Truncated("{\"thou".to_owned()),
        MockFault::Truncated("{\"thought\": \"The answer is forty-".to_owned()),
        model_reply("{\"thought\": \"The answer is forty-"),
    ];
    for wire in ProviderFormat::ALL {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut client = serve_with_provider(&home, wire, &standin).await;
        for fault in &bad {
            standin.reset();
            standin.push_fault(fault.clone());
            let answer = think(&mut client, "Once more?").await;
            let content = text(&answer, "content");
            assert!(
                content.starts_with("Thought 2"),
                "{wire:?} {fault:?}: {content}"
            );
            let asks = standin.model_requests();
            assert_eq!(asks.len(), 2, "{wire:?} {fault:?}");
            let messages = asks[1].body["messages"].to_string();
            assert!(
                messages.contains("can't be used"),
                "{wire:?} {fault:?}: {messages}"
            );
        }
        shut_down(client).await;
        assert_eq!(home.stored_counts().await, (bad.len(), bad.len() as u64));
    }
}

#[tokio::test]
async fn an_answer_that_stays_unusable_is_an_error_and_is_kept_in_the_record() {
    let cases = [
        (model_reply(""), ""),
        (model_reply("{\"confidence\": 0.31}"), "0.31"),
        (model_reply("```json\n{\"thou\n```"), "```json"),
        (
            MockFault::Truncated("{\"confidence\": 0.32, \"thou".to_owned()),
            "0.32",
        ),
        (
            MockFault::Refusal("I would rather not.".to_owned()),
            "rather not",
        ),
    ];
    for wire in ProviderFormat::ALL {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut client = serve_with_provider(&home, wire, &standin).await;
        for (fault, _) in &cases {
            standin.set_default_fault(fault.clone());
            let answer = think(&mut client, "And?").await;
            assert_eq!(
                tool_failure(&answer).code,
                "InvalidResponse",
                "{wire:?} {fault:?}"
            );
        }
        shut_down(client).await;
        assert_eq!(home.stored_counts().await, (0, 0), "{wire:?}");
        let sql = "SELECT success, error_code, output, model_calls FROM invocations ORDER BY seq";
        let records: Vec<(bool, String, String, i64)> = sqlx::query_as(sql)
            .fetch_all(&mut home.open_database().await)
            .await
            .unwrap();
        assert_eq!(records.len(), cases.len());
        for ((fault, kept), (success, code, output, calls)) in cases.iter().zip(records) {
            assert!(!success);
            assert_eq!(code, "InvalidResponse");
            let output: Value = serde_json::from_str(&output).unwrap();
            let answer = output["unusable_answer"].as_str().unwrap();
            assert!(answer.contains(kept), "{wire:?} {fault:?}: {answer:?}");
            assert!(
                calls >= 1,
                "what was asked counts, though nothing came of it"
            );
        }
    }
}

#[tokio::test]
async fn a_fence_around_half_an_object_is_no_thought() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve_with_provider(&home, ProviderFormat::Langbase, &standin).await;
    standin.push_fault(model_reply("```json\n{\"thought\": \n```"));
    let answer = think(&mut client, "Well?").await;
    assert!(
        text(&answer, "content").starts_with("Thought 2"),
        "{answer}"
    );
    shut_down(client).await;
}

#[tokio::test]
async fn a_body_that_is_no_answer_is_a_clear_error() {
    let cases = [
        MockFault::Html200,
        MockFault::Body(String::new()),
        MockFault::Body("not JSON".to_owned()),
        MockFault::Body("{}".to_owned()),
        MockFault::Body("[]".to_owned()),
        MockFault::Body("null".to_owned()),
    ];
    for wire in ProviderFormat::ALL {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut client = serve_with_provider(&home, wire, &standin).await;
        for fault in &cases {
            standin.reset();
            standin.set_default_fault(fault.clone());
            let answer = think(&mut client, "And?").await;
            let failure = tool_failure(&answer);
            assert_eq!(failure.code, "InvalidResponse", "{wire:?} {fault:?}");
            assert!(!failure.text.contains("decoding"), "{failure:?}");
            assert!(standin.model_requests().len() <= 2, "{wire:?} {fault:?}");
        }
        shut_down(client).await;
        assert_eq!(home.stored_counts().await, (0, 0));
    }
}

#[tokio::test]
async fn tokens_and_cost_are_recorded_for_every_wire() {
    for wire in ProviderFormat::ALL {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut command = home.command();
        wire.configure(&mut command, &standin);
        command
            .env("DELIBERATE_PRICES_INPUT_PER_MTOK", "1")
            .env("DELIBERATE_PRICES_OUTPUT_PER_MTOK", "2");
        let mut client = serve(&mut command).await;
        output(&think(&mut client, "What does it cost?").await);
        shut_down(client).await;
        let sql = "SELECT input, model, model_calls, prompt_tokens, completion_tokens, cost_usd FROM invocations";
        let (input, model, calls, sent, received, cost): (String, String, i64, i64, i64, f64) =
            sqlx::query_as(sql)
                .fetch_one(&mut home.open_database().await)
                .await
                .unwrap();
        let input: Value = serde_json::from_str(&input).unwrap();
        assert_eq!(input, json!({ "content": "What does it cost?" }));
        assert!(!model.is_empty());
        assert_eq!(calls, 1);
        assert!(sent > 0 && received > 0, "{wire:?}");
        let expected = (sent as f64 + 2.0 * received as f64) / 1e6;
        assert!(
            (cost - expected).abs() < 1e-12,
            "{wire:?}: {cost} for {expected}"
        );
    }
}
