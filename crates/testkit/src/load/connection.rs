//! One kept-alive HTTP/1.1 connection: bytes out, one answer in. It reads as much of HTTP as
//! servers of MCP write, and bounds what it reads.

use std::{io, net::SocketAddr, time::Duration};

use anyhow::{Context as _, bail, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::Answer;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
const MOST_HEAD: usize = 64 * 1024;
const MOST_BODY: usize = 64 << 20;
const READ_BYTES: usize = 16 * 1024;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// What was read and not yet used.
    ahead: Vec<u8>,
}

/// A body without an end: server-sent events.
#[derive(Debug)]
pub struct Events {
    connection: Connection,
    is_chunked: bool,
    unread: Vec<u8>,
}

/// How the end of a body is known.
enum Framing {
    Length(usize),
    Chunks,
    Close,
}

impl Connection {
    /// Connects.
    pub async fn open(host: SocketAddr) -> anyhow::Result<Self> {
        let stream = timeout(PATIENCE, TcpStream::connect(host)).await??;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            ahead: Vec::new(),
        })
    }

    /// The bare stream, for a client that does not keep to the rules.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Whether the server has closed it, as it may between two requests.
    pub fn is_closed(&self) -> bool {
        let mut buffer = [0; 1];
        let read = self.stream.try_read(&mut buffer);
        !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sends a whole request and reads its answer.
    pub async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Answer> {
        timeout(PATIENCE, async {
            self.stream.write_all(request).await?;
            self.answer().await
        })
        .await
        .context("no answer within a minute")?
    }

    /// Sends bytes and waits for nothing.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads an answer to its end.
    pub async fn answer(&mut self) -> anyhow::Result<Answer> {
        let (mut answer, framing) = self.answer_head().await?;
        answer.body = match framing {
            Framing::Length(length) => self.take(length).await?,
            Framing::Chunks => self.chunks().await?,
            Framing::Close => self.rest().await?,
        };
        Ok(answer)
    }

    /// Reads the head of an answer that has no end; its body is then read as [`Events`].
    pub async fn open_ended(mut self) -> anyhow::Result<(Answer, Events)> {
        let (answer, framing) = self.answer_head().await?;
        let events = Events {
            connection: self,
            is_chunked: matches!(framing, Framing::Chunks),
            unread: Vec::new(),
        };
        Ok((answer, events))
    }

    async fn answer_head(&mut self) -> anyhow::Result<(Answer, Framing)> {
        let first = self.line(MOST_HEAD).await?;
        let status = first.split(' ').nth(1).context("no status line")?;
        let mut answer = Answer {
            status: status.parse().context("no status code")?,
            ..Answer::default()
        };
        let mut framing = Framing::Close;
        if matches!(answer.status, 100..200 | 204 | 304) {
            framing = Framing::Length(0);
        }
        loop {
            let line = self.line(MOST_HEAD).await?;
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
            ensure!(body.len() <= MOST_BODY, "the answer has no end");
        }
    }

    /// The next chunk; the last one is empty.
    async fn chunk(&mut self) -> anyhow::Result<Vec<u8>> {
        let line = self.line(MOST_HEAD).await?;
        let length = usize::from_str_radix(line.trim(), 16).context("no chunk")?;
        let chunk = self.take(length).await?;
        self.line(2).await?;
        Ok(chunk)
    }

    async fn rest(&mut self) -> anyhow::Result<Vec<u8>> {
        while self.fill().await? {
            ensure!(self.ahead.len() <= MOST_BODY, "the answer has no end");
        }
        Ok(std::mem::take(&mut self.ahead))
    }

    async fn take(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        ensure!(length <= MOST_BODY, "the answer is {length} bytes long");
        while self.ahead.len() < length {
            ensure!(self.fill().await?, "the connection ended within an answer");
        }
        let rest = self.ahead.split_off(length);
        Ok(std::mem::replace(&mut self.ahead, rest))
    }

    /// The next line without its end.
    async fn line(&mut self, most: usize) -> anyhow::Result<String> {
        let mut looked = 0;
        loop {
            let new = self.ahead.get(looked..).unwrap_or_default();
            if let Some(end) = new.iter().position(|byte| *byte == b'\n') {
                let mut line = self.take(looked + end + 1).await?;
                while matches!(line.last(), Some(b'\n' | b'\r')) {
                    line.pop();
                }
                return String::from_utf8(line).context("a line that is not UTF-8");
            }
            looked = self.ahead.len();
            ensure!(looked <= most, "a line has no end");
            if !self.fill().await? {
                bail!("the connection ended");
            }
        }
    }

    async fn fill(&mut self) -> io::Result<bool> {
        self.ahead.reserve(READ_BYTES);
        Ok(self.stream.read_buf(&mut self.ahead).await? > 0)
    }
}

impl Events {
    /// The data of the next event that has any, and the event's name.
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
            return self.connection.line(MOST_BODY).await;
        }
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(end + 1);
                let line = std::mem::replace(&mut self.unread, rest);
                let line = String::from_utf8(line).context("a line that is not UTF-8")?;
                return Ok(line.trim_end().to_owned());
            }
            ensure!(self.unread.len() <= MOST_BODY, "a line has no end");
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

    /// A server that says this to whoever connects, whatever they ask, and hangs up.
    async fn saying(text: &'static str) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
        });
        Connection::open(host).await.unwrap()
    }

    #[tokio::test]
    async fn reads_each_framing() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\nhello",
        ] {
            let mut connection = saying(text).await;
            let answer = connection.answer().await.unwrap();
            assert_eq!(
                (answer.status, answer.body.as_slice()),
                (200, &b"hello"[..])
            );
            assert!(connection.answer().await.is_err());
        }
    }

    #[tokio::test]
    async fn reads_events_across_chunks() {
        let text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n12\r\nevent: endpoint\nda\r\n9\r\nta: /a\n\n:\r\n";
        let (answer, mut events) = saying(text).await.open_ended().await.unwrap();
        assert!(answer.is_stream);
        let event = events.next().await.unwrap();
        assert_eq!(event, ("endpoint".to_owned(), "/a".to_owned()));
        assert!(events.next().await.is_err());
    }
}
