//! Tests of downloads from servers that lie, drip, break off, or never end.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use deliberate_testkit::raw_http_server::{
    RawHttpServer, ResponseStep, http_response, json_response,
};
use sha2::{Digest as _, Sha256};

use super::support::{client_options, http_client, unlimited_rate, unlimited_request};
use deliberate_http_client::{DownloadRequest, DownloadResult, ExpectedContent, HttpClientError};

const PDF: &str = "%PDF-1.7\nsome text\n%%EOF\n";

/// Longer than anything here takes on a busy machine.
const LONG_TIMEOUT: Duration = Duration::from_secs(30);
/// Long enough to begin, for downloads that never end.
const SHORT_TIMEOUT: Duration = Duration::from_secs(2);

async fn fetch(server: &RawHttpServer, to: &Path) -> Result<DownloadResult, HttpClientError> {
    fetch_with_timeout(server, to, LONG_TIMEOUT).await
}

async fn fetch_with_timeout(
    server: &RawHttpServer,
    to: &Path,
    time: Duration,
) -> Result<DownloadResult, HttpClientError> {
    let request = DownloadRequest::pdf(server.url("/paper.pdf"), unlimited_rate())
        .max_bytes(10_000)
        .timeout(time);
    http_client(client_options(&[server]))
        .download(request, to, &|_, _| {})
        .await
}

fn pdf_response(headers: &str, body: &str) -> Vec<u8> {
    http_response("200 OK", headers, body)
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[tokio::test]
async fn a_pdf_is_fetched_whole_with_its_sum() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("paper.pdf");
    std::fs::write(&to, "older").unwrap();
    let target =
        RawHttpServer::responding_with(pdf_response("content-type: Application/PDF; x=y\r\n", PDF))
            .await;
    let location = format!("location: {}\r\n", target.url("/real?x=1"));
    let server =
        RawHttpServer::responding_with(http_response("307 Temporary Redirect", &location, ""))
            .await;
    let seen = AtomicU64::new(0);
    let told = |bytes: u64, of: Option<u64>| {
        assert_eq!(of, Some(PDF.len() as u64));
        seen.store(bytes, Ordering::SeqCst);
    };
    let request = DownloadRequest::pdf(server.url("/paper.pdf"), unlimited_rate());
    let done = http_client(client_options(&[&server, &target]))
        .download(request, &to, &told)
        .await
        .unwrap();
    assert_eq!(std::fs::read_to_string(&to).unwrap(), PDF);
    assert_eq!(done.bytes, PDF.len() as u64);
    assert_eq!(done.sha256, format!("{:x}", Sha256::digest(PDF)));
    assert_eq!(done.content_type, "application/pdf");
    assert_eq!(done.url, target.url("/real?x=1"));
    assert_eq!(seen.load(Ordering::SeqCst), PDF.len() as u64);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn what_is_a_pdf_is_judged_by_its_content() {
    let late = format!("{}{PDF}", "x".repeat(1000));
    for body in [PDF, &late] {
        let folder = tempfile::tempdir().unwrap();
        let server =
            RawHttpServer::responding_with(pdf_response("content-type: text/html\r\n", body)).await;
        assert!(fetch(&server, &folder.path().join("x.pdf")).await.is_ok());
    }
    let page = "<!DOCTYPE html><title>Sign in</title>";
    let padded = format!("\n  <HTML>{}", " ".repeat(3000));
    let mentions = format!("<html>{PDF}");
    let too_late = format!("{}{PDF}", "x".repeat(1030));
    for (headers, body, reason) in [
        (
            "content-type: text/html\r\n",
            page,
            "it is a web page, not a PDF",
        ),
        (
            "content-type: application/pdf\r\n",
            page,
            "it is a web page, not a PDF",
        ),
        (
            "content-type: application/pdf\r\n",
            &padded,
            "it is a web page, not a PDF",
        ),
        (
            "content-type: image/png\r\n",
            "\u{89}PNG",
            "it is not a PDF but image/png",
        ),
        (
            "content-type: application/pdf\r\n",
            "",
            "it is empty, not a PDF",
        ),
        ("", &too_late, "its content is not a PDF"),
        ("", &mentions, "it is a web page, not a PDF"),
        ("", "%PD", "its content is not a PDF"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = RawHttpServer::responding_with(pdf_response(headers, body)).await;
        let to = folder.path().join("x.pdf");
        let error = fetch(&server, &to).await.unwrap_err();
        let HttpClientError::Unreadable { reason: told, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(told, reason);
        assert!(is_empty(folder.path()));
        // Without a required type it is accepted.
        let request = DownloadRequest {
            expected: ExpectedContent::Any,
            ..DownloadRequest::pdf(server.url("/"), unlimited_rate())
        };
        let done = http_client(client_options(&[&server]))
            .download(request, &to, &|_, _| {})
            .await;
        assert_eq!(done.unwrap().bytes, body.len() as u64);
    }
}

#[tokio::test]
async fn lies_about_the_size_end_in_an_error_and_no_file() {
    let head = |length: &str| format!("HTTP/1.1 200 OK\r\n{length}\r\n%PDF-1.7 ").into_bytes();
    let forever = ResponseStep::Repeat(vec![b'x'; 1000], Duration::ZERO);
    let chunk = ResponseStep::Repeat(
        [b"3e8\r\n", &vec![b'x'; 1000][..], b"\r\n"].concat(),
        Duration::ZERO,
    );
    let drip = ResponseStep::Repeat(vec![b'x'], Duration::from_millis(50));
    let chunked =
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n%PDF-1.7 \r\n".to_vec();
    let cases: Vec<(&str, Vec<ResponseStep>, &str)> = vec![
        (
            "says more than is taken",
            vec![ResponseStep::Send(head("content-length: 99999999999\r\n"))],
            "too_large",
        ),
        (
            "says more than it has",
            vec![ResponseStep::Send(head("content-length: 500\r\n"))],
            "unreachable",
        ),
        (
            "says nothing and never ends",
            vec![ResponseStep::Send(head("")), forever],
            "too_large",
        ),
        (
            "never ends in chunks",
            vec![ResponseStep::Send(chunked.clone()), chunk],
            "too_large",
        ),
        (
            "breaks off in chunks",
            vec![ResponseStep::Send(chunked)],
            "unreachable",
        ),
        ("drips", vec![ResponseStep::Send(head("")), drip], "timeout"),
        (
            "says nothing at all",
            vec![ResponseStep::Pause(Duration::from_mins(1))],
            "timeout",
        ),
        (
            "is no HTTP",
            vec![ResponseStep::Send(b"SSH-2.0-OpenSSH\r\n".to_vec())],
            "unreachable",
        ),
        (
            "is packed",
            vec![ResponseStep::Send(head("content-encoding: gzip\r\n"))],
            "unreadable",
        ),
    ];
    for (what, steps, code) in cases {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("paper.pdf");
        std::fs::write(&to, "older").unwrap();
        let server = RawHttpServer::start(move |_, _| steps.clone()).await;
        let time = if code == "timeout" {
            SHORT_TIMEOUT
        } else {
            LONG_TIMEOUT
        };
        let error = fetch_with_timeout(&server, &to, time).await.unwrap_err();
        assert_eq!(error.code(), code, "{what}: {error}");
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "older", "{what}");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "{what}"
        );
    }
}

#[tokio::test]
async fn answers_are_bounded_as_files_are() {
    let head = |length: &str| format!("HTTP/1.1 200 OK\r\n{length}\r\n{{}}").into_bytes();
    let forever = ResponseStep::Repeat(vec![b' '; 1000], Duration::ZERO);
    let drip = ResponseStep::Repeat(vec![b' '], Duration::from_millis(50));
    for (steps, code) in [
        (
            vec![ResponseStep::Send(head("content-length: 5000000\r\n"))],
            "too_large",
        ),
        (vec![ResponseStep::Send(head("")), forever], "too_large"),
        (vec![ResponseStep::Send(head("")), drip], "timeout"),
        // A few bytes that would decompress to gigabytes are not decompressed.
        (
            vec![ResponseStep::Send(head("content-encoding: gzip\r\n"))],
            "unreadable",
        ),
    ] {
        let server = RawHttpServer::start(move |_, _| steps.clone()).await;
        let request = unlimited_request(server.url("/"))
            .max_bytes(10_000)
            .timeout(if code == "timeout" {
                SHORT_TIMEOUT
            } else {
                LONG_TIMEOUT
            });
        let error = http_client(client_options(&[&server]))
            .get(request)
            .await
            .unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

#[tokio::test]
async fn given_up_it_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("paper.pdf");
    let server = RawHttpServer::start(|_, _| {
        vec![
            ResponseStep::Send(b"HTTP/1.1 200 OK\r\n\r\n%PDF-1.7 ".to_vec()),
            ResponseStep::Send(vec![b'x'; 2000]),
            ResponseStep::Pause(Duration::from_mins(1)),
        ]
    })
    .await;
    let web = http_client(client_options(&[&server]));
    let request = DownloadRequest::pdf(server.url("/"), unlimited_rate());
    let begun = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&begun);
    let path = to.clone();
    let task = tokio::spawn(async move {
        let progress = move |bytes, _| told.store(bytes, Ordering::SeqCst);
        web.download(request, &path, &progress).await
    });
    while begun.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!is_empty(folder.path()), "it is under way");
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert!(is_empty(folder.path()));
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    for (status, code) in [
        ("404 Not Found", "not_found"),
        ("403 Forbidden", "status"),
        ("402 Payment Required", "status"),
    ] {
        let server = RawHttpServer::responding_with(http_response(status, "", "")).await;
        let error = fetch(&server, &folder.path().join("x")).await.unwrap_err();
        assert_eq!(error.code(), code, "{status}");
    }
    let server = RawHttpServer::responding_with(json_response("{}")).await;
    let nowhere = folder.path().join("no/such/folder/x.pdf");
    assert_eq!(fetch(&server, &nowhere).await.unwrap_err().code(), "local");
    assert!(is_empty(folder.path()));
}
