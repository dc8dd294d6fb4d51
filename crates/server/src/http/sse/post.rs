//! `POST /messages`: passes one message of a client to its session.

use axum::{
    body::Body,
    extract::{Query, Request, State},
};
use bytes::BytesMut;
use deliberate_toolkit::Principal;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde::Deserialize;

use super::{
    SseOptions, SseState,
    error::SseError,
    session::{Inbound, SseReceiveError},
};
use crate::message::{IncomingMessage, RpcRejection, read_line, scan_id};

#[derive(Deserialize)]
struct MessagesQuery {
    session_id: String,
}

pub(super) async fn post_message(
    State(hall): State<SseState>,
    request: Request,
) -> Result<(StatusCode, &'static str), SseError> {
    if !is_json(request.headers()) {
        return Err(SseError::with_text(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the Content-Type must be application/json",
        ));
    }
    let (mut parts, body) = request.into_parts();
    let principal = parts.extensions.get::<Principal>().cloned();
    let principal = principal.unwrap_or_default();
    let session = Query::<MessagesQuery>::try_from_uri(&parts.uri)
        .ok()
        .and_then(|Query(address)| hall.sessions.find(&address.session_id, &principal))
        .ok_or_else(unknown_session)?;
    let body = read_body(&parts.headers, body, &hall.options).await?;
    let (mut message, bytes) = read_message(&body)?;
    // The handler finds the principal among the extensions, as on `/mcp`.
    parts.extensions.insert(principal);
    message.insert_extension(parts);
    session
        .receive(message, bytes)
        .await
        .map_err(|refusal| match refusal {
            SseReceiveError::Closed => unknown_session(),
            SseReceiveError::Stopping(rejection) | SseReceiveError::Busy(rejection) => {
                SseError::with_rejections(StatusCode::SERVICE_UNAVAILABLE, vec![rejection])
            }
            SseReceiveError::Invalid(rejection) => {
                SseError::with_rejections(StatusCode::BAD_REQUEST, vec![rejection])
            }
        })?;
    Ok((StatusCode::ACCEPTED, "Accepted"))
}

/// The same rejection for a session that never existed, has ended, or belongs to another principal.
fn unknown_session() -> SseError {
    SseError::with_text(
        StatusCode::NOT_FOUND,
        "the session does not exist; open a new stream and post to the URL in its endpoint event",
    )
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

async fn read_body(
    headers: &HeaderMap,
    mut body: Body,
    options: &SseOptions,
) -> Result<BytesMut, SseError> {
    let limit = options.body_bytes;
    let too_long = |id| {
        let rejection = RpcRejection::too_long(id, limit);
        SseError::with_rejections(StatusCode::PAYLOAD_TOO_LARGE, vec![rejection])
    };
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(too_long(None));
    }
    let read = async {
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| {
                SseError::with_text(
                    StatusCode::BAD_REQUEST,
                    "the message was interrupted; send it again",
                )
            })?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if read.len() + data.len() > limit {
                return Err(too_long(scan_id(&read)));
            }
            read.extend_from_slice(&data);
        }
        Ok(read)
    };
    tokio::time::timeout(options.body_time, read)
        .await
        .unwrap_or_else(|_| {
            let sentence = "the message took too long to arrive; send it again";
            Err(SseError::with_text(StatusCode::REQUEST_TIMEOUT, sentence))
        })
}

/// Parses the one message of a body.
fn read_message(body: &[u8]) -> Result<(Inbound, usize), SseError> {
    let found = read_line(body);
    let alone = found.len() == 1;
    let mut rejections = Vec::new();
    for incoming in found {
        match incoming {
            IncomingMessage::Message { message, bytes } if alone => return Ok((*message, bytes)),
            IncomingMessage::Message { message, .. } => {
                rejections.push(RpcRejection::multiple_messages(request_id(&message)));
            }
            IncomingMessage::Rejected(rejection) => rejections.push(rejection),
        }
    }
    if rejections.is_empty() {
        let blank = body.iter().all(u8::is_ascii_whitespace);
        rejections.push(if blank {
            RpcRejection::empty_message()
        } else {
            RpcRejection::invalid_message("the message cannot be parsed")
        });
    }
    Err(SseError::with_rejections(
        StatusCode::BAD_REQUEST,
        rejections,
    ))
}

fn request_id(message: &Inbound) -> Option<String> {
    match message {
        Inbound::Request(request) => Some(request.id.clone().into_json_value().to_string()),
        _ => None,
    }
}
