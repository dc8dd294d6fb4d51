//! Tests of entries as people and other clients write them.

use std::path::Path;

use deliberate_mcp_client::config::ConfiguredServer;
use serde_json::{Map, Value, json};

use super::{
    DefinitionSource, ServerDefinition, client_configs, convert_fields, definition,
    describe_endpoint,
};
use crate::config::{Environment, servers::self_reference};

fn fields(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let pairs = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut environment: Environment = pairs.collect();
    environment.home = Some("/home/me".into());
    environment
}

fn read_server(written: Value) -> Result<ConfiguredServer, String> {
    let environment = environment(&[("KEY", "put-in-1234")]);
    let variables = |name: &str| environment.get(name).map(str::to_owned);
    let file = Path::new("/project/.vscode/mcp.json");
    definition::check_with_variables("one", &fields(written), file, &environment, &variables)
}

#[test]
fn servers_are_found_under_each_of_their_names() {
    for text in [
        r#"{"mcpServers": {"a": {}}}"#,
        r#"{"servers": {"a": {}}, "inputs": []}"#,
        r#"{"mcp": {"servers": {"a": {}}}, "editor.fontSize": 12}"#,
        "\u{feff}{\"mcpServers\": {\"a\": {},},}",
    ] {
        let found = client_configs::parse_servers(text).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a"], "{text}");
    }
    assert!(client_configs::parse_servers("").unwrap().is_empty());
    for (text, wrong) in [
        ("[]", "not a JSON object"),
        ("{}", "neither"),
        (
            "{\n\"mcpServers\": {\"a\": sk-secret}}",
            "line 2 is not JSON",
        ),
        (r#"{"mcpServers": []}"#, "not an object"),
    ] {
        let told = client_configs::parse_servers(text).unwrap_err();
        assert!(
            told.contains(wrong) && !told.contains("sk-secret"),
            "{told}"
        );
    }
}

#[test]
fn this_program_is_recognised_however_it_is_started() {
    let environment = environment(&[]);
    for written in [
        json!({ "command": "deliberate" }),
        json!({ "command": "/opt/bin/deliberate", "args": ["serve"] }),
        json!({ "command": "C:\\Program Files\\Deliberate.exe" }),
        json!({ "command": std::env::current_exe().unwrap() }),
        json!({ "command": "npx", "args": ["-y", "deliberate@latest", "serve"] }),
        json!({ "command": "cmd", "args": ["/c", "npx", "-y", "deliberate"] }),
        json!({ "command": "uvx", "args": ["deliberate==0.1"] }),
        json!({ "command": "uv", "args": ["tool", "run", "deliberate"] }),
        json!({ "command": "sh", "args": ["-c", "LOG=1 deliberate serve"] }),
        json!({ "command": "docker", "args": ["run", "-i", "ghcr.io/who/deliberate:1"] }),
    ] {
        let written = fields(written);
        assert!(
            self_reference::starts_this_program(&written, &environment),
            "{written:?}"
        );
    }
    for written in [
        json!({ "command": "npx", "args": ["-y", "server-files", "deliberate"] }),
        json!({ "command": "deliberately" }),
        json!({ "command": "cat", "args": ["deliberate"] }),
        json!({ "url": "https://deliberate.example.org/mcp" }),
        json!({ "command": 3 }),
    ] {
        let written = fields(written);
        assert!(
            !self_reference::starts_this_program(&written, &environment),
            "{written:?}"
        );
    }
    let at = |url: &str| {
        let listen = "127.0.0.1:9000".parse().unwrap();
        self_reference::connects_to_this_program(&fields(json!({ "url": url })), Some(listen))
    };
    assert!(at("http://localhost:9000/mcp") && at("http://127.0.0.1:9000/sse"));
    assert!(!at("http://localhost:9001/mcp") && !at("https://example.org:9000/mcp"));
    let usual = fields(json!({ "url": "http://127.0.0.1:8484/mcp" }));
    assert!(self_reference::connects_to_this_program(&usual, None));
}

#[test]
fn mistakes_are_named_without_the_values() {
    for (written, text) in [
        (json!({}), "needs `command`"),
        (
            json!({ "command": "a", "args": "sk-secret" }),
            "`args`: must be a list of strings",
        ),
        (
            json!({ "command": "a", "env": "KEY=sk-secret" }),
            "`env`: must be a table of strings",
        ),
        (json!({ "url": "sk-secret" }), "`url`: is not a valid URL"),
        (
            json!({ "url": "https://a", "headers": { "K": ["sk-secret"] } }),
            "`headers`: must be",
        ),
        (
            json!({ "command": "a", "answer_ms": 0 }),
            "`answer_ms`: must be a whole number",
        ),
        (
            json!({ "command": "${NOWHERE}" }),
            "the variable NOWHERE is not set",
        ),
        (
            json!({ "command": "a", "cwd": "${NOWHERE}" }),
            "the variable NOWHERE is not set",
        ),
        (
            json!({ "command": "a", "env": { "K": "${input:token}" } }),
            "`${input:token}`",
        ),
    ] {
        let error = read_server(written.clone()).unwrap_err();
        assert!(error.contains(text), "{written}: {error}");
        assert!(!error.contains("sk-secret"), "{error}");
    }
    let two = read_server(json!({ "command": 1, "args": 2 })).unwrap_err();
    assert!(two.contains("`command`") && two.contains("`args`"), "{two}");
}

#[test]
fn other_clients_fields_are_read_as_they_mean_them() {
    let environment = environment(&[]);
    let ours = |written: Value| {
        let file = Path::new("/project/.vscode/mcp.json");
        Value::Object(convert_fields(&fields(written), file, &environment))
    };
    assert_eq!(
        ours(json!({
            "command": "${workspaceFolder}/run", "args": ["${userHome}/notes", "${env:X}"],
            "cwd": "sub", "env": null, "trust": true, "sampling": true, "timeout": 60,
            "alwaysAllow": ["read"],
        })),
        json!({
            "command": "/project/run", "args": ["/home/me/notes", "${env:X}"],
            "cwd": "/project/.vscode/sub", "alwaysAllow": ["read"], "longest_ms": 60_000,
        })
    );
    assert_eq!(
        ours(json!({ "timeout": 5_000 })),
        json!({ "longest_ms": 5_000 })
    );
    assert_eq!(
        ours(json!({ "cwd": "~/x", "timeout": 9, "longest_ms": 8 })),
        json!({ "cwd": "/home/me/x", "longest_ms": 8 })
    );
}

#[test]
fn what_is_shown_holds_no_keys() {
    let shown = |written: Value| {
        let known = ServerDefinition {
            server: read_server(written.clone()).unwrap(),
            fields: fields(written),
            source: DefinitionSource::ServersFile("servers.json".into()),
        };
        let reached = describe_endpoint(&known);
        assert!(!format!("{known:?}").contains("sk-"));
        (reached.target, reached.variables, reached.headers)
    };
    let none = || Vec::<String>::new();
    assert_eq!(
        shown(json!({
            "command": "npx", "env": { "A": "sk-1" }, "pass_env": ["B"],
            "args": ["-y", "@who/server-files@1.2.3", "/home/me", "--api-key", "sk-2", "--token=sk-3",
                "--header", "Authorization: Bearer sk-4", "postgres://u:sk-5@host/db",
                "sk-6abcdefghijklmnopq12", "${KEY}"],
        })),
        (
            "npx -y @who/server-files@1.2.3 /home/me --api-key (hidden) --token=(hidden) \
             --header (hidden) (hidden) (hidden) ${KEY}"
                .to_owned(),
            vec!["A".to_owned(), "B".to_owned()],
            none(),
        )
    );
    assert_eq!(
        shown(json!({
            "url": "https://example.org/mcp/${KEY}/s/sk-7abcdefghijklmnopq12?token=sk-8",
            "headers": { "Authorization": "Bearer sk-9" },
        })),
        (
            "https://example.org/mcp/${KEY}/s/(hidden)?…".to_owned(),
            none(),
            vec!["Authorization".to_owned()],
        )
    );
}
