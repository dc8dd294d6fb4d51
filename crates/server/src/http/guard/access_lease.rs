//! Ends open streams of a token that is no longer accepted: a stream is opened once and lasts for
//! hours, so its token is checked again now and then.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, HeaderValue, Uri, header},
};
use bytes::Bytes;
use futures::{
    FutureExt as _,
    future::{BoxFuture, Fuse},
};
use hyper::body::{Frame, SizeHint};

use super::HttpGuard;

/// The token with which a stream was opened.
#[derive(Clone)]
pub(in crate::http) struct AccessLease {
    guard: Arc<HttpGuard>,
    /// The header with the token.
    authorization: HeaderValue,
}

impl AccessLease {
    /// The lease of an authenticated request; `None` if requests need no token.
    pub(super) fn new(guard: &Arc<HttpGuard>, headers: &HeaderMap) -> Option<Self> {
        let authorization = headers.get(header::AUTHORIZATION)?.clone();
        (!guard.access.is_open()).then(|| Self {
            guard: guard.clone(),
            authorization,
        })
    }

    /// Waits until the token is no longer accepted.
    pub(in crate::http) async fn ended(self) {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, self.authorization)]);
        let uri = Uri::default();
        loop {
            tokio::time::sleep(self.guard.recheck_interval).await;
            let rejection = self.guard.access.admit(&uri, &headers).await.err();
            // An issuer that can't be asked says nothing about the token.
            if rejection.is_some_and(|it| !it.status().is_server_error()) {
                tracing::info!("a stream was ended, because its token is no longer accepted");
                return;
            }
        }
    }

    /// Ends a response body when the token is no longer accepted.
    pub(super) fn limit_body(self, body: Body) -> Body {
        Body::new(LeasedBody {
            body,
            ended: self.ended().boxed().fuse(),
        })
    }
}

struct LeasedBody {
    body: Body,
    ended: Fuse<BoxFuture<'static, ()>>,
}

impl HttpBody for LeasedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.poll_unpin(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
