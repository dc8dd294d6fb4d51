//! Every tool that asks, over every wire, with everything a provider or a model can get wrong: the
//! call ends in an answer or in a clear error, and the store holds whole steps only; after an error
//! it holds what it held before.

mod kit;

use deliberate_testkit::{Fault, Standin};
use serde_json::{Value, json};

use crate::support::{Wire, end, serve};
use kit::{Bench, Ended, Lasts, command, said, with_nothing, with_numbers, with_wrong_types};

async fn untidy_answers_are_used(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        let good = (asking.good)();
        let mut chatty = good.clone();
        chatty["remark"] = json!("I hope that helps.");
        let numbers = |make: fn(f64) -> Value| with_numbers(&good, make).to_string();
        for said in [
            good.to_string(),
            format!("```json\n{good:#}\n```"),
            format!("Sure! Here it is: {good} Does that help?"),
            format!("<think>{{\"thought\": \"no\"}}</think>{good}"),
            chatty.to_string(),
            numbers(|number| json!(number.to_string())),
            numbers(|number| json!(format!("{number}%"))),
            numbers(|number| json!(number * 1e4)),
            numbers(|number| json!(-number)),
            numbers(|_| json!(1e300)),
        ] {
            let ended = bench.hears(asking, &said).await;
            let what = format!("{wire:?} {} {said}", asking.tool);
            assert_eq!(ended.code(), None, "{what}");
            assert!(!was_asked_again(&bench.standin), "{what}: asked again");
        }
    }
    end(bench.client).await;
}

fn was_asked_again(standin: &Standin) -> bool {
    let asks = standin.asks();
    let mut told = asks.iter().map(|ask| ask.body["messages"].to_string());
    told.any(|messages| messages.contains("can't be used"))
}

async fn useless_answers_are_asked_for_again(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        let wrong = with_wrong_types(&(asking.good)()).to_string();
        let nothing = with_nothing(&(asking.good)()).to_string();
        for text in ["", " \n\t", "{}", "null", "[]", "{\"", &wrong, &nothing] {
            let ended = bench.meets(asking, &said(text), Lasts::Once).await;
            assert_eq!(ended.code(), None, "{wire:?} {} {text}", asking.tool);
        }
        for text in ["", "{}", "null", "{\"", &nothing] {
            let ended = bench.meets(asking, &said(text), Lasts::Always).await;
            let what = format!("{wire:?} {} {text}", asking.tool);
            assert_eq!(ended.code(), Some("InvalidResponse"), "{what}");
            // Once more each, and never for ever.
            let most = 2 * asking.at_once;
            assert!(bench.standin.asks().len() <= most, "{what}");
        }
        let ended = bench.meets(asking, &said(wrong), Lasts::Always).await;
        let code = ended.code();
        assert!(
            matches!(code, None | Some("InvalidResponse")),
            "{wire:?} {}: {code:?}",
            asking.tool
        );
        let ended = bench
            .meets(asking, &said("Just words."), Lasts::Always)
            .await;
        let wanted = (!asking.takes_words).then_some("InvalidResponse");
        assert_eq!(ended.code(), wanted, "{wire:?} {}: words", asking.tool);
        let refusal = Fault::Refusal("I would rather not.".to_owned());
        let ended = bench.meets(asking, &refusal, Lasts::Always).await;
        assert_eq!(ended.code(), Some("InvalidResponse"), "{}", asking.tool);
    }
    end(bench.client).await;
}

/// An answer may break off anywhere. What was said whole may be used; half a sentence never is.
async fn no_half_of_a_sentence_is_kept(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        let good = (asking.good)();
        let mut whole = Vec::new();
        sentences(&good, &mut whole);
        let good = good.to_string();
        for length in (0..good.len()).step_by(STRIDE) {
            let cut = good.get(..length).unwrap();
            for fault in [said(cut), Fault::Truncated(cut.to_owned())] {
                let ended = bench.meets(asking, &fault, Lasts::Always).await;
                let what = format!("{wire:?} {} {fault:?}", asking.tool);
                let Ended::Answer(answer) = ended else {
                    assert_eq!(ended.code(), Some("InvalidResponse"), "{what}");
                    continue;
                };
                let mut told = Vec::new();
                sentences(&answer, &mut told);
                for sentence in told {
                    let half = whole
                        .iter()
                        .find(|it| it.starts_with(&sentence) && **it != sentence);
                    assert_eq!(half, None, "{what}: {sentence:?} is half of it");
                }
            }
        }
    }
    end(bench.client).await;
}

/// An answer is cut at every so many letters.
const STRIDE: usize = 23;

/// The texts in a value that could be half of another: ids and single words are not.
fn sentences(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(' ') => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| sentences(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| sentences(field, into)),
        _ => {}
    }
}

async fn what_cannot_be_cured_is_told_at_once(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        for (fault, code) in [
            (Fault::Html200, "InvalidResponse"),
            (Fault::Body("{}".to_owned()), "InvalidResponse"),
            (Fault::status(400), "ApiError"),
            (Fault::status(401), "ApiError"),
            (Fault::status(403), "ApiError"),
            (Fault::status(404), "ApiError"),
        ] {
            let ended = bench.meets(asking, &fault, Lasts::Always).await;
            let what = format!("{wire:?} {} {fault:?}", asking.tool);
            assert_eq!(ended.code(), Some(code), "{what}");
            // A pipe that is missing is made, and run again, once; a thread that is missing too.
            let times = match (wire, &fault) {
                (Wire::Langbase, Fault::Status { code: 404, .. }) => 3,
                _ => 1,
            };
            let asks = bench.standin.asks().len();
            assert!(asks <= times * asking.at_once, "{what}: {asks} asks");
        }
    }
    end(bench.client).await;
}

async fn what_may_pass_is_tried_again(wire: Wire) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        for fault in [
            Fault::status(500),
            Fault::status(503),
            Fault::status_with(429, "retry-after", "0"),
            Fault::CutConnection,
            Fault::CutBody,
        ] {
            let ended = bench.meets(asking, &fault, Lasts::Once).await;
            assert_eq!(ended.code(), None, "{wire:?} {} {fault:?}", asking.tool);
        }
        for fault in [Fault::status(500), Fault::CutConnection, Fault::CutBody] {
            let ended = bench.meets(asking, &fault, Lasts::Always).await;
            let what = format!("{wire:?} {} {fault:?}", asking.tool);
            assert_eq!(ended.code(), Some(wire.unavailable()), "{what}");
            let asks = bench.standin.asks().len();
            assert!(asks <= 2 * asking.at_once, "{what}: {asks} asks");
        }
    }
    end(bench.client).await;
}

/// Calls every tool while the provider has this fault for good, each in a server of its own with
/// these settings. What must be there is made before, by a server that has time.
async fn all_end_in(wire: Wire, fault: Fault, code: &str, settings: &[(&str, &str)]) {
    let mut bench = Bench::new(wire).await;
    for asking in bench.tools.clone() {
        let arguments = bench.arguments(asking).await;
        let mut command = command(&bench.place, wire, &bench.standin);
        command.envs(settings.iter().copied());
        let other = serve(&mut command).await;
        let patient = std::mem::replace(&mut bench.client, other);
        bench.standin.reset();
        bench.standin.always(fault.clone());
        let ended = bench.call(asking, arguments, code).await;
        assert_eq!(ended.code(), Some(code), "{wire:?} {}", asking.tool);
        let asks = bench.standin.asks().len();
        assert!(asks <= asking.at_once, "{wire:?} {}: {asks}", asking.tool);
        end(std::mem::replace(&mut bench.client, patient)).await;
    }
    end(bench.client).await;
}

async fn what_takes_too_long_is_given_up(wire: Wire) {
    let settings = [("REQUEST_TIMEOUT_MS", "150"), ("MAX_RETRIES", "0")];
    all_end_in(wire, Fault::Hang, "Timeout", &settings).await;
}

async fn a_wait_that_does_not_fit_is_told(wire: Wire) {
    let fault = Fault::status_with(429, "retry-after", "3600");
    let settings = [("DELIBERATE_LIMITS_CALL_TIMEOUT_MS", "20000")];
    all_end_in(wire, fault, "RateLimited", &settings).await;
}

/// One test for each wire, so that they run side by side.
macro_rules! on_every_wire {
    ($($what:ident),* $(,)?) => {
        mod langbase {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::Wire::Langbase).await;
            })*
        }
        mod openai {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::Wire::OpenAi).await;
            })*
        }
        mod anthropic {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::Wire::Anthropic).await;
            })*
        }
    };
}

on_every_wire!(
    untidy_answers_are_used,
    useless_answers_are_asked_for_again,
    no_half_of_a_sentence_is_kept,
    what_cannot_be_cured_is_told_at_once,
    what_may_pass_is_tried_again,
    what_takes_too_long_is_given_up,
    a_wait_that_does_not_fit_is_told,
);
