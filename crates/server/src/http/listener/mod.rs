//! The sockets under HTTP: accepts connections within bounds, cuts off those that dawdle, and
//! lets what runs finish when it is time to stop.
//!
//! It knows bytes and connections; what the requests are about is the router's.

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

/// Hyper's own limit, which costs nothing.
const DEFAULT_MAX_HEADERS: usize = 100;

/// The smallest buffer hyper works with.
const MIN_BUFFER: usize = 8 * 1024;

/// How long connections that are cut off may take to end.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// What those are told for whom there is no room.
const UNAVAILABLE_RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// The two ends of a connection, among the extensions of each request that came over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionAddrs {
    /// Who sent it.
    pub remote: SocketAddr,
    /// The address of ours that it was sent to.
    pub local: Option<IpAddr>,
}

/// How connections are served.
#[derive(Debug, Clone)]
pub struct ListenerOptions {
    /// Connections at the same time.
    pub connections: usize,
    /// Connections at the same time from one address, or one IPv6 network.
    pub connections_per_client: usize,
    /// How long a request's head may take to arrive, and how long a connection may be idle
    /// between requests.
    pub header_time: Duration,
    /// The largest head of a request.
    pub header_bytes: usize,
    /// The most headers of a request.
    pub headers: usize,
    /// How long a client may read nothing of an answer that waits for it.
    pub stall_time: Duration,
    /// How long what runs may go on once it is time to stop.
    pub grace: Duration,
    /// Counts the open connections.
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

/// Why an address can't be listened on.
#[derive(Debug, Error)]
pub enum BindError {
    /// Somebody else listens there.
    #[error("{address} is in use by another program; stop it or choose another port")]
    InUse {
        /// The address.
        address: SocketAddr,
    },
    /// The system does not allow it.
    #[error("listening on {address} is not permitted; choose a port above 1023")]
    NotPermitted {
        /// The address.
        address: SocketAddr,
    },
    /// The address is not one of this machine's.
    #[error("{address} is not an address of this machine; use 127.0.0.1, or one it has")]
    NotOurs {
        /// The address.
        address: SocketAddr,
    },
    /// Something else.
    #[error("{address} can't be listened on: {source}; choose another address or port")]
    Other {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
}

/// Begins to listen. Connections wait until [`serve`] takes them.
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

/// Serves connections until `shutdown`; then takes no more, lets running requests end within the
/// grace, and cuts off the rest.
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
            "the grace is over; connections that are still open are cut off"
        );
    }
    server.abort.cancel();
    // What is cut off ends at once, if the machine is not very busy.
    let _ = tokio::time::timeout(ABORT_GRACE, count.wait_until_none()).await;
}

struct ConnectionAcceptor {
    router: Router,
    options: ListenerOptions,
    shutdown: CancellationToken,
    /// Cancelled to end every connection, whatever it does.
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
                // The client's trouble, not ours.
                Err(error) if is_connection_error(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted for now");
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
                    "a connection was refused: there is no room"
                );
                // If it can't be said at once it is not said.
                let _ = stream.try_write(UNAVAILABLE_RESPONSE);
                return;
            }
        };
        // Answers are small and wanted soon; if it can't be set they come a little later.
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

/// Serves one connection to its end.
async fn serve_connection(
    socket: ConnectionSocket,
    peer: ConnectionAddrs,
    router: Router,
    http: http1::Builder,
    shutdown: CancellationToken,
    cut: CancellationToken,
) {
    // Cutting a child off is cutting this connection off; each has one of its own.
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

/// How long to wait when the system has nothing left to give, such as files: longer each time.
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
