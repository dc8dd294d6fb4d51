//! Tests of every tool that asks a model, over every protocol, with every error of a provider or
//! model: the call ends in an answer or a clear error, and the store contains whole steps only;
//! after an error it is unchanged.

mod test_server;

use deliberate_testkit::{MockFault, MockProvider};
use serde_json::{Value, json};

use crate::support::{ProviderFormat, serve, shut_down};
use test_server::{
    FaultDuration, ModeCallEnd, ModeTestServer, model_reply, provider_command, replace_numbers,
    replace_types, replace_with_null,
};

async fn untidy_answers_are_used(wire: ProviderFormat) {
    let mut server = ModeTestServer::new(wire).await;
    for asking in server.tools.clone() {
        let good = (asking.good_answer)();
        let mut chatty = good.clone();
        chatty["remark"] = json!("I hope that helps.");
        let numbers = |make: fn(f64) -> Value| replace_numbers(&good, make).to_string();
        for text in [
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
            let ended = server.call_with_reply(asking, &text).await;
            let what = format!("{wire:?} {} {text}", asking.tool);
            let ModeCallEnd::Answer(answer) = ended else {
                panic!("{what}: {ended:?}");
            };
            assert!(!was_asked_again(&server.standin), "{what}: asked again");
            for item in listed_texts(&good) {
                let is_told = answer.to_string().contains(item);
                assert!(is_told, "{what}: {item:?} is missing from {answer}");
            }
        }
    }
    shut_down(server.client).await;
}

/// Returns the texts of all approaches or perspectives of a model's answer.
fn listed_texts(answer: &Value) -> impl Iterator<Item = &str> {
    let lists = ["approaches", "perspectives"].into_iter();
    let items = lists.filter_map(|name| answer[name].as_array()).flatten();
    items.filter_map(|item| {
        item["thought"]
            .as_str()
            .or_else(|| item["content"].as_str())
    })
}

fn was_asked_again(standin: &MockProvider) -> bool {
    let asks = standin.model_requests();
    let mut told = asks.iter().map(|ask| ask.body["messages"].to_string());
    told.any(|messages| messages.contains("can't be used"))
}

async fn useless_answers_are_asked_for_again(wire: ProviderFormat) {
    let mut server = ModeTestServer::new(wire).await;
    for asking in server.tools.clone() {
        let wrong = replace_types(&(asking.good_answer)()).to_string();
        let nothing = replace_with_null(&(asking.good_answer)()).to_string();
        for text in ["", " \n\t", "{}", "null", "[]", "{\"", &wrong, &nothing] {
            let ended = server
                .call_with_fault(asking, &model_reply(text), FaultDuration::Once)
                .await;
            assert_eq!(ended.code(), None, "{wire:?} {} {text}", asking.tool);
        }
        for text in ["", "{}", "null", "[]", "{\"", &nothing] {
            let ended = server
                .call_with_fault(asking, &model_reply(text), FaultDuration::Always)
                .await;
            let what = format!("{wire:?} {} {text}", asking.tool);
            assert_eq!(ended.code(), Some("InvalidResponse"), "{what}");
            // Each request is repeated once, never forever.
            let most = 2 * asking.parallel_asks;
            assert!(server.standin.model_requests().len() <= most, "{what}");
        }
        let ended = server
            .call_with_fault(asking, &model_reply(wrong), FaultDuration::Always)
            .await;
        let code = ended.code();
        assert!(
            matches!(code, None | Some("InvalidResponse")),
            "{wire:?} {}: {code:?}",
            asking.tool
        );
        let ended = server
            .call_with_fault(asking, &model_reply("Just words."), FaultDuration::Always)
            .await;
        // The first reply of a stored prompt may hold all parts, so words are no part of it.
        let is_stored = wire == ProviderFormat::Langbase && asking.one_reply_may_answer_all;
        let is_usable = asking.accepts_plain_text && !is_stored;
        let wanted = (!is_usable).then_some("InvalidResponse");
        assert_eq!(ended.code(), wanted, "{wire:?} {}: words", asking.tool);
        let refusal = MockFault::Refusal("I would rather not.".to_owned());
        let ended = server
            .call_with_fault(asking, &refusal, FaultDuration::Always)
            .await;
        assert_eq!(ended.code(), Some("InvalidResponse"), "{}", asking.tool);
    }
    shut_down(server.client).await;
}

/// An answer may be cut off anywhere. Its complete parts may be used; half a sentence never is.
async fn no_half_of_a_sentence_is_kept(wire: ProviderFormat) {
    let mut server = ModeTestServer::new(wire).await;
    for asking in server.tools.clone() {
        let good = (asking.good_answer)();
        let mut whole = Vec::new();
        collect_sentences(&good, &mut whole);
        let good = good.to_string();
        for length in (0..good.len()).step_by(CUT_STRIDE) {
            let cut = good.get(..length).unwrap();
            for fault in [model_reply(cut), MockFault::Truncated(cut.to_owned())] {
                let ended = server
                    .call_with_fault(asking, &fault, FaultDuration::Always)
                    .await;
                let what = format!("{wire:?} {} {fault:?}", asking.tool);
                let ModeCallEnd::Answer(answer) = ended else {
                    assert_eq!(ended.code(), Some("InvalidResponse"), "{what}");
                    continue;
                };
                let mut told = Vec::new();
                collect_sentences(&answer, &mut told);
                for sentence in told {
                    let half = whole
                        .iter()
                        .find(|it| it.starts_with(&sentence) && **it != sentence);
                    assert_eq!(half, None, "{what}: {sentence:?} is half of it");
                }
            }
        }
    }
    shut_down(server.client).await;
}

/// Distance between two cuts, in characters.
const CUT_STRIDE: usize = 23;

/// Collects the texts in a value that could be half of another: not ids or single words.
fn collect_sentences(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(' ') => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_sentences(item, into)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| collect_sentences(field, into)),
        _ => {}
    }
}

async fn what_cannot_be_cured_is_told_at_once(wire: ProviderFormat) {
    let mut server = ModeTestServer::new(wire).await;
    for asking in server.tools.clone() {
        for (fault, code) in [
            (MockFault::Html200, "InvalidResponse"),
            (MockFault::Body("{}".to_owned()), "InvalidResponse"),
            (MockFault::status(400), "ApiError"),
            (MockFault::status(401), "ApiError"),
            (MockFault::status(403), "ApiError"),
            (MockFault::status(404), "ApiError"),
        ] {
            let ended = server
                .call_with_fault(asking, &fault, FaultDuration::Always)
                .await;
            let what = format!("{wire:?} {} {fault:?}", asking.tool);
            assert_eq!(ended.code(), Some(code), "{what}");
            // A missing pipe is created and run again once; so is a missing thread.
            let times = match (wire, &fault) {
                (ProviderFormat::Langbase, MockFault::Status { code: 404, .. }) => 3,
                _ => 1,
            };
            let most = match &fault {
                MockFault::Status { .. } => asking.requests_that_meet_an_error(wire),
                // A reply that makes no sense says nothing about the replies to the others.
                _ => asking.parallel_asks,
            };
            let asks = server.standin.model_requests().len();
            assert!(asks <= times * most, "{what}: {asks} asks");
        }
    }
    shut_down(server.client).await;
}

async fn what_may_pass_is_tried_again(wire: ProviderFormat) {
    let mut server = ModeTestServer::new(wire).await;
    for asking in server.tools.clone() {
        for fault in [
            MockFault::status(500),
            MockFault::status(503),
            MockFault::status_with(429, "retry-after", "0"),
            MockFault::CutConnection,
            MockFault::CutBody,
        ] {
            let ended = server
                .call_with_fault(asking, &fault, FaultDuration::Once)
                .await;
            assert_eq!(ended.code(), None, "{wire:?} {} {fault:?}", asking.tool);
        }
        for fault in [
            MockFault::status(500),
            MockFault::CutConnection,
            MockFault::CutBody,
        ] {
            let ended = server
                .call_with_fault(asking, &fault, FaultDuration::Always)
                .await;
            let what = format!("{wire:?} {} {fault:?}", asking.tool);
            assert_eq!(ended.code(), Some(wire.unavailable_code()), "{what}");
            let asks = server.standin.model_requests().len();
            let most = 2 * asking.requests_that_meet_an_error(wire);
            assert!(asks <= most, "{what}: {asks} asks");
        }
    }
    shut_down(server.client).await;
}

/// Calls every tool while the provider has this permanent fault, each in its own server with these
/// settings. Preconditions are created before, by a server without time limits.
async fn all_end_in(wire: ProviderFormat, fault: MockFault, code: &str, settings: &[(&str, &str)]) {
    let mut server = ModeTestServer::new(wire).await;
    for asking in server.tools.clone() {
        let arguments = server.arguments(asking).await;
        let mut command = provider_command(&server.place, wire, &server.standin);
        command.envs(settings.iter().copied());
        let other = serve(&mut command).await;
        let patient = std::mem::replace(&mut server.client, other);
        server.standin.reset();
        server.standin.set_default_fault(fault.clone());
        let ended = server.call(asking, arguments, code).await;
        assert_eq!(ended.code(), Some(code), "{wire:?} {}", asking.tool);
        let asks = server.standin.model_requests().len();
        assert!(
            asks <= asking.requests_that_meet_an_error(wire),
            "{wire:?} {}: {asks}",
            asking.tool
        );
        shut_down(std::mem::replace(&mut server.client, patient)).await;
    }
    shut_down(server.client).await;
}

async fn what_takes_too_long_is_given_up(wire: ProviderFormat) {
    let settings = [("REQUEST_TIMEOUT_MS", "150"), ("MAX_RETRIES", "0")];
    all_end_in(wire, MockFault::Hang, "Timeout", &settings).await;
}

async fn a_wait_that_does_not_fit_is_told(wire: ProviderFormat) {
    let fault = MockFault::status_with(429, "retry-after", "3600");
    let settings = [("DELIBERATE_LIMITS_CALL_TIMEOUT_MS", "20000")];
    all_end_in(wire, fault, "RateLimited", &settings).await;
}

/// Defines one test per protocol, so that they run in parallel.
macro_rules! for_every_provider_format {
    ($($what:ident),* $(,)?) => {
        mod langbase {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::ProviderFormat::Langbase).await;
            })*
        }
        mod openai {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::ProviderFormat::OpenAi).await;
            })*
        }
        mod anthropic {
            $(#[tokio::test]
            async fn $what() {
                super::$what(super::ProviderFormat::Anthropic).await;
            })*
        }
    };
}

for_every_provider_format!(
    untidy_answers_are_used,
    useless_answers_are_asked_for_again,
    no_half_of_a_sentence_is_kept,
    what_cannot_be_cured_is_told_at_once,
    what_may_pass_is_tried_again,
    what_takes_too_long_is_given_up,
    a_wait_that_does_not_fit_is_told,
);
