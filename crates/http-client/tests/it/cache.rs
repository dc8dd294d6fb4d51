//! Tests of the HTTP cache: how long, for whom, and what is never cached.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use deliberate_core::Clock;
use deliberate_testkit::{
    FixedClock,
    raw_http_server::{RawHttpServer, ResponseStep, http_response, json_response},
};
use futures::future::join_all;
use secrecy::SecretString;

use super::support::{client_options, http_client, http_client_with_clock, unlimited_request};
use deliberate_http_client::{FetchRequest, HttpClient, HttpClientOptions};

const HOUR: Duration = Duration::from_hours(1);
const KEY: &str = "a-very-secret-key";

fn caching_client(
    server: &RawHttpServer,
    folder: Option<&Path>,
    cache_bytes: u64,
) -> (HttpClient, Arc<FixedClock>) {
    let clock = Arc::new(FixedClock::new());
    let options = HttpClientOptions {
        folder: folder.map(ToOwned::to_owned),
        cache_bytes,
        ..client_options(&[server])
    };
    let shared: Arc<dyn Clock> = clock.clone();
    (http_client_with_clock(options, shared), clock)
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|it| {
            if it.path().is_dir() {
                files_under(&it.path())
            } else {
                vec![it.path()]
            }
        })
        .collect()
}

fn cacheable_request(server: &RawHttpServer) -> FetchRequest {
    unlimited_request(server.url("/x?q=1")).cache_for(HOUR)
}

#[tokio::test]
async fn an_answer_is_used_again_until_it_is_old() {
    let folder = tempfile::tempdir().unwrap();
    for place in [None, Some(folder.path())] {
        let server = RawHttpServer::start(|nth, _| {
            vec![ResponseStep::Send(json_response(&format!(
                "{{\"nth\": {nth}}}"
            )))]
        })
        .await;
        let (web, clock) = caching_client(&server, place, 100_000);
        let first = web.get(cacheable_request(&server)).await.unwrap();
        let again = web.get(cacheable_request(&server)).await.unwrap();
        assert_eq!((first.from_cache, again.from_cache), (false, true));
        assert_eq!(first.body, again.body);
        assert_eq!(first.url, again.url);
        assert_eq!(again.content_type, "application/json");
        assert_eq!(server.request_count(), 1);
        // Different requests have different answers.
        let mut others = vec![
            unlimited_request(server.url("/x?q=2")).cache_for(HOUR),
            cacheable_request(&server).accept("text/html"),
            cacheable_request(&server).json_body(serde_json::json!({"a": 1})),
            cacheable_request(&server).json_body(serde_json::json!({"a": 2})),
            unlimited_request(server.url("/x?q=1")),
            cacheable_request(&server).max_bytes(3),
        ];
        let too_small = others.pop().unwrap();
        for (count, other) in others.into_iter().enumerate() {
            assert!(!web.get(other).await.unwrap().from_cache);
            assert_eq!(server.request_count(), count + 2);
        }
        assert_eq!(web.get(too_small).await.unwrap_err().code(), "too_large");
        clock.advance(3_600_000_000);
        assert!(
            !web.get(cacheable_request(&server))
                .await
                .unwrap()
                .from_cache
        );
        // A clock that is set back does not make old answers fresh.
        clock.advance(-7_200_000_000);
        assert!(
            !web.get(cacheable_request(&server))
                .await
                .unwrap()
                .from_cache
        );
    }
}

#[tokio::test]
async fn what_was_kept_outlives_the_process_and_a_broken_file_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let server = RawHttpServer::responding_with(json_response(r#"{"title": "A paper"}"#)).await;
    let (first, _) = caching_client(&server, Some(folder.path()), 100_000);
    first.get(cacheable_request(&server)).await.unwrap();
    let (second, clock) = caching_client(&server, Some(folder.path()), 100_000);
    clock.advance(60_000_000);
    assert!(
        second
            .get(cacheable_request(&server))
            .await
            .unwrap()
            .from_cache
    );
    let [file] = &files_under(&folder.path().join("answers"))[..] else {
        panic!("one answer is kept")
    };
    let whole = std::fs::read(file).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    let cut = whole[..whole.len() - 3].to_vec();
    let broken = [
        vec![],
        b"\n".to_vec(),
        b"{}\n{}".to_vec(),
        vec![0xff; 500],
        changed,
        cut,
    ];
    for (count, bytes) in broken.into_iter().enumerate() {
        std::fs::write(file, bytes).unwrap();
        let reply = second.get(cacheable_request(&server)).await.unwrap();
        assert!(!reply.from_cache);
        assert_eq!(server.request_count(), count + 2);
        assert!(
            second
                .get(cacheable_request(&server))
                .await
                .unwrap()
                .from_cache,
            "and is made good"
        );
    }
}

#[tokio::test]
async fn no_key_is_in_any_file_and_keys_make_no_other_question() {
    let folder = tempfile::tempdir().unwrap();
    let server = RawHttpServer::responding_with(json_response("{}")).await;
    let (web, _) = caching_client(&server, Some(folder.path()), 100_000);
    let with = |key: &str| {
        cacheable_request(&server)
            .secret_header("x-api-key", SecretString::from(key))
            .secret_parameter("email", SecretString::from(format!("{key}@example.org")))
    };
    assert!(!web.get(with(KEY)).await.unwrap().from_cache);
    assert!(web.get(with("another-key")).await.unwrap().from_cache);
    let mut in_url = with(KEY);
    in_url.url.query_pairs_mut().append_pair("email", KEY);
    assert!(web.get(in_url).await.unwrap().from_cache);
    // An answer that repeats the key is not cached at all.
    let parrot =
        RawHttpServer::responding_with(json_response(&format!(r#"{{"you": "{KEY}"}}"#))).await;
    let (web, _) = caching_client(&parrot, Some(folder.path()), 100_000);
    let request = || cacheable_request(&parrot).secret_header("x-api-key", SecretString::from(KEY));
    assert!(!web.get(request()).await.unwrap().from_cache);
    assert!(!web.get(request()).await.unwrap().from_cache);
    let files = files_under(folder.path());
    assert!(files.len() >= 2);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(KEY) && !file.to_string_lossy().contains(KEY));
    }
}

#[tokio::test]
async fn only_good_answers_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    for status in [
        "203 Non-Authoritative Information",
        "204 No Content",
        "404 Not Found",
    ] {
        let server = RawHttpServer::responding_with(http_response(status, "", "")).await;
        let (web, _) = caching_client(&server, Some(folder.path()), 100_000);
        let _ = web.get(cacheable_request(&server)).await;
        let _ = web.get(cacheable_request(&server)).await;
        assert_eq!(server.request_count(), 2, "{status}");
    }
}

#[tokio::test]
async fn what_is_not_what_was_asked_for_is_not_kept_and_the_rest_can_be_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let page = "<!doctype html><title>Welcome to the hotel</title>";
    for (accept, body, keeps) in [
        ("application/json", page, false),
        ("application/atom+xml", page, false),
        ("application/json", "{\"total\": 1", false),
        ("text/html", page, true),
        (
            "application/atom+xml",
            "<?xml version=\"1.0\"?><feed/>",
            true,
        ),
        ("application/json", "{}", true),
    ] {
        for place in [None, Some(folder.path())] {
            let server = RawHttpServer::responding_with(http_response(
                "200 OK",
                "content-type: text/html\r\n",
                body,
            ))
            .await;
            let (web, _) = caching_client(&server, place, 100_000);
            let request = || cacheable_request(&server).accept(accept);
            web.get(request()).await.unwrap();
            assert_eq!(
                web.get(request()).await.unwrap().from_cache,
                keeps,
                "{accept} {body}"
            );
            web.forget_response(&request()).await;
            assert!(!web.get(request()).await.unwrap().from_cache);
        }
    }
}

#[tokio::test]
async fn the_folder_stays_within_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let body = format!("\"{}\"", "x".repeat(3_000));
    let server = RawHttpServer::responding_with(json_response(&body)).await;
    let (web, _) = caching_client(&server, Some(folder.path()), 20_000);
    for number in 0..40 {
        let request = unlimited_request(server.url(&format!("/{number}"))).cache_for(HOUR);
        web.get(request).await.unwrap();
        let files = files_under(&folder.path().join("answers"));
        let bytes: u64 = files.iter().map(|it| it.metadata().unwrap().len()).sum();
        assert!(bytes <= 20_000, "{bytes}");
        assert!(!files.is_empty());
    }
    // An answer that exceeds the limit alone is returned and not cached.
    let (small, _) = caching_client(&server, Some(folder.path()), 1_000);
    let request = unlimited_request(server.url("/large")).cache_for(HOUR);
    assert_eq!(small.get(request).await.unwrap().body.len(), body.len());
}

#[tokio::test]
async fn those_who_ask_the_same_at_once_share_one_answer() {
    let server = RawHttpServer::start(|_, _| {
        vec![
            ResponseStep::Pause(Duration::from_millis(100)),
            ResponseStep::Send(json_response("{}")),
        ]
    })
    .await;
    let web = http_client(client_options(&[&server]));
    let all = join_all((0..20).map(|_| web.get(unlimited_request(server.url("/same"))))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(server.request_count(), 1);
    let keys = ["one-key", "one-key", "two-key"];
    let with = |key: &&str| {
        web.get(
            unlimited_request(server.url("/same"))
                .secret_header("x-api-key", SecretString::from(*key)),
        )
    };
    assert!(
        join_all(keys.iter().map(with))
            .await
            .iter()
            .all(Result::is_ok)
    );
    assert_eq!(
        server.request_count(),
        3,
        "those with another key do not share"
    );
}

#[tokio::test]
async fn who_gives_up_does_not_take_the_answer_from_others() {
    let server = RawHttpServer::start(|_, _| {
        vec![
            ResponseStep::Pause(Duration::from_millis(300)),
            ResponseStep::Send(json_response("{}")),
        ]
    })
    .await;
    let web = http_client(client_options(&[&server]));
    let (hasty, patient) = (web.clone(), web.clone());
    let (first, second) = (server.url("/same"), server.url("/same"));
    let hasty = tokio::spawn(async move { hasty.get(unlimited_request(first)).await });
    while server.request_count() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let patient = tokio::spawn(async move { patient.get(unlimited_request(second)).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    hasty.abort();
    assert!(patient.await.unwrap().is_ok());
    assert_eq!(server.request_count(), 1);
    // When all callers have given up, a new request can start.
    let alone = web.clone();
    let mut request = unlimited_request(server.url("/alone"));
    request.rate_limit.max_concurrent = 1;
    let again = request.clone();
    let alone = tokio::spawn(async move { alone.get(request).await });
    while server.request_count() == 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    alone.abort();
    assert!(web.get(again).await.is_ok());
}
