//! Tests of bearer tokens, and of challenges for another one.

use std::sync::{Arc, Mutex};

use deliberate_mcp_client::{
    config::{HttpConfig, ServerLimits},
    transport::{
        Connector as _, McpTransport, TransportError,
        http::{Authorizer, HttpConnector},
    },
};
use futures::future::BoxFuture;
use secrecy::SecretString;
use tokio::time::Instant;

use super::transport_http_support::{
    HttpTestServer, IncomingReceiver, LONG, incoming_channel, request,
};

/// Provides `token-N`, where N counts the challenges it accepted.
#[derive(Default)]
struct CountingAuthorizer {
    accepts: u32,
    challenges: Mutex<Vec<(u16, Option<String>, u32)>>,
}

impl Authorizer for CountingAuthorizer {
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, TransportError>> {
        let count = self.challenges.lock().unwrap().len();
        Box::pin(async move { Ok(Some(SecretString::from(format!("token-{count}")))) })
    }

    fn handle_challenge<'a>(
        &'a self,
        status: u16,
        www_authenticate: Option<&'a str>,
        attempt: u32,
    ) -> BoxFuture<'a, Result<bool, TransportError>> {
        let said = www_authenticate.map(str::to_owned);
        let mut challenges = self.challenges.lock().unwrap();
        challenges.push((status, said, attempt));
        let again = attempt <= self.accepts;
        Box::pin(async move { Ok(again) })
    }
}

async fn open_transport(
    config: HttpConfig,
    auth: &Arc<CountingAuthorizer>,
) -> (Arc<dyn McpTransport>, IncomingReceiver) {
    let auth: Arc<dyn Authorizer> = Arc::<CountingAuthorizer>::clone(auth);
    let connector = HttpConnector::new(config, &ServerLimits::default(), Some(auth)).unwrap();
    let (inbox, arrivals) = incoming_channel();
    let link = connector.open(inbox, Instant::now() + LONG).await.unwrap();
    (link, arrivals)
}

/// A server that accepts one token only.
async fn token_server(token: &'static str) -> HttpTestServer {
    HttpTestServer::start(move |request, back| async move {
        match request.header("authorization") {
            Some(sent) if sent == token => back.json(&request.result()).await,
            Some(_) | None => {
                let headers = [("www-authenticate", "Bearer scope=\"a\"")];
                back.answer(401, &headers, "token-0 is wrong").await
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_request_is_repeated_with_another_token() {
    let server = token_server("Bearer token-2").await;
    let auth = Arc::new(CountingAuthorizer {
        accepts: 9,
        ..CountingAuthorizer::default()
    });
    let (link, mut arrivals) = open_transport(server.config(), &auth).await;
    link.send(request(1, "initialize")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 1);
    let said = Some("Bearer scope=\"a\"".to_owned());
    assert_eq!(
        *auth.challenges.lock().unwrap(),
        [(401, said.clone(), 1), (401, said, 2)]
    );
}

#[tokio::test]
async fn it_is_repeated_three_times_at_most_and_only_if_that_helps() {
    for (accepts, requests) in [(9, 4), (1, 2), (0, 1)] {
        let server = token_server("Bearer none of ours").await;
        let auth = Arc::new(CountingAuthorizer {
            accepts,
            ..CountingAuthorizer::default()
        });
        let (link, mut arrivals) = open_transport(server.config(), &auth).await;
        link.send(request(1, "initialize")).await.unwrap();
        let (_, error) = arrivals.next_failure().await;
        assert!(
            matches!(error, TransportError::Unauthorized { .. }),
            "{error:?}"
        );
        assert_eq!(server.requests().len(), requests);
    }
}

#[tokio::test]
async fn a_configured_header_is_stronger() {
    let server = token_server("Bearer mine").await;
    let auth = Arc::new(CountingAuthorizer::default());
    let mut config = server.config();
    let header = (
        "Authorization".to_owned(),
        SecretString::from("Bearer mine"),
    );
    config.headers.extend([header]);
    let (link, mut arrivals) = open_transport(config, &auth).await;
    link.send(request(1, "initialize")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 1);
    assert!(auth.challenges.lock().unwrap().is_empty());
}
