//! Tests of the discovery of local model servers.

use std::time::Duration;

use deliberate_llm::{LocalServer, ProbeTarget, find_local};
use serde_json::json;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

async fn serve_models(models: &[&str], delay: Duration) -> MockServer {
    let data: Vec<_> = models.iter().map(|id| json!({"id": id})).collect();
    let server = MockServer::start().await;
    Mock::given(path("/v1/models"))
        .respond_with(
            ResponseTemplate::new(200)
                .set_body_json(json!({"object": "list", "data": data}))
                .set_delay(delay),
        )
        .mount(&server)
        .await;
    server
}

fn probe(vendor: &str, server: &MockServer) -> ProbeTarget {
    ProbeTarget {
        vendor: vendor.to_owned(),
        base_url: format!("{}/v1", server.uri()),
    }
}

fn local_server(probe: &ProbeTarget, model: &str) -> LocalServer {
    LocalServer {
        vendor: probe.vendor.clone(),
        base_url: probe.base_url.clone(),
        model: model.to_owned(),
    }
}

#[tokio::test]
async fn the_first_with_a_model_that_chats_is_taken() {
    let limit = Duration::from_secs(10);
    let embeddings = serve_models(
        &["nomic-embed-text", "BGE-m3", "my-reranker", "whisper-1"],
        Duration::ZERO,
    )
    .await;
    let slower = serve_models(&["all-embed", "qwen"], Duration::from_millis(100)).await;
    let faster = serve_models(&["llama"], Duration::ZERO).await;
    let (a, b, c) = (
        probe("ollama", &embeddings),
        probe("lmstudio", &slower),
        probe("llamacpp", &faster),
    );
    let all = [a.clone(), b.clone(), c.clone()];
    assert_eq!(
        find_local(&all, limit).await,
        Some(local_server(&b, "qwen"))
    );
    assert_eq!(
        find_local(&[a.clone(), c.clone()], limit).await,
        Some(local_server(&c, "llama"))
    );
    assert_eq!(find_local(&[a], limit).await, None);
    assert_eq!(find_local(&[], limit).await, None);
}

#[tokio::test]
async fn who_is_silent_or_elsewhere_is_passed_over() {
    let silent = serve_models(&["late"], Duration::from_mins(1)).await;
    let broken = MockServer::start().await;
    let elsewhere = ProbeTarget {
        vendor: "lmstudio".to_owned(),
        base_url: "http://models.example.com/v1".to_owned(),
    };
    let probes = [
        probe("ollama", &silent),
        elsewhere,
        probe("llamacpp", &broken),
    ];
    assert_eq!(find_local(&probes, Duration::from_millis(200)).await, None);
}

#[test]
fn the_usual_places_are_in_order() {
    let usual = ProbeTarget::defaults();
    let places: Vec<_> = usual
        .iter()
        .map(|probe| (probe.vendor.as_str(), probe.base_url.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            ("ollama", "http://127.0.0.1:11434/v1"),
            ("lmstudio", "http://127.0.0.1:1234/v1"),
            ("llamacpp", "http://127.0.0.1:8080/v1"),
        ]
    );
}
