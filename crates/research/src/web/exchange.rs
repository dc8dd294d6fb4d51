//! One question and its answer, read whole and no further than it may be large.

use bytes::{Bytes, BytesMut};
use reqwest::Response;
use url::Url;

use super::{
    Reply, Request, WebError,
    answer::{Judge, kind_of},
    door::Parts,
    follow::{Outgoing, follow, unreachable},
    pace::rate_of,
    persist::Setback,
    request::host_of,
};

impl Request {
    pub(super) fn outgoing(&self) -> Outgoing<'_> {
        Outgoing {
            url: &self.url,
            body: self.body.as_ref(),
            accept: self.accept,
            secrets: &self.secrets,
            secret_query: &self.secret_query,
        }
    }
}

/// Asks once.
pub(super) async fn exchange(parts: &Parts, request: &Request) -> Result<Reply, Setback> {
    let (response, url) = follow(&parts.guard, &parts.clients, &request.outgoing()).await?;
    if let Some(every) = rate_of(response.headers()) {
        parts.pacer.learn(&request.pace, every).await;
    }
    let judge = Judge {
        now: parts.clock.now(),
        throttled: request.throttled,
        secrets: (request.secrets.iter().chain(&request.secret_query))
            .map(|(_, it)| it)
            .collect(),
        by_key: true,
    };
    let response = judge.judge(response, &url).await?;
    let status = response.status().as_u16();
    let content_type = kind_of(&response);
    let body = read(response, &url, request.most_bytes).await?;
    Ok(Reply {
        status,
        content_type,
        body,
        url,
        kept: false,
    })
}

/// The error of an answer that is larger than is taken.
pub(super) fn too_large(url: &Url, most: u64) -> Setback {
    Setback::Final(WebError::TooLarge {
        host: host_of(url),
        most,
    })
}

async fn read(mut response: Response, url: &Url, most: u64) -> Result<Bytes, Setback> {
    // What it says of its size is believed only if it says too much.
    if response.content_length().is_some_and(|it| it > most) {
        return Err(too_large(url, most));
    }
    let mut body = BytesMut::new();
    while let Some(piece) = next(&mut response, url).await? {
        if (body.len() + piece.len()) as u64 > most {
            return Err(too_large(url, most));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body.freeze())
}

/// The next piece of an answer.
pub(super) async fn next(response: &mut Response, url: &Url) -> Result<Option<Bytes>, Setback> {
    let piece = response.chunk().await;
    piece.map_err(|error| match unreachable(url, &error) {
        Setback::Again(WebError::Unreachable { host, reason }) => {
            Setback::Again(WebError::Unreachable {
                host,
                reason: format!("its answer broke off: {reason}"),
            })
        }
        other => other,
    })
}
