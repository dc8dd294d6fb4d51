//! A small registry, and a browser's worth of HTTP.

use std::{path::Path, sync::Arc};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use deliberate_store::sqlite::{Durability, SqliteOptions, SqliteStore};
use deliberate_testkit::{CountingIds, FixedClock};
use deliberate_thinker::{Ask, Message, PlainText, Purpose, Reply, ThinkError, Thinker, Usage};
use deliberate_toolkit::{
    About, Annotations, Bounds, Call, Limits, OneMind, Outcome, Parts, Registry, Tool, ToolError,
};
use futures::future::BoxFuture;
use http_body_util::BodyExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::ServiceExt as _;

/// A registry on a store in that file, with two tools.
pub(crate) fn registry(file: &Path) -> Registry {
    let store = SqliteStore::new(SqliteOptions {
        path: file.to_owned(),
        readers: 2,
        durability: Durability::Relaxed,
    });
    Registry::new(Parts {
        store: Arc::new(store),
        minds: Arc::new(OneMind(Some(Arc::new(Model)))),
        clock: Arc::new(FixedClock::new()),
        ids: Arc::new(CountingIds::new()),
        bounds: Bounds::default(),
    })
    .with(Ponder)
    .with(Stumble)
}

/// A model that always says the same.
struct Model;

impl Thinker for Model {
    fn name(&self) -> &'static str {
        "steady"
    }

    fn think<'a>(&'a self, _: &'a Ask, _: Instant) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async {
            Ok(Reply {
                text: "{\"word\":\"yes\"}".to_owned(),
                model: Some("m".to_owned()),
                usage: Usage {
                    prompt_tokens: 7,
                    completion_tokens: 3,
                    cost_usd: Some(0.25),
                },
                ..Reply::default()
            })
        })
    }
}

/// Asks the model.
struct Ponder;

/// Panics.
struct Stumble;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

fn about(name: &'static str, title: &'static str) -> About {
    About {
        name,
        title,
        description: "Does what its test needs.",
        annotations: Annotations::THINKS,
        thinks: true,
        limits: Limits::default(),
    }
}

fn only(output: Value) -> Outcome<Value> {
    Outcome {
        output,
        changes: Vec::new(),
        session: None,
    }
}

impl Tool for Ponder {
    type Input = Nothing;
    type Output = Value;

    fn about(&self) -> About {
        about("ponder", "Ponder & <b>wonder</b>")
    }

    async fn run(&self, _: Nothing, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let ask = Ask {
            key: "ponder".to_owned(),
            purpose: Purpose::new("ponder"),
            system: "Think.".to_owned(),
            messages: vec![Message::user("why?")],
            schema: json!({ "type": "object" }),
            plain_text: PlainText::IsTheAnswer,
            max_tokens: 100,
            temperature: 0.0,
            ..Ask::default()
        };
        let answer = call.think::<Value>(ask, None).await?;
        Ok(only(answer.value))
    }
}

impl Tool for Stumble {
    type Input = Nothing;
    type Output = Value;

    fn about(&self) -> About {
        about("stumble", "Stumble")
    }

    async fn run(&self, _: Nothing, _: &Call) -> Result<Outcome<Value>, ToolError> {
        panic!("as it was told")
    }
}

/// An answer, read whole.
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

/// Asks with a `GET`; `prepare` may change the request.
pub(crate) async fn get(
    router: &Router,
    path: &str,
    prepare: impl FnOnce(&mut Request<Body>),
) -> Got {
    let mut request = Request::get(path).body(Body::empty()).unwrap();
    prepare(&mut request);
    let answer = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = answer.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Got {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

/// Says what kind of answer is wanted.
pub(crate) fn accepts(kind: &'static str) -> impl FnOnce(&mut Request<Body>) {
    move |request| {
        request
            .headers_mut()
            .insert("accept", http::HeaderValue::from_static(kind));
    }
}
