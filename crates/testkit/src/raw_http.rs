//! A raw HTTP/1.1 client on one keep-alive connection: it sends exactly what a test or a
//! measurement wants, with so little overhead that the measured time is the other side's.

use std::{fmt::Write as _, io, net::SocketAddr, time::Duration};

use anyhow::{Context as _, ensure};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

const TIMEOUT: Duration = Duration::from_mins(1);
const READ_BYTES: usize = 16 * 1024;

/// A keep-alive connection.
#[derive(Debug)]
pub struct RawHttp {
    stream: TcpStream,
    /// The bytes that were read and not used yet.
    buffered: Vec<u8>,
    host: SocketAddr,
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawResponse {
    pub status: u16,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl RawResponse {
    /// Returns a header, which must not come twice.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(own, _)| own == name);
        let (_, value) = all.next()?;
        assert!(all.next().is_none(), "{name} comes twice");
        Some(value)
    }

    /// Parses the body as JSON.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        serde_json::from_slice(&self.body).context("the body is not JSON")
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl RawHttp {
    /// Opens a connection.
    pub async fn connect(host: SocketAddr) -> anyhow::Result<Self> {
        let stream = timeout(TIMEOUT, TcpStream::connect(host)).await??;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffered: Vec::new(),
            host,
        })
    }

    /// Sends a `POST` with a bearer key and a JSON body.
    pub async fn post(&mut self, path: &str, key: &str, body: &str) -> anyhow::Result<RawResponse> {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str())];
        self.request("POST", path, &headers, body).await
    }

    /// Sends a `GET` with a bearer key.
    pub async fn get(&mut self, path: &str, key: &str) -> anyhow::Result<RawResponse> {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str())];
        self.request("GET", path, &headers, "").await
    }

    /// Sends any request; `host`, `content-type` and `content-length` are added.
    pub async fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> anyhow::Result<RawResponse> {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            self.host,
            body.len(),
        );
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n")?;
        }
        head.push_str("\r\n");
        head.push_str(body);
        timeout(TIMEOUT, async {
            self.write(head.as_bytes()).await?;
            self.read_response().await?.context("the connection ended")
        })
        .await
        .context("no answer in time")?
    }

    /// Sends exactly these lines and this body.
    pub async fn send_lines(&mut self, lines: &[&str], body: &str) -> io::Result<()> {
        let text = format!("{}\r\n\r\n{body}", lines.join("\r\n"));
        self.write(text.as_bytes()).await
    }

    /// Sends exactly these bytes.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads the next answer; `None` if the connection ends first. An answer with neither a length
    /// nor chunks has no body.
    pub async fn read_response(&mut self) -> anyhow::Result<Option<RawResponse>> {
        let Some(head) = self.read_head().await? else {
            return Ok(None);
        };
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let headers = lines.filter_map(|line| line.split_once(':'));
        let mut response = RawResponse {
            status: status.context("no status line")?.parse()?,
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
                .collect(),
            body: Vec::new(),
        };
        if let Some(length) = response.header("content-length") {
            response.body = self.read_exactly(length.parse()?).await?;
        } else if response.header("transfer-encoding") == Some("chunked") {
            response.body = self.read_chunks().await?;
        }
        Ok(Some(response))
    }

    /// Reads until this text has arrived, and leaves it to be read.
    pub async fn read_until(&mut self, text: &[u8]) -> anyhow::Result<()> {
        self.find(text).await?.context("the connection ended")?;
        Ok(())
    }

    /// Waits until the other side closes the connection.
    pub async fn wait_closed(&mut self) -> anyhow::Result<()> {
        while self.read_more().await? {}
        Ok(())
    }

    async fn read_head(&mut self) -> anyhow::Result<Option<String>> {
        let Some(end) = self.find(b"\r\n\r\n").await? else {
            return Ok(None);
        };
        let head = self.read_exactly(end + 4).await?;
        Ok(Some(String::from_utf8(head)?))
    }

    async fn read_chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = self
                .find(b"\r\n")
                .await?
                .context("the connection ended within the answer")?;
            let line = String::from_utf8(self.read_exactly(end + 2).await?)?;
            let length = usize::from_str_radix(line.trim(), 16)?;
            let chunk = self.read_exactly(length + 2).await?;
            if length == 0 {
                return Ok(body);
            }
            body.extend(chunk.into_iter().take(length));
        }
    }

    /// Reads until this text has arrived and returns where it begins; `None` if the connection ends
    /// first.
    async fn find(&mut self, text: &[u8]) -> anyhow::Result<Option<usize>> {
        loop {
            let mut parts = self.buffered.windows(text.len());
            if let Some(place) = parts.position(|part| part == text) {
                return Ok(Some(place));
            }
            if !self.read_more().await? {
                return Ok(None);
            }
        }
    }

    async fn read_exactly(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        while self.buffered.len() < length {
            ensure!(
                self.read_more().await?,
                "the connection ended within the answer"
            );
        }
        Ok(self.buffered.drain(..length).collect())
    }

    /// Reads what arrives next; `false` if the connection has ended.
    async fn read_more(&mut self) -> anyhow::Result<bool> {
        self.buffered.reserve(READ_BYTES);
        let read = timeout(TIMEOUT, self.stream.read_buf(&mut self.buffered)).await;
        let read = read.context("nothing arrives")?;
        Ok(read.is_ok_and(|count| count > 0))
    }
}
