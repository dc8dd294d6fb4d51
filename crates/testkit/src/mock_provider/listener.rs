//! A TCP listener whose connections can be cut: one of them by a request on it, or all at once when
//! the mock provider is dropped.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// A switch that is on until it is turned off for good.
#[derive(Debug, Clone, Default)]
pub(super) struct CutSwitch(Arc<AtomicBool>);

impl CutSwitch {
    pub(super) fn turn_off(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_off(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The connection of a request.
#[derive(Debug, Clone)]
pub(super) struct CuttableConnection(CutSwitch);

impl CuttableConnection {
    /// Ends the connection before anything more is written to it.
    pub(super) fn cut(&self) {
        self.0.turn_off();
    }
}

impl Connected<IncomingStream<'_, CuttableListener>> for CuttableConnection {
    fn connect_info(stream: IncomingStream<'_, CuttableListener>) -> Self {
        Self(stream.io().own.clone())
    }
}

pub(super) struct CuttableListener {
    listener: TcpListener,
    power: CutSwitch,
}

impl CuttableListener {
    pub(super) async fn bind(port: u16, power: CutSwitch) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        Ok(Self { listener, power })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Listener for CuttableListener {
    type Io = CuttableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CuttableStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Otherwise an answer in two writes waits for the peer's delayed acknowledgement.
        let _ = stream.set_nodelay(true);
        let io = CuttableStream {
            stream,
            own: CutSwitch::default(),
            power: self.power.clone(),
        };
        (io, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address()
    }
}

pub(super) struct CuttableStream {
    stream: TcpStream,
    own: CutSwitch,
    power: CutSwitch,
}

impl CuttableStream {
    fn is_cut(&self) -> bool {
        self.own.is_off() || self.power.is_off()
    }
}

impl AsyncRead for CuttableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_cut() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for CuttableStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_cut() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
