//! The providers that need no network.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_thinker::{
    Ask, ClientDriven, Finish, Message, Reply, Sampling, SamplingPeer, SamplingReply,
    SamplingRequest, ThinkError, Thinker, ask_for,
};
use futures::{FutureExt, future::BoxFuture};
use tokio::time::Instant;

use crate::support::{Step, ask, later, step};

fn replies(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
        .collect()
}

#[tokio::test]
async fn the_client_is_asked_for_what_is_missing() {
    let thinker = ClientDriven::new(replies(&[("b", "known")]));
    let named = |key: &str| Ask {
        key: key.to_owned(),
        ..ask()
    };
    let (a, b, c) = (named("a"), named("b"), named("c"));
    for missing in [&c, &a, &c] {
        assert_eq!(
            thinker.think(missing, later()).await,
            Err(ThinkError::Pending)
        );
    }
    let known = thinker.think(&b, later()).await.unwrap();
    assert_eq!(known.text, "known");
    assert_eq!(known.model, None);
    assert_eq!(thinker.pending(), [c, a]);
    assert_eq!(thinker.name(), "client");
}

#[tokio::test]
async fn a_bad_reply_of_the_client_is_asked_for_again_under_its_own_key() {
    let bad = ("step", "no idea");
    let thinker = ClientDriven::new(replies(&[bad]));
    let failed = ask_for::<Step>(&thinker, ask(), None, later())
        .await
        .unwrap_err();
    assert_eq!(failed.error, ThinkError::Pending);
    assert_eq!(thinker.pending().len(), 1);
    assert_eq!(thinker.pending()[0].key, "step/again");

    let good = ("step/again", r#"{"thought": "42", "confidence": 90}"#);
    let thinker = ClientDriven::new(replies(&[bad, good]));
    let answer = ask_for::<Step>(&thinker, ask(), None, later())
        .await
        .unwrap();
    assert_eq!(answer.value, step("42", 90));
    assert_eq!(thinker.pending(), []);
}

struct Peer {
    reply: Result<SamplingReply, String>,
    takes: Duration,
    requests: Mutex<Vec<SamplingRequest>>,
}

impl Peer {
    fn new(reply: Result<SamplingReply, String>, takes: Duration) -> Arc<Self> {
        Arc::new(Self {
            reply,
            takes,
            requests: Mutex::default(),
        })
    }
}

impl SamplingPeer for Peer {
    fn create_message(
        &self,
        request: SamplingRequest,
    ) -> BoxFuture<'_, Result<SamplingReply, String>> {
        self.requests.lock().unwrap().push(request);
        async {
            tokio::time::sleep(self.takes).await;
            self.reply.clone()
        }
        .boxed()
    }
}

#[tokio::test]
async fn sampling_sends_the_schema_and_brings_the_reply() {
    let peer = Peer::new(
        Ok(SamplingReply {
            text: "{".to_owned(),
            model: Some("some-model".to_owned()),
            stop_reason: Some("maxTokens".to_owned()),
        }),
        Duration::ZERO,
    );
    let reply = Sampling::new(peer.clone())
        .think(&ask(), later())
        .await
        .unwrap();
    assert_eq!(
        reply,
        Reply {
            text: "{".to_owned(),
            finish: Finish::Length,
            model: Some("some-model".to_owned()),
            ..Reply::default()
        }
    );
    let requests = peer.requests.lock().unwrap();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].messages, [Message::user("What is 6 × 7?")]);
    assert_eq!(requests[0].max_tokens, 400);
    insta::assert_snapshot!(requests[0].system);
}

#[tokio::test(start_paused = true)]
async fn sampling_keeps_to_the_deadline() {
    let peer = Peer::new(Ok(SamplingReply::default()), Duration::from_mins(1));
    let deadline = Instant::now() + Duration::from_secs(5);
    let result = Sampling::new(peer).think(&ask(), deadline).await;
    assert_eq!(
        result,
        Err(ThinkError::Timeout {
            provider: "sampling".to_owned(),
            after: Duration::from_secs(5),
        })
    );
}

#[tokio::test]
async fn what_the_client_objects_is_told() {
    let peer = Peer::new(Err("the user declined".to_owned()), Duration::ZERO);
    let error = Sampling::new(peer)
        .think(&ask(), later())
        .await
        .unwrap_err();
    assert_eq!(error.code(), "ProviderUnavailable");
    assert!(error.to_string().contains("the user declined"));
}
