//! Tests of what operators see of calls: events for metrics, the invocation log, and the status of
//! the servers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use deliberate_gateway::UpstreamConnection;
use deliberate_mcp_client::transport::McpEra;
use deliberate_store::Pagination;
use deliberate_toolkit::{
    AUDIT_TARGET, CALL_SPAN, CallEvent, CallListener, CallOutcome, CallerContext, Registry,
    ToolScope,
};
use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*, registry::LookupSpan};

use super::{
    mock_upstream::MockUpstream,
    support::{GatewayFixture, modern_caller, open_store, server, temp_dir, tool},
};

/// Records the ends of external calls as `principal server tool outcome`.
#[derive(Default)]
struct RecordedCalls(Mutex<Vec<String>>);

impl CallListener for RecordedCalls {
    fn on_event(&self, event: CallEvent<'_>) {
        if let CallEvent::ExternalCallEnded(ended) = event {
            let line = format!(
                "{} {} {} {}",
                ended.principal.name.as_deref().unwrap_or("-"),
                ended.server,
                ended.tool.unwrap_or("-"),
                ended.error.unwrap_or("ok"),
            );
            self.0.lock().unwrap().push(line);
        }
    }
}

fn listening(fixture: GatewayFixture) -> (Registry, Arc<RecordedCalls>) {
    let heard = Arc::new(RecordedCalls::default());
    let registry = Arc::into_inner(fixture.registry).unwrap();
    (registry.with_listener(heard.clone()), heard)
}

#[tokio::test]
async fn the_end_of_a_call_names_its_caller_server_tool_and_outcome() {
    let folder = temp_dir();
    let up = MockUpstream::new(
        McpEra::Handshake,
        vec![tool("echo", ""), tool("fail", ""), tool("refuse", "")],
    );
    let servers = vec![
        (server("far"), Arc::new(up)),
        (server("gone"), Arc::new(MockUpstream::new_unreachable())),
    ];
    let (registry, heard) = listening(GatewayFixture::new(open_store(folder.path()), servers));
    for (name, arguments) in [
        ("far__echo", json!({})),
        ("gateway_call", json!({ "tool": "far__fail" })),
        ("far__refuse", json!({})),
        ("gateway_call", json!({ "tool": "far__nothing" })),
        ("gateway_call", json!({ "tool": "gone__any" })),
        ("gateway_call", json!({ "tool": "nobody__any" })),
    ] {
        drop(registry.call(name, arguments, modern_caller("ann")).await);
    }
    let heard = heard.0.lock().unwrap().clone();
    assert_eq!(
        heard,
        [
            "ann far echo ok",
            "ann far fail ToolFailed",
            "ann far refuse Rpc",
            "ann far - UnknownTool",
            "ann gone - Unreachable",
        ]
    );
}

/// Records the lines of the audit log as `principal server tool through outcome`.
#[derive(Clone, Default)]
struct AuditLines(Arc<Mutex<Vec<String>>>);

/// The fields of a line.
#[derive(Default)]
struct LineFields(HashMap<&'static str, String>);

impl Visit for LineFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Subscriber for AuditLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == AUDIT_TARGET
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = LineFields::default();
        event.record(&mut fields);
        let field = |name| fields.0.get(name).map_or("-", String::as_str);
        let names = ["principal", "server", "tool", "through", "outcome"];
        self.0.lock().unwrap().push(names.map(field).join(" "));
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn the_audit_log_has_refused_calls_and_calls_of_unknown_servers() {
    let folder = temp_dir();
    let (fixture, _) = GatewayFixture::with_one_server(&folder, &[tool("echo", "")]);
    let scoped = |pattern: &str| {
        let mut caller = modern_caller("ann");
        caller.principal.scope = ToolScope::Only([pattern.to_owned()].into());
        caller
    };
    let log = AuditLines::default();
    let guard = tracing::subscriber::set_default(log.clone());
    for (pattern, name, arguments) in [
        ("*", "far__echo", json!({})),
        ("near__*", "far__echo", json!({})),
        ("near__*", "gateway_call", json!({ "tool": "far__echo" })),
        ("near__*", "gateway_call", json!({ "tool": "nobody__any" })),
        ("*", "gateway_call", json!({ "tool": "nobody__any" })),
        ("*", "far__echo", json!("no object")),
    ] {
        // Whether it succeeds is in the log.
        drop(fixture.call_as(scoped(pattern), name, arguments).await);
    }
    drop(guard);
    let lines = log.0.lock().unwrap().clone();
    assert_eq!(
        lines,
        [
            "ann far echo gateway_call ok",
            "ann far echo gateway_call Forbidden",
            "ann far echo gateway_call Forbidden",
            "ann - nobody__any gateway_call Forbidden",
            "ann - nobody__any gateway_call UnknownServer",
            "ann far echo gateway_call Validation",
        ]
    );
}

/// Records the spans of calls.
#[derive(Clone, Default)]
struct CallSpans(Arc<Mutex<Vec<LineFields>>>);

/// The place of a span in the records.
struct SpanNumber(usize);

impl CallSpans {
    /// Returns the spans as `caller tool server error`.
    fn lines(&self) -> Vec<String> {
        let names = [
            "enduser.id",
            "gen_ai.tool.name",
            "deliberate.upstream_server",
            "error.type",
        ];
        let recorded = self.0.lock().unwrap();
        let field =
            |fields: &LineFields, name| fields.0.get(name).map_or("-", String::as_str).to_owned();
        let line = |fields: &LineFields| names.map(|name| field(fields, name)).join(" ");
        recorded.iter().map(line).collect()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for CallSpans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().target() != CALL_SPAN {
            return;
        }
        let mut fields = LineFields::default();
        attributes.record(&mut fields);
        let mut recorded = self.0.lock().unwrap();
        let number = SpanNumber(recorded.len());
        recorded.push(fields);
        let span = context.span(id).unwrap();
        span.extensions_mut().insert(number);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        if let Some(number) = span.extensions().get::<SpanNumber>() {
            values.record(&mut self.0.lock().unwrap()[number.0]);
        }
    }
}

#[tokio::test]
async fn the_span_of_a_call_names_its_caller_server_tool_and_error() {
    let folder = temp_dir();
    let tools = [tool("echo", ""), tool("fail", ""), tool("refuse", "")];
    let (fixture, _) = GatewayFixture::with_one_server(&folder, &tools);
    let traces = CallSpans::default();
    let guard = tracing_subscriber::registry()
        .with(traces.clone())
        .set_default();
    for (name, arguments) in [
        ("far__echo", json!({})),
        ("gateway_call", json!({ "tool": "far__fail" })),
        ("far__refuse", json!({})),
        ("gateway_call", json!({ "tool": "nobody__any" })),
        ("gateway_search", json!({ "query": "echo" })),
    ] {
        // Whether it succeeds is in the span.
        drop(fixture.call_as(modern_caller("ann"), name, arguments).await);
    }
    drop(guard);
    assert_eq!(
        traces.lines(),
        [
            "ann far__echo far -",
            "ann far__fail far ToolFailed",
            "ann far__refuse far Rpc",
            "ann gateway_call - UnknownServer",
            "ann gateway_search - -",
        ]
    );
}

#[tokio::test]
async fn a_failure_that_the_tool_reports_is_a_failure_in_the_invocation_log() {
    let folder = temp_dir();
    let (fixture, _) =
        GatewayFixture::with_one_server(&folder, &[tool("echo", ""), tool("fail", "")]);
    let registry = fixture.registry.clone();
    for tool in ["far__echo", "far__fail"] {
        let outcome = registry.call(tool, json!({}), CallerContext::default());
        // The answer is passed on as it is.
        assert!(matches!(outcome.await.unwrap(), CallOutcome::Done(_)));
    }
    registry.flush_log().await;
    let store = &fixture.store;
    let find = |tool: &'static str| async move {
        let found = store
            .tool_invocations(tool, None, Pagination::limit(10))
            .await;
        found.unwrap().pop().unwrap()
    };
    let fine = find("far__echo").await;
    assert!(fine.success && fine.error_code.is_none());
    let failed = find("far__fail").await;
    assert!(!failed.success);
    assert_eq!(failed.error_code.as_deref(), Some("ToolFailed"));
    assert_eq!(failed.error.as_deref(), Some("it went wrong"));
    assert!(failed.output.is_some());
}

#[tokio::test]
async fn the_status_names_every_server_with_its_state() {
    let folder = temp_dir();
    let up = || Arc::new(MockUpstream::new(McpEra::Handshake, vec![tool("echo", "")]));
    let servers = vec![
        (server("far"), up()),
        (server("gone"), Arc::new(MockUpstream::new_unreachable())),
        (server("unused"), up()),
    ];
    let fixture = GatewayFixture::new(open_store(folder.path()), servers);
    fixture.call_upstream("far__echo", json!({})).await.unwrap();
    fixture
        .call_upstream("gone__x", json!({}))
        .await
        .unwrap_err();
    let states = fixture.gateway.server_statuses();
    let by_name = |name: &str| states.iter().find(|it| it.server == name).unwrap();
    let far = by_name("far");
    assert_eq!(far.connection, UpstreamConnection::Connected);
    assert!(far.last_success.is_some() && far.tools == Some(1));
    let gone = by_name("gone");
    assert_eq!(gone.connection, UpstreamConnection::Failed);
    assert!(gone.reason.as_ref().unwrap().contains("nobody is there"));
    assert_eq!(by_name("unused").connection, UpstreamConnection::Idle);
}
