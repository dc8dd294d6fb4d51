//! Errors of a provider: which are tried again, which are told at once, and what is told.

use deliberate_testkit::{Client, Fault, Standin};
use serde_json::json;
use tokio::process::Command;

use crate::support::{Place, Wire, end, failure, output, serve, text, think};

struct Asked {
    place: Place,
    standin: Standin,
    client: Client,
}

async fn asked(wire: Wire, set: impl FnOnce(&mut Command)) -> Asked {
    let (place, standin) = (Place::new(), Standin::start().await.unwrap());
    let mut command = place.command();
    wire.set(&mut command, &standin);
    command.env("MAX_RETRIES", "2");
    set(&mut command);
    let client = serve(&mut command).await;
    Asked {
        place,
        standin,
        client,
    }
}

#[tokio::test]
async fn the_server_starts_and_lists_its_tools_while_the_provider_is_down() {
    for wire in Wire::ALL {
        let place = Place::new();
        let standin = Standin::start().await.unwrap();
        let mut command = place.command();
        wire.set(&mut command, &standin);
        command.env("MAX_RETRIES", "1");
        drop(standin);
        let mut client = serve(&mut command).await;
        let list = client.request("tools/list", json!({})).await.unwrap();
        assert_eq!(list["result"]["tools"][0]["name"], "reasoning_linear");
        let answer = think(&mut client, "anyone there?").await;
        let failure = failure(&answer);
        assert_eq!(failure.code, wire.unavailable());
        assert!(failure.text.contains("2 attempt"), "{failure:?}");
        assert!(failure.hint.is_some_and(|hint| hint.contains("doctor")));
        end(client).await;
        assert_eq!(place.kept().await, (0, 0));
    }
}

#[tokio::test]
async fn a_wrong_key_costs_one_call_and_is_never_repeated() {
    const WRONG: &str = "sk-wrong-0123456789abcdef";
    for wire in Wire::ALL {
        let (place, standin) = (Place::new(), Standin::start().await.unwrap());
        let mut command = place.command();
        wire.set_with_key(&mut command, &standin, WRONG);
        command.env("LOG_LEVEL", "trace");
        let mut client = serve(&mut command).await;
        let answer = think(&mut client, "let me in").await;
        let failure = failure(&answer);
        assert_eq!(failure.code, "ApiError");
        assert!(failure.text.contains("401"), "{failure:?}");
        assert!(
            failure.hint.is_some_and(|hint| hint.contains("key")),
            "{failure:?}"
        );
        assert_eq!(standin.requests().len(), 1, "{wire:?}");
        assert!(!answer.to_string().contains(WRONG));
        client.close_stdin();
        client.wait_exit().await.unwrap();
        assert!(
            client.stderr().contains("a call failed"),
            "something is logged"
        );
        assert!(!client.stderr().contains(WRONG), "{wire:?}");
        assert_eq!(place.kept().await, (0, 0));
    }
}

#[tokio::test]
async fn what_cannot_be_cured_is_asked_once() {
    for wire in Wire::ALL {
        let Asked {
            place,
            standin,
            mut client,
        } = asked(wire, |_| {}).await;
        // 404 from Langbase may mean a pipe that is not there yet; it has a test of its own.
        let statuses: &[u16] = match wire {
            Wire::Langbase => &[400, 403, 413, 422],
            Wire::OpenAi | Wire::Anthropic => &[403, 404, 413],
        };
        for status in statuses {
            standin.reset();
            standin.push(Fault::status(*status));
            let answer = think(&mut client, "please").await;
            let failure = failure(&answer);
            assert_eq!(failure.code, "ApiError", "{wire:?}: {failure:?}");
            assert!(failure.text.contains(&status.to_string()), "{failure:?}");
            assert_eq!(standin.asks().len(), 1, "{wire:?} {status}");
        }
        end(client).await;
        assert_eq!(place.kept().await, (0, 0));
    }
}

/// An endpoint may refuse a request because of the way it is asked for JSON; then it is asked in
/// simpler ways, and still not for ever.
#[tokio::test]
async fn a_request_that_is_malformed_in_every_form_ends_in_an_error() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        for status in [400, 422] {
            let asked = asked(wire, |_| {}).await;
            let (standin, mut client) = (asked.standin, asked.client);
            standin.always(Fault::status(status));
            assert_eq!(
                failure(&think(&mut client, "please").await).code,
                "ApiError"
            );
            assert!(
                standin.asks().len() <= 4,
                "{wire:?} {status}: {}",
                standin.asks().len()
            );
            end(client).await;
        }
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_the_answer_is_used() {
    let passing = [
        Fault::status(500),
        Fault::status(502),
        Fault::status(503),
        Fault::status(408),
        Fault::status_with(429, "retry-after", "0"),
        Fault::CutConnection,
        Fault::CutBody,
    ];
    for wire in Wire::ALL {
        let Asked {
            place,
            standin,
            mut client,
        } = asked(wire, |_| {}).await;
        for fault in &passing {
            standin.reset();
            standin.push(fault.clone());
            let answer = think(&mut client, "again").await;
            assert!(
                text(&answer, "content").contains("again"),
                "{wire:?} {fault:?}"
            );
            assert_eq!(standin.asks().len(), 2, "{wire:?} {fault:?}");
        }
        end(client).await;
        assert_eq!(place.kept().await, (passing.len(), passing.len() as u64));
    }
}

#[tokio::test]
async fn a_provider_that_keeps_failing_is_given_up_after_the_retries() {
    for wire in Wire::ALL {
        let asked = asked(wire, |_| {}).await;
        let (standin, mut client) = (asked.standin, asked.client);
        standin.always(Fault::status(503));
        let answer = think(&mut client, "hello?").await;
        assert_eq!(failure(&answer).code, wire.unavailable());
        assert_eq!(standin.asks().len(), 3, "one attempt and two retries");
        end(client).await;
        assert_eq!(asked.place.kept().await, (0, 0));
    }
}

#[tokio::test]
async fn the_wait_that_a_provider_asks_for_is_kept() {
    for wire in Wire::ALL {
        let asked = asked(wire, |_| {}).await;
        let (standin, mut client) = (asked.standin, asked.client);
        standin.push(Fault::status_with(429, "retry-after", "1"));
        output(&think(&mut client, "patiently").await);
        let times: Vec<u64> = standin.asks().iter().map(|ask| ask.at_ms).collect();
        assert_eq!(times.len(), 2);
        assert!(
            times[1] - times[0] >= 990,
            "{wire:?} waited {} ms",
            times[1] - times[0]
        );
        end(client).await;
    }
}

#[tokio::test]
async fn a_wait_that_does_not_fit_into_the_call_is_told_and_not_waited() {
    let asked = asked(Wire::Langbase, |command| {
        command.env("DELIBERATE_LIMITS_CALL_TIMEOUT_MS", "20000");
    })
    .await;
    let (standin, mut client) = (asked.standin, asked.client);
    standin.always(Fault::status_with(429, "retry-after", "3600"));
    let answer = think(&mut client, "now").await;
    let failure = failure(&answer);
    assert_eq!(failure.code, "RateLimited");
    assert!(
        failure.hint.is_some_and(|hint| hint.contains("3600")),
        "{failure:?}"
    );
    assert_eq!(standin.asks().len(), 1);
    end(client).await;
}

#[tokio::test]
async fn a_provider_that_never_answers_ends_in_a_timeout() {
    for wire in Wire::ALL {
        let asked = asked(wire, |command| {
            command
                .env("REQUEST_TIMEOUT_MS", "2000")
                .env("MAX_RETRIES", "1");
        })
        .await;
        let (standin, mut client) = (asked.standin, asked.client);
        // The first ask makes the HTTP client, which takes a part of its time.
        output(&think(&mut client, "are you there?").await);
        standin.reset();
        standin.always(Fault::Hang);
        assert_eq!(failure(&think(&mut client, "hello?").await).code, "Timeout");
        assert_eq!(standin.asks().len(), 2);
        end(client).await;
        assert_eq!(asked.place.kept().await, (1, 1), "the first alone");
    }
}

#[tokio::test]
async fn a_call_has_one_limit_over_all_its_attempts() {
    let asked = asked(Wire::Langbase, |command| {
        command
            .env("DELIBERATE_LIMITS_CALL_TIMEOUT_MS", "3000")
            .env("MAX_RETRIES", "10");
    })
    .await;
    let (standin, mut client) = (asked.standin, asked.client);
    // The first call makes the HTTP client and opens the store, whether in time or not.
    think(&mut client, "are you there?").await;
    standin.reset();
    standin.always(Fault::Hang);
    assert_eq!(failure(&think(&mut client, "hello?").await).code, "Timeout");
    assert_eq!(standin.asks().len(), 1);
    end(client).await;
}

#[tokio::test]
async fn what_a_provider_says_is_shown_in_short() {
    let body = format!("<b>internal</b> {}", "stack frame ".repeat(5_000));
    for wire in Wire::ALL {
        let asked = asked(wire, |_| {}).await;
        let (standin, mut client) = (asked.standin, asked.client);
        for code in [403, 500] {
            standin.always(Fault::Status {
                code,
                headers: std::collections::BTreeMap::default(),
                body: body.clone(),
            });
            let answer = think(&mut client, "why?").await;
            assert!(
                failure(&answer).text.len() < 700,
                "{wire:?} {}",
                failure(&answer).text.len()
            );
            assert!(answer.to_string().len() < 3_000);
        }
        end(client).await;
    }
}
