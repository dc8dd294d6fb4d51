//! Tests of the messages of servers that end up in errors.

use deliberate_http_client::HttpClientOptions;
use deliberate_testkit::raw_http_server::{RawHttpServer, http_response};
use secrecy::SecretString;

use super::support::{client_options, http_client, unlimited_request};

#[tokio::test]
async fn a_servers_message_is_short_cleaned_and_without_secrets() {
    let body = r#"{"status": "failed", "error": "Bad Request", "message": [{"message": "<b>opensesame is wrong"}]}"#;
    let server = RawHttpServer::responding_with(http_response(
        "400 Bad Request",
        "content-type: application/problem+json\r\n",
        body,
    ))
    .await;
    let client = http_client(HttpClientOptions {
        clean_message: |text| text.replace('<', "‹"),
        ..client_options(&[&server])
    });
    let request =
        unlimited_request(server.url("/")).secret_header("x-key", SecretString::from("opensesame"));
    let error = client.get(request).await.unwrap_err().to_string();
    assert!(error.ends_with("status 400: ‹b>… is wrong"), "{error}");
}
