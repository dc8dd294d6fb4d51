//! Tests of the metrics.

use std::{sync::Arc, time::Duration};

use axum::{Router, http::StatusCode, middleware::from_fn_with_state};
use deliberate_core::ModelUsage;
use deliberate_server::metrics::{self, RejectionReason, ServerMetrics, TransportKind};
use deliberate_toolkit::{
    CallEvent, CallListener, CallerContext, ExternalCallEnd, Principal, Registry, ToolScope,
};
use serde_json::json;
use tempfile::TempDir;

use super::http_fixtures::{get, registry, with_accept};

fn metrics_and_registry() -> (Arc<ServerMetrics>, Arc<Registry>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let metrics = Arc::new(ServerMetrics::new());
    let registry = registry(&folder.path().join("store.db")).with_listener(metrics.clone());
    (metrics, Arc::new(registry), folder)
}

/// The value of a metric line with its labels.
fn metric_value(text: &str, line: &str) -> Option<f64> {
    text.lines()
        .find_map(|it| it.strip_prefix(line)?.strip_prefix(' ')?.parse().ok())
}

#[tokio::test]
async fn calls_are_counted_by_tool_and_outcome_with_what_they_cost() {
    let (metrics, registry, _folder) = metrics_and_registry();
    for _ in 0..2 {
        let answer = registry
            .call("ponder", json!({}), CallerContext::default())
            .await;
        assert!(answer.is_ok());
    }
    let wrong = json!({ "surplus": 1 });
    drop(
        registry
            .call("stumble", json!({}), CallerContext::default())
            .await,
    );
    drop(
        registry
            .call("ponder", json!("text"), CallerContext::default())
            .await,
    );
    drop(
        registry
            .call("no_such_tool", wrong, CallerContext::default())
            .await,
    );
    let text = metrics.render(&registry);
    for (line, wanted) in [
        (
            "deliberate_calls_total{tool=\"ponder\",outcome=\"ok\"}",
            2.0,
        ),
        (
            "deliberate_calls_total{tool=\"ponder\",outcome=\"Validation\"}",
            1.0,
        ),
        (
            "deliberate_calls_total{tool=\"stumble\",outcome=\"Internal\"}",
            1.0,
        ),
        (
            "deliberate_call_duration_seconds_count{tool=\"ponder\"}",
            3.0,
        ),
        ("deliberate_panics_total", 1.0),
        (
            "deliberate_model_asks_total{provider=\"scripted\",outcome=\"ok\"}",
            2.0,
        ),
        (
            "deliberate_model_ask_duration_seconds_count{provider=\"scripted\"}",
            2.0,
        ),
        (
            "deliberate_model_tokens_total{provider=\"scripted\",kind=\"prompt\"}",
            14.0,
        ),
        (
            "deliberate_model_tokens_total{provider=\"scripted\",kind=\"completion\"}",
            6.0,
        ),
        (
            "deliberate_model_cost_usd_total{provider=\"scripted\"}",
            0.5,
        ),
        ("deliberate_calls_running", 0.0),
        ("deliberate_calls_waiting", 0.0),
        ("deliberate_http_rejected_total{reason=\"auth\"}", 0.0),
    ] {
        assert_eq!(metric_value(&text, line), Some(wanted), "{line}\n{text}");
    }
    assert!(!text.contains("no_such_tool"), "{text}");
    assert!(text.contains("deliberate_build_info{version="), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

/// Foreign names must not fill the memory.
#[test]
fn labels_are_bounded_whatever_is_told() {
    let (metrics, registry, _folder) = metrics_and_registry();
    let spent = ModelUsage {
        cost_usd: Some(f64::NAN),
        prompt_tokens: -5,
        ..ModelUsage::default()
    };
    for number in 0..500 {
        let name = format!("provider-{number}");
        let code = format!("Code{number}");
        metrics.on_event(CallEvent::ModelRequested {
            provider: &name,
            elapsed: Duration::from_millis(1),
            error: Some(&code),
            usage: &spent,
        });
    }
    for odd in ["a\"} 1\nfake 1", &"long".repeat(1_000)] {
        metrics.on_event(CallEvent::ModelRequested {
            provider: odd,
            elapsed: Duration::MAX,
            error: None,
            usage: &spent,
        });
    }
    let text = metrics.render(&registry);
    let asks = text
        .lines()
        .filter(|it| it.starts_with("deliberate_model_asks_total"));
    assert!(asks.count() <= 35, "{text}");
    assert!(!text.contains("Code1") && !text.contains("fake") && !text.contains("longlong"));
    assert!(!text.contains("NaN"), "{text}");
}

#[test]
fn clients_are_counted_while_they_are_there() {
    let (metrics, registry, _folder) = metrics_and_registry();
    let gauge = metrics.clients(TransportKind::Sse);
    let line = "deliberate_clients{transport=\"sse\"}";
    let (first, second) = (gauge.add_client(), gauge.add_client());
    assert_eq!(metric_value(&metrics.render(&registry), line), Some(2.0));
    drop(first);
    assert_eq!(gauge.count(), 1);
    drop(second);
    assert_eq!(metric_value(&metrics.render(&registry), line), Some(0.0));
}

#[tokio::test]
async fn requests_are_counted_by_class_and_not_by_path() {
    let (metrics, registry, _folder) = metrics_and_registry();
    let router = Router::new()
        .merge(metrics::routes(metrics.clone(), registry.clone()))
        .layer(from_fn_with_state(metrics.clone(), metrics::track_request));
    for path in ["/metrics", "/sse/whatever", "/%2e%2e/x", "/private/key-123"] {
        get(&router, path, |_| {}).await;
    }
    metrics.record_rejection(RejectionReason::Origin);
    let text = metrics.render(&registry);
    for (line, wanted) in [
        (
            "deliberate_http_requests_total{route=\"metrics\",status=\"2xx\"}",
            1.0,
        ),
        (
            "deliberate_http_requests_total{route=\"sse\",status=\"4xx\"}",
            1.0,
        ),
        (
            "deliberate_http_requests_total{route=\"other\",status=\"4xx\"}",
            2.0,
        ),
        (
            "deliberate_http_request_duration_seconds_count{route=\"other\"}",
            2.0,
        ),
        ("deliberate_http_rejected_total{reason=\"origin\"}", 1.0),
    ] {
        assert_eq!(metric_value(&text, line), Some(wanted), "{line}\n{text}");
    }
    assert!(!text.contains("key-123"));
}

#[tokio::test]
async fn the_format_is_the_one_the_scraper_reads() {
    let (metrics, registry, _folder) = metrics_and_registry();
    drop(
        registry
            .call("ponder", json!({}), CallerContext::default())
            .await,
    );
    let router = metrics::routes(metrics, registry);
    let open = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    for kind in [
        "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "*/*",
    ] {
        let got = get(&router, "/metrics", with_accept(kind)).await;
        assert_eq!(got.header("content-type"), open);
        assert!(got.text.contains("# TYPE deliberate_calls counter\n"));
        assert!(got.text.ends_with("# EOF\n"));
    }
    for kind in ["text/plain;version=0.0.4", "text/html,*/*;q=0.8"] {
        let got = get(&router, "/metrics", with_accept(kind)).await;
        assert_eq!(
            got.header("content-type"),
            "text/plain; version=0.0.4; charset=utf-8"
        );
        assert!(got.text.contains("# TYPE deliberate_calls_total counter\n"));
        assert!(got.text.contains("# TYPE deliberate_build_info gauge\n"));
        assert!(got.text.contains("# HELP deliberate_panics_total "));
        assert!(!got.text.contains("# EOF") && !got.text.contains("# UNIT"));
        assert!(!got.text.contains(" info\n"), "{}", got.text);
    }
}

#[tokio::test]
async fn a_token_of_limited_scope_sees_metrics_only_if_it_includes_them() {
    let (metrics, registry, _folder) = metrics_and_registry();
    let router = metrics::routes(metrics, registry);
    let only = |names: &[&str]| {
        let patterns = names.iter().map(|name| (*name).to_owned());
        ToolScope::Only(patterns.collect())
    };
    for (scope, status) in [
        (ToolScope::All, StatusCode::OK),
        (only(&["metrics"]), StatusCode::OK),
        (only(&["reasoning_*", "m*"]), StatusCode::OK),
        (
            only(&["reasoning_*", "gateway_call"]),
            StatusCode::FORBIDDEN,
        ),
    ] {
        let principal = Principal {
            name: Some("ann".into()),
            scope,
        };
        let scope = format!("{:?}", principal.scope);
        let got = get(&router, "/metrics", |request| {
            request.extensions_mut().insert(principal);
        })
        .await;
        assert_eq!(got.status, status, "{scope}");
        let is_refused = got.text.contains("insufficient_scope");
        assert_eq!(is_refused, status == StatusCode::FORBIDDEN, "{}", got.text);
        assert_eq!(
            got.text.contains("deliberate_"),
            !is_refused,
            "{}",
            got.text
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_is_measured() {
    let (metrics, registry, _folder) = metrics_and_registry();
    let text = metrics.render(&registry);
    let memory = metric_value(&text, "process_resident_memory_bytes").unwrap();
    assert!(memory > 1_000_000.0, "{memory}");
    assert!(metric_value(&text, "process_open_fds").unwrap() >= 3.0);
    assert!(metric_value(&text, "process_start_time_seconds").unwrap() > 1.6e9);
}

#[test]
fn calls_of_upstream_servers_are_counted_by_server_tool_and_caller_within_bounds() {
    let (metrics, registry, _folder) = metrics_and_registry();
    let end = |server: &str, tool: Option<&str>, name: Option<&str>, error: Option<&str>| {
        let principal = Principal {
            name: name.map(Into::into),
            ..Principal::default()
        };
        metrics.on_event(CallEvent::ExternalCallEnded(&ExternalCallEnd {
            principal: &principal,
            server,
            tool,
            elapsed: Duration::from_millis(1),
            error,
        }));
    };
    end("files", Some("read"), Some("ann"), None);
    end("files", Some("read"), None, Some("ToolFailed"));
    end("files", None, None, Some("UnknownTool"));
    let text = metrics.render(&registry);
    for line in [
        "deliberate_upstream_calls_total{server=\"files\",tool=\"read\",outcome=\"ok\"}",
        "deliberate_upstream_calls_total{server=\"files\",tool=\"read\",outcome=\"ToolFailed\"}",
        "deliberate_upstream_calls_total{server=\"files\",tool=\"other\",outcome=\"UnknownTool\"}",
        "deliberate_upstream_caller_calls_total{server=\"files\",caller=\"ann\",outcome=\"ok\"}",
        "deliberate_upstream_caller_calls_total{server=\"files\",caller=\"operator\",outcome=\"ToolFailed\"}",
    ] {
        assert_eq!(metric_value(&text, line), Some(1.0), "{line}\n{text}");
    }
    let count = "deliberate_upstream_call_duration_seconds_count{server=\"files\"}";
    assert_eq!(metric_value(&text, count), Some(3.0), "{text}");
    for number in 0..5_000 {
        let name = format!("n{number}");
        end("files", Some(&name), Some(&name), Some(&name));
    }
    end("files", Some("a\"} 1\nfake 1"), Some("b\nc"), None);
    let text = metrics.render(&registry);
    assert!(text.lines().count() < 1_000, "{}", text.lines().count());
    assert!(!text.contains("fake"), "{text}");
}
