//! A server of raw bytes on this machine: it can lie, drip, break off and count. And the way out
//! that trusts it.

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
use deliberate_research::web::{Names, Pace, Request, Web, WebOptions};
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};
use url::Url;

/// A step of an answer.
#[derive(Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    /// The same piece again and again.
    Forever(Vec<u8>, Duration),
}

type Script = dyn Fn(usize, &str) -> Vec<Step> + Send + Sync;

pub(crate) struct Raw {
    pub(crate) origin: String,
    pub(crate) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    pub(crate) most_at_once: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Raw {
    /// Answers the nth request, whose head is given, with steps; then closes the connection.
    pub(crate) async fn start(
        script: impl Fn(usize, &str) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let most_at_once = Arc::new(AtomicUsize::new(0));
        let at_once = Arc::new(AtomicUsize::new(0));
        let script: Arc<Script> = Arc::new(script);
        let (seen, most) = (Arc::clone(&heads), Arc::clone(&most_at_once));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                let (most, at_once) = (Arc::clone(&most), Arc::clone(&at_once));
                tokio::spawn(async move {
                    let Ok((stream, steps)) = asked(stream, &*script, &seen).await else {
                        return;
                    };
                    let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    // Whoever has the first byte of an answer may go on to the next question.
                    let over = move || at_once.fetch_sub(1, Ordering::SeqCst);
                    let _ = answer(stream, steps, over).await;
                });
            }
        });
        Self {
            origin: format!("http://127.0.0.1:{port}"),
            port,
            heads,
            most_at_once,
            task,
        }
    }

    /// The same answer to everyone.
    pub(crate) async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, _| vec![Step::Send(answer.clone())]).await
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(crate) fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        format!("{}{path}", self.origin).parse().unwrap()
    }
}

/// Reads the head of a request.
async fn asked(
    mut stream: TcpStream,
    script: &Script,
    seen: &Mutex<Vec<String>>,
) -> io::Result<(TcpStream, Vec<Step>)> {
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

async fn answer(
    mut stream: TcpStream,
    steps: Vec<Step>,
    over: impl FnOnce() -> usize,
) -> io::Result<()> {
    let mut over = Some(over);
    for step in steps {
        if !matches!(step, Step::Pause(_))
            && let Some(over) = over.take()
        {
            over();
        }
        match step {
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::Pause(time) => sleep(time).await,
            Step::Forever(bytes, time) => loop {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
                sleep(time).await;
            },
        }
    }
    stream.shutdown().await
}

/// An answer with its length.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub(crate) fn json(body: &str) -> Vec<u8> {
    http("200 OK", "content-type: application/json\r\n", body)
}

/// Names that are told beforehand; counts who asks.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) by_name: HashMap<String, Vec<IpAddr>>,
    pub(crate) asked: AtomicUsize,
}

impl Told {
    pub(crate) fn of(names: &[(&str, &[&str])]) -> Arc<Self> {
        let by_name = names.iter().map(|(name, addresses)| {
            let addresses = addresses.iter().map(|it| it.parse().unwrap()).collect();
            ((*name).to_owned(), addresses)
        });
        Arc::new(Self {
            by_name: by_name.collect(),
            asked: AtomicUsize::new(0),
        })
    }
}

impl Names for Told {
    fn addresses(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let found = self.by_name.get(name).cloned();
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

pub(crate) fn options(trusted: &[&Raw]) -> WebOptions {
    WebOptions {
        agent: "deliberate/test".to_owned(),
        folder: None,
        cache_bytes: 1024 * 1024,
        trusted: trusted.iter().map(|it| it.origin.clone()).collect(),
    }
}

pub(crate) fn web(options: WebOptions) -> Web {
    Web::with(
        options,
        Arc::new(deliberate_core::SystemClock),
        Told::of(&[]),
    )
    .unwrap()
}

pub(crate) fn web_by(options: WebOptions, clock: Arc<dyn Clock>) -> Web {
    Web::with(options, clock, Told::of(&[])).unwrap()
}

/// A question at no pace at all.
pub(crate) fn ask(url: Url) -> Request {
    Request::new(url, hurried())
}

pub(crate) fn hurried() -> Pace {
    Pace::new("test", Duration::ZERO).at_once(50)
}
