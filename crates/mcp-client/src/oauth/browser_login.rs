//! The consent of the user in a browser: opens the authorization page and receives the redirect.

use std::{io, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use url::Url;

use super::error::LoginError;

/// The maximum size of the browser's redirect request.
const MAX_REQUEST: usize = 16 * 1024;

/// The time limit for reading it.
const MAX_WAIT: Duration = Duration::from_secs(10);

const CALLBACK_PATH: &str = "/callback";

/// Lets the user consent to a login.
pub trait Browser: Send + Sync + 'static {
    /// Returns the URL that the browser is redirected to.
    fn redirect_uri(&self) -> String;

    /// Opens the page at this URL and returns the URL that the browser was redirected to.
    fn authorize<'a>(&'a self, address: &'a Url) -> BoxFuture<'a, Result<Url, LoginError>>;
}

/// A function that shows a URL to the user.
pub type UrlOpener = Arc<dyn Fn(&Url) -> Result<(), LoginError> + Send + Sync>;

/// Waits on a local port for the browser's redirect.
pub struct LoopbackRedirect {
    listener: TcpListener,
    port: u16,
    open_url: UrlOpener,
}

impl LoopbackRedirect {
    /// Binds a local port. `show` receives the URL of the page.
    pub async fn bind(show: UrlOpener) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            port,
            open_url: show,
        })
    }

    async fn wait_for_redirect(&self) -> Result<Url, LoginError> {
        loop {
            let accepted = self.listener.accept().await;
            let (mut stream, _) = accepted.map_err(|error| {
                LoginError::new(format!(
                    "could not listen for the browser's redirect: {error}"
                ))
            })?;
            let answered = tokio::time::timeout(MAX_WAIT, self.answer_request(&mut stream)).await;
            if let Ok(Some(back)) = answered {
                return Ok(back);
            }
        }
    }

    /// Answers one request and returns its URL if it is the redirect.
    async fn answer_request(&self, stream: &mut TcpStream) -> Option<Url> {
        let target = read_request_target(stream).await?;
        let url = Url::parse(&format!("http://127.0.0.1:{}{target}", self.port)).ok()?;
        let is_it = url.path() == CALLBACK_PATH && url.query().is_some();
        let (status, text) = if is_it {
            ("200 OK", "You are logged in. You can close this window.")
        } else {
            ("404 Not Found", "There is nothing here.")
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\n\
             content-length: {}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
             connection: close\r\n\r\n{text}",
            text.len()
        );
        // The redirect counts, whether or not the browser reads the answer.
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
        is_it.then_some(url)
    }
}

/// Reads the request target from the browser.
async fn read_request_target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut part = [0; 2048];
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let length = stream.read(&mut part).await.ok().filter(|it| *it > 0)?;
        request.extend_from_slice(part.get(..length)?);
        if request.len() > MAX_REQUEST {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&request);
    let mut words = text.lines().next()?.split(' ');
    let target = words.next().filter(|method| *method == "GET");
    let target = target.and_then(|_| words.next())?;
    target.starts_with('/').then(|| target.to_owned())
}

impl Browser for LoopbackRedirect {
    fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{CALLBACK_PATH}", self.port)
    }

    fn authorize<'a>(&'a self, address: &'a Url) -> BoxFuture<'a, Result<Url, LoginError>> {
        Box::pin(async move {
            (self.open_url)(address)?;
            self.wait_for_redirect().await
        })
    }
}
