//! What models make of "answer with one JSON object": used where it can be, else asked for once
//! more, else a clear error; and only whole steps are kept.

use deliberate_testkit::{Client, Fault, Standin};
use serde_json::{Value, json};

use crate::support::{Place, Wire, end, failure, output, serve, text, think};

async fn server(place: &Place, wire: Wire, standin: &Standin) -> Client {
    let mut command = place.command();
    wire.set(&mut command, standin);
    command.env("MAX_RETRIES", "1");
    serve(&mut command).await
}

fn said(text: &str) -> Fault {
    Fault::Text(text.to_owned())
}

#[tokio::test]
async fn what_models_write_around_their_json_is_understood() {
    let json_in = |before: &str, after: &str| {
        said(&format!(
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
            said("{\"thought\": \"It rains.\", \"confidence_percent\": 70,}"),
        ),
        (
            "a number as text",
            said(r#"{"thought": "It rains.", "confidence_percent": "70"}"#),
        ),
        (
            "a number with a sign",
            said(r#"{"thought": "It rains.", "confidence_percent": "70%"}"#),
        ),
        (
            "a fraction",
            said(r#"{"thought": "It rains.", "confidence_percent": 0.7}"#),
        ),
        (
            "of an old pipe",
            said(r#"{"thought": "It rains.", "confidence": 0.7, "metadata": {}}"#),
        ),
    ];
    for wire in Wire::ALL {
        let (place, standin) = (Place::new(), Standin::start().await.unwrap());
        let mut client = server(&place, wire, &standin).await;
        for (what, fault) in &cases {
            standin.push(fault.clone());
            let answer = think(&mut client, "What is the weather?").await;
            assert_eq!(text(&answer, "content"), "It rains.", "{wire:?} {what}");
            assert_eq!(output(&answer)["confidence"], 0.7, "{wire:?} {what}");
        }
        assert_eq!(
            standin.asks().len(),
            cases.len(),
            "{wire:?}: none was asked twice"
        );
        end(client).await;
        assert_eq!(place.kept().await, (cases.len(), cases.len() as u64));
    }
}

#[tokio::test]
async fn scores_out_of_range_are_brought_into_it() {
    let cases = [
        ("76.8", 0.768),
        ("90", 0.9),
        ("100", 1.0),
        ("101", 1.0),
        ("1e308", 1.0),
        ("-5", 0.0),
        ("null", 0.8),
    ];
    for wire in Wire::ALL {
        let (place, standin) = (Place::new(), Standin::start().await.unwrap());
        let mut client = server(&place, wire, &standin).await;
        for (written, kept) in cases {
            // The same answer twice, for where the first is not taken.
            for _ in 0..2 {
                standin.push(said(&format!(
                    r#"{{"thought": "So.", "confidence": {written}}}"#
                )));
            }
            let answer = think(&mut client, "How sure?").await;
            assert_eq!(output(&answer)["confidence"], kept, "{wire:?} {written}");
            standin.reset();
        }
        end(client).await;
        let scores: Vec<f64> = sqlx::query_scalar("SELECT confidence FROM thoughts ORDER BY seq")
            .fetch_all(&mut place.open().await)
            .await
            .unwrap();
        assert_eq!(scores, cases.map(|(_, kept)| kept));
    }
}

#[tokio::test]
async fn plain_text_is_a_thought_without_fences_or_quotes() {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    let mut client = server(&place, Wire::Langbase, &standin).await;
    for text_said in ["Just words.", "  Just words.\n", "\"Just words.\""] {
        standin.push(said(text_said));
        let answer = think(&mut client, "Plainly?").await;
        assert_eq!(text(&answer, "content"), "Just words.", "{text_said:?}");
        assert_eq!(output(&answer)["confidence"], 0.8);
    }
    end(client).await;
}

#[tokio::test]
async fn an_unusable_answer_is_asked_for_once_more_with_what_is_wrong() {
    let bad = [
        said(""),
        said("   \n"),
        said("```json\n{\"thou\n```"),
        said("{\"thought\": \"\"}"),
        said("{\"confidence\": 0.9}"),
        said("[{}]"),
        Fault::Truncated(String::new()),
        Fault::Truncated("{\"thou".to_owned()),
        Fault::Truncated("{\"thought\": \"The answer is forty-".to_owned()),
        said("{\"thought\": \"The answer is forty-"),
    ];
    for wire in Wire::ALL {
        let (place, standin) = (Place::new(), Standin::start().await.unwrap());
        let mut client = server(&place, wire, &standin).await;
        for fault in &bad {
            standin.reset();
            standin.push(fault.clone());
            let answer = think(&mut client, "Once more?").await;
            let content = text(&answer, "content");
            assert!(
                content.starts_with("Thought 2"),
                "{wire:?} {fault:?}: {content}"
            );
            let asks = standin.asks();
            assert_eq!(asks.len(), 2, "{wire:?} {fault:?}");
            let messages = asks[1].body["messages"].to_string();
            assert!(
                messages.contains("can't be used"),
                "{wire:?} {fault:?}: {messages}"
            );
        }
        end(client).await;
        assert_eq!(place.kept().await, (bad.len(), bad.len() as u64));
    }
}

#[tokio::test]
async fn an_answer_that_stays_unusable_is_an_error_and_is_kept_in_the_record() {
    let cases = [
        (said(""), ""),
        (said("{\"confidence\": 0.31}"), "0.31"),
        (said("```json\n{\"thou\n```"), "```json"),
        (
            Fault::Truncated("{\"confidence\": 0.32, \"thou".to_owned()),
            "0.32",
        ),
        (
            Fault::Refusal("I would rather not.".to_owned()),
            "rather not",
        ),
    ];
    for wire in Wire::ALL {
        let (place, standin) = (Place::new(), Standin::start().await.unwrap());
        let mut client = server(&place, wire, &standin).await;
        for (fault, _) in &cases {
            standin.always(fault.clone());
            let answer = think(&mut client, "And?").await;
            assert_eq!(
                failure(&answer).code,
                "InvalidResponse",
                "{wire:?} {fault:?}"
            );
        }
        end(client).await;
        assert_eq!(place.kept().await, (0, 0), "{wire:?}");
        let sql = "SELECT success, error_code, output, model_calls FROM invocations ORDER BY seq";
        let records: Vec<(bool, String, String, i64)> = sqlx::query_as(sql)
            .fetch_all(&mut place.open().await)
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
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    let mut client = server(&place, Wire::Langbase, &standin).await;
    standin.push(said("```json\n{\"thought\": \n```"));
    let answer = think(&mut client, "Well?").await;
    assert!(
        text(&answer, "content").starts_with("Thought 2"),
        "{answer}"
    );
    end(client).await;
}

#[tokio::test]
async fn a_body_that_is_no_answer_is_a_clear_error() {
    let cases = [
        Fault::Html200,
        Fault::Body(String::new()),
        Fault::Body("not JSON".to_owned()),
        Fault::Body("{}".to_owned()),
        Fault::Body("[]".to_owned()),
        Fault::Body("null".to_owned()),
    ];
    for wire in Wire::ALL {
        let (place, standin) = (Place::new(), Standin::start().await.unwrap());
        let mut client = server(&place, wire, &standin).await;
        for fault in &cases {
            standin.reset();
            standin.always(fault.clone());
            let answer = think(&mut client, "And?").await;
            let failure = failure(&answer);
            assert_eq!(failure.code, "InvalidResponse", "{wire:?} {fault:?}");
            assert!(!failure.text.contains("decoding"), "{failure:?}");
            assert!(standin.asks().len() <= 2, "{wire:?} {fault:?}");
        }
        end(client).await;
        assert_eq!(place.kept().await, (0, 0));
    }
}

#[tokio::test]
async fn tokens_and_cost_are_recorded_for_every_wire() {
    for wire in Wire::ALL {
        let (place, standin) = (Place::new(), Standin::start().await.unwrap());
        let mut command = place.command();
        wire.set(&mut command, &standin);
        command
            .env("DELIBERATE_PRICES_INPUT_PER_MTOK", "1")
            .env("DELIBERATE_PRICES_OUTPUT_PER_MTOK", "2");
        let mut client = serve(&mut command).await;
        output(&think(&mut client, "What does it cost?").await);
        end(client).await;
        let sql = "SELECT input, model, model_calls, prompt_tokens, completion_tokens, cost_usd FROM invocations";
        let (input, model, calls, sent, received, cost): (String, String, i64, i64, i64, f64) =
            sqlx::query_as(sql)
                .fetch_one(&mut place.open().await)
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
