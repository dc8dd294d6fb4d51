//! What is never asked, however one is led to it, and where keys never go.

use std::sync::{Arc, atomic::Ordering};

use deliberate_core::SystemClock;
use deliberate_research::web::{Web, WebError};
use proptest::prelude::*;
use secrecy::SecretString;

use super::web_kit::{Raw, Told, ask, http, json, options, web};

const KEY: &str = "a-very-secret-key";

fn redirect(to: &str) -> Vec<u8> {
    http("302 Found", &format!("location: {to}\r\n"), "")
}

fn forbidden(error: &WebError) -> bool {
    matches!(error, WebError::Forbidden { .. })
}

#[tokio::test]
async fn redirects_to_where_nothing_may_be_asked_are_not_followed() {
    let inside = Raw::saying(json("{}")).await;
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
        let outside = Raw::saying(redirect(&target)).await;
        let error = web(options(&[&outside]))
            .get(ask(outside.url("/paper?q=1")))
            .await
            .unwrap_err();
        assert!(forbidden(&error), "{target}: {error}");
        assert_eq!(outside.requests(), 1, "{target}");
    }
    assert_eq!(inside.requests(), 0);
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_asked_and_looked_up_once() {
    let inside = Raw::saying(json("{}")).await;
    let names = Told::of(&[
        ("evil.example", &["127.0.0.1"]),
        ("half.example", &["93.184.216.34", "10.0.0.1"]),
        ("sixth.example", &["::ffff:127.0.0.1"]),
    ]);
    let web = Web::with(options(&[]), Arc::new(SystemClock), names.clone()).unwrap();
    for (count, name) in ["evil", "half", "sixth"].iter().enumerate() {
        let url = format!("http://{name}.example:{}/", inside.port);
        let error = web.get(ask(url.parse().unwrap())).await.unwrap_err();
        assert!(forbidden(&error), "{name}: {error}");
        // What was checked is what would have been used: there is no second look to lie to.
        assert_eq!(names.asked.load(Ordering::SeqCst), count + 1);
    }
    assert_eq!(inside.requests(), 0);
}

#[tokio::test]
async fn trust_in_a_name_is_for_its_port_alone() {
    let trusted = Raw::start(|_, head| {
        let to = if head.starts_with("GET /same") {
            "/there".to_owned()
        } else {
            head.split_whitespace().nth(1).unwrap_or_default()[1..].to_owned()
        };
        vec![super::web_kit::Step::Send(
            if head.starts_with("GET /there") {
                json("{}")
            } else {
                redirect(&to)
            },
        )]
    })
    .await;
    let other = Raw::saying(json("{}")).await;
    let mut options = options(&[]);
    options.trusted = vec![format!("http://papers.example:{}", trusted.port)];
    let names = Told::of(&[
        ("papers.example", &["127.0.0.1"]),
        ("evil.example", &["127.0.0.1"]),
    ]);
    let web = Web::with(options, Arc::new(SystemClock), names).unwrap();
    let at = |path: &str| {
        ask(format!("http://papers.example:{}{path}", trusted.port)
            .parse()
            .unwrap())
    };
    let reply = web.get(at("/same")).await.unwrap();
    assert_eq!(reply.url.path(), "/there");
    for target in [
        format!("http://papers.example:{}/", other.port),
        format!("http://evil.example:{}/", trusted.port),
        format!("http://127.0.0.1:{}/", trusted.port),
    ] {
        let error = web.get(at(&format!("/{target}"))).await.unwrap_err();
        assert!(forbidden(&error), "{target}: {error}");
    }
    assert_eq!(other.requests(), 0);
}

#[tokio::test]
async fn redirects_come_to_an_end() {
    let ring = Raw::start(|nth, _| {
        vec![super::web_kit::Step::Send(if nth == 6 {
            json("{}")
        } else {
            redirect("/again")
        })]
    })
    .await;
    let reply = web(options(&[&ring]))
        .get(ask(ring.url("/")))
        .await
        .unwrap();
    assert_eq!(reply.status, 200);
    let endless = Raw::saying(redirect("/again")).await;
    let error = web(options(&[&endless]))
        .get(ask(endless.url("/")))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "unreadable");
    assert_eq!(endless.requests(), 6);
    let nowhere = Raw::saying(redirect("http://")).await;
    let error = web(options(&[&nowhere])).get(ask(nowhere.url("/"))).await;
    assert_eq!(error.unwrap_err().code(), "unreadable");
}

#[tokio::test]
async fn keys_stay_with_the_origin_they_are_for() {
    let second = Raw::saying(json("{}")).await;
    let to = second.url(&format!("/x?a=1&api_key={KEY}")).to_string();
    let first = Raw::start(move |_, head| {
        vec![super::web_kit::Step::Send(
            if head.starts_with("GET /home") {
                redirect("/away")
            } else {
                redirect(&to)
            },
        )]
    })
    .await;
    let request = ask(first.url("/home?q=1"))
        .secret_header("x-api-key", SecretString::from(KEY))
        .secret_parameter("api_key", SecretString::from(KEY));
    let reply = web(options(&[&first, &second])).get(request).await.unwrap();
    for head in first.heads() {
        assert_eq!(head.matches(KEY).count(), 2, "{head}");
    }
    assert_eq!(first.requests(), 2);
    let [head] = &second.heads()[..] else {
        panic!("asked once")
    };
    assert!(!head.contains(KEY), "{head}");
    assert!(head.starts_with("GET /x?a=1 "), "{head}");
    assert!(!reply.url.as_str().contains(KEY));
}

#[tokio::test]
async fn keys_are_not_sent_in_the_open_nor_told_in_errors() {
    let names = Told::of(&[]);
    let web = Web::with(options(&[]), Arc::new(SystemClock), names.clone()).unwrap();
    let with_key =
        |url: &str| ask(url.parse().unwrap()).secret_parameter("api_key", SecretString::from(KEY));
    let error = web.get(with_key("http://example.org/")).await.unwrap_err();
    assert!(forbidden(&error), "{error}");
    assert_eq!(names.asked.load(Ordering::SeqCst), 0);
    let error = web.get(with_key("https://gone.example/x?q=1")).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "unreachable");
    assert!(!format!("{error} {error:?}").contains(KEY));
    let blunt = Raw::saying(http(
        "400 Bad Request",
        "content-type: text/plain\r\n",
        &format!("no such key: {KEY}\u{7}!"),
    ))
    .await;
    let request = ask(blunt.url("/")).secret_header("x-api-key", SecretString::from(KEY));
    let error = super::web_kit::web(options(&[&blunt])).get(request).await;
    let Err(WebError::Status {
        status: 400,
        said: Some(said),
        ..
    }) = error
    else {
        panic!("{error:?}")
    };
    assert_eq!(said, "no such key: …!");
}

#[tokio::test]
async fn the_environment_names_no_way_around() {
    // Every other header is ours: nothing asks for packed answers, nothing tells where we were.
    let server = Raw::saying(json("{}")).await;
    let request = ask(server.url("/x")).accepting("application/atom+xml");
    web(options(&[&server])).get(request).await.unwrap();
    let head = server.heads().remove(0).to_lowercase();
    assert!(head.starts_with("get /x http/1.1\r\n"), "{head}");
    assert!(head.contains("accept: application/atom+xml\r\n"), "{head}");
    assert!(head.contains("accept-encoding: identity\r\n"), "{head}");
    assert!(head.contains("user-agent: deliberate/test\r\n"), "{head}");
    assert!(!head.contains("referer"), "{head}");
}

#[test]
fn settings_that_can_not_be_are_refused() {
    let mut wrong = options(&[]);
    wrong.trusted = vec!["everything".to_owned()];
    assert_eq!(Web::new(wrong).unwrap_err().code(), "local");
    let mut wrong = options(&[]);
    wrong.agent = "two\nlines".to_owned();
    assert_eq!(Web::new(wrong).unwrap_err().code(), "local");
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
        let asked = runtime.block_on(web(options(&[])).get(ask(url)));
        prop_assert!(forbidden(&asked.unwrap_err()));
    }
}
