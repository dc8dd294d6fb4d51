//! Messages as text frames over a WebSocket.

use std::sync::Arc;

use axum::{
    Router,
    extract::{
        State, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    response::Response,
};
use tokio::net::TcpListener;

use super::{
    echo_fast_path,
    server::MockMcpServer,
    session::{ClientExchange, ClientSession},
};

pub(crate) async fn serve(
    upstream: Arc<MockMcpServer>,
    listener: TcpListener,
) -> anyhow::Result<()> {
    let router = Router::new().fallback(upgrade).with_state(upstream);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn upgrade(State(upstream): State<Arc<MockMcpServer>>, socket: WebSocketUpgrade) -> Response {
    // There is no message size limit, because messages are as large as a client sends them.
    socket
        .protocols(["mcp"])
        .max_message_size(usize::MAX)
        .max_frame_size(usize::MAX)
        .on_upgrade(move |socket| serve_socket(upstream, socket))
}

async fn serve_socket(upstream: Arc<MockMcpServer>, mut socket: WebSocket) {
    if upstream.faults.deaf {
        return std::future::pending().await;
    }
    let (talk, mut messages) = ClientExchange::new(Arc::new(ClientSession::default()));
    loop {
        let sent = tokio::select! {
            Some(message) = messages.recv() => socket.send(Message::text(message)).await,
            frame = socket.recv() => match frame {
                Some(Ok(Message::Text(text))) => {
                    let mut out = Vec::new();
                    if upstream.fast && echo_fast_path::echo(text.as_bytes(), &mut out) {
                        let answer = String::from_utf8_lossy(&out).into_owned();
                        socket.send(Message::text(answer)).await
                    } else {
                        if let Ok(message) = serde_json::from_str(&text) {
                            upstream.handle_message(talk.clone(), message);
                        }
                        Ok(())
                    }
                }
                Some(Ok(_)) => Ok(()),
                Some(Err(_)) | None => return,
            },
        };
        if sent.is_err() {
            return;
        }
    }
}
