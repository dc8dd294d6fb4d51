//! A browser without a user: opens the authorization page and follows its redirect.

use deliberate_mcp_client::oauth::{Browser, LoginError};
use futures::future::BoxFuture;
use reqwest::{header::LOCATION, redirect::Policy};
use url::Url;

pub(crate) struct HeadlessBrowser {
    http: reqwest::Client,
}

impl HeadlessBrowser {
    pub(crate) fn new() -> anyhow::Result<Self> {
        // An error means that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self { http })
    }
}

impl Browser for HeadlessBrowser {
    fn redirect_uri(&self) -> String {
        "http://localhost:3000/callback".to_owned()
    }

    fn authorize<'a>(&'a self, address: &'a Url) -> BoxFuture<'a, Result<Url, LoginError>> {
        Box::pin(async move {
            let page = self.http.get(address.clone()).send().await;
            let page = page.map_err(|error| LoginError::new(error.to_string()))?;
            let next = page.headers().get(LOCATION);
            let next = next.and_then(|next| address.join(next.to_str().ok()?).ok());
            next.ok_or_else(|| LoginError::new(format!("the page answered {}", page.status())))
        })
    }
}
