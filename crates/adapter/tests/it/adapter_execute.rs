//! Tests of executing a tool: validation and interceptors.

use std::sync::{Arc, Mutex};

use deliberate_adapter::{
    AdapterConfig, CallOptions, ClientError, ClientErrorKind, ErrorClass,
    adapter::{Interceptor, Next, ToolInvocation},
    client::InputMode,
    transport::DeliveryStatus,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    adapter_support::{adapter, execute, handshake_server, named_server},
    client_support::{ScriptedServer, stdio, text, wait_until, with_deadline},
};

fn strict_server() -> Arc<ScriptedServer> {
    let tools = json!([{
        "name": "t",
        "inputSchema": {
            "type": "object",
            "properties": {
                "count": { "type": "integer", "minimum": 1 },
                "mode": { "enum": ["a", "b"] },
                "name": { "type": "string" },
                "inner": { "type": "object", "required": ["deep"] },
            },
            "required": ["count", "name"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": { "sum": { "type": "number" } },
            "required": ["sum"],
        },
    }]);
    handshake_server(tools, |stage, message| {
        let answer = message["params"]["arguments"]["name"].as_str();
        let text = json!({ "type": "text", "text": "the text" });
        let mut result = json!({ "content": [text], "structuredContent": { "sum": answer } });
        match answer {
            Some("good") => result["structuredContent"] = json!({ "sum": 1 }),
            Some("failed") => result["isError"] = json!(true),
            _ => {}
        }
        stage.answer(message, &result);
    })
}

#[tokio::test]
async fn every_wrong_argument_is_named_and_nothing_is_sent() {
    let puppet = strict_server();
    let adapter = adapter(&[("s", &puppet)], AdapterConfig::default());
    let arguments = json!({ "count": 0, "mode": "c", "inner": {}, "more": 1 });
    let error = execute(&adapter, "s", "t", arguments).await.unwrap_err();
    assert_eq!(
        (error.code(), error.class()),
        ("Validation", ErrorClass::Protocol)
    );
    assert_eq!(error.delivery, DeliveryStatus::No);
    let text = error.to_string();
    for field in ["count", "mode", "deep", "more", "name"] {
        assert!(text.contains(field), "{field}: {text}");
    }
    assert!(puppet.received_of("tools/call").is_empty());
}

#[tokio::test]
async fn without_checks_everything_is_sent_and_taken() {
    let puppet = strict_server();
    let config = AdapterConfig {
        validate: false,
        ..AdapterConfig::default()
    };
    let adapter = adapter(&[("s", &puppet)], config);
    execute(&adapter, "s", "t", json!({ "name": "bad" }))
        .await
        .unwrap();
    execute(&adapter, "s", "unheard-of", json!({}))
        .await
        .unwrap();
    assert!(puppet.received_of("tools/list").is_empty());
    // A known definition does not change that.
    with_deadline(adapter.to_functions()).await.unwrap();
    execute(&adapter, "s", "t", json!({ "name": "bad" }))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_answer_must_keep_what_its_schema_promises() {
    let puppet = strict_server();
    let adapter = adapter(&[("s", &puppet)], AdapterConfig::default());
    let with = |name: &str| json!({ "count": 1, "name": name });
    execute(&adapter, "s", "t", with("good")).await.unwrap();
    // A failed result is not validated.
    execute(&adapter, "s", "t", with("failed")).await.unwrap();
    // Of an invalid one, the rest is kept, as an error with a note.
    let executed = execute(&adapter, "s", "t", with("bad")).await.unwrap();
    let result = executed.result;
    assert_eq!(result["isError"], true);
    assert!(result.get("structuredContent").is_none(), "{result}");
    assert_eq!(result["content"][0]["text"], "the text");
    let note = result["content"][1]["text"].as_str().unwrap();
    assert!(note.contains("sum"), "{note}");
}

#[tokio::test]
async fn what_does_not_exist_comes_with_what_is_near() {
    let puppet = named_server("s", &["read_file"]);
    let adapter = adapter(&[("server", &puppet)], AdapterConfig::default());
    let error = execute(&adapter, "server", "read_flie", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean read_file?");
    assert_eq!(error.to_json()["about"], "read_flie");
    let error = execute(&adapter, "sever", "read_file", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean server?");
    assert!(puppet.received_of("tools/call").is_empty());
}

#[tokio::test]
async fn a_tool_that_says_it_failed_is_an_error_of_the_function_only() {
    let config = AdapterConfig::from_servers([stdio("s", &[])]);
    let adapter = deliberate_adapter::Adapter::new(config).unwrap();
    let executed = execute(&adapter, "s", "fail", json!({ "message": "no" }))
        .await
        .unwrap();
    assert_eq!(
        (executed.server.as_str(), &executed.result["isError"]),
        ("s", &json!(true))
    );
    let functions = with_deadline(adapter.to_functions()).await.unwrap();
    let function = functions.get("s__fail").unwrap();
    let error = with_deadline(function.call(json!({ "message": "no" })))
        .await
        .unwrap_err();
    assert_eq!(
        (error.class(), error.code()),
        (ErrorClass::Domain, "ToolFailed")
    );
    assert!(!error.is_transient() && !error.may_differ_elsewhere());
    assert!(error.to_string().contains("the tool failed: no"));
}

#[tokio::test]
async fn what_nobody_knows_passes_unharmed() {
    let adapter =
        deliberate_adapter::Adapter::new(AdapterConfig::from_servers([stdio("s", &[])])).unwrap();
    let executed = execute(&adapter, "s", "unknown_block", json!({}))
        .await
        .unwrap();
    let text = executed.result.to_string();
    assert!(
        text.contains(r#"{"zeta":1,"type":"hologram","data":{"b":[1],"a":null}}"#),
        "{text}"
    );
    assert!(text.contains(r#""example.com/kept":1"#) && text.contains(r#""extra":{"kept":true}"#));
}

#[tokio::test]
async fn cancelling_ends_it_even_before_the_call() {
    let puppet = ScriptedServer::new(|stage, message| {
        crate::client_support::answer_handshake(stage, message);
    });
    let adapter = adapter(&[("s", &puppet)], AdapterConfig::default());
    let options = CallOptions::default();
    let (running, with) = (adapter.clone(), options.clone());
    let call = tokio::spawn(async move { running.execute("s", "t", json!({}), with).await });
    wait_until(|| puppet.received_of("tools/list").len() == 1).await;
    options.cancellation.cancel();
    let error = with_deadline(call).await.unwrap().unwrap_err();
    assert_eq!(
        (error.kind, error.delivery),
        (ClientErrorKind::Cancelled, DeliveryStatus::No)
    );
}

#[tokio::test]
async fn wanted_input_is_handed_over_unchecked() {
    let config = AdapterConfig::from_servers([stdio("s", &["--era", "stateless"])]);
    let adapter = deliberate_adapter::Adapter::new(config).unwrap();
    let options = CallOptions {
        input_mode: InputMode::ReturnToCaller,
        ..CallOptions::default()
    };
    let executed = with_deadline(adapter.execute("s", "ask", json!({ "message": "x" }), options));
    assert_eq!(
        executed.await.unwrap().result["resultType"],
        "input_required"
    );
}

/// Records that it intercepted a call.
struct LoggingInterceptor {
    name: &'static str,
    log: Arc<Mutex<Vec<String>>>,
}

impl Interceptor for LoggingInterceptor {
    fn intercept<'a>(
        &'a self,
        mut invocation: ToolInvocation,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Value, ClientError>> {
        Box::pin(async move {
            let tool = invocation.tool.clone();
            self.log
                .lock()
                .unwrap()
                .push(format!("{} before {tool}", self.name));
            let result = match self.name {
                "answers" => Ok(json!({ "content": [{ "type": "text", "text": "known" }] })),
                "refuses" => Err(ClientError::new(
                    invocation.server.as_str(),
                    ClientErrorKind::Cancelled,
                )),
                "repeats" => match next.run(invocation.clone()).await {
                    Err(_) => next.run(invocation).await,
                    fine => fine,
                },
                "rewrites" => {
                    "t".clone_into(&mut invocation.tool);
                    "b".clone_into(&mut invocation.server);
                    invocation.arguments["added"] = json!(1);
                    invocation.meta.insert("x/y".to_owned(), json!(2));
                    next.run(invocation).await
                }
                _ => next.run(invocation).await,
            };
            self.log
                .lock()
                .unwrap()
                .push(format!("{} after", self.name));
            result
        })
    }
}

type CallLog = Arc<Mutex<Vec<String>>>;

fn logging_config(names: &[&'static str]) -> (AdapterConfig, CallLog) {
    let log = CallLog::default();
    let interceptors = names.iter().map(|name| {
        let log = log.clone();
        Arc::new(LoggingInterceptor { name, log }) as Arc<dyn Interceptor>
    });
    let config = AdapterConfig {
        interceptors: interceptors.collect(),
        ..AdapterConfig::default()
    };
    (config, log)
}

#[tokio::test]
async fn interceptors_stand_around_in_order() {
    let a = named_server("a", &["t"]);
    let (config, log) = logging_config(&["one", "two"]);
    let adapter = adapter(&[("a", &a)], config);
    execute(&adapter, "a", "t", json!({})).await.unwrap();
    let log = log.lock().unwrap().join(", ");
    assert_eq!(log, "one before t, two before t, two after, one after");
}

#[tokio::test]
async fn an_interceptor_may_rewrite_everything() {
    let (a, b) = (named_server("a", &["u"]), named_server("b", &["t"]));
    let (config, _) = logging_config(&["rewrites"]);
    let adapter = adapter(&[("a", &a), ("b", &b)], config);
    let executed = execute(&adapter, "a", "u", json!({ "own": 1 }))
        .await
        .unwrap();
    assert_eq!(
        (text(&executed.result), executed.server.as_str()),
        ("b".to_owned(), "b")
    );
    let sent = &b.received_of("tools/call")[0]["params"];
    assert_eq!(sent["arguments"], json!({ "own": 1, "added": 1 }));
    assert_eq!(sent["_meta"]["x/y"], 2);
}

#[tokio::test]
async fn an_interceptor_may_answer_or_refuse_in_its_place() {
    let a = named_server("a", &["t"]);
    let (config, log) = logging_config(&["answers", "never"]);
    let executed = execute(&adapter(&[("a", &a)], config), "a", "t", json!({}))
        .await
        .unwrap();
    assert_eq!(text(&executed.result), "known");
    assert_eq!(log.lock().unwrap().len(), 2);
    let (config, _) = logging_config(&["refuses"]);
    let error = execute(&adapter(&[("a", &a)], config), "a", "t", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ClientErrorKind::Cancelled);
    assert!(a.received_of("tools/call").is_empty());
}

#[tokio::test]
async fn an_interceptor_may_repeat() {
    let calls = Mutex::new(0);
    let a = handshake_server(json!([{ "name": "t" }]), move |stage, message| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        match *calls {
            1 => stage.refuse(message, -32_603, "not yet"),
            _ => stage.answer_text(message, "now"),
        }
    });
    let (config, log) = logging_config(&["repeats", "inner"]);
    let executed = execute(&adapter(&[("a", &a)], config), "a", "t", json!({}))
        .await
        .unwrap();
    assert_eq!(text(&executed.result), "now");
    assert_eq!(log.lock().unwrap().len(), 6);
}

/// Returns how often other tasks get a turn until the work is done.
async fn turns_during(work: impl Future<Output = ()>) -> usize {
    let mut work = std::pin::pin!(work);
    let mut turns = 0;
    loop {
        tokio::select! {
            biased;
            () = &mut work => return turns,
            () = tokio::task::yield_now() => turns += 1,
        }
    }
}

#[tokio::test]
async fn a_check_that_takes_long_leaves_the_runtime_to_others() {
    let constants: Vec<Value> = (0..500).map(|at| json!({ "const": at })).collect();
    let list = json!({ "type": "array", "items": { "anyOf": constants } });
    let schema = json!({ "type": "object", "properties": { "list": list } });
    let tools = json!([
        { "name": "given", "inputSchema": schema },
        { "name": "answered", "inputSchema": { "type": "object" }, "outputSchema": schema },
    ]);
    let puppet = handshake_server(tools, |stage, message| {
        let content = message["params"]["arguments"].clone();
        stage.answer(
            message,
            &json!({ "content": [], "structuredContent": content }),
        );
    });
    let adapter = adapter(&[("s", &puppet)], AdapterConfig::default());
    for tool in ["given", "answered"] {
        let call = async |length: usize| {
            let arguments = json!({ "list": vec![499; length] });
            let result = execute(&adapter, "s", tool, arguments)
                .await
                .unwrap()
                .result;
            assert_eq!(
                result["structuredContent"]["list"]
                    .as_array()
                    .unwrap()
                    .len(),
                length
            );
        };
        // The first call compiles the schema.
        call(1).await;
        let quick = turns_during(call(1)).await;
        let long = turns_during(call(1_000)).await;
        assert!(quick < 100, "{tool}: {quick}");
        assert!(long > 1_000, "{tool}: {long}");
    }
}
