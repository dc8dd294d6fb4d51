//! Asking no faster than is allowed, leaving a source alone when it says so, and trying again
//! where that can help.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use deliberate_core::Clock;
use deliberate_research::web::{Pace, Request, Web, WebError, WebOptions};
use deliberate_testkit::FixedClock;
use futures::future::join_all;

use super::web_kit::{Raw, Step, ask, http, json, options, web, web_by};

fn limited(result: Result<deliberate_research::web::Reply, WebError>) -> Duration {
    match result {
        Err(WebError::RateLimited { wait, .. }) => wait,
        other => panic!("{other:?}"),
    }
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// Refuses the first with that answer, then is content.
async fn refusing_once(status: &'static str, headers: &'static str) -> Raw {
    Raw::start(move |nth, _| {
        vec![Step::Send(if nth == 1 {
            http(status, headers, "")
        } else {
            json("{}")
        })]
    })
    .await
}

fn impatient(server: &Raw) -> Request {
    let pace = Pace::new("source", Duration::ZERO).patience(Duration::ZERO);
    Request::new(server.url("/"), pace)
}

fn both(server: &Raw, folder: Option<&std::path::Path>) -> (Web, Arc<FixedClock>) {
    let clock = Arc::new(FixedClock::new());
    let options = WebOptions {
        folder: folder.map(ToOwned::to_owned),
        ..options(&[server])
    };
    let shared: Arc<dyn Clock> = clock.clone();
    (web_by(options, shared), clock)
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
        let server = refusing_once(status, headers).await;
        let (web, clock) = both(&server, None);
        for _ in 0..3 {
            let wait = limited(web.get(impatient(&server)).await);
            assert!(
                wait > seconds(least) && wait <= seconds(most),
                "{headers} {wait:?}"
            );
        }
        assert_eq!(server.requests(), 1, "{headers}");
        clock.advance(i64::try_from(most).unwrap() * 1_000_000);
        assert!(web.get(impatient(&server)).await.is_ok());
    }
}

#[tokio::test]
async fn what_means_slower_is_up_to_the_source() {
    let server = refusing_once("406 Not Acceptable", "").await;
    let (web, _clock) = both(&server, None);
    let error = web.get(impatient(&server)).await.unwrap_err();
    assert!(matches!(error, WebError::Status { status: 406, .. }));
    let server = refusing_once("406 Not Acceptable", "").await;
    let (web, _clock) = both(&server, None);
    let wait = limited(web.get(impatient(&server).slower_on(&[406])).await);
    assert!(wait > seconds(28) && wait <= seconds(30));
}

#[tokio::test]
async fn processes_share_a_cooldown_through_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let server = refusing_once("429 Too Many Requests", "retry-after: 100\r\n").await;
    let (first, _clock) = both(&server, Some(folder.path()));
    let (second, clock) = both(&server, Some(folder.path()));
    limited(first.get(impatient(&server)).await);
    let wait = limited(second.get(impatient(&server)).await);
    assert!(wait > seconds(90), "{wait:?}");
    assert_eq!(server.requests(), 1);
    let mut other = impatient(&server);
    other.pace.name = "another source".to_owned();
    assert!(second.get(other).await.is_ok());
    clock.advance(100_000_000);
    assert!(second.get(impatient(&server)).await.is_ok());
}

#[tokio::test]
async fn cooldowns_grow_while_nobody_says_how_long() {
    let folder = tempfile::tempdir().unwrap();
    let server = Raw::saying(http("429 Too Many Requests", "", "")).await;
    let (web, clock) = both(&server, Some(folder.path()));
    for expected in [30, 60, 120, 240, 480, 600, 600] {
        let wait = limited(web.get(impatient(&server)).await);
        assert_eq!(wait, seconds(expected));
        clock.advance(i64::try_from(expected).unwrap() * 1_000_000);
    }
}

#[tokio::test]
async fn turns_are_shared_through_the_folder_and_a_broken_file_is_no_pace() {
    let folder = tempfile::tempdir().unwrap();
    let server = Raw::saying(json("{}")).await;
    let (first, _) = both(&server, Some(folder.path()));
    let (second, _) = both(&server, Some(folder.path()));
    let slow = || {
        let mut request = impatient(&server);
        request.pace.every = seconds(50);
        request
    };
    assert!(first.get(slow()).await.is_ok());
    let wait = limited(second.get(slow()).await);
    assert!(wait > seconds(40) && wait <= seconds(50), "{wait:?}");
    for file in std::fs::read_dir(folder.path().join("pace")).unwrap() {
        std::fs::write(file.unwrap().path(), "{\"next\": \"never\"").unwrap();
    }
    assert!(second.get(slow()).await.is_ok());
    limited(first.get(slow()).await);
}

#[tokio::test]
async fn a_folder_that_is_none_does_not_stop_anything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let server = Raw::saying(json("{}")).await;
    let (web, _clock) = both(&server, Some(&file));
    let request = impatient(&server).kept_for(seconds(60));
    assert!(web.get(request).await.is_ok());
}

#[tokio::test]
async fn a_short_wait_is_waited_out() {
    let server = refusing_once("429 Too Many Requests", "retry-after: 0.05\r\n").await;
    let web = web(options(&[&server]));
    let reply = web.get(ask(server.url("/"))).await.unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn a_source_that_always_says_at_once_again_is_not_asked_for_ever() {
    let server = Raw::saying(http("429 Too Many Requests", "retry-after: 0\r\n", "")).await;
    let web = web(options(&[&server]));
    limited(web.get(ask(server.url("/"))).await);
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn the_rate_in_the_headers_slows_us() {
    let headers = "x-rate-limit-limit: 2\r\nx-rate-limit-interval: 60s\r\n";
    let server = Raw::saying(http("200 OK", headers, "{}")).await;
    let (web, clock) = both(&server, None);
    assert!(web.get(impatient(&server)).await.is_ok());
    assert!(
        web.get(impatient(&server)).await.is_ok(),
        "learned with the first answer"
    );
    let wait = limited(web.get(impatient(&server)).await);
    assert!(wait > seconds(28) && wait <= seconds(30), "{wait:?}");
    clock.advance(30_000_000);
    assert!(web.get(impatient(&server)).await.is_ok());
}

#[tokio::test]
async fn faults_that_may_pass_are_tried_again_and_others_are_not() {
    let shaky = Raw::start(|nth, _| match nth {
        1 => vec![],
        2 => vec![Step::Send(http("502 Bad Gateway", "", "<html>"))],
        _ => vec![Step::Send(json("{}"))],
    })
    .await;
    let reply = web(options(&[&shaky])).get(ask(shaky.url("/"))).await;
    assert_eq!(reply.unwrap().status, 200);
    assert_eq!(shaky.requests(), 3);
    let body = r#"{"error": "the database is\n asleep"}"#;
    let broken = Raw::saying(http(
        "500 Internal Server Error",
        "content-type: application/json; charset=utf-8\r\n",
        body,
    ))
    .await;
    let error = web(options(&[&broken])).get(ask(broken.url("/"))).await;
    let error = error.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("status 500: the database is asleep"),
        "{error}"
    );
    assert_eq!(broken.requests(), 3);
    for (status, code) in [
        ("404 Not Found", "not_found"),
        ("410 Gone", "not_found"),
        ("401 Unauthorized", "key_needed"),
        ("403 Forbidden", "key_needed"),
        ("400 Bad Request", "status"),
        ("304 Not Modified", "status"),
    ] {
        let server = Raw::saying(http(status, "", "")).await;
        let error = web(options(&[&server])).get(ask(server.url("/"))).await;
        assert_eq!(error.unwrap_err().code(), code, "{status}");
        assert_eq!(server.requests(), 1, "{status}");
    }
}

#[tokio::test]
async fn no_more_at_a_time_than_is_allowed() {
    let server = Raw::start(|_, _| {
        vec![
            Step::Pause(Duration::from_millis(20)),
            Step::Send(json("{}")),
        ]
    })
    .await;
    let web = web(options(&[&server]));
    let all = (0..8).map(|it| {
        let pace = Pace::new("few", Duration::ZERO).at_once(2);
        web.get(Request::new(server.url(&format!("/{it}")), pace))
    });
    assert!(join_all(all).await.iter().all(Result::is_ok));
    assert_eq!(server.requests(), 8);
    assert_eq!(server.most_at_once.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_lock_that_is_never_given_back_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let server = Raw::saying(json("{}")).await;
    let (web, _clock) = both(&server, Some(folder.path()));
    assert!(web.get(impatient(&server)).await.is_ok());
    let mut files = std::fs::read_dir(folder.path().join("pace")).unwrap();
    let held = std::fs::File::open(files.next().unwrap().unwrap().path()).unwrap();
    held.lock().unwrap();
    assert!(web.get(impatient(&server)).await.is_ok());
    assert_eq!(server.requests(), 2);
}
