//! Tests of provider errors: which are retried, which are reported at once, and with which message.

use deliberate_testkit::{MockFault, MockProvider, StdioClient};
use serde_json::json;
use tokio::process::Command;

use crate::support::{
    ProviderFormat, TestHome, output, serve, shut_down, text, think, tool_failure,
};

struct ProviderSetup {
    place: TestHome,
    standin: MockProvider,
    client: StdioClient,
}

async fn start_with_provider(
    wire: ProviderFormat,
    set: impl FnOnce(&mut Command),
) -> ProviderSetup {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut command = home.command();
    wire.configure(&mut command, &standin);
    command.env("MAX_RETRIES", "2");
    set(&mut command);
    let client = serve(&mut command).await;
    ProviderSetup {
        place: home,
        standin,
        client,
    }
}

#[tokio::test]
async fn the_server_starts_and_lists_its_tools_while_the_provider_is_down() {
    for wire in ProviderFormat::ALL {
        let home = TestHome::new();
        let standin = MockProvider::start().await.unwrap();
        let mut command = home.command();
        wire.configure(&mut command, &standin);
        command.env("MAX_RETRIES", "1");
        drop(standin);
        let mut client = serve(&mut command).await;
        let list = client.request("tools/list", json!({})).await.unwrap();
        assert_eq!(list["result"]["tools"][0]["name"], "reasoning_linear");
        let answer = think(&mut client, "anyone there?").await;
        let failure = tool_failure(&answer);
        assert_eq!(failure.code, wire.unavailable_code());
        assert!(failure.text.contains("2 attempt"), "{failure:?}");
        assert!(failure.hint.is_some_and(|hint| hint.contains("doctor")));
        shut_down(client).await;
        assert_eq!(home.stored_counts().await, (0, 0));
    }
}

#[tokio::test]
async fn a_wrong_key_costs_one_call_and_is_never_repeated() {
    const WRONG: &str = "sk-wrong-0123456789abcdef";
    for wire in ProviderFormat::ALL {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut command = home.command();
        wire.configure_with_key(&mut command, &standin, WRONG);
        command.env("LOG_LEVEL", "trace");
        let mut client = serve(&mut command).await;
        let answer = think(&mut client, "let me in").await;
        let failure = tool_failure(&answer);
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
        assert_eq!(home.stored_counts().await, (0, 0));
    }
}

#[tokio::test]
async fn what_cannot_be_cured_is_asked_once() {
    for wire in ProviderFormat::ALL {
        let ProviderSetup {
            place: home,
            standin,
            mut client,
        } = start_with_provider(wire, |_| {}).await;
        // 404 from Langbase may mean a missing pipe; it has its own test.
        let statuses: &[u16] = match wire {
            ProviderFormat::Langbase => &[400, 403, 413, 422],
            ProviderFormat::OpenAi | ProviderFormat::Anthropic => &[403, 404, 413],
        };
        for status in statuses {
            standin.reset();
            standin.push_fault(MockFault::status(*status));
            let answer = think(&mut client, "please").await;
            let failure = tool_failure(&answer);
            assert_eq!(failure.code, "ApiError", "{wire:?}: {failure:?}");
            assert!(failure.text.contains(&status.to_string()), "{failure:?}");
            assert_eq!(standin.model_requests().len(), 1, "{wire:?} {status}");
        }
        shut_down(client).await;
        assert_eq!(home.stored_counts().await, (0, 0));
    }
}

/// An endpoint may reject a request because of how it asks for JSON; simpler forms are then tried,
/// but not forever.
#[tokio::test]
async fn a_request_that_is_malformed_in_every_form_ends_in_an_error() {
    for wire in [ProviderFormat::OpenAi, ProviderFormat::Anthropic] {
        for status in [400, 422] {
            let setup = start_with_provider(wire, |_| {}).await;
            let (standin, mut client) = (setup.standin, setup.client);
            standin.set_default_fault(MockFault::status(status));
            assert_eq!(
                tool_failure(&think(&mut client, "please").await).code,
                "ApiError"
            );
            assert!(
                standin.model_requests().len() <= 4,
                "{wire:?} {status}: {}",
                standin.model_requests().len()
            );
            shut_down(client).await;
        }
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_the_answer_is_used() {
    let passing = [
        MockFault::status(500),
        MockFault::status(502),
        MockFault::status(503),
        MockFault::status(408),
        MockFault::status_with(429, "retry-after", "0"),
        MockFault::CutConnection,
        MockFault::CutBody,
    ];
    for wire in ProviderFormat::ALL {
        let ProviderSetup {
            place: home,
            standin,
            mut client,
        } = start_with_provider(wire, |_| {}).await;
        for fault in &passing {
            standin.reset();
            standin.push_fault(fault.clone());
            let answer = think(&mut client, "again").await;
            assert!(
                text(&answer, "content").contains("again"),
                "{wire:?} {fault:?}"
            );
            assert_eq!(standin.model_requests().len(), 2, "{wire:?} {fault:?}");
        }
        shut_down(client).await;
        assert_eq!(
            home.stored_counts().await,
            (passing.len(), passing.len() as u64)
        );
    }
}

#[tokio::test]
async fn a_provider_that_keeps_failing_is_given_up_after_the_retries() {
    for wire in ProviderFormat::ALL {
        let setup = start_with_provider(wire, |_| {}).await;
        let (standin, mut client) = (setup.standin, setup.client);
        standin.set_default_fault(MockFault::status(503));
        let answer = think(&mut client, "hello?").await;
        assert_eq!(tool_failure(&answer).code, wire.unavailable_code());
        assert_eq!(
            standin.model_requests().len(),
            3,
            "one attempt and two retries"
        );
        shut_down(client).await;
        assert_eq!(setup.place.stored_counts().await, (0, 0));
    }
}

#[tokio::test]
async fn the_wait_that_a_provider_asks_for_is_kept() {
    for wire in ProviderFormat::ALL {
        let setup = start_with_provider(wire, |_| {}).await;
        let (standin, mut client) = (setup.standin, setup.client);
        standin.push_fault(MockFault::status_with(429, "retry-after", "1"));
        output(&think(&mut client, "patiently").await);
        let times: Vec<u64> = standin
            .model_requests()
            .iter()
            .map(|ask| ask.at_ms)
            .collect();
        assert_eq!(times.len(), 2);
        assert!(
            times[1] - times[0] >= 990,
            "{wire:?} waited {} ms",
            times[1] - times[0]
        );
        shut_down(client).await;
    }
}

#[tokio::test]
async fn a_wait_that_does_not_fit_into_the_call_is_told_and_not_waited() {
    let setup = start_with_provider(ProviderFormat::Langbase, |command| {
        command.env("DELIBERATE_LIMITS_CALL_TIMEOUT_MS", "20000");
    })
    .await;
    let (standin, mut client) = (setup.standin, setup.client);
    standin.set_default_fault(MockFault::status_with(429, "retry-after", "3600"));
    let answer = think(&mut client, "now").await;
    let failure = tool_failure(&answer);
    assert_eq!(failure.code, "RateLimited");
    assert!(
        failure.hint.is_some_and(|hint| hint.contains("3600")),
        "{failure:?}"
    );
    assert_eq!(standin.model_requests().len(), 1);
    shut_down(client).await;
}

#[tokio::test]
async fn a_provider_that_never_answers_ends_in_a_timeout() {
    for wire in ProviderFormat::ALL {
        let setup = start_with_provider(wire, |command| {
            command
                .env("REQUEST_TIMEOUT_MS", "2000")
                .env("MAX_RETRIES", "1");
        })
        .await;
        let (standin, mut client) = (setup.standin, setup.client);
        // The first request builds the HTTP client, which takes part of its time.
        output(&think(&mut client, "are you there?").await);
        standin.reset();
        standin.set_default_fault(MockFault::Hang);
        assert_eq!(
            tool_failure(&think(&mut client, "hello?").await).code,
            "Timeout"
        );
        assert_eq!(standin.model_requests().len(), 2);
        shut_down(client).await;
        assert_eq!(setup.place.stored_counts().await, (1, 1), "the first alone");
    }
}

#[tokio::test]
async fn a_call_has_one_limit_over_all_its_attempts() {
    let setup = start_with_provider(ProviderFormat::Langbase, |command| {
        command
            .env("DELIBERATE_LIMITS_CALL_TIMEOUT_MS", "3000")
            .env("MAX_RETRIES", "10");
    })
    .await;
    let (standin, mut client) = (setup.standin, setup.client);
    // The first call builds the HTTP client and opens the store, in time or not.
    think(&mut client, "are you there?").await;
    standin.reset();
    standin.set_default_fault(MockFault::Hang);
    assert_eq!(
        tool_failure(&think(&mut client, "hello?").await).code,
        "Timeout"
    );
    assert_eq!(standin.model_requests().len(), 1);
    shut_down(client).await;
}

#[tokio::test]
async fn what_a_provider_says_is_shown_in_short() {
    let body = format!("<b>internal</b> {}", "stack frame ".repeat(5_000));
    for wire in ProviderFormat::ALL {
        let setup = start_with_provider(wire, |_| {}).await;
        let (standin, mut client) = (setup.standin, setup.client);
        for code in [403, 500] {
            standin.set_default_fault(MockFault::Status {
                code,
                headers: std::collections::BTreeMap::default(),
                body: body.clone(),
            });
            let answer = think(&mut client, "why?").await;
            assert!(
                tool_failure(&answer).text.len() < 700,
                "{wire:?} {}",
                tool_failure(&answer).text.len()
            );
            assert!(answer.to_string().len() < 3_000);
        }
        shut_down(client).await;
    }
}
