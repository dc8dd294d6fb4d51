//! Tests of the providers that need no network.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_llm::{
    ChatMessage, ChatModel, ClientDriven, FinishReason, ModelError, ModelReply, ModelRequest,
    Sampling, SamplingError, SamplingPeer, SamplingReply, SamplingRequest, ask_structured,
};
use futures::{FutureExt, future::BoxFuture};
use tokio::time::Instant;

use crate::support::{ThoughtAnswer, far_deadline, thought_answer, thought_request};

fn replies(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
        .collect()
}

#[tokio::test]
async fn the_client_is_asked_for_what_is_missing() {
    let driven = ClientDriven::new(replies(&[("b", "known")]));
    let named = |key: &str| ModelRequest {
        key: key.to_owned(),
        ..thought_request()
    };
    let (a, b, c) = (named("a"), named("b"), named("c"));
    for missing in [&c, &a, &c] {
        assert_eq!(
            driven.complete(missing, far_deadline()).await,
            Err(ModelError::Pending)
        );
    }
    let known = driven.complete(&b, far_deadline()).await.unwrap();
    assert_eq!(known.text, "known");
    assert_eq!(known.model, None);
    assert_eq!(driven.pending(), [c, a]);
    assert_eq!(driven.name(), "client");
}

#[tokio::test]
async fn a_bad_reply_of_the_client_is_asked_for_again_under_its_own_key() {
    let bad = ("step", "no idea");
    let driven = ClientDriven::new(replies(&[bad]));
    let failed = ask_structured::<ThoughtAnswer>(&driven, thought_request(), None, far_deadline())
        .await
        .unwrap_err();
    assert_eq!(failed.error, ModelError::Pending);
    assert_eq!(driven.pending().len(), 1);
    assert_eq!(driven.pending()[0].key, "step/again");

    let good = ("step/again", r#"{"thought": "42", "confidence": 90}"#);
    let driven = ClientDriven::new(replies(&[bad, good]));
    let answer = ask_structured::<ThoughtAnswer>(&driven, thought_request(), None, far_deadline())
        .await
        .unwrap();
    assert_eq!(answer.value, thought_answer("42", 90));
    assert_eq!(driven.pending(), []);
}

struct FakePeer {
    reply: Result<SamplingReply, SamplingError>,
    delay: Duration,
    requests: Mutex<Vec<SamplingRequest>>,
}

impl FakePeer {
    fn new(reply: Result<SamplingReply, SamplingError>, takes: Duration) -> Arc<Self> {
        Arc::new(Self {
            reply,
            delay: takes,
            requests: Mutex::default(),
        })
    }
}

impl SamplingPeer for FakePeer {
    fn create_message(
        &self,
        request: SamplingRequest,
    ) -> BoxFuture<'_, Result<SamplingReply, SamplingError>> {
        self.requests.lock().unwrap().push(request);
        async {
            tokio::time::sleep(self.delay).await;
            self.reply.clone()
        }
        .boxed()
    }
}

#[tokio::test]
async fn sampling_sends_the_schema_and_brings_the_reply() {
    let peer = FakePeer::new(
        Ok(SamplingReply {
            text: "{".to_owned(),
            model: Some("some-model".to_owned()),
            stop_reason: Some("maxTokens".to_owned()),
        }),
        Duration::ZERO,
    );
    let reply = Sampling::new(peer.clone())
        .complete(&thought_request(), far_deadline())
        .await
        .unwrap();
    assert_eq!(
        reply,
        ModelReply {
            text: "{".to_owned(),
            finish_reason: FinishReason::Length,
            model: Some("some-model".to_owned()),
            ..ModelReply::default()
        }
    );
    let requests = peer.requests.lock().unwrap();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].messages, [ChatMessage::user("What is 6 × 7?")]);
    assert_eq!(requests[0].max_tokens, 400);
    insta::assert_snapshot!(requests[0].system);
}

#[tokio::test(start_paused = true)]
async fn sampling_keeps_to_the_deadline() {
    let peer = FakePeer::new(Ok(SamplingReply::default()), Duration::from_mins(1));
    let deadline = Instant::now() + Duration::from_secs(5);
    let result = Sampling::new(peer)
        .complete(&thought_request(), deadline)
        .await;
    assert_eq!(
        result,
        Err(ModelError::Timeout {
            provider: "sampling".to_owned(),
            after: Duration::from_secs(5),
        })
    );
}

#[tokio::test]
async fn what_the_client_objects_is_told_but_not_at_length() {
    let long = format!("the user declined{}", " again".repeat(1_000));
    for answer in [
        SamplingError::Declined(long.clone()),
        SamplingError::Failed(long),
    ] {
        let declined = matches!(answer, SamplingError::Declined(_));
        let peer = FakePeer::new(Err(answer), Duration::ZERO);
        let error = Sampling::new(peer)
            .complete(&thought_request(), far_deadline())
            .await
            .unwrap_err();
        assert_eq!(matches!(error, ModelError::Declined { .. }), declined);
        assert_eq!(error.code(), "ProviderUnavailable");
        let text = error.to_string();
        assert!(text.contains("the user declined again"), "{text}");
        assert!(text.ends_with('…') && text.chars().count() < 600, "{text}");
    }
}

#[tokio::test]
async fn a_client_is_quoted_only_the_beginning_of_its_bad_reply() {
    let long = format!("no idea {}", "at all ".repeat(200));
    let driven = ClientDriven::new(replies(&[("step", &long)]));
    let failed =
        ask_structured::<ThoughtAnswer>(&driven, thought_request(), None, far_deadline()).await;
    assert_eq!(failed.unwrap_err().error, ModelError::Pending);
    let quoted = driven.pending().remove(0).messages.remove(1).text;
    assert!(quoted.starts_with("no idea at all"), "{quoted}");
    assert!(quoted.chars().count() <= 201, "{quoted}");
}
