//! The HTTP listener: accepts connections within limits, closes slow ones, and drains running
//! requests on shutdown.
//!
//! It knows bytes and connections; the router knows the requests.

mod connection_limit;
mod socket;

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    time::Duration,
};

use axum::{Router, body::Body, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::sse::ConnectionCloser;
pub use connection_limit::Connections;

use connection_limit::ConnectionLimitError;
use socket::ConnectionSocket;

/// Hyper's default limit, which needs no allocation.
const DEFAULT_MAX_HEADERS: usize = 100;

/// The smallest buffer that hyper accepts.
const MIN_BUFFER: usize = 8 * 1024;

/// How long aborted connections may take to end.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// The response to a connection beyond the limit.
const UNAVAILABLE_RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Both addresses of a connection, among the extensions of each of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionAddrs {
    pub remote: SocketAddr,
    /// The local address of the connection.
    pub local: Option<IpAddr>,
}

/// Limits and timeouts of connections.
#[derive(Debug, Clone)]
pub struct ListenerOptions {
    /// The largest number of open connections.
    pub connections: usize,
    /// The largest number of open connections per address or IPv6 network.
    pub connections_per_client: usize,
    /// How long the headers of a request may take to arrive, and how long a connection may be idle
    /// between requests.
    pub header_time: Duration,
    /// The largest size of a request's headers.
    pub header_bytes: usize,
    /// The largest number of headers of a request.
    pub headers: usize,
    /// How long a client may leave a pending response unread.
    pub stall_time: Duration,
    /// How long running requests may continue after shutdown begins.
    pub grace: Duration,
    pub open_connections: Connections,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_client: 512,
            header_time: Duration::from_secs(30),
            header_bytes: 32 * 1024,
            headers: DEFAULT_MAX_HEADERS,
            stall_time: Duration::from_mins(1),
            grace: Duration::from_secs(10),
            open_connections: Connections::default(),
        }
    }
}

#[derive(Debug, Error)]
pub enum BindError {
    /// Another process listens on the address.
    #[error("{address} is in use by another program; stop it or choose another port")]
    InUse { address: SocketAddr },
    /// The operating system does not permit it.
    #[error("listening on {address} is not permitted; choose a port above 1023")]
    NotPermitted { address: SocketAddr },
    /// The address does not belong to this machine.
    #[error("{address} is not an address of this machine; use 127.0.0.1 or one of its addresses")]
    NotOurs { address: SocketAddr },
    /// Another error of the operating system.
    #[error("cannot listen on {address}: {source}; choose another address or port")]
    Other {
        address: SocketAddr,
        source: io::Error,
    },
}

/// Listens on the address. Connections wait until [`serve`] accepts them.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { address },
            io::ErrorKind::PermissionDenied => BindError::NotPermitted { address },
            io::ErrorKind::AddrNotAvailable => BindError::NotOurs { address },
            _ => BindError::Other { address, source },
        })
}

/// Serves connections until `shutdown`; then accepts no more, lets running requests finish within
/// the grace period, and aborts the rest.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    options: ListenerOptions,
    shutdown: CancellationToken,
) {
    let server = ConnectionAcceptor {
        router,
        shutdown,
        abort: CancellationToken::new(),
        options,
    };
    server.accept_until_shutdown(&listener).await;
    drop(listener);
    let count = &server.options.open_connections;
    if tokio::time::timeout(server.options.grace, count.wait_until_none())
        .await
        .is_err()
    {
        tracing::warn!(
            connections = count.active(),
            "the grace period is over; open connections are closed"
        );
    }
    server.abort.cancel();
    // Aborted connections end at once unless the machine is very busy.
    let _ = tokio::time::timeout(ABORT_GRACE, count.wait_until_none()).await;
}

struct ConnectionAcceptor {
    router: Router,
    options: ListenerOptions,
    shutdown: CancellationToken,
    /// Cancelled to abort every connection.
    abort: CancellationToken,
}

impl ConnectionAcceptor {
    async fn accept_until_shutdown(&self, listener: &TcpListener) {
        let mut pause = AcceptBackoff::default();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, remote)) => {
                    pause = AcceptBackoff::default();
                    self.spawn_connection(stream, remote);
                }
                // The fault is the client's.
                Err(error) if is_connection_error(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "connections cannot be accepted at present");
                    tokio::select! {
                        biased;
                        () = self.shutdown.cancelled() => return,
                        () = tokio::time::sleep(pause.next_delay()) => {}
                    }
                }
            }
        }
    }

    fn spawn_connection(&self, stream: TcpStream, remote: SocketAddr) {
        let options = &self.options;
        let place = match options.open_connections.acquire_permit(
            remote.ip(),
            options.connections,
            options.connections_per_client,
        ) {
            Ok(place) => place,
            Err(refused) => {
                tracing::debug!(
                    all = refused == ConnectionLimitError::Total,
                    "a connection was rejected: the limit is reached"
                );
                // The response is sent only if that is possible without waiting.
                let _ = stream.try_write(UNAVAILABLE_RESPONSE);
                return;
            }
        };
        // Responses are small and urgent. Without the option they are only a little slower.
        let _ = stream.set_nodelay(true);
        let peer = ConnectionAddrs {
            remote,
            local: stream.local_addr().ok().map(|address| address.ip()),
        };
        let cut = self.abort.child_token();
        let socket = ConnectionSocket::new(stream, place, cut.clone(), options.stall_time);
        tokio::spawn(serve_connection(
            socket,
            peer,
            self.router.clone(),
            http_builder(options),
            self.shutdown.clone(),
            cut,
        ));
    }
}

async fn serve_connection(
    socket: ConnectionSocket,
    peer: ConnectionAddrs,
    router: Router,
    http: http1::Builder,
    shutdown: CancellationToken,
    cut: CancellationToken,
) {
    // Each connection has its own child token, whose cancellation closes only this connection.
    let hang_up = ConnectionCloser(cut.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(hang_up.clone());
        let mut router = router.clone();
        async move {
            Ok::<_, Infallible>(
                router
                    .call(request)
                    .await
                    .unwrap_or_else(|never| match never {}),
            )
        }
    });
    let connection = http
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = cut.cancelled() => return,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = cut.cancelled() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::trace!(%error, "a connection broke");
    }
}

fn http_builder(options: &ListenerOptions) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(options.header_time)
        .max_header_size(options.header_bytes)
        .max_buf_size(options.header_bytes.saturating_mul(2).max(MIN_BUFFER));
    if options.headers != DEFAULT_MAX_HEADERS {
        http.max_headers(options.headers);
    }
    http
}

fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

/// The increasing delay after the operating system ran out of a resource such as file descriptors.
#[derive(Default)]
struct AcceptBackoff(Option<Duration>);

impl AcceptBackoff {
    const MIN_DELAY: Duration = Duration::from_millis(20);
    const MAX_DELAY: Duration = Duration::from_secs(1);

    fn next_delay(&mut self) -> Duration {
        let pause = self
            .0
            .map_or(Self::MIN_DELAY, |last| (last * 2).min(Self::MAX_DELAY));
        self.0 = Some(pause);
        pause
    }
}
