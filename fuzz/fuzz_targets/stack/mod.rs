//! What the HTTP targets share: a whole stack in this process, a request sent through it, and what
//! must hold of every answer. It knows nothing of how an input becomes a request.

mod service;
mod valid_request;

use std::time::Duration;

use axum::{Router, body::Body};
use deliberate_server::stdio::{IncomingMessage, RpcRejection, read_line};
use http_body_util::{BodyExt, Limited};
use tower::ServiceExt;

pub use service::ENDPOINT;

/// The longest body the stack takes.
pub const BODY_LIMIT: usize = 64 * 1024;
/// What an answer may hold beside what was sent.
const MAX_RESPONSE_OVERHEAD: usize = 16 * 1024;
/// On a clock that jumps when nothing runs: a stream that never ends costs no time.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

thread_local! {
    static STACK: Router = service::build_service();
}

/// Sends a request and checks its answer: there is one, it is bounded, and it is a success only
/// where the request was sound.
pub fn send(request: http::request::Builder, body: &[u8]) {
    // What the builder does not take never comes off a wire either.
    let Ok(request) = request.body(Body::from(body.to_vec())) else {
        return;
    };
    let sound = valid_request::is_valid_request(&request, body);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let (status, length) = runtime.block_on(async {
        let stack = STACK.with(Clone::clone);
        let answer = tokio::time::timeout(RESPONSE_TIMEOUT, stack.oneshot(request));
        let answer = answer.await.expect("an answer in time");
        let (head, answer_body) = answer.expect("no failure").into_parts();
        let most = MAX_RESPONSE_OVERHEAD + 8 * body.len();
        let whole = Limited::new(answer_body, most).collect();
        // A subscription goes on for as long as it is listened to.
        let length = match tokio::time::timeout(RESPONSE_TIMEOUT, whole).await {
            Ok(collected) => collected.expect("a bounded answer").to_bytes().len(),
            Err(_) => 0,
        };
        (head.status, length)
    });
    assert!(
        sound || !status.is_success(),
        "{status} for an unsound request, {length} bytes"
    );
    assert_ne!(status, http::StatusCode::INTERNAL_SERVER_ERROR);
}

/// The message reader alone: no panic, and every rejection can be sent back.
#[allow(dead_code, reason = "one of the two targets reads bodies alone")]
pub fn check_message_reader(body: &[u8]) {
    for incoming in read_line(body) {
        if let IncomingMessage::Rejected(rejection) = incoming {
            check_sendable(&rejection);
        }
    }
}

#[allow(dead_code, reason = "one of the two targets reads bodies alone")]
fn check_sendable(rejection: &RpcRejection) {
    let line = rejection.to_line();
    let message: serde_json::Value = serde_json::from_slice(&line).expect("a rejection is JSON");
    let id = &message["id"];
    assert!(id.is_null() || id.is_string() || id.is_number());
}
