//! One keep-alive HTTP/1.1 connection: bytes out, one answer in. It supports the part of HTTP that
//! MCP servers use, and bounds what it reads.

use std::{io, net::SocketAddr, time::Duration};

use anyhow::{Context as _, bail, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::LoadResponse;

/// The time-out, longer than anything takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);
const MAX_HEAD: usize = 64 * 1024;
const MAX_BODY: usize = 64 << 20;
const READ_BYTES: usize = 16 * 1024;

/// A keep-alive connection.
#[derive(Debug)]
pub struct LoadConnection {
    stream: TcpStream,
    /// The bytes that were read and not used yet.
    buffered: Vec<u8>,
}

/// A body without an end: server-sent events.
#[derive(Debug)]
pub struct LoadEventStream {
    connection: LoadConnection,
    is_chunked: bool,
    unread: Vec<u8>,
}

/// How the end of a body is determined.
enum Framing {
    Length(usize),
    Chunks,
    Close,
}

impl LoadConnection {
    /// Opens a connection.
    pub async fn open(host: SocketAddr) -> anyhow::Result<Self> {
        let stream = timeout(TIMEOUT, TcpStream::connect(host)).await??;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffered: Vec::new(),
        })
    }

    /// Returns the bare stream, for a client that breaks the rules.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Returns whether the server has closed the connection, as it may between two requests.
    pub fn is_closed(&self) -> bool {
        let mut buffer = [0; 1];
        let read = self.stream.try_read(&mut buffer);
        !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sends a whole request and reads its answer.
    pub async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<LoadResponse> {
        timeout(TIMEOUT, async {
            self.stream.write_all(request).await?;
            self.read_response().await
        })
        .await
        .context("no answer within a minute")?
    }

    /// Sends bytes without waiting for an answer.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads an answer to its end.
    pub async fn read_response(&mut self) -> anyhow::Result<LoadResponse> {
        let (mut answer, framing) = self.read_response_head().await?;
        answer.body = match framing {
            Framing::Length(length) => self.read_exact(length).await?,
            Framing::Chunks => self.chunks().await?,
            Framing::Close => self.read_to_end().await?,
        };
        Ok(answer)
    }

    /// Reads the head of an endless answer; its body is then read as [`LoadEventStream`].
    pub async fn into_event_stream(mut self) -> anyhow::Result<(LoadResponse, LoadEventStream)> {
        let (answer, framing) = self.read_response_head().await?;
        let events = LoadEventStream {
            connection: self,
            is_chunked: matches!(framing, Framing::Chunks),
            unread: Vec::new(),
        };
        Ok((answer, events))
    }

    async fn read_response_head(&mut self) -> anyhow::Result<(LoadResponse, Framing)> {
        let first = self.line(MAX_HEAD).await?;
        let status = first.split(' ').nth(1).context("no status line")?;
        let mut answer = LoadResponse {
            status: status.parse().context("no status code")?,
            ..LoadResponse::default()
        };
        let mut framing = Framing::Close;
        if matches!(answer.status, 100..200 | 204 | 304) {
            framing = Framing::Length(0);
        }
        loop {
            let line = self.line(MAX_HEAD).await?;
            if line.is_empty() {
                return Ok((answer, framing));
            }
            let (name, value) = line.split_once(':').context("a header without a colon")?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                framing = Framing::Length(value.parse().context("no length")?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                framing = Framing::Chunks;
            } else if name.eq_ignore_ascii_case("content-type") {
                answer.is_stream = value.starts_with("text/event-stream");
            } else if name.eq_ignore_ascii_case("connection") {
                answer.closes = value.eq_ignore_ascii_case("close");
            }
        }
    }

    async fn chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let chunk = self.chunk().await?;
            if chunk.is_empty() {
                return Ok(body);
            }
            body.extend(chunk);
            ensure!(body.len() <= MAX_BODY, "the answer has no end");
        }
    }

    /// Reads the next chunk; the last one is empty.
    async fn chunk(&mut self) -> anyhow::Result<Vec<u8>> {
        let line = self.line(MAX_HEAD).await?;
        let length = usize::from_str_radix(line.trim(), 16).context("no chunk")?;
        let chunk = self.read_exact(length).await?;
        self.line(2).await?;
        Ok(chunk)
    }

    async fn read_to_end(&mut self) -> anyhow::Result<Vec<u8>> {
        while self.fill().await? {
            ensure!(self.buffered.len() <= MAX_BODY, "the answer has no end");
        }
        Ok(std::mem::take(&mut self.buffered))
    }

    async fn read_exact(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        ensure!(length <= MAX_BODY, "the answer is {length} bytes long");
        while self.buffered.len() < length {
            ensure!(self.fill().await?, "the connection ended within an answer");
        }
        let rest = self.buffered.split_off(length);
        Ok(std::mem::replace(&mut self.buffered, rest))
    }

    /// Reads the next line without its end.
    async fn line(&mut self, most: usize) -> anyhow::Result<String> {
        let mut looked = 0;
        loop {
            let new = self.buffered.get(looked..).unwrap_or_default();
            if let Some(end) = new.iter().position(|byte| *byte == b'\n') {
                let mut line = self.read_exact(looked + end + 1).await?;
                while matches!(line.last(), Some(b'\n' | b'\r')) {
                    line.pop();
                }
                return String::from_utf8(line).context("a line that is not UTF-8");
            }
            looked = self.buffered.len();
            ensure!(looked <= most, "a line has no end");
            if !self.fill().await? {
                bail!("the connection ended");
            }
        }
    }

    async fn fill(&mut self) -> io::Result<bool> {
        self.buffered.reserve(READ_BYTES);
        Ok(self.stream.read_buf(&mut self.buffered).await? > 0)
    }
}

impl LoadEventStream {
    /// Returns the name and the data of the next event that has data.
    pub async fn next(&mut self) -> anyhow::Result<(String, String)> {
        let mut name = "message".to_owned();
        let mut data = String::new();
        loop {
            let line = self.line().await?;
            if let Some(value) = line.strip_prefix("event:") {
                value.trim().clone_into(&mut name);
            } else if let Some(value) = line.strip_prefix("data:") {
                data.push_str(value.trim());
            } else if line.is_empty() && !data.is_empty() {
                return Ok((name, data));
            }
        }
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        if !self.is_chunked {
            return self.connection.line(MAX_BODY).await;
        }
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(end + 1);
                let line = std::mem::replace(&mut self.unread, rest);
                let line = String::from_utf8(line).context("a line that is not UTF-8")?;
                return Ok(line.trim_end().to_owned());
            }
            ensure!(self.unread.len() <= MAX_BODY, "a line has no end");
            let chunk = self.connection.chunk().await?;
            ensure!(!chunk.is_empty(), "the stream ended");
            self.unread.extend(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Starts a server that sends this text to every connection, whatever the request, and closes
    /// it.
    async fn serve_text(text: &'static str) -> LoadConnection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
        });
        LoadConnection::open(host).await.unwrap()
    }

    #[tokio::test]
    async fn reads_each_framing() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\nhello",
        ] {
            let mut connection = serve_text(text).await;
            let answer = connection.read_response().await.unwrap();
            assert_eq!(
                (answer.status, answer.body.as_slice()),
                (200, &b"hello"[..])
            );
            assert!(connection.read_response().await.is_err());
        }
    }

    #[tokio::test]
    async fn reads_events_across_chunks() {
        let text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n12\r\nevent: endpoint\nda\r\n9\r\nta: /a\n\n:\r\n";
        let (answer, mut events) = serve_text(text).await.into_event_stream().await.unwrap();
        assert!(answer.is_stream);
        let event = events.next().await.unwrap();
        assert_eq!(event, ("endpoint".to_owned(), "/a".to_owned()));
        assert!(events.next().await.is_err());
    }
}
