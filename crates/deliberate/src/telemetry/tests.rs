//! Tests of traces as a collector receives them.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_core::{SystemClock, SystemIds};
use deliberate_llm::{ModelReply, TokenUsage};
use deliberate_testkit::fixtures::{ScriptedModel, open_store, registry_deps, reply};
use deliberate_toolkit::{
    CallOutcome, CallerContext, Registry, RegistryDeps, Tool, ToolContext, ToolError, ToolHints,
    ToolLimits, ToolMeta, ToolOutput, TraceContext,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tracing_subscriber::{Layer as _, layer::SubscriberExt as _};

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const LIMIT: Duration = Duration::from_secs(20);

/// A collector that stores what it receives.
struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let got = Arc::<Mutex<Vec<u8>>>::default();
        let keeps = got.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(receive(stream, keeps.clone()));
            }
        });
        Self {
            address,
            received: got,
        }
    }

    /// Returns whether it received these bytes anywhere.
    fn has(&self, bytes: &[u8]) -> bool {
        let got = self.received.lock().unwrap();
        got.windows(bytes.len()).any(|window| window == bytes)
    }

    fn options(&self) -> TelemetryOptions {
        options(&format!("http://{}", self.address))
    }
}

/// Stores all bytes and accepts each request; a head and its body may arrive separately.
async fn receive(mut stream: TcpStream, got: Arc<Mutex<Vec<u8>>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let Ok(read @ 1..) = stream.read(&mut buffer).await else {
            return;
        };
        request.extend_from_slice(&buffer[..read]);
        let Some(head) = request.windows(4).position(|it| it == b"\r\n\r\n") else {
            continue;
        };
        let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
        let length: usize = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .map_or(0, |length| length.trim().parse().unwrap());
        if request.len() < head + 4 + length {
            continue;
        }
        got.lock().unwrap().append(&mut request);
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
    }
}

fn options(endpoint: &str) -> TelemetryOptions {
    TelemetryOptions {
        endpoint: endpoint.to_owned(),
        service_name: "deliberate-under-test".to_owned(),
        headers: Vec::new(),
        sample_ratio: 1.0,
    }
}

fn registry() -> (Registry, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let model = ScriptedModel::from_fn(|_, _| {
        Ok(ModelReply {
            model: Some("model-of-steel".to_owned()),
            usage: TokenUsage {
                prompt_tokens: 7,
                completion_tokens: 3,
                cost_usd: None,
            },
            ..reply("a secret thought")
        })
    });
    let parts = RegistryDeps {
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        ..registry_deps(open_store(&folder.path().join("store.db")), Some(model))
    };
    let registry = deliberate_reasoning::register(Registry::new(parts));
    (registry, folder)
}

fn caller(traceparent: &str) -> CallerContext {
    CallerContext {
        trace: TraceContext::parse(traceparent, Some("vendor=state")),
        protocol: Some("2026-07-28"),
        ..CallerContext::default()
    }
}

/// Runs `calls` with traces and sends them, as the program does: the database is part of a call's
/// span, so it is closed first.
async fn run_traced(
    options: &TelemetryOptions,
    registry: &Registry,
    calls: impl Future<Output = ()>,
) {
    let telemetry = Telemetry::start(options).unwrap();
    let layer = telemetry.layer().with_filter(SpanLayer::targets());
    let subscriber = tracing_subscriber::registry().with(layer);
    {
        let _told = tracing::subscriber::set_default(subscriber);
        calls.await;
        registry.store().close().await;
    }
    telemetry.stop(LIMIT).await;
}

fn decode_hex(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[tokio::test]
async fn a_call_continues_the_trace_of_its_client_and_tells_no_content() {
    let collector = Collector::start().await;
    let (registry, _folder) = registry();
    run_traced(&collector.options(), &registry, async {
        let caller = caller(&format!("00-{TRACE}-{PARENT}-01"));
        let arguments = json!({ "content": "a secret question" });
        let answer = registry.call("reasoning_linear", arguments, caller).await;
        assert!(answer.is_ok(), "{answer:?}");
    })
    .await;
    for text in [
        "/v1/traces",
        "deliberate-under-test",
        "tools/call reasoning_linear",
        "mcp.method.name",
        "2026-07-28",
        "chat",
        "gen_ai.provider.name",
        "scripted",
        "model-of-steel",
        "gen_ai.usage.input_tokens",
        "vendor=state",
    ] {
        assert!(collector.has(text.as_bytes()), "{text}");
    }
    let trace = decode_hex(TRACE);
    assert!(collector.has(&trace));
    // A parent's id is field 4 of a span and eight bytes long.
    let parent = [vec![0x22, 8], decode_hex(PARENT)].concat();
    assert!(collector.has(&parent), "the call has its client as parent");
    let got = collector.received.lock().unwrap().clone();
    let in_trace = got.windows(16).filter(|it| *it == trace).count();
    assert_eq!(in_trace, 2, "the call and its ask");
    for hidden in ["secret", "traceparent"] {
        assert!(!collector.has(hidden.as_bytes()), "{hidden}");
    }
}

/// Returns the trace context of its call.
struct TraceContextTool;

impl Tool for TraceContextTool {
    type Input = serde_json::Map<String, Value>;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "placed",
            title: "Placed",
            description: "Tells its place.",
            hints: ToolHints::READ_ONLY,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        _: Self::Input,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let context = call.trace();
        let place = context.as_ref().map(|it| [Some(it.parent()), it.state()]);
        Ok(ToolOutput {
            output: json!({ "place": place }),
            changes: Vec::new(),
            session: None,
        })
    }
}

#[tokio::test]
async fn what_is_done_elsewhere_for_a_call_stands_below_it() {
    let collector = Collector::start().await;
    let (registry, _folder) = registry();
    let registry = registry
        .with_span_reader(trace_context)
        .with(TraceContextTool);
    let given = format!("00-{TRACE}-{PARENT}-01");
    let below = Mutex::new(Vec::new());
    let placed = async |caller: CallerContext| {
        let answer = registry.call("placed", json!({}), caller).await;
        match answer {
            Ok(CallOutcome::Done(output)) => output["place"].clone(),
            other => panic!("{other:?}"),
        }
    };
    // Without a collector, the client's context is passed on.
    let handed_on = placed(caller(&given)).await;
    assert_eq!(handed_on, json!([given, "vendor=state"]));
    assert_eq!(placed(CallerContext::default()).await, Value::Null);

    run_traced(&collector.options(), &registry, async {
        let place = placed(caller(&given)).await;
        assert_eq!(place[1], "vendor=state");
        let parent = place[0].as_str().unwrap();
        let parts: Vec<&str> = parent.split('-').collect();
        assert_eq!((parts[0], parts[1], parts[3]), ("00", TRACE, "01"));
        assert_ne!(parts[2], PARENT);
        *below.lock().unwrap() = decode_hex(parts[2]);
        // A call that starts here has a context too.
        assert!(placed(CallerContext::default()).await[0].is_string());
    })
    .await;
    // A span's id is field 2 and eight bytes long.
    let own = [vec![0x12, 8], below.into_inner().unwrap()].concat();
    assert!(collector.has(&own), "what is below has our span as parent");
}

#[tokio::test]
async fn a_failed_call_says_the_kind_of_error_and_begins_its_own_trace() {
    let collector = Collector::start().await;
    let (registry, _folder) = registry();
    run_traced(&collector.options(), &registry, async {
        let arguments = json!({ "content": "x", "session_id": "no-such-canary" });
        let answer = registry
            .call("reasoning_linear", arguments, caller("00-wrong-01"))
            .await;
        assert!(answer.is_err());
    })
    .await;
    assert!(collector.has(b"SessionNotFound"));
    assert!(!collector.has(b"canary"));
    assert!(!collector.has(&decode_hex(TRACE)));
}

#[tokio::test]
async fn what_the_client_does_not_sample_is_not_told() {
    let collector = Collector::start().await;
    let (registry, _folder) = registry();
    run_traced(&collector.options(), &registry, async {
        let caller = caller(&format!("00-{TRACE}-{PARENT}-00"));
        let arguments = json!({ "content": "x" });
        drop(registry.call("reasoning_linear", arguments, caller).await);
    })
    .await;
    assert!(collector.received.lock().unwrap().is_empty());
}

#[tokio::test]
async fn headers_are_sent_and_not_shown() {
    let collector = Collector::start().await;
    let (registry, _folder) = registry();
    let mut options = collector.options();
    options.headers = vec![("x-api-key".to_owned(), SecretString::from("key-of-gold"))];
    assert!(!format!("{options:?}").contains("key-of-gold"));
    run_traced(&options, &registry, async {
        let arguments = json!({ "content": "x" });
        let caller = CallerContext::default();
        drop(registry.call("reasoning_linear", arguments, caller).await);
    })
    .await;
    assert!(collector.has(b"x-api-key: key-of-gold"));
}

#[tokio::test]
async fn a_collector_that_is_not_there_harms_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (registry, _folder) = registry();
    run_traced(&options(&format!("http://{address}")), &registry, async {
        for _ in 0..3 {
            let arguments = json!({ "content": "x" });
            let answer = registry.call("reasoning_linear", arguments, CallerContext::default());
            assert!(answer.await.is_ok());
        }
    })
    .await;
}

#[tokio::test]
async fn a_collector_that_never_answers_does_not_hold_up_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (registry, _folder) = registry();
    let telemetry = Telemetry::start(&options(&format!("http://{address}"))).unwrap();
    let layer = telemetry.layer().with_filter(SpanLayer::targets());
    {
        let subscriber = tracing_subscriber::registry().with(layer);
        let _told = tracing::subscriber::set_default(subscriber);
        let arguments = json!({ "content": "x" });
        drop(
            registry
                .call("reasoning_linear", arguments, CallerContext::default())
                .await,
        );
    }
    let stopped = telemetry.stop(Duration::from_millis(50));
    // Much longer than needed, and shorter than the time it must not take.
    assert!(tokio::time::timeout(LIMIT, stopped).await.is_ok());
}

#[test]
fn addresses_are_checked_and_completed() {
    for (given, used) in [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
        ("https://o.example/otlp", "https://o.example/otlp/v1/traces"),
        ("https://o.example/v1/traces", "https://o.example/v1/traces"),
    ] {
        assert_eq!(traces_url(given).unwrap().as_str(), used);
    }
    for wrong in ["", "localhost:4318", "ftp://x", "https://me:pass@o.example"] {
        let error = traces_url(wrong).unwrap_err().to_string();
        assert!(!error.contains("pass@"), "{error}");
    }
    let mut open = options("http://collector.example:4318");
    assert!(Telemetry::start(&open).is_ok());
    open.headers = vec![("key".to_owned(), SecretString::from("k"))];
    assert!(matches!(
        Telemetry::start(&open),
        Err(TelemetryError::Exposed)
    ));
}
