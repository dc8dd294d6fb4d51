//! Tests of rate limits, cooldowns that a source asks for, and retries.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use deliberate_core::Clock;
use deliberate_testkit::{
    FixedClock,
    raw_http_server::{RawHttpServer, ResponseStep, http_response, json_response},
};
use futures::future::join_all;

use super::support::{client_options, http_client, http_client_with_clock, unlimited_request};
use deliberate_http_client::{
    FetchRequest, HttpClient, HttpClientError, HttpClientOptions, SourceRateLimit,
};

fn rate_limit_wait(
    result: Result<deliberate_http_client::FetchResponse, HttpClientError>,
) -> Duration {
    match result {
        Err(HttpClientError::RateLimited { wait, .. }) => wait,
        other => panic!("{other:?}"),
    }
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// A server that rejects the first request with this answer and accepts the next.
async fn reject_once_server(status: &'static str, headers: &'static str) -> RawHttpServer {
    RawHttpServer::start(move |nth, _| {
        vec![ResponseStep::Send(if nth == 1 {
            http_response(status, headers, "")
        } else {
            json_response("{}")
        })]
    })
    .await
}

fn impatient_request(server: &RawHttpServer) -> FetchRequest {
    let pace = SourceRateLimit::new("source", Duration::ZERO).max_wait(Duration::ZERO);
    FetchRequest::new(server.url("/"), pace)
}

fn client_and_clock(
    server: &RawHttpServer,
    folder: Option<&std::path::Path>,
) -> (HttpClient, Arc<FixedClock>) {
    let clock = Arc::new(FixedClock::new());
    let options = HttpClientOptions {
        folder: folder.map(ToOwned::to_owned),
        ..client_options(&[server])
    };
    let shared: Arc<dyn Clock> = clock.clone();
    (http_client_with_clock(options, shared), clock)
}

#[tokio::test]
async fn a_source_that_says_slower_is_left_alone_for_as_long_as_it_says() {
    for (status, headers, least, most) in [
        ("429 Too Many Requests", "retry-after: 40\r\n", 38, 40),
        ("503 Service Unavailable", "retry-after: 40\r\n", 38, 40),
        (
            "429 Too Many Requests",
            "retry-after: Thu, 01 Jan 2026 00:01:00 GMT\r\n",
            58,
            60,
        ),
        (
            "429 Too Many Requests",
            "retry-after: 999999\r\n",
            3598,
            3600,
        ),
        ("429 Too Many Requests", "retry-after: soon\r\n", 28, 30),
        ("503 Service Unavailable", "", 28, 30),
    ] {
        let server = reject_once_server(status, headers).await;
        let (web, clock) = client_and_clock(&server, None);
        for _ in 0..3 {
            let wait = rate_limit_wait(web.get(impatient_request(&server)).await);
            assert!(
                wait > seconds(least) && wait <= seconds(most),
                "{headers} {wait:?}"
            );
        }
        assert_eq!(server.request_count(), 1, "{headers}");
        clock.advance(i64::try_from(most).unwrap() * 1_000_000);
        assert!(web.get(impatient_request(&server)).await.is_ok());
    }
}

#[tokio::test]
async fn what_means_slower_is_up_to_the_source() {
    let server = reject_once_server("406 Not Acceptable", "").await;
    let (web, _clock) = client_and_clock(&server, None);
    let error = web.get(impatient_request(&server)).await.unwrap_err();
    assert!(matches!(error, HttpClientError::Status { status: 406, .. }));
    let server = reject_once_server("406 Not Acceptable", "").await;
    let (web, _clock) = client_and_clock(&server, None);
    let wait = rate_limit_wait(
        web.get(impatient_request(&server).throttle_on(&[406]))
            .await,
    );
    assert!(wait > seconds(28) && wait <= seconds(30));
}

#[tokio::test]
async fn processes_share_a_cooldown_through_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let server = reject_once_server("429 Too Many Requests", "retry-after: 100\r\n").await;
    let (first, _clock) = client_and_clock(&server, Some(folder.path()));
    let (second, clock) = client_and_clock(&server, Some(folder.path()));
    rate_limit_wait(first.get(impatient_request(&server)).await);
    let wait = rate_limit_wait(second.get(impatient_request(&server)).await);
    assert!(wait > seconds(90), "{wait:?}");
    assert_eq!(server.request_count(), 1);
    let mut other = impatient_request(&server);
    other.rate_limit.name = "another source".to_owned();
    assert!(second.get(other).await.is_ok());
    clock.advance(100_000_000);
    assert!(second.get(impatient_request(&server)).await.is_ok());
}

#[tokio::test]
async fn cooldowns_grow_while_nobody_says_how_long() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        RawHttpServer::responding_with(http_response("429 Too Many Requests", "", "")).await;
    let (web, clock) = client_and_clock(&server, Some(folder.path()));
    for expected in [30, 60, 120, 240, 480, 600, 600] {
        let wait = rate_limit_wait(web.get(impatient_request(&server)).await);
        assert_eq!(wait, seconds(expected));
        clock.advance(i64::try_from(expected).unwrap() * 1_000_000);
    }
}

#[tokio::test]
async fn turns_are_shared_through_the_folder_and_a_broken_file_is_no_pace() {
    let folder = tempfile::tempdir().unwrap();
    let server = RawHttpServer::responding_with(json_response("{}")).await;
    let (first, _) = client_and_clock(&server, Some(folder.path()));
    let (second, _) = client_and_clock(&server, Some(folder.path()));
    let slow = || {
        let mut request = impatient_request(&server);
        request.rate_limit.interval = seconds(50);
        request
    };
    assert!(first.get(slow()).await.is_ok());
    let wait = rate_limit_wait(second.get(slow()).await);
    assert!(wait > seconds(40) && wait <= seconds(50), "{wait:?}");
    for file in std::fs::read_dir(folder.path().join("pace")).unwrap() {
        std::fs::write(file.unwrap().path(), "{\"next\": \"never\"").unwrap();
    }
    assert!(second.get(slow()).await.is_ok());
    rate_limit_wait(first.get(slow()).await);
}

#[tokio::test]
async fn a_folder_that_is_none_does_not_stop_anything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let server = RawHttpServer::responding_with(json_response("{}")).await;
    let (web, _clock) = client_and_clock(&server, Some(&file));
    let request = impatient_request(&server).cache_for(seconds(60));
    assert!(web.get(request).await.is_ok());
}

#[tokio::test]
async fn a_short_wait_is_waited_out() {
    let server = reject_once_server("429 Too Many Requests", "retry-after: 0.05\r\n").await;
    let web = http_client(client_options(&[&server]));
    let reply = web.get(unlimited_request(server.url("/"))).await.unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(server.request_count(), 2);
}

#[tokio::test]
async fn a_source_that_always_says_at_once_again_is_not_asked_for_ever() {
    let server = RawHttpServer::responding_with(http_response(
        "429 Too Many Requests",
        "retry-after: 0\r\n",
        "",
    ))
    .await;
    let web = http_client(client_options(&[&server]));
    rate_limit_wait(web.get(unlimited_request(server.url("/"))).await);
    assert_eq!(server.request_count(), 3);
}

#[tokio::test]
async fn the_rate_in_the_headers_slows_us() {
    let headers = "x-rate-limit-limit: 2\r\nx-rate-limit-interval: 60s\r\n";
    let server = RawHttpServer::responding_with(http_response("200 OK", headers, "{}")).await;
    let (web, clock) = client_and_clock(&server, None);
    assert!(web.get(impatient_request(&server)).await.is_ok());
    assert!(
        web.get(impatient_request(&server)).await.is_ok(),
        "learned with the first answer"
    );
    let wait = rate_limit_wait(web.get(impatient_request(&server)).await);
    assert!(wait > seconds(28) && wait <= seconds(30), "{wait:?}");
    clock.advance(30_000_000);
    assert!(web.get(impatient_request(&server)).await.is_ok());
}

#[tokio::test]
async fn faults_that_may_pass_are_tried_again_and_others_are_not() {
    let shaky = RawHttpServer::start(|nth, _| match nth {
        1 => vec![],
        2 => vec![ResponseStep::Send(http_response(
            "502 Bad Gateway",
            "",
            "<html>",
        ))],
        _ => vec![ResponseStep::Send(json_response("{}"))],
    })
    .await;
    let reply = http_client(client_options(&[&shaky]))
        .get(unlimited_request(shaky.url("/")))
        .await;
    assert_eq!(reply.unwrap().status, 200);
    assert_eq!(shaky.request_count(), 3);
    let body = r#"{"error": "the database is\n asleep"}"#;
    let broken = RawHttpServer::responding_with(http_response(
        "500 Internal Server Error",
        "content-type: application/json; charset=utf-8\r\n",
        body,
    ))
    .await;
    let error = http_client(client_options(&[&broken]))
        .get(unlimited_request(broken.url("/")))
        .await;
    let error = error.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("status 500: the database is asleep"),
        "{error}"
    );
    assert_eq!(broken.request_count(), 3);
    for (status, code) in [
        ("404 Not Found", "not_found"),
        ("410 Gone", "not_found"),
        ("401 Unauthorized", "key_needed"),
        ("403 Forbidden", "key_needed"),
        ("400 Bad Request", "status"),
        ("304 Not Modified", "status"),
    ] {
        let server = RawHttpServer::responding_with(http_response(status, "", "")).await;
        let error = http_client(client_options(&[&server]))
            .get(unlimited_request(server.url("/")))
            .await;
        assert_eq!(error.unwrap_err().code(), code, "{status}");
        assert_eq!(server.request_count(), 1, "{status}");
    }
}

#[tokio::test]
async fn no_more_at_a_time_than_is_allowed() {
    let server = RawHttpServer::start(|_, _| {
        vec![
            ResponseStep::Pause(Duration::from_millis(20)),
            ResponseStep::Send(json_response("{}")),
        ]
    })
    .await;
    let web = http_client(client_options(&[&server]));
    let all = (0..8).map(|it| {
        let pace = SourceRateLimit::new("few", Duration::ZERO).max_concurrent(2);
        web.get(FetchRequest::new(server.url(&format!("/{it}")), pace))
    });
    assert!(join_all(all).await.iter().all(Result::is_ok));
    assert_eq!(server.request_count(), 8);
    assert_eq!(server.max_concurrent.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_lock_that_is_never_given_back_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let server = RawHttpServer::responding_with(json_response("{}")).await;
    let (web, _clock) = client_and_clock(&server, Some(folder.path()));
    assert!(web.get(impatient_request(&server)).await.is_ok());
    let mut files = std::fs::read_dir(folder.path().join("pace")).unwrap();
    let held = std::fs::File::open(files.next().unwrap().unwrap().path()).unwrap();
    held.lock().unwrap();
    assert!(web.get(impatient_request(&server)).await.is_ok());
    assert_eq!(server.request_count(), 2);
}
