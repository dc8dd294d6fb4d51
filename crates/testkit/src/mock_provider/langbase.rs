//! Langbase: running, creating, updating and listing pipes. The id of a thread is in the header
//! `lb-thread-id`; omitted settings of a new pipe get Langbase's own defaults, public and storing.

use axum::{
    Json,
    http::{HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    default_reply::MockReply,
    handler::{MockProviderFormat, MockRejection, MockRequest, handle_ask, handle_management},
    openai,
    request_log::{RateLimitState, RequestKind},
};

const OWNER: &str = "stand-in";

struct LangbaseFormat;

pub(super) async fn run(call: MockRequest) -> Response {
    handle_ask(call, LangbaseFormat).await
}

pub(super) async fn create(call: MockRequest) -> Response {
    handle_management(call, LangbaseFormat, RequestKind::CreatePipe, |call| {
        let Some(name) = call.body["name"].as_str().filter(|name| !name.is_empty()) else {
            return LangbaseFormat.error(StatusCode::BAD_REQUEST, "Pipe name is required.");
        };
        let upsert = call.body["upsert"] == true;
        let existed = call.state.read(|inner| inner.pipes.contains_key(name));
        if existed && !upsert {
            let message = format!("A pipe named {name} exists already.");
            return LangbaseFormat.error(StatusCode::CONFLICT, &message);
        }
        call.state.write(|inner| {
            inner.pipes.insert(name.to_owned(), call.body.clone());
            inner.overwritten += usize::from(existed);
        });
        let status = if existed {
            StatusCode::OK
        } else {
            StatusCode::CREATED
        };
        (status, Json(pipe(name, &call.body))).into_response()
    })
    .await
}

pub(super) async fn update(call: MockRequest) -> Response {
    handle_management(call, LangbaseFormat, RequestKind::CreatePipe, |call| {
        let name = call.path.trim_start_matches("/v1/pipes/");
        if !call.state.read(|inner| inner.pipes.contains_key(name)) {
            return not_found(name);
        }
        call.state.write(|inner| {
            inner.pipes.insert(name.to_owned(), call.body.clone());
            inner.overwritten += 1;
        });
        Json(pipe(name, &call.body)).into_response()
    })
    .await
}

pub(super) async fn list(call: MockRequest) -> Response {
    handle_management(call, LangbaseFormat, RequestKind::List, |call| {
        let pipes = call.state.read(|inner| inner.pipes.clone());
        let all: Vec<Value> = pipes.iter().map(|(name, body)| pipe(name, body)).collect();
        Json(all).into_response()
    })
    .await
}

fn pipe(name: &str, body: &Value) -> Value {
    json!({
        "name": name,
        "description": body["description"].as_str().unwrap_or_default(),
        "status": body["status"].as_str().unwrap_or("public"),
        "store": body["store"].as_bool().unwrap_or(true),
        "owner_login": OWNER,
        "url": format!("https://langbase.com/{OWNER}/{name}"),
        "type": "chat",
        "api_key": "pipe_stand_in",
    })
}

fn not_found(name: &str) -> Response {
    LangbaseFormat.error(
        StatusCode::NOT_FOUND,
        &format!("Pipe {name} was not found."),
    )
}

impl MockProviderFormat for LangbaseFormat {
    fn error(&self, status: StatusCode, message: &str) -> Response {
        let code = match status.as_u16() {
            400 => "BAD_REQUEST",
            401 => "UNAUTHORIZED",
            403 => "FORBIDDEN",
            404 => "NOT_FOUND",
            409 => "CONFLICT",
            422 => "UNPROCESSABLE_ENTITY",
            429 => "RATE_LIMITED",
            _ => "INTERNAL_SERVER_ERROR",
        };
        let error = json!({ "code": code, "status": status.as_u16(), "message": message });
        let body = json!({ "success": false, "error": error });
        (status, [("lb-request-id", "req_stand_in")], Json(body)).into_response()
    }

    fn check(&self, call: &MockRequest) -> Result<(), MockRejection> {
        let body = &call.body;
        let Some(name) = body["name"].as_str() else {
            return Err(MockRejection::bad_request(
                "Pipe name is required with a user or organization key.",
            ));
        };
        openai::check_messages(body, &["system", "user", "assistant", "tool"])?;
        let variables = &body["variables"];
        let listed = variables.as_array().is_some_and(|list| {
            let mut list = list.iter();
            list.all(|entry| entry["name"].is_string() && entry["value"].is_string())
        });
        if !variables.is_null() && !listed {
            return Err(MockRejection::bad_request(
                "variables must be a list of {name, value}.",
            ));
        }
        let thread = body["threadId"].as_str();
        call.state.read(|inner| {
            if inner.settings.strict_pipes && !inner.pipes.contains_key(name) {
                let message = format!("Pipe {name} was not found.");
                return Err(MockRejection(StatusCode::NOT_FOUND, message));
            }
            if inner.settings.strict_threads
                && let Some(thread) = thread
                && !inner.threads.iter().any(|issued| issued == thread)
            {
                let message = format!("Thread {thread} was not found.");
                return Err(MockRejection(StatusCode::NOT_FOUND, message));
            }
            Ok(())
        })
    }

    /// Returns the schema of the run, else the one the pipe was created with.
    fn schema(&self, call: &MockRequest) -> Option<Value> {
        let name = call.body["name"].as_str().unwrap_or_default();
        openai::response_schema(&call.body).or_else(|| {
            call.state
                .read(|inner| inner.pipes.get(name).and_then(openai::response_schema))
        })
    }

    fn render_reply(&self, call: &MockRequest, reply: &MockReply, number: usize) -> Response {
        let thread = match call.body["threadId"].as_str() {
            Some(thread) => thread.to_owned(),
            None => call.state.write(|inner| {
                let thread = format!("thread-{}", inner.threads.len() + 1);
                inner.threads.push(thread.clone());
                thread
            }),
        };
        let mut response = if call.body["stream"] == true {
            openai::stream(&call.body, reply, number)
        } else {
            Json(envelope(call, reply, number)).into_response()
        };
        if let Ok(thread) = HeaderValue::try_from(thread) {
            response.headers_mut().insert("lb-thread-id", thread);
        }
        let request_id = HeaderValue::from_static("req_stand_in");
        response.headers_mut().insert("lb-request-id", request_id);
        response
    }

    fn rate_headers(&self, rate: RateLimitState) -> Vec<(&'static str, String)> {
        vec![
            ("lb-ratelimit-limit", rate.limit.to_string()),
            ("lb-ratelimit-remaining", rate.remaining.to_string()),
            ("lb-ratelimit-reset", rate.reset_seconds.to_string()),
        ]
    }
}

fn envelope(call: &MockRequest, reply: &MockReply, number: usize) -> Value {
    let (success, flat, model) = call.state.read(|inner| {
        let name = call.body["name"].as_str().unwrap_or_default();
        let pipe = inner.pipes.get(name);
        let model = pipe
            .and_then(|pipe| pipe["model"].as_str())
            .unwrap_or("openai:gpt-4o-mini");
        (
            inner.settings.success,
            inner.settings.flat,
            model.to_owned(),
        )
    });
    let mut raw = openai::completion(&call.body, reply, number);
    raw["model"] = json!(model);
    let mut envelope = if flat {
        raw.clone()
    } else {
        json!({ "raw": raw })
    };
    envelope["completion"] = json!(reply.text);
    if let Some(success) = success {
        envelope["success"] = json!(success);
    }
    envelope
}
