//! The credentials of a principal reach the upstream server: a real program and a real HTTP server
//! that answer with what they were given.

use std::collections::BTreeMap;

use deliberate_gateway::{GatewayServer, PrincipalCredentials};
use deliberate_mcp_client::config::{ServerConfig, TransportConfig};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

use super::support::{GatewayFixture, modern_caller, open_store, temp_dir};

/// A server of the handshake era whose only tool answers with the variable `ACCOUNT`.
const PROGRAM: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  part=result
  case "$line" in
    *'"initialize"'*) value='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) value='{"tools":[{"name":"account","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) value="{\"content\":[{\"type\":\"text\",\"text\":\"$ACCOUNT\"}]}" ;;
    *) part=error; value='{"code":-32601,"message":"no such method"}' ;;
  esac
  if [ -n "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,"%s":%s}\n' "$id" "$part" "$value"; fi
done
"#;

/// The answer of the HTTP server to a message, if it is a request.
fn answer(message: &Value, account: &str) -> Option<Value> {
    let result = match message["method"].as_str()? {
        "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                                "serverInfo": { "name": "s", "version": "1" } }),
        "tools/list" => {
            json!({ "tools": [{ "name": "account", "inputSchema": { "type": "object" } }] })
        }
        "tools/call" => json!({ "content": [{ "type": "text", "text": account }] }),
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            let id = message.get("id")?;
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": message.get("id")?, "result": result }))
}

/// Answers one request and closes the connection.
async fn serve_request(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut length, mut account) = (0, String::new());
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim().split_once(": ") else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "authorization" => value.clone_into(&mut account),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let message = serde_json::from_slice(&body).unwrap_or_default();
    let (status, body) = match answer(&message, &account) {
        Some(answer) => ("200 OK", answer.to_string()),
        None if length > 0 => ("202 Accepted", String::new()),
        None => ("405 Method Not Allowed", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await
}

async fn start_http_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve_request(stream));
        }
    });
    url
}

/// Asserts which account the server sees for each caller.
async fn assert_accounts(mut server: GatewayServer, own: PrincipalCredentials) {
    server.principals = BTreeMap::from([("ann".to_owned(), own)]);
    let folder = temp_dir();
    let fixture = GatewayFixture::with_real_servers(open_store(folder.path()), vec![server]);
    for (name, account) in [("ben", "of all"), ("ann", "of ann"), ("ben", "of all")] {
        let call = fixture.call_as(modern_caller(name), "far__account", json!({}));
        let output = call.await.unwrap();
        let text = &output["handed_on"]["content"][0]["text"];
        assert_eq!(text, account, "{name}");
    }
    let output = fixture.call("far__account", json!({})).await.unwrap();
    assert_eq!(output["handed_on"]["content"][0]["text"], "of all");
    fixture.gateway.stop().await;
}

#[tokio::test]
async fn a_program_has_the_environment_of_the_principal_for_whom_it_runs() {
    let mut config = ServerConfig::stdio("far", "sh", ["-c", PROGRAM]);
    let TransportConfig::Stdio(program) = &mut config.transport else {
        panic!("it is a program");
    };
    program.env.insert("ACCOUNT".to_owned(), "of all".into());
    let own = PrincipalCredentials {
        env: BTreeMap::from([("ACCOUNT".to_owned(), "of ann".into())]),
        ..PrincipalCredentials::default()
    };
    assert_accounts(GatewayServer::new(config), own).await;
}

#[tokio::test]
async fn an_http_server_gets_the_header_of_the_principal_who_calls() {
    let url = start_http_server().await;
    let mut config = ServerConfig::http("far", &url).unwrap();
    let TransportConfig::Http(http) = &mut config.transport else {
        panic!("it is HTTP");
    };
    http.headers
        .insert("Authorization".to_owned(), "of all".into());
    let own = PrincipalCredentials {
        headers: BTreeMap::from([("authorization".to_owned(), "of ann".into())]),
        ..PrincipalCredentials::default()
    };
    assert_accounts(GatewayServer::new(config), own).await;
}
