//! Tests of `/health`.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use axum::{Router, http::StatusCode};
use deliberate_core::Timestamp;
use deliberate_prompts::{Engine, EngineOptions, LibraryPaths, library::LiveLibrary};
use deliberate_server::http::guard::Admission;
use deliberate_server::http::health::{
    self, Health, HealthSource, ProviderHealth, ProviderState, ServerPhase, TransportHealth,
    TransportState, UpstreamHealth, UpstreamState,
};
use deliberate_toolkit::{CallOutcome, CallerContext, Principal, Registry, ToolScope};
use futures::future::join_all;
use serde_json::{Map, Value, json};

use super::http_fixtures::{TestResponse, get, registry};

fn transport_health(name: &'static str, state: TransportState) -> TransportHealth {
    TransportHealth {
        name,
        state,
        address: (state == TransportState::Serving).then(|| "127.0.0.1:8484".to_owned()),
        reason: (state == TransportState::Failed).then(|| "the port is taken".to_owned()),
    }
}

/// A registry whose store is already open, because opening it may exceed the check's timeout.
async fn open_registry(file: &Path) -> Registry {
    let registry = registry(file);
    registry.store().info().await.unwrap();
    registry
}

/// A server in that phase with those transports, and the number of provider checks.
fn health_router(
    registry: Registry,
    phase: ServerPhase,
    transports: Vec<TransportHealth>,
) -> (Router, Arc<AtomicUsize>) {
    health_router_with_servers(registry, phase, transports, Vec::new())
}

fn health_router_with_servers(
    registry: Registry,
    phase: ServerPhase,
    transports: Vec<TransportHealth>,
    servers: Vec<UpstreamHealth>,
) -> (Router, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = asked.clone();
    let source = HealthSource {
        registry: Arc::new(registry),
        phase: Box::new(move || phase),
        transports: Box::new(move || transports.clone()),
        servers: Box::new(move || servers.clone()),
        provider: Box::new(move || {
            counts.fetch_add(1, Ordering::SeqCst);
            Box::pin(async {
                ProviderHealth {
                    state: ProviderState::Configured,
                    description: "steady at home".to_owned(),
                    retry_after_seconds: None,
                }
            })
        }),
    };
    (health::routes(Arc::new(Health::new(source))), asked)
}

async fn get_health(phase: ServerPhase, transports: Vec<TransportHealth>) -> TestResponse {
    let folder = tempfile::tempdir().unwrap();
    let registry = open_registry(&folder.path().join("s.db")).await;
    let (router, _) = health_router(registry, phase, transports);
    get(&router, "/health", |_| {}).await
}

#[tokio::test]
async fn a_server_that_works_says_how_all_its_parts_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let transports = vec![
        transport_health("http", TransportState::Serving),
        transport_health("stdio", TransportState::Off),
    ];
    let (router, _) = health_router(open_registry(&file).await, ServerPhase::Serving, transports);
    let got = get(&router, "/health", |_| {}).await;
    assert_eq!(got.status, StatusCode::OK);
    assert_eq!(got.header("cache-control"), "no-store");
    let health = got.json();
    assert_eq!(health["status"], "ok");
    assert_eq!(
        (&health["live"], &health["ready"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert!(health["uptime_seconds"].is_u64());
    assert_eq!(
        health["transports"],
        json!([
            { "name": "http", "state": "serving", "address": "127.0.0.1:8484" },
            { "name": "stdio", "state": "off" }
        ])
    );
    assert_eq!(health["tools"], 3);
    assert_eq!(
        health["protocol_revisions"],
        json!([
            "2024-11-05",
            "2025-03-26",
            "2025-06-18",
            "2025-11-25",
            "2026-07-28"
        ])
    );
    assert_eq!(health["store"]["state"], "ok");
    assert_eq!(health["store"]["sessions"], 0);
    assert_eq!(health["store"]["location"], file.display().to_string());
    assert_eq!(
        health["provider"],
        json!({ "state": "configured", "description": "steady at home" })
    );
    assert_eq!(health["calls"], json!({ "running": 0, "waiting": 0 }));
}

#[tokio::test]
async fn each_upstream_server_is_named_with_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let server = |name: &str, state, reason: Option<&str>| UpstreamHealth {
        name: name.to_owned(),
        state,
        reason: reason.map(str::to_owned),
        last_success: None,
        tools: None,
        quarantined: None,
    };
    let servers = vec![
        UpstreamHealth {
            last_success: Some(Timestamp::from_micros(1_000_000)),
            tools: Some(11),
            quarantined: Some(2),
            ..server("files", UpstreamState::Connected, None)
        },
        server("git", UpstreamState::Connecting, None),
        server("later", UpstreamState::Idle, None),
        server("tickets", UpstreamState::Failed, Some("refused")),
        server("typo", UpstreamState::Excluded, Some("no such field")),
    ];
    let registry = open_registry(&folder.path().join("s.db")).await;
    let transports = vec![transport_health("http", TransportState::Serving)];
    let (router, _) =
        health_router_with_servers(registry, ServerPhase::Serving, transports, servers);
    let got = get(&router, "/health", |_| {}).await;
    // The calls of other tools work, whatever the state of a server.
    assert_eq!(got.json()["status"], "ok");
    assert_eq!(
        got.json()["servers"],
        json!([
            { "name": "files", "state": "connected", "last_success": "1970-01-01T00:00:01Z",
              "tools": 11, "quarantined": 2 },
            { "name": "git", "state": "connecting" },
            { "name": "later", "state": "idle" },
            { "name": "tickets", "state": "failed", "reason": "refused" },
            { "name": "typo", "state": "excluded", "reason": "no such field" },
        ])
    );
}

#[tokio::test]
async fn who_was_not_let_in_learns_the_least() {
    let folder = tempfile::tempdir().unwrap();
    let transports = vec![transport_health("http", TransportState::Serving)];
    let registry = open_registry(&folder.path().join("s.db")).await;
    let (router, _) = health_router(registry, ServerPhase::Serving, transports);
    let got = get(&router, "/health", |request| {
        request.extensions_mut().insert(Admission::Public);
    })
    .await;
    assert_eq!(got.status, StatusCode::OK);
    let health = got.json();
    let fields: Vec<&String> = health.as_object().unwrap().keys().collect();
    assert_eq!(fields.len(), 4, "{health}");
    for field in ["status", "live", "ready", "version"] {
        assert!(!health[field].is_null(), "{health}");
    }
}

#[tokio::test]
async fn a_token_of_limited_scope_learns_the_states_alone_unless_it_includes_the_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("private.db");
    let transports = vec![
        transport_health("http", TransportState::Serving),
        transport_health("sse", TransportState::Failed),
    ];
    let servers = vec![UpstreamHealth {
        name: "tickets".to_owned(),
        state: UpstreamState::Failed,
        reason: Some("refused".to_owned()),
        last_success: None,
        tools: None,
        quarantined: None,
    }];
    let registry = open_registry(&file).await;
    let (router, _) =
        health_router_with_servers(registry, ServerPhase::Serving, transports, servers);
    let details = [
        "tickets",
        "refused",
        "taken",
        "127.0.0.1",
        "private.db",
        "steady",
    ];
    for (scope, shows_details) in [("reasoning_linear", false), ("metrics", true)] {
        let got = get(&router, "/health", |request| {
            request.extensions_mut().insert(Admission::Authenticated);
            request.extensions_mut().insert(Principal {
                name: Some("ann".into()),
                scope: ToolScope::Only([scope.to_owned()].into()),
            });
        })
        .await;
        assert_eq!(got.status, StatusCode::OK);
        for detail in details {
            assert_eq!(got.text.contains(detail), shows_details, "{}", got.text);
        }
        let health = got.json();
        assert_eq!(health["status"], "degraded");
        assert_eq!(health["transports"][1]["state"], "failed");
        assert_eq!(health["store"]["state"], "ok");
        assert_eq!(health["provider"]["state"], "configured");
    }
}

#[tokio::test]
async fn the_word_says_what_is_the_matter_and_the_status_whether_it_can_work() {
    use TransportState::{Failed, Off, Serving};
    let (ok, not) = (StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE);
    let http = |state| {
        vec![
            transport_health("http", state),
            transport_health("stdio", Off),
        ]
    };
    let both = vec![
        transport_health("http", Failed),
        transport_health("stdio", Serving),
    ];
    for (phase, transports, word, status) in [
        (ServerPhase::Starting, http(Serving), "starting", not),
        (ServerPhase::Draining, http(Serving), "draining", not),
        (ServerPhase::Serving, http(Serving), "ok", ok),
        (ServerPhase::Serving, http(Failed), "unavailable", not),
        (ServerPhase::Serving, both, "degraded", ok),
    ] {
        let got = get_health(phase, transports).await;
        let health = got.json();
        assert_eq!((got.status, &health["status"]), (status, &json!(word)));
        assert_eq!(health["ready"], status == ok);
        assert_eq!(health["live"], true);
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_used_makes_it_unready_but_not_dead() {
    let folder = tempfile::tempdir().unwrap();
    let transports = vec![transport_health("http", TransportState::Serving)];
    // A directory is not a database.
    let (router, _) = health_router(registry(folder.path()), ServerPhase::Serving, transports);
    let got = get(&router, "/health", |_| {}).await;
    assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
    let health = got.json();
    assert_eq!(health["status"], "unavailable");
    assert_eq!(health["store"]["state"], "failed");
    assert!(!health["store"]["reason"].as_str().unwrap().is_empty());
    let ready = get(&router, "/health/ready", |_| {}).await;
    assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.json()["ready"], false);
    assert_eq!(ready.json()["store"], Value::Null, "the short form");
    let live = get(&router, "/health/live", |_| {}).await;
    assert_eq!(
        (live.status, live.json()),
        (StatusCode::OK, json!({ "live": true }))
    );
}

#[tokio::test]
async fn a_flood_of_questions_is_one_look() {
    let folder = tempfile::tempdir().unwrap();
    let transports = vec![transport_health("http", TransportState::Serving)];
    let registry = open_registry(&folder.path().join("s.db")).await;
    let (router, looked) = health_router(registry, ServerPhase::Serving, transports);
    let flood = (0..200).map(|_| get(&router, "/health", |_| {}));
    for got in join_all(flood).await {
        assert_eq!(got.status, StatusCode::OK);
    }
    assert!(looked.load(Ordering::SeqCst) <= 3, "{looked:?}");
}

/// Calls the prompt engine, which must answer.
async fn call_engine(registry: &Registry, arguments: Value) -> Value {
    let outcome = registry.call("prompt_engine", arguments, CallerContext::default());
    match outcome.await.unwrap() {
        CallOutcome::Done(answer) => answer,
        CallOutcome::NeedsReply(asked) => panic!("{asked:?}"),
    }
}

/// Answers a prompt under gates of its caller with expensive schemas. Returns whether the gates were
/// checked, and the longest time between two answers of `/health/live` meanwhile.
async fn check_expensive_gates() -> (bool, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let options = EngineOptions {
        paths: LibraryPaths {
            workspace: folder.path().join("workspace"),
            ..LibraryPaths::default()
        },
        ..EngineOptions::default()
    };
    let engine = Arc::new(Engine::new(options.clone(), LiveLibrary::new(&options)));
    let registry = open_registry(&folder.path().join("s.db")).await;
    let registry = Arc::new(deliberate_prompts::register(registry, &engine));
    // The first would be checked for ever; each other takes as much time as a schema may.
    let next = |at: usize| json!({ "$ref": format!("#/$defs/d{}", at + 1) });
    let mut definitions: Map<String, Value> = (0..34)
        .map(|at| (format!("d{at}"), json!({ "allOf": [next(at), next(at)] })))
        .collect();
    definitions.insert("d34".to_owned(), json!({ "type": "string" }));
    let doubling = json!({ "$ref": "#/$defs/d0", "$defs": definitions });
    let constants: Vec<Value> = (0..500).map(|at| json!({ "const": at })).collect();
    let long = json!({ "items": { "anyOf": constants } });
    let gates: Vec<Value> = std::iter::once(doubling)
        .chain(std::iter::repeat_n(long, 8))
        .enumerate()
        .map(|(at, schema)| {
            let criterion = json!({ "type": "schema_check", "schema": schema });
            json!({ "id": format!("gate-{at}"), "name": "G", "pass_criteria": [criterion] })
        })
        .collect();
    let arguments = json!({ "command": ">>teach_me \"TLS\"", "gates": gates });
    let begun = call_engine(&registry, arguments).await;
    let answer = Value::from(vec![499; 1_000]).to_string();
    let checking = tokio::spawn({
        let (registry, run) = (registry.clone(), begun["chain_id"].clone());
        async move {
            let arguments = json!({ "chain_id": run, "user_response": answer });
            call_engine(&registry, arguments).await
        }
    });
    let transports = vec![transport_health("http", TransportState::Serving)];
    let (router, _) = health_router(
        open_registry(&folder.path().join("other.db")).await,
        ServerPhase::Serving,
        transports,
    );
    let (mut longest, mut last) = (Duration::ZERO, Instant::now());
    loop {
        let done = checking.is_finished();
        let live = get(&router, "/health/live", |_| {}).await;
        assert_eq!(live.status, StatusCode::OK);
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if done {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let output = checking.await.unwrap().to_string();
    (output.contains("too often to be checked"), longest)
}

#[test]
fn a_server_stays_live_while_the_schemas_of_a_callers_gates_are_checked() {
    let (sender, receiver) = mpsc::channel();
    // On a runtime of one thread, a check on it would hold up every answer.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        sender.send(runtime.block_on(check_expensive_gates()))
    });
    let outcome = receiver.recv_timeout(Duration::from_mins(1));
    let (was_checked, longest) = outcome.expect("the runtime is not blocked");
    assert!(was_checked);
    assert!(longest < Duration::from_secs(1), "{longest:?}");
}
