//! Tests of login and logout: the stored tokens, their permissions, and that no output contains
//! them.

use std::{process::Stdio, time::Duration};

use deliberate_testkit::raw_http::{RawHttp, RawResponse};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    time::timeout,
};
use url::Url;

use super::{
    assert_success,
    login_server::{LoginTestServer, SECRET_MARKER},
    write_settings,
};
use crate::support::{CliOutput, TestHome, serve, shut_down, terminate};

/// Longer than anything takes on a busy machine; only a hang exceeds it.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

async fn home_with_oauth_server() -> (TestHome, LoginTestServer) {
    home_with_settings("").await
}

/// Creates a home whose settings contain the server, with these fields beside its URL.
async fn home_with_settings(more: &str) -> (TestHome, LoginTestServer) {
    let (home, server) = (TestHome::new(), LoginTestServer::start().await);
    write_settings(&home, &server.settings_text(more));
    (home, server)
}

async fn get(url: &Url) -> RawResponse {
    let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let mut http = RawHttp::connect(host.parse().unwrap()).await.unwrap();
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    http.request("GET", &path, &[], "").await.unwrap()
}

/// Follows a URL as a browser does.
async fn browse(page: &Url) -> RawResponse {
    let sent_back = get(page).await;
    assert_eq!(sent_back.status, 302);
    get(&Url::parse(sent_back.header("location").unwrap()).unwrap()).await
}

/// A login up to the point where a page is shown; the test decides how to use the page.
struct LoginProcess {
    child: tokio::process::Child,
    lines: BufReader<tokio::process::ChildStdout>,
    stdout: String,
    page: Url,
}

impl LoginProcess {
    /// Starts with the most detailed log.
    async fn start(home: &TestHome) -> Self {
        let mut command = home.command();
        command
            .args(["--log-level", "trace"])
            .args(["servers", "login", "guarded", "--no-browser"])
            .env("DELIBERATE_LOG_CONTENT", "on")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        let page = loop {
            let mut line = String::new();
            let read = timeout(TEST_TIMEOUT, lines.read_line(&mut line));
            assert_ne!(read.await.unwrap().unwrap(), 0, "no page: {text}");
            text.push_str(&line);
            if line.trim().starts_with("http") {
                break Url::parse(line.trim()).unwrap();
            }
        };
        Self {
            child,
            lines,
            stdout: text,
            page,
        }
    }

    async fn wait(mut self) -> CliOutput {
        let rest = self.lines.read_to_string(&mut self.stdout);
        timeout(TEST_TIMEOUT, rest).await.unwrap().unwrap();
        let output = timeout(TEST_TIMEOUT, self.child.wait_with_output()).await;
        let output = output.unwrap().unwrap();
        CliOutput {
            code: output.status.code(),
            stdout: self.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

async fn log_in(home: &TestHome) -> CliOutput {
    let logging_in = LoginProcess::start(home).await;
    let back = browse(&logging_in.page).await;
    assert_eq!(back.status, 200);
    logging_in.wait().await
}

async fn greet(home: &TestHome) -> CliOutput {
    let output = home.run(&["servers", "call", "guarded__greet"]).await;
    assert_no_secrets(&output);
    output
}

fn assert_no_secrets(output: &CliOutput) {
    assert!(!output.stdout.contains(SECRET_MARKER), "{}", output.stdout);
    assert!(!output.stderr.contains(SECRET_MARKER), "{}", output.stderr);
}

fn assert_refused(output: &CliOutput, text: &str) {
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains(text), "{}", output.stderr);
    assert_no_secrets(output);
}

fn login_folder(home: &TestHome) -> std::path::PathBuf {
    home.path("data/deliberate/logins/guarded.json")
}

#[tokio::test]
async fn who_has_logged_in_is_let_in_until_they_log_out() {
    let (home, server) = home_with_oauth_server().await;
    assert_refused(&greet(&home).await, "`deliberate servers login guarded`");
    let output = home.run(&["servers", "test", "--json"]).await;
    let tested: Value = serde_json::from_str(&output.stdout).unwrap();
    let hint = tested[0]["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("deliberate servers login guarded"), "{hint}");

    let output = log_in(&home).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output.stdout.contains("Logged in to \"guarded\""),
        "{output:?}"
    );
    assert!(output.stdout.contains("deliberate servers test guarded"));
    assert_no_secrets(&output);

    let output = greet(&home).await;
    assert_success(&output);
    assert_eq!(output.stdout, "hello, you\n");
    let output = home.run(&["servers", "test"]).await;
    assert_success(&output);
    assert!(output.stdout.contains("1 tool,"), "{}", output.stdout);
    assert_no_secrets(&output);
    assert_eq!(server.state().grants, ["authorization_code"]);

    let output = home.run(&["servers", "logout", "guarded"]).await;
    assert_success(&output);
    assert!(
        output.stdout.contains("Logged out of \"guarded\""),
        "{output:?}"
    );
    assert!(!login_folder(&home).exists());
    assert_refused(&greet(&home).await, "`deliberate servers login guarded`");
    let output = home.run(&["servers", "logout", "guarded"]).await;
    assert_success(&output);
    assert!(output.stdout.contains("There was no login"), "{output:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_tokens_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (home, _server) = home_with_oauth_server().await;
    log_in(&home).await;
    let mode = |path: &std::path::Path| {
        let about = std::fs::metadata(path).unwrap();
        about.permissions().mode() & 0o777
    };
    let file = login_folder(&home);
    let folder = file.parent().unwrap();
    assert_eq!((mode(folder), mode(&file)), (0o700, 0o600));
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains(SECRET_MARKER)
    );
}

#[tokio::test]
async fn a_token_that_has_ended_is_renewed_and_the_next_is_kept() {
    let (home, server) = home_with_oauth_server().await;
    server.state().token_lifetime = 0;
    log_in(&home).await;
    server.state().token_lifetime = 3600;
    for _ in 0..2 {
        assert_success(&greet(&home).await);
    }
    let both = ["authorization_code", "refresh_token"];
    assert_eq!(server.state().grants, both, "the renewed one is kept");
    // A token that the server rejects is refreshed too; one that cannot be refreshed needs a person
    // again.
    server.state().valid_token = None;
    assert_success(&greet(&home).await);
    assert_eq!(server.state().grants.len(), 3);
    std::fs::write(login_folder(&home), "rubbish").unwrap();
    assert_refused(&greet(&home).await, "`deliberate servers login guarded`");
    assert_eq!(log_in(&home).await.code, Some(0));
    assert_success(&greet(&home).await);
}

#[tokio::test]
async fn a_server_that_runs_already_uses_the_login_at_once() {
    let (home, _server) = home_with_oauth_server().await;
    let mut client = serve(home.command().arg("serve")).await;
    let call = json!({ "tool": "guarded__greet", "arguments": {} });
    let before = client.call("gateway_call", call.clone()).await.unwrap();
    assert!(
        before
            .to_string()
            .contains("deliberate servers login guarded"),
        "{before}"
    );
    log_in(&home).await;
    let after = client.call("gateway_call", call.clone()).await.unwrap();
    assert!(after.to_string().contains("hello, you"), "{after}");
    assert_success(&home.run(&["servers", "logout", "guarded"]).await);
    let out = client.call("gateway_call", call).await.unwrap();
    assert!(!out.to_string().contains("hello, you"), "{out}");
    for told in [before, after, out] {
        assert!(!told.to_string().contains(SECRET_MARKER), "{told}");
    }
    assert!(
        !client.stderr().contains(SECRET_MARKER),
        "{}",
        client.stderr()
    );
    shut_down(client).await;
}

#[tokio::test]
async fn another_who_gives_tokens_is_not_trusted() {
    let (home, server) =
        home_with_settings("auth = { issuer = 'https://login.example.org' }").await;
    let output = home.run(&["servers", "login", "guarded"]).await;
    assert_refused(&output, "not at https://login.example.org");
    assert!(server.state().grants.is_empty());
    assert!(!login_folder(&home).exists());
}

#[tokio::test]
async fn the_one_who_is_expected_is_asked_as_written() {
    let (home, server) = home_with_oauth_server().await;
    let more = format!(
        "auth = {{ issuer = '{}', client_id = 'us', scopes = ['write'] }}",
        server.base
    );
    write_settings(&home, &server.settings_text(&more));
    let logging_in = LoginProcess::start(&home).await;
    let asked: Vec<(String, String)> = logging_in.page.query_pairs().into_owned().collect();
    for (name, value) in [("client_id", "us"), ("scope", "write")] {
        assert!(
            asked.contains(&(name.to_owned(), value.to_owned())),
            "{asked:?}"
        );
    }
    browse(&logging_in.page).await;
    assert_eq!(logging_in.wait().await.code, Some(0));
    assert_success(&greet(&home).await);
}

#[tokio::test]
async fn who_does_not_agree_or_comes_from_elsewhere_is_not_logged_in() {
    let (home, server) = home_with_oauth_server().await;
    server.state().denies_consent = true;
    let output = log_in(&home).await;
    assert_refused(&output, "access_denied");

    let logging_in = LoginProcess::start(&home).await;
    let mut pairs = logging_in.page.query_pairs();
    let (_, back) = pairs.find(|(name, _)| name == "redirect_uri").unwrap();
    let mut back = Url::parse(&back).unwrap();
    back.set_query(Some("code=hush-theirs&state=theirs"));
    get(&back).await;
    let output = logging_in.wait().await;
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_no_secrets(&output);
    assert!(server.state().grants.is_empty());
    assert!(!login_folder(&home).exists());
}

#[cfg(unix)]
#[tokio::test]
async fn one_may_stop_before_anybody_agrees() {
    let (home, _server) = home_with_oauth_server().await;
    let logging_in = LoginProcess::start(&home).await;
    terminate(logging_in.child.id().unwrap()).await;
    assert_refused(
        &logging_in.wait().await,
        "stopped before the login was finished",
    );
    assert!(!login_folder(&home).exists());
}

#[tokio::test]
async fn a_login_that_can_not_be_kept_is_no_success() {
    let (home, _server) = home_with_oauth_server().await;
    let logging_in = LoginProcess::start(&home).await;
    std::fs::create_dir_all(home.path("data/deliberate")).unwrap();
    std::fs::write(home.path("data/deliberate/logins"), "no folder").unwrap();
    browse(&logging_in.page).await;
    assert_refused(&logging_in.wait().await, "could not be stored");
    // Now it is detected before anyone is asked.
    let output = home.run(&["servers", "login", "guarded"]).await;
    assert_refused(&output, "cannot be read");
}

#[tokio::test]
async fn who_needs_no_login_is_told_so() {
    let (home, server) = home_with_oauth_server().await;
    server.state().is_open = true;
    let output = home.run(&["servers", "login", "guarded"]).await;
    assert_success(&output);
    assert!(
        output.stdout.contains("needs no login"),
        "{}",
        output.stdout
    );

    // A secret is enough if no consent is needed.
    server.state().is_open = false;
    let secret = format!("auth = {{ client_id = 'us', client_secret = '{SECRET_MARKER}-own' }}");
    write_settings(&home, &server.settings_text(&secret));
    let output = home.run(&["servers", "login", "guarded"]).await;
    assert_success(&output);
    assert!(
        output.stdout.contains("needs no login"),
        "{}",
        output.stdout
    );
    assert_success(&greet(&home).await);
    assert!(
        server
            .state()
            .grants
            .iter()
            .all(|it| it == "client_credentials")
    );
}

#[tokio::test]
async fn where_one_can_not_log_in_the_reason_is_told() {
    let (home, server) = home_with_oauth_server().await;
    let header = format!("headers = {{ authorization = 'Bearer {SECRET_MARKER}-wrong' }}");
    let others = "[servers.program]\ncommand = 'x'\n[servers.socket]\nurl = 'ws://127.0.0.1:9/'\n\
                  [servers.gone]\nurl = 'http://127.0.0.1:9/mcp'\n";
    write_settings(
        &home,
        &format!("{}\n{others}", server.settings_text(&header)),
    );
    for (name, text) in [
        ("program", "a program on this machine"),
        ("socket", "WebSocket"),
        ("guarded", "the key in its `headers`"),
        ("gone", "Check that the server is running"),
        ("guardet", "did you mean \"guarded\"?"),
    ] {
        let output = home.run(&["servers", "login", name]).await;
        assert_refused(&output, text);
    }
    for name in ["../guarded", "a/b", ".."] {
        let output = home.run(&["servers", "logout", name]).await;
        assert_refused(&output, "the name of the server is not valid");
    }
    let output = home.run(&["servers", "logout", "nobody"]).await;
    assert_refused(&output, "there is no server \"nobody\"");
}
