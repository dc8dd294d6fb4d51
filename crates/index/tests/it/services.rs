//! Embeddings and scores over HTTP, against a service that answers rightly and wrongly.

use std::time::Duration;

use deliberate_index::{
    CohereReranker, EmbedError, Embedder, EmbeddingPurpose, OpenAiEmbedder, Reranker,
    ServiceSettings,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{body_partial_json, header, method, path},
};

const KEY: &str = "sk-very-secret";

fn settings(server: &MockServer) -> ServiceSettings {
    let settings = ServiceSettings::new(format!("{}/v1/", server.uri()), "small");
    ServiceSettings {
        retry_delay: Duration::from_millis(1),
        ..settings.with_key(Some(SecretString::from(KEY)))
    }
}

fn embedder(server: &MockServer) -> OpenAiEmbedder {
    OpenAiEmbedder::new(settings(server)).unwrap()
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("text {n}")).collect()
}

/// One vector a text, last first: the number in the text, and one.
fn vectors_response(request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let inputs = body["input"].as_array().unwrap();
    let rows = inputs.iter().enumerate().rev().map(|(index, input)| {
        let digits = input.as_str().unwrap().rsplit(' ').next().unwrap();
        let number: f32 = digits.parse().unwrap_or(-1.0);
        json!({"object": "embedding", "index": index, "embedding": [number, 1.0]})
    });
    let rows: Vec<_> = rows.collect();
    ResponseTemplate::new(200).set_body_json(json!({"object": "list", "data": rows}))
}

async fn serve(answer: impl wiremock::Respond + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

async fn embed_error(answer: ResponseTemplate) -> EmbedError {
    let server = serve(answer).await;
    let embedder = embedder(&server);
    let error = embedder
        .embed(&texts(2), EmbeddingPurpose::Query)
        .await
        .unwrap_err();
    for text in [format!("{error} {error:?}"), format!("{embedder:?}")] {
        assert!(!text.contains(KEY), "{text}");
    }
    error
}

fn assert_malformed(error: &EmbedError, part: &str) {
    let EmbedError::Malformed { reason } = error else {
        panic!("{error:?}");
    };
    // How JSON's numbers are read depends on what else is built.
    assert!(part.split('|').any(|it| reason.contains(it)), "{reason}");
}

#[tokio::test]
async fn texts_go_in_batches_and_vectors_come_back_in_order() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/embeddings"))
        .and(header("authorization", format!("Bearer {KEY}")))
        .and(body_partial_json(
            json!({"model": "small", "encoding_format": "float"}),
        ))
        .respond_with(vectors_response)
        .expect(3)
        .mount(&server)
        .await;
    let embedder = embedder(&server).with_batch(4);
    let vectors = embedder
        .embed(&texts(10), EmbeddingPurpose::Passage)
        .await
        .unwrap();
    let numbers: Vec<_> = vectors.iter().map(|vector| vector[0]).collect();
    assert_eq!(numbers, (0_u8..10).map(f32::from).collect::<Vec<_>>());
    assert_eq!(embedder.batch(), 4);
    // Known by now, so that nothing more is asked.
    assert_eq!(embedder.dimensions().await.unwrap(), 2);
}

#[tokio::test]
async fn the_length_is_asked_for_or_learned() {
    let server = serve(vectors_response).await;
    assert_eq!(embedder(&server).dimensions().await.unwrap(), 2);
    let asking = embedder(&server).with_dimensions(2).unwrap();
    assert_eq!(asking.id(), "openai/small/2");
    asking
        .embed(&texts(1), EmbeddingPurpose::Query)
        .await
        .unwrap();
    let requests = server.received_requests().await.unwrap();
    let last: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    assert_eq!(last["dimensions"], 2);
    let other = embedder(&server).with_dimensions(3).unwrap();
    let error = other
        .embed(&texts(1), EmbeddingPurpose::Query)
        .await
        .unwrap_err();
    assert_malformed(&error, "2 numbers where 3");
    assert!(embedder(&server).with_dimensions(0).is_err());
}

#[tokio::test]
async fn prefixes_are_part_of_the_texts_and_of_the_name() {
    let server = serve(vectors_response).await;
    let embedder = embedder(&server).with_prefixes("query: ", "passage: ");
    assert_ne!(embedder.id(), self::embedder(&server).id());
    for purpose in [EmbeddingPurpose::Query, EmbeddingPurpose::Passage] {
        embedder.embed(&texts(1), purpose).await.unwrap();
    }
    let requests = server.received_requests().await.unwrap();
    let sent: Vec<Value> = requests
        .iter()
        .map(|request| serde_json::from_slice::<Value>(&request.body).unwrap()["input"][0].clone())
        .collect();
    assert_eq!(sent, ["query: text 0", "passage: text 0"]);
}

#[tokio::test]
async fn empty_and_endless_texts_are_sent_as_something_usable() {
    let server = serve(vectors_response).await;
    let none = embedder(&server).embed(&[], EmbeddingPurpose::Query).await;
    assert!(none.unwrap().is_empty());
    let texts = [String::new(), "ü".repeat(100_000)];
    embedder(&server)
        .embed(&texts, EmbeddingPurpose::Passage)
        .await
        .unwrap();
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1, "nothing is asked for no texts");
    let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(body["input"][0], " ");
    assert_eq!(body["input"][1].as_str().unwrap().len(), 24_000);
}

#[tokio::test]
async fn a_refusal_is_told_once_and_without_the_key() {
    let said = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}});
    let error = embed_error(ResponseTemplate::new(401).set_body_json(said)).await;
    assert_eq!(
        error,
        EmbedError::Refused {
            reason: "it answered 401: Incorrect API key provided: [key]; check the key".to_owned()
        }
    );
    let error = embed_error(ResponseTemplate::new(404)).await;
    assert!(
        error
            .to_string()
            .contains("check the base URL and the model"),
        "{error}"
    );
    let elsewhere = ResponseTemplate::new(302).insert_header("location", "http://127.0.0.1:1/");
    let error = embed_error(elsewhere).await;
    assert!(matches!(error, EmbedError::Misconfigured { .. }), "{error}");
}

#[tokio::test]
async fn a_busy_service_is_asked_again_when_it_says() {
    let server = MockServer::start().await;
    for answer in [
        ResponseTemplate::new(429).insert_header("retry-after", "0"),
        ResponseTemplate::new(503),
    ] {
        Mock::given(method("POST"))
            .respond_with(answer)
            .up_to_n_times(1)
            .expect(1)
            .mount(&server)
            .await;
    }
    Mock::given(method("POST"))
        .respond_with(vectors_response)
        .expect(1)
        .mount(&server)
        .await;
    let vectors = embedder(&server)
        .embed(&texts(1), EmbeddingPurpose::Query)
        .await
        .unwrap();
    assert_eq!(vectors.len(), 1);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_told_at_once() {
    let busy = ResponseTemplate::new(429).insert_header("retry-after", "600");
    let server = serve(busy).await;
    let error = embedder(&server)
        .embed(&texts(1), EmbeddingPurpose::Query)
        .await
        .unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("try again in 600 s"), "{error}");
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_keeps_failing_is_given_up() {
    let server = serve(ResponseTemplate::new(500).set_body_string("out of memory")).await;
    let error = embedder(&server)
        .embed(&texts(1), EmbeddingPurpose::Query)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("it answered 500: out of memory"),
        "{error}"
    );
    assert_eq!(server.received_requests().await.unwrap().len(), 4);
    let nowhere = ServiceSettings {
        retry_delay: Duration::from_millis(1),
        ..ServiceSettings::new("http://127.0.0.1:1/v1", "small")
    };
    let nobody = OpenAiEmbedder::new(nowhere).unwrap();
    let error = nobody
        .embed(&texts(1), EmbeddingPurpose::Query)
        .await
        .unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_silent_service_is_not_waited_for() {
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_mins(10));
    let server = serve(slow).await;
    let settings = ServiceSettings {
        attempt: Duration::from_millis(50),
        retries: 1,
        ..settings(&server)
    };
    let embedder = OpenAiEmbedder::new(settings).unwrap();
    let error = embedder
        .embed(&texts(1), EmbeddingPurpose::Query)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("did not answer in time"),
        "{error}"
    );
}

#[tokio::test]
async fn answers_that_can_not_be_used_are_told_apart() {
    let row = |index: usize, vector: Value| json!({"index": index, "embedding": vector});
    let cases = [
        (
            json!({"data": [row(0, json!([1, 2]))]}),
            "1 vectors for 2 texts",
        ),
        (
            json!({"data": [row(0, json!([1])), row(0, json!([1]))]}),
            "index 0 is repeated",
        ),
        (
            json!({"data": [row(0, json!([1])), row(7, json!([1]))]}),
            "index 7",
        ),
        (
            json!({"data": [row(0, json!([1, 2])), row(1, json!([1]))]}),
            "1 numbers where 2",
        ),
        (
            json!({"data": [row(0, json!([])), row(1, json!([]))]}),
            "0 numbers",
        ),
        (
            json!({"data": [row(0, json!([1, null])), row(1, json!([1, 2]))]}),
            "null",
        ),
        (
            json!({"data": [row(0, json!([1e300])), row(1, json!([1]))]}),
            "not finite|out of range",
        ),
        (
            json!({"data": [row(0, json!("AAAA")), row(1, json!("AAAA"))]}),
            "invalid type",
        ),
        (json!({"model": "small"}), "missing field `data`"),
    ];
    for (body, part) in cases {
        assert_malformed(
            &embed_error(ResponseTemplate::new(200).set_body_json(body)).await,
            part,
        );
    }
    let page = ResponseTemplate::new(200).set_body_raw("<!doctype html><p>Hello", "text/html");
    assert_malformed(&embed_error(page).await, "an HTML page; check the base URL");
    assert_malformed(&embed_error(ResponseTemplate::new(200)).await, "nothing");
    let huge = ResponseTemplate::new(200).set_body_bytes(vec![b' '; 33 * 1024 * 1024]);
    assert_malformed(&embed_error(huge).await, "larger than 32 MiB");
}

#[test]
fn settings_that_can_not_be_right_send_nothing() {
    for base in [
        "http://api.example.com/v1",
        "https://user:hush@api.example.com",
        "ftp://127.0.0.1",
        "api.example.com",
        "",
    ] {
        let error = OpenAiEmbedder::new(ServiceSettings::new(base, "small")).unwrap_err();
        assert!(
            matches!(error, EmbedError::Misconfigured { .. }),
            "{base}: {error}"
        );
        assert!(!error.to_string().contains("hush"), "{error}");
    }
    let right = ServiceSettings::new("https://api.example.com/v1", "small");
    for key in ["", " ", "a\nb"] {
        let wrong = right.clone().with_key(Some(SecretString::from(key)));
        assert!(CohereReranker::new(wrong).is_err(), "{key:?}");
    }
    assert!(OpenAiEmbedder::new(ServiceSettings::new("https://api.example.com", " ")).is_err());
    assert!(OpenAiEmbedder::new(right).is_ok());
}

async fn rerank(results: Value) -> Result<Vec<f32>, EmbedError> {
    let answer = ResponseTemplate::new(200).set_body_json(json!({"id": "x", "results": results}));
    let server = serve(answer).await;
    let reranker = CohereReranker::new(settings(&server)).unwrap();
    reranker.rerank("which?", &texts(3)).await
}

fn rerank_result(index: usize, score: f64) -> Value {
    json!({"index": index, "relevance_score": score})
}

#[tokio::test]
async fn scores_come_back_in_the_order_of_the_texts() {
    let server = MockServer::start().await;
    let asked = json!({"model": "small", "query": "which?", "documents": texts(3), "top_n": 3});
    let answer =
        json!({"results": [rerank_result(2, 0.75), rerank_result(0, 0.5), rerank_result(1, 0.25)]});
    Mock::given(method("POST"))
        .and(path("/v1/rerank"))
        .and(header("authorization", format!("Bearer {KEY}")))
        .and(body_partial_json(asked))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .expect(1)
        .mount(&server)
        .await;
    let reranker = CohereReranker::new(settings(&server)).unwrap();
    assert_eq!(reranker.name(), "cohere/small");
    let scores = reranker.rerank("which?", &texts(3)).await.unwrap();
    assert_eq!(scores, [0.5, 0.25, 0.75]);
    assert!(!format!("{reranker:?}").contains(KEY));
}

#[tokio::test]
async fn scores_without_bounds_keep_their_order() {
    let results = json!([
        rerank_result(2, 8.0),
        rerank_result(0, -1.0),
        rerank_result(1, -9.0)
    ]);
    let scores = rerank(results).await.unwrap();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
    assert!(scores[2] > scores[0] && scores[0] > scores[1]);
}

#[tokio::test]
async fn scores_that_can_not_be_used_are_told_apart() {
    let cases = [
        (json!([rerank_result(0, 0.5)]), "1 scores for 3 texts"),
        (
            json!([
                rerank_result(0, 0.5),
                rerank_result(0, 0.5),
                rerank_result(1, 0.5)
            ]),
            "index 0 is repeated",
        ),
        (
            json!([
                rerank_result(0, 0.5),
                rerank_result(1, 0.5),
                rerank_result(3, 0.5)
            ]),
            "index 3",
        ),
        (
            json!([
                rerank_result(0, 1e300),
                rerank_result(1, 0.5),
                rerank_result(2, 0.5)
            ]),
            "not finite|out of range",
        ),
        (
            json!([{"index": 0}, {"index": 1}, {"index": 2}]),
            "relevance_score",
        ),
    ];
    for (results, part) in cases {
        assert_malformed(&rerank(results).await.unwrap_err(), part);
    }
    let server = serve(ResponseTemplate::new(401)).await;
    let reranker = CohereReranker::new(settings(&server)).unwrap();
    let error = reranker.rerank("which?", &texts(1)).await.unwrap_err();
    assert!(error.to_string().contains("check the key"), "{error}");
}
