//! How a person is asked to agree: a page is shown to them, and they are sent back to us with what
//! the page has to say.

use std::{io, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use url::Url;

use super::error::LoginError;

/// The largest request a browser may send back.
const MAX_REQUEST: usize = 16 * 1024;

/// How long it may take to send it.
const MAX_WAIT: Duration = Duration::from_secs(10);

const CALLBACK_PATH: &str = "/callback";

/// Lets someone agree.
pub trait Browser: Send + Sync + 'static {
    /// Where they are to be sent back to.
    fn redirect_uri(&self) -> String;

    /// Shows the page at this address, and gives the address that they were sent back to.
    fn authorize<'a>(&'a self, address: &'a Url) -> BoxFuture<'a, Result<Url, LoginError>>;
}

/// Shows an address to a person, however that is done.
pub type UrlOpener = Arc<dyn Fn(&Url) -> Result<(), LoginError> + Send + Sync>;

/// Waits on a port of this machine for the browser to come back.
pub struct LoopbackRedirect {
    listener: TcpListener,
    port: u16,
    open_url: UrlOpener,
}

impl LoopbackRedirect {
    /// Takes a port. `show` gets the address of the page.
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
            let (mut stream, _) = accepted
                .map_err(|error| LoginError::new(format!("nobody can come back: {error}")))?;
            let answered = tokio::time::timeout(MAX_WAIT, self.answer_request(&mut stream)).await;
            if let Ok(Some(back)) = answered {
                return Ok(back);
            }
        }
    }

    /// Answers one request; where it was sent to, if it is the one that is waited for.
    async fn answer_request(&self, stream: &mut TcpStream) -> Option<Url> {
        let target = read_request_target(stream).await?;
        let url = Url::parse(&format!("http://127.0.0.1:{}{target}", self.port)).ok()?;
        let is_it = url.path() == CALLBACK_PATH && url.query().is_some();
        let (status, text) = if is_it {
            ("200 OK", "That is all. This window can be closed.")
        } else {
            ("404 Not Found", "There is nothing here.")
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\n\
             content-length: {}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
             connection: close\r\n\r\n{text}",
            text.len()
        );
        // What came is what counts; whether they read the answer is not.
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
        is_it.then_some(url)
    }
}

/// What a browser asks for.
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
