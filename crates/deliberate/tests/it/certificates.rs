//! An HTTP client cannot be built without the system's certificates, as in a moment without file
//! descriptors. Such a moment stops nothing from starting and leaves no trace.

use deliberate_testkit::{
    MockProvider, MockServerProcess, StdioClient, load::ServerProcess, wait_for,
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{TestHome, serve, shut_down};

/// A root certificate, for nobody.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIIBizCCATGgAwIBAgIURMZamIgkiOrQHA5ZalBR4OF5QGswCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPZGVsaWJlcmF0ZSB0ZXN0MCAXDTI2MTExOTE1MDcwNVoYDzIx
MjYxMDI2MTUwNzA1WjAaMRgwFgYDVQQDDA9kZWxpYmVyYXRlIHRlc3QwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAATo+277SGwcn3sUOmJNOFpkD+6j9cdwCJTN6ZQ+
3496CVN0X6iCSEWpNSNyny/Ep9zHITBTSr4jcFu0FjHTN8zIo1MwUTAdBgNVHQ4E
FgQU5FzKOB1Z2iNV0aQEF6BjtHpnOlEwHwYDVR0jBBgwFoAU5FzKOB1Z2iNV0aQE
F6BjtHpnOlEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAAhaMP
Y6/HxNd9HdURSRnYh9DA/HNHal1xJcecRbe/KAIhAPv8jc3ZG2//iV+Uptly2Jcu
LnLpsO2SmwzVpZA8Dk1I
-----END CERTIFICATE-----
";

/// Returns the program with a file of certificates that does not exist yet.
fn without_certificates(home: &TestHome) -> Command {
    let mut command = home.command();
    command.env("SSL_CERT_FILE", home.path("work/certificates.pem"));
    command
}

fn add_certificates(home: &TestHome) {
    std::fs::write(home.path("work/certificates.pem"), CERTIFICATE).unwrap();
}

async fn call(client: &mut StdioClient, tool: &str, arguments: Value) -> String {
    client.call(tool, arguments).await.unwrap().to_string()
}

/// Calls the tool again until there is an HTTP client, because failures cause a backoff.
async fn call_until_built(client: &mut StdioClient, tool: &str, arguments: Value) -> String {
    let answer = wait_for(async || {
        let answer = call(client, tool, arguments.clone()).await;
        (!answer.contains("HTTP client")).then_some(answer)
    });
    answer.await
}

#[tokio::test]
async fn an_upstream_server_is_used_once_its_http_client_can_be_built() {
    let home = TestHome::new();
    let upstream = MockServerProcess::spawn("--http", "127.0.0.1:0", &[]).unwrap();
    let settings = format!(
        "[servers.far]\nurl = \"http://{}/mcp\"\n",
        upstream.address()
    );
    let folder = home.path("config/deliberate");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    let mut client = serve(without_certificates(&home).arg("serve")).await;
    let echo = json!({ "tool": "far__echo", "arguments": { "text": "heard" } });
    let failed = call(&mut client, "gateway_call", echo.clone()).await;
    assert!(failed.contains("HTTP client"), "{failed}");
    add_certificates(&home);
    let answer = call_until_built(&mut client, "gateway_call", echo).await;
    assert!(answer.contains("heard"), "{answer}");
    shut_down(client).await;
}

#[tokio::test]
async fn a_source_of_papers_is_asked_once_its_http_client_can_be_built() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut command = without_certificates(&home);
    // It answers, although not as the source does.
    let address = format!("research.arxiv_url={}", standin.url());
    let mut client = serve(command.args(["serve", "--set", &address])).await;
    let search = json!({ "tool": "search_papers",
        "arguments": { "query": "peat", "sources": ["arxiv"] } });
    let failed = call(&mut client, "research", search.clone()).await;
    assert!(failed.contains("creating an HTTP client"), "{failed}");
    add_certificates(&home);
    let answer = call_until_built(&mut client, "research", search).await;
    // It was asked, and refused the key.
    assert!(answer.contains("status 401"), "{answer}");
    shut_down(client).await;
}

#[tokio::test]
async fn http_is_served_although_the_client_for_the_issuer_cannot_be_built_yet() {
    let home = TestHome::new();
    let mut command = without_certificates(&home);
    command.args(["serve", "--set", "oauth.issuer=http://127.0.0.1:9"]);
    let mut server = ServerProcess::start(&mut command).await.unwrap();
    assert!(server.terminate().await.unwrap().success());
}
