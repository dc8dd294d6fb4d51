//! A browser without a user: opens the authorization page and follows its redirect.

use deliberate_http_client::client_builder;
use deliberate_mcp_client::oauth::{Browser, LoginError};
use futures::future::BoxFuture;
use reqwest::header::LOCATION;
use url::Url;

pub(crate) struct HeadlessBrowser {
    http: reqwest::Client,
}

impl HeadlessBrowser {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let here = Url::parse("http://localhost")?;
        let http = client_builder(&here)?.build()?;
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
