//! Tests that hold for all providers over HTTP.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpSocket},
    time::Instant,
};
use wiremock::ResponseTemplate;

use super::mock_servers::{
    KEY, PROVIDER_KINDS, ProviderKind, fast_retries, request_bodies, request_count, server,
};
use crate::support::{
    ThoughtAnswer, far_deadline, from_plain, plain_request, thought_answer, thought_request,
};
use deliberate_llm::{FinishReason, HttpSettings, ModelError, ask_structured};

const GOOD: &str = r#"{"thought": "42", "confidence": 90}"#;

fn short_deadline() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

#[tokio::test]
async fn a_reply_comes_with_its_model_and_cost() {
    for kind in PROVIDER_KINDS {
        let server = server(vec![kind.text_response(GOOD)]).await;
        let reply = kind
            .build(&server.uri(), fast_retries())
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap();
        assert_eq!(reply.text, GOOD, "{kind:?}");
        assert_eq!(reply.finish_reason, FinishReason::Stop);
        assert_eq!(reply.model.as_deref(), Some("m-1"));
        assert_eq!(reply.usage.prompt_tokens, 1000);
        assert_eq!(reply.usage.completion_tokens, 500);
        let cost = reply.usage.cost_usd.unwrap();
        assert!((cost - 0.002).abs() < 1e-12, "{cost}");
        let requests = server.received_requests().await.unwrap();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].url.path(), kind.path());
        let body = String::from_utf8_lossy(&requests[0].body).into_owned();
        assert!(body.contains("fits this JSON Schema"), "{body}");
        assert!(body.contains("What is 6 × 7?"));
    }
}

#[tokio::test]
async fn answers_in_every_shape_are_read() {
    let shapes = [
        "```json\n{\"thought\": \"42\", \"confidence\": 90}\n```",
        r#"Here: {"thought": "42", "confidence": 90}. Done!"#,
        r#"{"thought": "42", "confidence": "90"}"#,
        r#"{"confidence": 90, "thought": "42""#,
    ];
    for kind in PROVIDER_KINDS {
        for shape in shapes {
            let server = server(vec![kind.text_response(shape)]).await;
            let model = kind.build(&server.uri(), fast_retries());
            let answer =
                ask_structured::<ThoughtAnswer>(&*model, thought_request(), None, far_deadline())
                    .await
                    .unwrap();
            assert_eq!(answer.value, thought_answer("42", 90), "{kind:?} {shape}");
            assert_eq!(request_count(&server).await, 1);
        }
        let server = server(vec![
            kind.text_response(r#"{"thought": "42", "confidence": 9040}"#),
        ])
        .await;
        let model = kind.build(&server.uri(), fast_retries());
        let answer =
            ask_structured::<ThoughtAnswer>(&*model, thought_request(), None, far_deadline())
                .await
                .unwrap();
        assert_eq!(answer.value, thought_answer("42", 100));
    }
}

#[tokio::test]
async fn an_empty_completion_is_asked_for_again_and_then_an_error() {
    for kind in PROVIDER_KINDS {
        let server = server(vec![kind.text_response("")]).await;
        let model = kind.build(&server.uri(), fast_retries());
        let failed = ask_structured(&*model, plain_request(), Some(from_plain), far_deadline())
            .await
            .unwrap_err();
        assert_eq!(failed.error.code(), "InvalidResponse", "{kind:?}");
        assert_eq!(failed.replies.len(), 2);
        assert_eq!(request_count(&server).await, 2);
    }
}

#[tokio::test]
async fn a_cut_completion_is_known_as_such() {
    for kind in PROVIDER_KINDS {
        let cut =
            ResponseTemplate::new(200).set_body_json(kind.body(r#"{"thought": "4"#, "length"));
        let server = server(vec![cut, kind.text_response(GOOD)]).await;
        let model = kind.build(&server.uri(), fast_retries());
        let answer =
            ask_structured::<ThoughtAnswer>(&*model, thought_request(), None, far_deadline())
                .await
                .unwrap();
        assert_eq!(answer.value, thought_answer("42", 90), "{kind:?}");
        assert_eq!(answer.replies[0].finish_reason, FinishReason::Length);
        let second = request_bodies(&server, kind.path())
            .await
            .remove(1)
            .to_string();
        assert!(second.contains("twice the room"), "{second}");
    }
}

#[tokio::test]
async fn permanent_errors_are_told_after_one_call() {
    for kind in PROVIDER_KINDS {
        for status in [400, 401, 403, 413, 422] {
            let refusal = ResponseTemplate::new(status).set_body_json(serde_json::json!({
                "error": {"message": format!("no: the key {KEY} is wrong")}
            }));
            let server = server(vec![refusal]).await;
            let error = kind
                .build(&server.uri(), fast_retries())
                .complete(&thought_request(), far_deadline())
                .await
                .unwrap_err();
            let ModelError::Api {
                status: told,
                message,
                ..
            } = &error
            else {
                panic!("{kind:?} {status}: {error:?}");
            };
            assert_eq!(*told, status);
            assert_eq!(message, "no: the key [key] is wrong");
            assert!(!format!("{error:?} {error}").contains(KEY));
            assert_eq!(request_count(&server).await, 1, "{kind:?} {status}");
        }
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for kind in PROVIDER_KINDS {
        let elsewhere = server(vec![kind.text_response(GOOD)]).await;
        let redirect = ResponseTemplate::new(307).insert_header("location", elsewhere.uri());
        let server = server(vec![redirect]).await;
        let error = kind
            .build(&server.uri(), fast_retries())
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        assert!(
            matches!(error, ModelError::Api { status: 307, .. }),
            "{error:?}"
        );
        assert_eq!(request_count(&elsewhere).await, 0);
    }
}

#[tokio::test]
async fn a_page_instead_of_json_is_said_to_be_one() {
    for kind in PROVIDER_KINDS {
        let page =
            ResponseTemplate::new(200).set_body_raw("<!DOCTYPE html><p>Log in</p>", "text/html");
        let server = server(vec![page]).await;
        let error = kind
            .build(&server.uri(), fast_retries())
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        assert_eq!(error.code(), "InvalidResponse", "{kind:?}");
        assert!(
            error.to_string().contains("not JSON but an HTML page"),
            "{error}"
        );
        assert_eq!(request_count(&server).await, 1);
    }
}

#[tokio::test]
async fn json_of_another_kind_is_said_to_be_unusable() {
    for kind in PROVIDER_KINDS {
        let other = ResponseTemplate::new(200).set_body_json(serde_json::json!({"hello": "world"}));
        let server = server(vec![other]).await;
        let error = kind
            .build(&server.uri(), fast_retries())
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        assert_eq!(error.code(), "InvalidResponse", "{kind:?} {error}");
        assert_eq!(request_count(&server).await, 1);
    }
}

#[tokio::test]
async fn an_endless_body_is_given_up() {
    let long = "x".repeat(8 * 1024 * 1024 + 1);
    let server = server(vec![ResponseTemplate::new(200).set_body_string(long)]).await;
    let error = ProviderKind::OpenAi
        .build(&server.uri(), fast_retries())
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("larger than 8 MiB"), "{error}");
    assert_eq!(request_count(&server).await, 1);
}

#[tokio::test]
async fn passing_failures_are_tried_again() {
    for kind in PROVIDER_KINDS {
        for status in [408, 429, 500, 503, 529] {
            let server = server(vec![
                ResponseTemplate::new(status),
                kind.text_response(GOOD),
            ])
            .await;
            let reply = kind
                .build(&server.uri(), fast_retries())
                .complete(&thought_request(), far_deadline())
                .await;
            assert_eq!(
                reply.map(|reply| reply.text),
                Ok(GOOD.to_owned()),
                "{kind:?} {status}"
            );
            assert_eq!(request_count(&server).await, 2);
        }
    }
}

#[tokio::test]
async fn lasting_failures_end_after_all_attempts() {
    for kind in PROVIDER_KINDS {
        let failing = ResponseTemplate::new(500).set_body_string("out of order");
        let server = server(vec![failing]).await;
        let error = kind
            .build(&server.uri(), fast_retries())
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        let ModelError::Unavailable {
            attempts, reason, ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(*attempts, 3);
        assert_eq!(reason, "it answered 500: out of order");
        assert_eq!(request_count(&server).await, 3);
        let code = if kind == ProviderKind::Langbase {
            "LangbaseUnavailable"
        } else {
            "ProviderUnavailable"
        };
        assert_eq!(error.code(), code);
    }
}

#[tokio::test]
async fn the_wait_the_provider_asks_for_is_kept() {
    for kind in PROVIDER_KINDS {
        // Our own delay would not fit before the deadline; the provider's does.
        let slow = HttpSettings {
            retry_delay: Duration::from_mins(10),
            ..fast_retries()
        };
        let limited = ResponseTemplate::new(429).insert_header("retry-after", "0.2");
        let server = server(vec![limited, kind.text_response(GOOD)]).await;
        let started = Instant::now();
        let reply = kind
            .build(&server.uri(), slow)
            .complete(&thought_request(), far_deadline())
            .await;
        assert!(reply.is_ok(), "{kind:?} {reply:?}");
        assert!(started.elapsed() >= Duration::from_millis(200));
    }
}

#[tokio::test]
async fn a_wait_that_does_not_fit_is_told_at_once() {
    for kind in PROVIDER_KINDS {
        let limited = ResponseTemplate::new(429).insert_header("retry-after", "60");
        let server = server(vec![limited, kind.text_response(GOOD)]).await;
        let model = kind.build(&server.uri(), fast_retries());
        let error = model
            .complete(&thought_request(), short_deadline())
            .await
            .unwrap_err();
        let ModelError::RateLimited {
            retry_after: Some(wait),
            ..
        } = error
        else {
            panic!("{kind:?} {error:?}");
        };
        assert_eq!(wait.as_secs(), 60);
        // The pause is remembered: the next call is not even sent.
        let error = model
            .complete(&thought_request(), short_deadline())
            .await
            .unwrap_err();
        assert!(matches!(error, ModelError::RateLimited { .. }), "{error:?}");
        assert_eq!(request_count(&server).await, 1);
    }
}

#[tokio::test]
async fn an_outage_longer_than_the_call_is_told_at_once() {
    for kind in PROVIDER_KINDS {
        let failing = ResponseTemplate::new(503).insert_header("retry-after", "60");
        let server = server(vec![failing]).await;
        let error = kind
            .build(&server.uri(), fast_retries())
            .complete(&thought_request(), short_deadline())
            .await
            .unwrap_err();
        assert!(
            matches!(error, ModelError::Unavailable { attempts: 1, .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn rate_headers_hold_the_next_call_back() {
    for (kind, prefix) in [
        (ProviderKind::Langbase, "lb-ratelimit-"),
        (ProviderKind::OpenAi, "x-ratelimit-"),
        (ProviderKind::Anthropic, "anthropic-ratelimit-"),
    ] {
        let (remaining, reset) = match kind {
            ProviderKind::Langbase => (format!("{prefix}remaining"), format!("{prefix}reset")),
            ProviderKind::OpenAi => (
                format!("{prefix}remaining-requests"),
                format!("{prefix}reset-requests"),
            ),
            ProviderKind::Anthropic => (
                format!("{prefix}requests-remaining"),
                format!("{prefix}requests-reset"),
            ),
        };
        let last = kind
            .text_response(GOOD)
            .insert_header(remaining.as_str(), "0")
            .insert_header(reset.as_str(), "6m0s");
        let server = server(vec![last]).await;
        let model = kind.build(&server.uri(), fast_retries());
        assert!(
            model
                .complete(&thought_request(), short_deadline())
                .await
                .is_ok()
        );
        let error = model
            .complete(&thought_request(), short_deadline())
            .await
            .unwrap_err();
        assert!(
            matches!(error, ModelError::RateLimited { .. }),
            "{kind:?} {error:?}"
        );
        assert_eq!(request_count(&server).await, 1);
    }
}

#[tokio::test]
async fn slow_answers_time_out_and_are_tried_again() {
    for kind in PROVIDER_KINDS {
        let slow = kind.text_response(GOOD).set_delay(Duration::from_secs(30));
        let hasty = HttpSettings {
            request_timeout: Duration::from_millis(1_500),
            max_retries: 1,
            ..fast_retries()
        };
        let failing = server(vec![kind.text_response(GOOD), slow.clone()]).await;
        let model = kind.build(&failing.uri(), hasty.clone());
        // The first request builds the HTTP client, which takes part of its time.
        model
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap();
        let before = request_count(&failing).await;
        let error = model
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        assert_eq!(error.code(), "Timeout", "{kind:?}");
        assert_eq!(request_count(&failing).await - before, 2);

        let patient = HttpSettings {
            max_retries: 5,
            ..hasty
        };
        let recovering = server(vec![slow, kind.text_response(GOOD)]).await;
        assert!(
            kind.build(&recovering.uri(), patient)
                .complete(&thought_request(), far_deadline())
                .await
                .is_ok()
        );
    }
}

#[tokio::test]
async fn the_deadline_ends_the_call_whatever_the_settings_say() {
    for kind in PROVIDER_KINDS {
        let slow = kind.text_response(GOOD).set_delay(Duration::from_secs(30));
        let server = server(vec![kind.text_response(GOOD), slow]).await;
        let model = kind.build(&server.uri(), fast_retries());
        // The first request builds the HTTP client, which takes part of its time.
        model
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap();
        let before = request_count(&server).await;
        let deadline = Instant::now() + Duration::from_secs(1);
        let error = model
            .complete(&thought_request(), deadline)
            .await
            .unwrap_err();
        assert_eq!(error.code(), "Timeout", "{kind:?}");
        assert_eq!(request_count(&server).await - before, 1);
    }
}

/// Starts a server that closes the connection in the middle of each exchange.
async fn hang_up_server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 16]).await;
        }
    });
    (base, count)
}

#[tokio::test]
async fn a_cut_connection_is_tried_again() {
    for kind in PROVIDER_KINDS {
        let (base, count) = hang_up_server().await;
        let error = kind
            .build(&base, fast_retries())
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        assert!(
            matches!(error, ModelError::Unavailable { attempts: 3, .. }),
            "{error:?}"
        );
        assert_eq!(count.load(Ordering::SeqCst), 3, "{kind:?}");
    }
}

#[tokio::test]
async fn nobody_there_is_said_plainly() {
    // Bound but not listening, so that no other process listens there.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let base = format!("http://{}", held.local_addr().unwrap());
    for kind in PROVIDER_KINDS {
        let error = kind
            .build(&base, fast_retries())
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        assert!(
            matches!(error, ModelError::Unavailable { attempts: 3, .. }),
            "{error:?}"
        );
        assert!(
            error.to_string().to_lowercase().contains("refused"),
            "{error}"
        );
        assert!(!error.to_string().contains(&base), "{error}");
    }
}

#[tokio::test]
async fn settings_that_would_leak_or_fail_are_refused_at_once() {
    for kind in PROVIDER_KINDS {
        for base in ["http://api.example.com/v1", "http://10.0.0.1", "nonsense"] {
            let error = kind.try_build(base, fast_retries()).err().unwrap();
            assert_eq!(error.code(), "Config", "{kind:?} {base}");
        }
    }
}

#[tokio::test]
async fn no_more_than_the_set_number_runs_at_a_time() {
    let kind = ProviderKind::OpenAi;
    let slow = kind
        .text_response(GOOD)
        .set_delay(Duration::from_millis(150));
    let server = server(vec![slow]).await;
    let one = HttpSettings {
        concurrency: 1,
        ..fast_retries()
    };
    let model = kind.build(&server.uri(), one);
    let (ask, started) = (thought_request(), Instant::now());
    let replies =
        futures::future::join_all((0..3).map(|_| model.complete(&ask, far_deadline()))).await;
    assert!(replies.iter().all(Result::is_ok));
    assert!(started.elapsed() >= Duration::from_millis(450));
}
