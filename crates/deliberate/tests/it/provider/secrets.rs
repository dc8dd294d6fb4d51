//! Tests that keys are never written anywhere, whatever is logged and whatever the provider
//! repeats.

use std::collections::BTreeMap;

use deliberate_testkit::{MockFault, MockProvider, mock_provider::MockSettings};

use crate::support::{ProviderFormat, TestHome, output, run_command, serve, think};

const KEY: &str = "sk-secret-5f2b9c71d0a84e6f";

#[tokio::test]
async fn a_key_is_not_logged_even_at_trace_nor_kept_nor_shown() {
    for wire in ProviderFormat::ALL {
        for format in ["pretty", "json"] {
            let home = TestHome::new();
            let settings = MockSettings {
                key: Some(KEY.to_owned()),
                ..MockSettings::default()
            };
            let standin = MockProvider::start_with(settings, 0).await.unwrap();
            let mut command = home.command();
            wire.configure(&mut command, &standin);
            command
                .env("LOG_LEVEL", "trace")
                .env("LOG_FORMAT", format)
                .env("MAX_RETRIES", "1");
            let mut client = serve(&mut command).await;
            output(&think(&mut client, "fine").await);
            // A provider that repeats the key in its error messages.
            for code in [400, 403, 500] {
                standin.set_default_fault(MockFault::Status {
                    code,
                    headers: BTreeMap::from([("x-echo".to_owned(), KEY.to_owned())]),
                    body: format!(
                        "{{\"error\":{{\"message\":\"Incorrect key provided: {KEY}.\"}}}}"
                    ),
                });
                let answer = think(&mut client, "wrong").await.to_string();
                assert!(!answer.contains(KEY), "{wire:?} {code}: {answer}");
            }
            standin.set_default_fault(MockFault::Html200);
            think(&mut client, "page").await;
            client.close_stdin();
            client.wait_exit().await.unwrap();
            let log = client.stderr();
            assert!(log.contains("a call failed"), "the log is on");
            assert!(!log.contains(KEY), "{wire:?}: the key is in the log");
            let kept = std::fs::read(home.database()).unwrap();
            assert!(
                !String::from_utf8_lossy(&kept).contains(KEY),
                "{wire:?}: it is in the database"
            );
        }
    }
}

#[tokio::test]
async fn a_key_is_not_shown_by_any_command() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    for arguments in [
        &["config"][..],
        &["config", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["tools"],
        &["think", "why?"],
        &["--log-level", "trace", "think", "why?"],
        &["--set", "limits.line_bytes=1", "config"],
    ] {
        let mut command = home.command();
        for wire in ProviderFormat::ALL {
            wire.configure_with_key(&mut command, &standin, KEY);
        }
        command.env("DELIBERATE_API_KEY", KEY);
        let output = run_command(command.args(arguments)).await;
        assert!(
            !output.stdout.contains(KEY) && !output.stderr.contains(KEY),
            "{arguments:?}: {output:?}"
        );
    }
}

#[tokio::test]
async fn a_key_that_was_pasted_wrongly_is_refused_without_being_shown() {
    let home = TestHome::new();
    for wrong in ["sk-secret with spaces", "sk-secret-ключ"] {
        let output = run_command(home.command().env("LANGBASE_API_KEY", wrong).arg("config")).await;
        assert_eq!(output.code, Some(2));
        assert!(
            output.stderr.contains("LANGBASE_API_KEY"),
            "{}",
            output.stderr
        );
        assert!(!output.stderr.contains("sk-secret"), "{}", output.stderr);
    }
}

/// A base URL without a vendor may belong to anyone.
#[tokio::test]
async fn a_vendors_key_is_not_sent_to_an_address_of_ones_own() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    for variable in ["ANTHROPIC_API_KEY", "LANGBASE_API_KEY", "OPENAI_API_KEY"] {
        let mut command = home.command();
        command
            .env(variable, KEY)
            .env("DELIBERATE_BASE_URL", standin.openai_url())
            .env("DELIBERATE_API_KEY", standin.key())
            .env("DELIBERATE_MODEL", "stand-in");
        let mut client = serve(&mut command).await;
        output(&think(&mut client, "whose key?").await);
        client.close_stdin();
        client.wait_exit().await.unwrap();
    }
    let requests = format!("{:?}", standin.requests());
    assert!(!requests.contains(KEY));
    assert_eq!(standin.requests().len(), 3);
    for request in standin.requests() {
        assert_eq!(request.path, "/v1/chat/completions");
    }
}

#[tokio::test]
async fn a_key_without_an_owner_is_a_mistake_that_is_named() {
    let home = TestHome::new();
    let output = run_command(
        home.command()
            .env("DELIBERATE_API_KEY", KEY)
            .args(["tools"]),
    )
    .await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("DELIBERATE_PROVIDER"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains(KEY));
}
