//! Running a tool: what is checked, and what may stand around it.

use std::sync::{Arc, Mutex};

use deliberate_adapter::{
    AdapterConfig, CallOptions, Class, Error, ErrorKind,
    adapter::{Interceptor, Invocation, Next},
    client::InputMode,
    transport::Sent,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    adapter_support::{adapter, run, saying, server},
    client_support::{Puppet, soon, stdio, text, until},
};

fn strict() -> Arc<Puppet> {
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
    server(tools, |stage, message| {
        let answer = message["params"]["arguments"]["name"].as_str();
        let mut result = json!({ "content": [], "structuredContent": { "sum": answer } });
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
    let puppet = strict();
    let adapter = adapter(&[("s", &puppet)], AdapterConfig::default());
    let arguments = json!({ "count": 0, "mode": "c", "inner": {}, "more": 1 });
    let error = run(&adapter, "s", "t", arguments).await.unwrap_err();
    assert_eq!(
        (error.code(), error.class()),
        ("Validation", Class::Protocol)
    );
    assert_eq!(error.sent, Sent::No);
    let shown = error.to_string();
    for field in ["count", "mode", "deep", "more", "name"] {
        assert!(shown.contains(field), "{field}: {shown}");
    }
    assert!(puppet.heard("tools/call").is_empty());
}

#[tokio::test]
async fn without_checks_everything_is_sent_and_taken() {
    let puppet = strict();
    let config = AdapterConfig {
        validate: false,
        ..AdapterConfig::default()
    };
    let adapter = adapter(&[("s", &puppet)], config);
    run(&adapter, "s", "t", json!({ "name": "bad" }))
        .await
        .unwrap();
    run(&adapter, "s", "unheard-of", json!({})).await.unwrap();
    assert!(puppet.heard("tools/list").is_empty());
    // What is known of the tool does not change that.
    soon(adapter.to_functions()).await.unwrap();
    run(&adapter, "s", "t", json!({ "name": "bad" }))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_answer_must_keep_what_its_schema_promises() {
    let puppet = strict();
    let adapter = adapter(&[("s", &puppet)], AdapterConfig::default());
    let with = |name: &str| json!({ "count": 1, "name": name });
    run(&adapter, "s", "t", with("good")).await.unwrap();
    // What failed promises nothing.
    run(&adapter, "s", "t", with("failed")).await.unwrap();
    let error = run(&adapter, "s", "t", with("bad")).await.unwrap_err();
    assert!(matches!(&error.kind, ErrorKind::Malformed { reason } if reason.contains("sum")));
    assert_eq!(error.sent, Sent::Yes);
}

#[tokio::test]
async fn what_does_not_exist_comes_with_what_is_near() {
    let puppet = saying("s", &["read_file"]);
    let adapter = adapter(&[("server", &puppet)], AdapterConfig::default());
    let error = run(&adapter, "server", "read_flie", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean read_file?");
    assert_eq!(error.to_json()["about"], "read_flie");
    let error = run(&adapter, "sever", "read_file", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean server?");
    assert!(puppet.heard("tools/call").is_empty());
}

#[tokio::test]
async fn a_tool_that_says_it_failed_is_an_error_of_the_function_only() {
    let config = AdapterConfig::of([stdio("s", &[])]);
    let adapter = deliberate_adapter::Adapter::new(config).unwrap();
    let executed = run(&adapter, "s", "fail", json!({ "message": "no" }))
        .await
        .unwrap();
    assert_eq!(
        (executed.by.as_str(), &executed.result["isError"]),
        ("s", &json!(true))
    );
    let functions = soon(adapter.to_functions()).await.unwrap();
    let function = functions.get("s__fail").unwrap();
    let error = soon(function.call(json!({ "message": "no" })))
        .await
        .unwrap_err();
    assert_eq!((error.class(), error.code()), (Class::Domain, "ToolFailed"));
    assert!(!error.is_transient() && !error.may_differ_elsewhere());
    assert!(error.to_string().contains("the tool failed: no"));
}

#[tokio::test]
async fn what_nobody_knows_passes_unharmed() {
    let adapter = deliberate_adapter::Adapter::new(AdapterConfig::of([stdio("s", &[])])).unwrap();
    let executed = run(&adapter, "s", "unknown_block", json!({}))
        .await
        .unwrap();
    let shown = executed.result.to_string();
    assert!(
        shown.contains(r#"{"zeta":1,"type":"hologram","data":{"b":[1],"a":null}}"#),
        "{shown}"
    );
    assert!(
        shown.contains(r#""example.com/kept":1"#) && shown.contains(r#""extra":{"kept":true}"#)
    );
}

#[tokio::test]
async fn cancelling_ends_it_even_before_the_call() {
    let puppet = Puppet::new(|stage, message| {
        crate::client_support::older(stage, message);
    });
    let adapter = adapter(&[("s", &puppet)], AdapterConfig::default());
    let options = CallOptions::default();
    let (running, with) = (adapter.clone(), options.clone());
    let call = tokio::spawn(async move { running.execute("s", "t", json!({}), with).await });
    until(|| puppet.heard("tools/list").len() == 1).await;
    options.cancelled.cancel();
    let error = soon(call).await.unwrap().unwrap_err();
    assert_eq!((error.kind, error.sent), (ErrorKind::Cancelled, Sent::No));
}

#[tokio::test]
async fn wanted_input_is_handed_over_unchecked() {
    let config = AdapterConfig::of([stdio("s", &["--era", "stateless"])]);
    let adapter = deliberate_adapter::Adapter::new(config).unwrap();
    let options = CallOptions {
        input: InputMode::HandOver,
        ..CallOptions::default()
    };
    let executed = soon(adapter.execute("s", "ask", json!({ "message": "x" }), options));
    assert_eq!(
        executed.await.unwrap().result["resultType"],
        "input_required"
    );
}

/// Does something around a call, and writes down that it did.
struct Around {
    name: &'static str,
    log: Arc<Mutex<Vec<String>>>,
}

impl Interceptor for Around {
    fn around<'a>(
        &'a self,
        mut invocation: Invocation,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let tool = invocation.tool.clone();
            self.log
                .lock()
                .unwrap()
                .push(format!("{} before {tool}", self.name));
            let result = match self.name {
                "answers" => Ok(json!({ "content": [{ "type": "text", "text": "known" }] })),
                "refuses" => Err(Error::new(invocation.server.as_str(), ErrorKind::Cancelled)),
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

type Log = Arc<Mutex<Vec<String>>>;

fn around(names: &[&'static str]) -> (AdapterConfig, Log) {
    let log = Log::default();
    let interceptors = names.iter().map(|name| {
        let log = log.clone();
        Arc::new(Around { name, log }) as Arc<dyn Interceptor>
    });
    let config = AdapterConfig {
        interceptors: interceptors.collect(),
        ..AdapterConfig::default()
    };
    (config, log)
}

#[tokio::test]
async fn interceptors_stand_around_in_order() {
    let a = saying("a", &["t"]);
    let (config, log) = around(&["one", "two"]);
    let adapter = adapter(&[("a", &a)], config);
    run(&adapter, "a", "t", json!({})).await.unwrap();
    let log = log.lock().unwrap().join(", ");
    assert_eq!(log, "one before t, two before t, two after, one after");
}

#[tokio::test]
async fn an_interceptor_may_rewrite_everything() {
    let (a, b) = (saying("a", &["u"]), saying("b", &["t"]));
    let (config, _) = around(&["rewrites"]);
    let adapter = adapter(&[("a", &a), ("b", &b)], config);
    let executed = run(&adapter, "a", "u", json!({ "own": 1 })).await.unwrap();
    assert_eq!(
        (text(&executed.result), executed.by.as_str()),
        ("b".to_owned(), "b")
    );
    let sent = &b.heard("tools/call")[0]["params"];
    assert_eq!(sent["arguments"], json!({ "own": 1, "added": 1 }));
    assert_eq!(sent["_meta"]["x/y"], 2);
}

#[tokio::test]
async fn an_interceptor_may_answer_or_refuse_in_its_place() {
    let a = saying("a", &["t"]);
    let (config, log) = around(&["answers", "never"]);
    let executed = run(&adapter(&[("a", &a)], config), "a", "t", json!({}))
        .await
        .unwrap();
    assert_eq!(text(&executed.result), "known");
    assert_eq!(log.lock().unwrap().len(), 2);
    let (config, _) = around(&["refuses"]);
    let error = run(&adapter(&[("a", &a)], config), "a", "t", json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert!(a.heard("tools/call").is_empty());
}

#[tokio::test]
async fn an_interceptor_may_repeat() {
    let calls = Mutex::new(0);
    let a = server(json!([{ "name": "t" }]), move |stage, message| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        match *calls {
            1 => stage.refuse(message, -32_603, "not yet"),
            _ => stage.say(message, "now"),
        }
    });
    let (config, log) = around(&["repeats", "inner"]);
    let executed = run(&adapter(&[("a", &a)], config), "a", "t", json!({}))
        .await
        .unwrap();
    assert_eq!(text(&executed.result), "now");
    assert_eq!(log.lock().unwrap().len(), 6);
}
