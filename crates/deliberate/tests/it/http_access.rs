//! Tests of who may reach the program over HTTP: a server without tokens is for this machine alone,
//! and a token sees the prompts whose tool it may use.

use std::net::SocketAddr;

use deliberate_testkit::{load::ServerProcess, raw_http::RawHttp};
use serde_json::{Value, json};

use crate::support::TestHome;
#[cfg(unix)]
use crate::support::wait_until;

const WRITER: &str = "dlb_writer-0123456789abcdef";
const THINKER: &str = "dlb_thinker-0123456789abcdef";

/// The settings that make a server reachable from other machines, and the beginning of the refusal.
const EXPOSING: [(&str, &str, &str); 2] = [
    (
        "http.allowed_hosts",
        "mcp.example.com",
        "http.allowed_hosts names \"mcp.example.com\"",
    ),
    (
        "http.public_url",
        "https://mcp.example.com",
        "http.public_url makes the server reachable",
    ),
];

fn write_tokens(home: &TestHome) {
    let tokens = format!(
        "[writer]\ntoken = \"{WRITER}\"\ntools = [\"prompt_engine\"]\n\n\
         [thinker]\ntoken = \"{THINKER}\"\ntools = [\"reasoning_linear\"]\n"
    );
    home.write_private("work/tokens.toml", &tokens);
}

#[tokio::test]
async fn a_server_that_others_reach_starts_only_with_a_token() {
    let home = TestHome::new();
    write_tokens(&home);
    for (key, value, refusal) in EXPOSING {
        let setting = format!("{key}={value}");
        let serve = ["serve", "--http", "127.0.0.1:0", "--set", &setting];
        let refused = home.run(&serve).await;
        assert_ne!(refused.code, Some(0), "{key}");
        assert!(refused.stderr.contains(refusal), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("set http.token"),
            "{}",
            refused.stderr
        );
        let mut command = home.command();
        command
            .args(["serve", "--set", &setting])
            .args(["--set", "http.tokens_file=tokens.toml"]);
        let mut server = ServerProcess::start(&mut command).await.unwrap();
        assert!(server.terminate().await.unwrap().success(), "{key}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_reload_does_not_open_a_server_without_tokens_to_others() {
    for (key, value, refusal) in EXPOSING {
        let home = TestHome::new();
        let file = home.path("work/config.toml");
        std::fs::write(&file, "").unwrap();
        let mut command = home.command();
        command.args(["serve", "--config", "config.toml"]);
        let server = ServerProcess::start(&mut command).await.unwrap();
        let serving = "serving MCP over HTTP";
        wait_until(|| server.output().contains(serving)).await;
        let name = key.strip_prefix("http.").unwrap();
        let value = match name {
            "allowed_hosts" => json!([value]),
            _ => json!(value),
        };
        std::fs::write(&file, format!("[http]\n{name} = {value}\n")).unwrap();
        server.signal("HUP").await.unwrap();
        let refused = format!("not reloaded: {refusal}");
        wait_until(|| server.output().contains(&refused)).await;
    }
}

/// Gets a prompt with a token and returns the response.
async fn get_prompt(host: SocketAddr, token: &str, name: &str) -> Value {
    let params = json!({ "name": name, "arguments": { "topic": "tides" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": params });
    let body = body.to_string();
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let mut http = RawHttp::connect(host).await.unwrap();
    let answer = http.request("POST", "/mcp", &headers, &body).await.unwrap();
    let text = answer.text();
    let mut events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = events.rfind(|it| it.contains("\"id\""));
    serde_json::from_str(last.unwrap_or(&text)).unwrap()
}

#[tokio::test]
async fn a_chain_of_the_library_is_unknown_to_a_token_without_its_tool() {
    let home = TestHome::new();
    write_tokens(&home);
    let chain = |id: &str, more: &str| {
        let text = format!(
            "id: {id}\nname: The {id}\ndescription: d\nregisterWithMcp: true\n\
             arguments:\n  - {{name: topic, required: true}}\n{more}\
             chainSteps:\n  - {{stepName: One, promptId: {id}/one}}\n"
        );
        let one = "id: one\nname: One\ndescription: d\nuserMessageTemplate: Begin.\n";
        for (file, text) in [("prompt.yaml", text.as_str()), ("one/prompt.yaml", one)] {
            let folder = format!("data/deliberate/prompts/prompts/general/{id}");
            let path = home.path(&folder).join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    };
    chain("relay", "");
    chain(
        "essay",
        "userMessageTemplate: \"Write about {{ topic }}.\"\n",
    );
    let mut command = home.command();
    command.args(["serve", "--set", "http.tokens_file=tokens.toml"]);
    let mut server = ServerProcess::start(&mut command).await.unwrap();
    for (name, text) in [
        ("relay", "Call prompt_engine with"),
        ("essay", "Write about tides."),
    ] {
        let served = get_prompt(server.address(), WRITER, name).await;
        let content = &served["result"]["messages"][0]["content"];
        let shown = content["text"].as_str().unwrap_or_default();
        assert!(shown.contains(text), "{served}");
        let refused = get_prompt(server.address(), THINKER, name).await;
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("there is no prompt named {name:?}")),
            "{message}"
        );
    }
    assert!(server.terminate().await.unwrap().success());
}
