//! A local server of raw bytes that can lie, drip, break off, and count, and a client that is
//! allowed to reach it.

use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_core::Clock;
use deliberate_research::http::{
    FetchRequest, HostResolver, HttpClient, HttpClientOptions, SourceRateLimit,
};
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};
use url::Url;

/// A step of a response.
#[derive(Clone)]
pub(crate) enum ResponseStep {
    Send(Vec<u8>),
    Pause(Duration),
    /// Repeats the same bytes forever.
    Repeat(Vec<u8>, Duration),
}

type ResponseScript = dyn Fn(usize, &str) -> Vec<ResponseStep> + Send + Sync;

pub(crate) struct RawHttpServer {
    pub(crate) origin: String,
    pub(crate) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    pub(crate) max_concurrent: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for RawHttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RawHttpServer {
    /// Answers the nth request, whose head is given, with steps; then closes the connection.
    pub(crate) async fn start(
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
    pub(crate) async fn responding_with(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, _| vec![ResponseStep::Send(answer.clone())]).await
    }

    pub(crate) fn request_heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(crate) fn request_count(&self) -> usize {
        self.heads.lock().unwrap().len()
    }

    pub(crate) fn url(&self, path: &str) -> Url {
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
pub(crate) fn http_response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub(crate) fn json_response(body: &str) -> Vec<u8> {
    http_response("200 OK", "content-type: application/json\r\n", body)
}

/// A resolver with fixed names that counts lookups.
#[derive(Default)]
pub(crate) struct FixedResolver {
    pub(crate) by_name: HashMap<String, Vec<IpAddr>>,
    pub(crate) lookups: AtomicUsize,
}

impl FixedResolver {
    pub(crate) fn new(names: &[(&str, &[&str])]) -> Arc<Self> {
        let by_name = names.iter().map(|(name, addresses)| {
            let addresses = addresses.iter().map(|it| it.parse().unwrap()).collect();
            ((*name).to_owned(), addresses)
        });
        Arc::new(Self {
            by_name: by_name.collect(),
            lookups: AtomicUsize::new(0),
        })
    }
}

impl HostResolver for FixedResolver {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let found = self.by_name.get(name).cloned();
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

pub(crate) fn client_options(trusted: &[&RawHttpServer]) -> HttpClientOptions {
    HttpClientOptions {
        user_agent: "deliberate/test".to_owned(),
        folder: None,
        cache_bytes: 1024 * 1024,
        trusted_origins: trusted.iter().map(|it| it.origin.clone()).collect(),
    }
}

pub(crate) fn http_client(options: HttpClientOptions) -> HttpClient {
    HttpClient::with_clock_and_resolver(
        options,
        Arc::new(deliberate_core::SystemClock),
        FixedResolver::new(&[]),
    )
    .unwrap()
}

pub(crate) fn http_client_with_clock(
    options: HttpClientOptions,
    clock: Arc<dyn Clock>,
) -> HttpClient {
    HttpClient::with_clock_and_resolver(options, clock, FixedResolver::new(&[])).unwrap()
}

/// A request without a rate limit.
pub(crate) fn unlimited_request(url: Url) -> FetchRequest {
    FetchRequest::new(url, unlimited_rate())
}

pub(crate) fn unlimited_rate() -> SourceRateLimit {
    SourceRateLimit::new("test", Duration::ZERO).max_concurrent(50)
}
