//! Tests of reading servers in other programs' formats, and of every problem in them.

use std::time::Duration;

use deliberate_mcp_client::config::{
    ConfiguredServer, ProtocolPreference, ServerConfig, TransportConfig, read_servers,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

fn variables(name: &str) -> Option<String> {
    (name == "KEY").then(|| "opensesame".to_owned())
}

fn read(servers: &Value) -> Vec<ConfiguredServer> {
    read_servers(servers.as_object().unwrap(), &variables).unwrap()
}

fn problems(servers: &Value) -> String {
    let error = read_servers(servers.as_object().unwrap(), &variables).unwrap_err();
    let lines = error.problems.iter();
    let lines: Vec<_> = lines
        .map(|mistake| format!("{}: {}", mistake.path, mistake.message))
        .collect();
    lines.join("\n")
}

fn read_one(server: &Value) -> ServerConfig {
    let mut all = read(&json!({ "one": server }));
    assert_eq!(all.len(), 1);
    all.remove(0).config
}

#[test]
fn a_program_as_claude_desktop_writes_it() {
    let config = read_one(&json!({
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-filesystem", "${KEY}"],
        "env": { "TOKEN": "${KEY}", "PORT": 80, "ON": true },
        "cwd": "/tmp/${KEY}",
    }));
    let TransportConfig::Stdio(stdio) = &config.transport else {
        panic!("{config:?}");
    };
    assert_eq!((stdio.command.as_str(), stdio.args.len()), ("npx", 3));
    assert_eq!(stdio.args[2], "opensesame");
    let env: Vec<_> = stdio
        .env
        .values()
        .map(secrecy::ExposeSecret::expose_secret)
        .collect();
    assert_eq!(env, ["true", "80", "opensesame"]);
    assert!(stdio.cwd.as_ref().unwrap().ends_with("opensesame"));
    assert_eq!(config.protocol, ProtocolPreference::Auto);
}

#[test]
fn addresses_as_cursor_vs_code_and_others_write_them() {
    for (server, kind) in [
        (json!({ "url": "https://a.example/mcp" }), "http"),
        (
            json!({ "type": "http", "url": "https://a.example/mcp" }),
            "http",
        ),
        (
            json!({ "type": "streamable-http", "url": "https://a.example/mcp" }),
            "http",
        ),
        (
            json!({ "transport": "streamable_http", "url": "https://a.example/mcp" }),
            "http",
        ),
        (
            json!({ "type": "sse", "url": "https://a.example/sse" }),
            "sse",
        ),
        (json!({ "serverUrl": "https://a.example/mcp" }), "http"),
        (json!({ "httpUrl": "https://a.example/mcp" }), "http"),
        (json!({ "url": "wss://a.example/" }), "websocket"),
        (
            json!({ "type": "websocket", "url": "ws://a.example/" }),
            "websocket",
        ),
    ] {
        let config = read_one(&server);
        let found = match &config.transport {
            TransportConfig::Http(_) => "http",
            TransportConfig::Sse(_) => "sse",
            TransportConfig::WebSocket(_) => "websocket",
            TransportConfig::Stdio(_) => "stdio",
        };
        assert_eq!(found, kind, "{server}");
    }
}

#[test]
fn headers_and_login_may_hold_variables() {
    let config = read_one(&json!({
        "type": "http",
        "url": "https://a.example/${KEY}",
        "headers": { "Authorization": "Bearer ${env:KEY}", "X-None": "${NONE:-nothing}" },
        "auth": { "client_id": "me", "client_secret": "${KEY}", "scopes": ["read"] },
    }));
    let TransportConfig::Http(http) = &config.transport else {
        panic!("{config:?}");
    };
    assert_eq!(http.url.as_str(), "https://a.example/opensesame");
    assert_eq!(
        http.headers["Authorization"].expose_secret(),
        "Bearer opensesame"
    );
    assert_eq!(http.headers["X-None"].expose_secret(), "nothing");
    let auth = http.auth.as_ref().unwrap();
    assert_eq!(
        auth.client_secret.as_ref().unwrap().expose_secret(),
        "opensesame"
    );
}

#[test]
fn limits_switches_and_what_is_left() {
    let all = read(&json!({
        "one": {
            "command": "x", "speaks": "stateless", "connect_ms": 1, "answer_ms": 2,
            "longest_ms": 3, "message_bytes": 4, "at_once": 5, "per_minute": 6, "items": 7,
            "disabled": true, "alwaysAllow": ["a"], "expose": true,
        },
        "two": { "command": "x", "enabled": false, "timeout": 60 },
        "three": { "command": "x", "disabled": false, "timeout": 60_000, "args": null },
    }));
    let limits = &all[0].config.limits;
    assert_eq!(limits.connect_timeout, Duration::from_millis(1));
    assert_eq!(limits.response_timeout, Duration::from_millis(2));
    assert_eq!(limits.total_timeout, Duration::from_millis(3));
    assert_eq!(
        (
            limits.message_bytes,
            limits.max_concurrent,
            limits.max_items
        ),
        (4, 5, 7)
    );
    assert_eq!(limits.per_minute, Some(6));
    assert_eq!(all[0].config.protocol, ProtocolPreference::Stateless);
    let left: Vec<_> = all[0].extra_fields.keys().collect();
    assert_eq!(left, ["alwaysAllow", "expose"]);
    let off: Vec<_> = all.iter().map(|server| server.disabled).collect();
    assert_eq!(off, [true, true, false]);
    // Some programs write seconds, others milliseconds.
    assert_eq!(all[1].config.limits.total_timeout, Duration::from_mins(1));
    assert_eq!(all[2].config.limits.total_timeout, Duration::from_mins(1));
}

#[test]
fn every_mistake_is_named() {
    insta::assert_snapshot!(problems(&json!({
        "nothing": {},
        "text": "npx server",
        "both": { "command": "x", "url": "http://a.example" },
        "kind": { "type": "carrier-pigeon", "url": "http://a.example" },
        "missing": { "type": "http", "command": "x" },
        "bad name!": { "command": "x" },
        "a__b": { "command": "x" },
        "types": {
            "command": "x", "args": "not a list", "env": ["A=1"], "cwd": 5, "disabled": "yes",
            "at_once": -1, "per_minute": 1.5, "items": "many", "pass_env": [{}],
        },
        "zeros": {
            "command": "", "connect_ms": 0, "answer_ms": 0, "longest_ms": 0, "message_bytes": 0,
            "at_once": 0, "per_minute": 0, "items": 0, "env": { "A=B": "1" },
        },
        "unset": { "command": "${NONE}", "args": ["${NONE_EITHER}"], "env": { "A": "${NOR_THIS}" } },
        "address": { "url": "not an address" },
        "scheme": { "url": "ftp://a.example/" },
        "password": { "url": "https://me:secret@a.example/" },
        "headers": {
            "url": "https://a.example/",
            "headers": { "no name": "x", "Mcp-Session-Id": "x", "X-Line": "a\nb", "Host": "x" },
        },
        "auth": { "url": "https://a.example/", "auth": { "token": "x", "scopes": "all" } },
        "speaks": { "command": "x", "speaks": "latin" },
    })));
}

#[test]
fn too_many_servers_are_refused() {
    let servers: serde_json::Map<String, Value> = (0..201)
        .map(|number| (format!("s{number}"), json!({ "command": "x" })))
        .collect();
    assert!(problems(&servers.into()).contains("more than 200"));
}
