//! Tests of the SSRF guard: addresses that are never requested, and hosts that never get keys.

use std::sync::{Arc, atomic::Ordering};

use deliberate_core::SystemClock;
use deliberate_testkit::raw_http_server::{
    RawHttpServer, ResponseStep, http_response, json_response,
};
use proptest::prelude::*;
use secrecy::SecretString;

use super::support::{FixedResolver, client_options, http_client, unlimited_request};
use deliberate_http_client::{HttpClient, HttpClientError};

const KEY: &str = "a-very-secret-key";

fn redirect_response(to: &str) -> Vec<u8> {
    http_response("302 Found", &format!("location: {to}\r\n"), "")
}

fn is_forbidden(error: &HttpClientError) -> bool {
    matches!(error, HttpClientError::Forbidden { .. })
}

#[tokio::test]
async fn redirects_to_where_nothing_may_be_asked_are_not_followed() {
    let inside = RawHttpServer::responding_with(json_response("{}")).await;
    let port = inside.port;
    for target in [
        inside.origin.clone(),
        format!("http://localhost:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("//127.1:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://u:p@127.0.0.1:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[::1]/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://example.org/".to_owned(),
        "http://example.org:22/".to_owned(),
    ] {
        let outside = RawHttpServer::responding_with(redirect_response(&target)).await;
        let error = http_client(client_options(&[&outside]))
            .get(unlimited_request(outside.url("/paper?q=1")))
            .await
            .unwrap_err();
        assert!(is_forbidden(&error), "{target}: {error}");
        assert_eq!(outside.request_count(), 1, "{target}");
    }
    assert_eq!(inside.request_count(), 0);
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_asked_and_looked_up_once() {
    let inside = RawHttpServer::responding_with(json_response("{}")).await;
    let names = FixedResolver::new(&[
        ("evil.example", &["127.0.0.1"]),
        ("half.example", &["93.184.216.34", "10.0.0.1"]),
        ("sixth.example", &["::ffff:127.0.0.1"]),
    ]);
    let web = HttpClient::with_clock_and_resolver(
        client_options(&[]),
        Arc::new(SystemClock),
        names.clone(),
    )
    .unwrap();
    for (count, name) in ["evil", "half", "sixth"].iter().enumerate() {
        let url = format!("http://{name}.example:{}/", inside.port);
        let error = web
            .get(unlimited_request(url.parse().unwrap()))
            .await
            .unwrap_err();
        assert!(is_forbidden(&error), "{name}: {error}");
        // The checked address is the one that would be used: there is no second lookup to change.
        assert_eq!(names.lookups.load(Ordering::SeqCst), count + 1);
    }
    assert_eq!(inside.request_count(), 0);
}

#[tokio::test]
async fn trust_in_a_name_is_for_its_port_alone() {
    let trusted = RawHttpServer::start(|_, head| {
        let to = if head.starts_with("GET /same") {
            "/there".to_owned()
        } else {
            head.split_whitespace().nth(1).unwrap_or_default()[1..].to_owned()
        };
        vec![ResponseStep::Send(if head.starts_with("GET /there") {
            json_response("{}")
        } else {
            redirect_response(&to)
        })]
    })
    .await;
    let other = RawHttpServer::responding_with(json_response("{}")).await;
    let mut options = client_options(&[]);
    options.trusted_origins = vec![format!("http://papers.example:{}", trusted.port)];
    let names = FixedResolver::new(&[
        ("papers.example", &["127.0.0.1"]),
        ("evil.example", &["127.0.0.1"]),
    ]);
    let web = HttpClient::with_clock_and_resolver(options, Arc::new(SystemClock), names).unwrap();
    let at = |path: &str| {
        unlimited_request(
            format!("http://papers.example:{}{path}", trusted.port)
                .parse()
                .unwrap(),
        )
    };
    let reply = web.get(at("/same")).await.unwrap();
    assert_eq!(reply.url.path(), "/there");
    for target in [
        format!("http://papers.example:{}/", other.port),
        format!("http://evil.example:{}/", trusted.port),
        format!("http://127.0.0.1:{}/", trusted.port),
    ] {
        let error = web.get(at(&format!("/{target}"))).await.unwrap_err();
        assert!(is_forbidden(&error), "{target}: {error}");
    }
    assert_eq!(other.request_count(), 0);
}

#[tokio::test]
async fn redirects_come_to_an_end() {
    let ring = RawHttpServer::start(|nth, _| {
        vec![ResponseStep::Send(if nth == 6 {
            json_response("{}")
        } else {
            redirect_response("/again")
        })]
    })
    .await;
    let reply = http_client(client_options(&[&ring]))
        .get(unlimited_request(ring.url("/")))
        .await
        .unwrap();
    assert_eq!(reply.status, 200);
    let endless = RawHttpServer::responding_with(redirect_response("/again")).await;
    let error = http_client(client_options(&[&endless]))
        .get(unlimited_request(endless.url("/")))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "unreadable");
    assert_eq!(endless.request_count(), 6);
    let nowhere = RawHttpServer::responding_with(redirect_response("http://")).await;
    let error = http_client(client_options(&[&nowhere]))
        .get(unlimited_request(nowhere.url("/")))
        .await;
    assert_eq!(error.unwrap_err().code(), "unreadable");
}

#[tokio::test]
async fn keys_stay_with_the_origin_they_are_for() {
    let second = RawHttpServer::responding_with(json_response("{}")).await;
    let to = second.url(&format!("/x?a=1&api_key={KEY}")).to_string();
    let first = RawHttpServer::start(move |_, head| {
        vec![ResponseStep::Send(if head.starts_with("GET /home") {
            redirect_response("/away")
        } else {
            redirect_response(&to)
        })]
    })
    .await;
    let request = unlimited_request(first.url("/home?q=1"))
        .secret_header("x-api-key", SecretString::from(KEY))
        .secret_parameter("api_key", SecretString::from(KEY));
    let reply = http_client(client_options(&[&first, &second]))
        .get(request)
        .await
        .unwrap();
    for head in first.request_heads() {
        assert_eq!(head.matches(KEY).count(), 2, "{head}");
    }
    assert_eq!(first.request_count(), 2);
    let [head] = &second.request_heads()[..] else {
        panic!("asked once")
    };
    assert!(!head.contains(KEY), "{head}");
    assert!(head.starts_with("GET /x?a=1 "), "{head}");
    assert!(!reply.url.as_str().contains(KEY));
}

#[tokio::test]
async fn keys_are_not_sent_in_the_open_nor_told_in_errors() {
    let names = FixedResolver::new(&[]);
    let web = HttpClient::with_clock_and_resolver(
        client_options(&[]),
        Arc::new(SystemClock),
        names.clone(),
    )
    .unwrap();
    let with_key = |url: &str| {
        unlimited_request(url.parse().unwrap()).secret_parameter("api_key", SecretString::from(KEY))
    };
    let error = web.get(with_key("http://example.org/")).await.unwrap_err();
    assert!(is_forbidden(&error), "{error}");
    assert_eq!(names.lookups.load(Ordering::SeqCst), 0);
    let error = web.get(with_key("https://gone.example/x?q=1")).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "unreachable");
    assert!(!format!("{error} {error:?}").contains(KEY));
    let blunt = RawHttpServer::responding_with(http_response(
        "400 Bad Request",
        "content-type: text/plain\r\n",
        &format!("no such key: {KEY}\u{7}!"),
    ))
    .await;
    let request =
        unlimited_request(blunt.url("/")).secret_header("x-api-key", SecretString::from(KEY));
    let error = super::support::http_client(client_options(&[&blunt]))
        .get(request)
        .await;
    let Err(HttpClientError::Status {
        status: 400,
        message: Some(said),
        ..
    }) = error
    else {
        panic!("{error:?}")
    };
    assert_eq!(said, "no such key: …!");
}

#[tokio::test]
async fn the_environment_names_no_way_around() {
    // All other headers are ours: no compressed answers, and no referrer.
    let server = RawHttpServer::responding_with(json_response("{}")).await;
    let request = unlimited_request(server.url("/x")).accept("application/atom+xml");
    http_client(client_options(&[&server]))
        .get(request)
        .await
        .unwrap();
    let head = server.request_heads().remove(0).to_lowercase();
    assert!(head.starts_with("get /x http/1.1\r\n"), "{head}");
    assert!(head.contains("accept: application/atom+xml\r\n"), "{head}");
    assert!(head.contains("accept-encoding: identity\r\n"), "{head}");
    assert!(head.contains("user-agent: deliberate/test\r\n"), "{head}");
    assert!(!head.contains("referer"), "{head}");
}

#[test]
fn settings_that_can_not_be_are_refused() {
    let mut wrong = client_options(&[]);
    wrong.trusted_origins = vec!["everything".to_owned()];
    assert_eq!(HttpClient::new(wrong).unwrap_err().code(), "local");
    let mut wrong = client_options(&[]);
    wrong.user_agent = "two\nlines".to_owned();
    assert_eq!(HttpClient::new(wrong).unwrap_err().code(), "local");
}

proptest! {
    #[test]
    fn no_number_is_a_way_in(host in prop_oneof![
        (0x7f00_0000_u32..0x8000_0000).prop_map(|it| it.to_string()),
        (0x0a00_0000_u32..0x0b00_0000).prop_map(|it| format!("{it:#x}")),
        (0xc0a8_0000_u32..0xc0a9_0000).prop_map(|it| format!("0{it:o}")),
        any::<[u8; 3]>().prop_map(|[a, b, c]| format!("0x7f.{a}.0{b:o}.{c:#x}")),
        any::<u16>().prop_map(|it| format!("169.254.{it}")),
    ]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let url = format!("http://{host}:9999/").parse().unwrap();
        let asked = runtime.block_on(http_client(client_options(&[])).get(unlimited_request(url)));
        prop_assert!(is_forbidden(&asked.unwrap_err()));
    }
}
