//! A raw HTTP/1.1 client on one keep-alive connection: enough to ask a mock provider directly, with
//! so little overhead that the measured time is the other side's.

use std::{collections::BTreeMap, fmt::Write as _, net::SocketAddr, time::Duration};

use anyhow::{Context as _, bail, ensure};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

const TIMEOUT: Duration = Duration::from_mins(1);

/// A keep-alive connection.
#[derive(Debug)]
pub struct RawHttp {
    stream: BufReader<TcpStream>,
    host: SocketAddr,
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawResponse {
    pub status: u16,
    /// The headers, with their names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl RawResponse {
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
            stream: BufReader::new(stream),
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
            self.stream.write_all(head.as_bytes()).await?;
            self.read_response().await
        })
        .await
        .context("no answer in time")?
    }

    async fn read_response(&mut self) -> anyhow::Result<RawResponse> {
        let status_line = self.read_line().await?;
        let status = status_line.split(' ').nth(1).context("no status line")?;
        let status = status.parse().context("no status code")?;
        let mut headers = BTreeMap::new();
        loop {
            let line = self.read_line().await?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("a header without colon")?;
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        let body = if let Some(length) = headers.get("content-length") {
            self.read_exactly(length.parse()?).await?
        } else if headers
            .get("transfer-encoding")
            .is_some_and(|coding| coding == "chunked")
        {
            self.read_chunks().await?
        } else {
            bail!("an answer with neither length nor chunks");
        };
        Ok(RawResponse {
            status,
            headers,
            body,
        })
    }

    async fn read_chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.read_line().await?, 16)?;
            body.extend(self.read_exactly(length).await?);
            self.read_line().await?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    async fn read_exactly(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await?;
        Ok(bytes)
    }

    async fn read_line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let length = self.stream.read_line(&mut line).await?;
        ensure!(length > 0, "the connection ended");
        Ok(line.trim_end().to_owned())
    }
}
