//! A local HTTP server of raw bytes that can lie, drip, break off, and count.

#![expect(
    clippy::unwrap_used,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

use std::{
    fmt, io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use reqwest::Url;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

/// A step of a response.
#[derive(Debug, Clone)]
pub enum ResponseStep {
    Send(Vec<u8>),
    Pause(Duration),
    /// Repeats the same bytes forever.
    Repeat(Vec<u8>, Duration),
}

type ResponseScript = dyn Fn(usize, &str) -> Vec<ResponseStep> + Send + Sync;

/// The server. It stops when it is dropped.
pub struct RawHttpServer {
    pub origin: String,
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    /// The most requests that were open at once.
    pub max_concurrent: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl fmt::Debug for RawHttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawHttpServer({})", self.origin)
    }
}

impl Drop for RawHttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RawHttpServer {
    /// Answers the nth request, whose head is given, with steps; then closes the connection.
    pub async fn start(
        script: impl Fn(usize, &str) -> Vec<ResponseStep> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let most_at_once = Arc::new(AtomicUsize::new(0));
        let at_once = Arc::new(AtomicUsize::new(0));
        let script: Arc<ResponseScript> = Arc::new(script);
        let (seen, most) = (Arc::clone(&heads), Arc::clone(&most_at_once));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                let (most, at_once) = (Arc::clone(&most), Arc::clone(&at_once));
                tokio::spawn(async move {
                    let Ok((stream, steps)) = read_request_head(stream, &*script, &seen).await
                    else {
                        return;
                    };
                    let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    // A client that has the first byte of a response may send its next request.
                    let over = move || at_once.fetch_sub(1, Ordering::SeqCst);
                    let _ = send_response(stream, steps, over).await;
                });
            }
        });
        Self {
            origin: format!("http://127.0.0.1:{port}"),
            port,
            heads,
            max_concurrent: most_at_once,
            task,
        }
    }

    /// Sends the same response to every request.
    pub async fn responding_with(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, _| vec![ResponseStep::Send(answer.clone())]).await
    }

    pub fn request_heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub fn request_count(&self) -> usize {
        self.heads.lock().unwrap().len()
    }

    pub fn url(&self, path: &str) -> Url {
        format!("{}{path}", self.origin).parse().unwrap()
    }
}

async fn read_request_head(
    mut stream: TcpStream,
    script: &ResponseScript,
    seen: &Mutex<Vec<String>>,
) -> io::Result<(TcpStream, Vec<ResponseStep>)> {
    let mut head = Vec::new();
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&piece[..count]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let nth = {
        let mut seen = seen.lock().unwrap();
        seen.push(head.clone());
        seen.len()
    };
    Ok((stream, script(nth, &head)))
}

async fn send_response(
    mut stream: TcpStream,
    steps: Vec<ResponseStep>,
    over: impl FnOnce() -> usize,
) -> io::Result<()> {
    let mut over = Some(over);
    for step in steps {
        if !matches!(step, ResponseStep::Pause(_))
            && let Some(over) = over.take()
        {
            over();
        }
        match step {
            ResponseStep::Send(bytes) => stream.write_all(&bytes).await?,
            ResponseStep::Pause(time) => sleep(time).await,
            ResponseStep::Repeat(bytes, time) => loop {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
                sleep(time).await;
            },
        }
    }
    stream.shutdown().await
}

/// A response with its content length.
pub fn http_response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub fn json_response(body: &str) -> Vec<u8> {
    http_response("200 OK", "content-type: application/json\r\n", body)
}
