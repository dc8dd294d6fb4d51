//! Tests of `deliberate servers`: where servers are defined, and how they are displayed.

mod add;
mod approve;
mod connect;
mod login;
mod login_server;

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{CliOutput, TestHome, run_command};

/// A settings file of Claude Desktop, which contains this program.
const CLAUDE_CONFIG: &str = r#"{
  "globalShortcut": "",
  "mcpServers": {
    "deliberate": { "command": "/opt/bin/deliberate", "args": ["serve"] },
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/Desktop"]
    },
    "github": {
      "command": "docker",
      "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"],
      "env": { "GITHUB_TOKEN": "ghp_sk-claude" }
    }
  }
}
"#;

/// A settings file of Cursor.
const CURSOR_CONFIG: &str = r#"{
  "mcpServers": {
    "filesystem": { "command": "other", "args": [] },
    "linear": { "url": "https://mcp.linear.app/sse", "type": "sse", "headers": { "Authorization": "Bearer sk-cursor" } },
    "broken": { "args": ["sk-cursor"] },
    "search": { "command": "uvx", "args": ["search-server"], "env": { "KEY": "${env:SEARCH_KEY}" }, "disabled": true }
  }
}
"#;

/// A settings file of VS Code.
const VSCODE_CONFIG: &str = r#"{
  // asked for once
  "inputs": [{ "type": "promptString", "id": "pg-password", "password": true, },],
  "servers": {
    "postgres": { "type": "stdio", "command": "npx", "args": ["server-postgres"], "env": { "PW": "${input:pg-password}" } },
    "docs": { "type": "http", "url": "https://docs.example.org/mcp", "gallery": true }, /* fine */
  },
}
"#;

/// Creates a home whose settings import all three.
fn home_with_imports() -> TestHome {
    let home = TestHome::new();
    write(&home.path("work/claude_desktop_config.json"), CLAUDE_CONFIG);
    write(&home.path("work/cursor.json"), CURSOR_CONFIG);
    write(&home.path("work/mcp.json"), VSCODE_CONFIG);
    let folder = home.path("work");
    let imports = [
        "claude_desktop_config.json",
        "cursor.json",
        "mcp.json",
        "nowhere.json",
    ]
    .map(|name| format!("'{}'", folder.join(name).display()));
    write_settings(
        &home,
        &format!("[gateway]\nimport = [{}]\n", imports.join(", ")),
    );
    home
}

fn write_settings(home: &TestHome, text: &str) {
    std::fs::create_dir_all(home.path("config/deliberate")).unwrap();
    write(&home.path("config/deliberate/config.toml"), text);
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

async fn list_servers(home: &TestHome) -> Value {
    home.run_json(&["servers", "list", "--json"]).await
}

fn names(list: &Value) -> Vec<&str> {
    let servers = list["servers"].as_array().unwrap();
    servers
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect()
}

fn find_server<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut servers = list["servers"].as_array().unwrap().iter();
    servers.find(|it| it["name"] == name).unwrap()
}

/// Reads the servers file.
fn read_servers_file(home: &TestHome) -> Value {
    let text = std::fs::read_to_string(home.path("config/deliberate/servers.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn assert_success(output: &CliOutput) {
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output:?}"
    );
}

#[tokio::test]
async fn other_clients_files_are_imported_and_what_is_wrong_in_them_is_told() {
    let home = home_with_imports();
    let mut command = home.command();
    command.env("SEARCH_KEY", "sk-environment");
    let output = run_command(command.args(["servers", "list", "--json"])).await;
    assert_success(&output);
    let all: Value = serde_json::from_str(&output.stdout).unwrap();
    // This program is skipped, and of two servers with the same name the first counts.
    assert_eq!(
        names(&all),
        ["filesystem", "github", "linear", "search", "docs"]
    );
    assert_eq!(
        find_server(&all, "linear"),
        &json!({
            "name": "linear", "enabled": true, "type": "sse",
            "reached_by": "https://mcp.linear.app/sse", "env": [], "headers": ["Authorization"],
            "expose": null, "from": home.path("work/cursor.json"),
        })
    );
    assert_eq!(find_server(&all, "search")["enabled"], false);
    assert_eq!(find_server(&all, "github")["env"], json!(["GITHUB_TOKEN"]));
    let problems: Vec<(&str, &str)> = all["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["server"].as_str().unwrap_or(""),
                it["what"].as_str().unwrap(),
            )
        })
        .collect();
    let [(broken, needs), (postgres, input), ("", missing)] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    assert_eq!((*broken, *postgres), ("broken", "postgres"));
    assert!(needs.contains("needs `command`"), "{needs}");
    assert!(input.contains("${input:pg-password}"), "{input}");
    assert_eq!(*missing, "there is no such file");
}

#[tokio::test]
async fn nothing_shows_a_key() {
    let home = home_with_imports();
    let mut text = String::new();
    for arguments in [
        &["servers"][..],
        &["servers", "list", "--json"],
        &["config"],
        &["config", "--json"],
        &["doctor"],
        &["servers", "remove", "linear"],
        &["--log-level", "trace", "tools"],
    ] {
        let mut command = home.command();
        command.env("SEARCH_KEY", "sk-environment");
        let output = run_command(command.args(arguments)).await;
        text.push_str(&output.stdout);
        text.push_str(&output.stderr);
    }
    for secret in ["sk-claude", "sk-cursor", "sk-environment"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(
        text.contains("linear") && text.contains("is skipped"),
        "{text}"
    );
}

#[tokio::test]
async fn a_server_starts_whatever_other_clients_files_hold() {
    let home = home_with_imports();
    let client = crate::support::serve(home.command().arg("serve")).await;
    crate::support::shut_down(client).await;
}

#[tokio::test]
async fn the_settings_count_before_the_own_file_and_that_before_imports() {
    let home = home_with_imports();
    write(
        &home.path("config/deliberate/servers.json"),
        r#"{"mcpServers": {"filesystem": {"command": "own"}, "linear": {"command": "own"}, "docs": 3}}"#,
    );
    let file = home.path("config/deliberate/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    write(
        &file,
        &format!("{text}\n[servers.filesystem]\ncommand = \"table\"\nexpose = [\"read_*\"]\n"),
    );
    let all = list_servers(&home).await;
    let by = |name: &str| find_server(&all, name)["reached_by"].clone();
    assert_eq!(
        (by("filesystem"), by("linear")),
        (json!("table"), json!("own"))
    );
    let table = find_server(&all, "filesystem");
    assert_eq!(table["from"], format!("{}:4", file.display()));
    assert_eq!(table["expose"], "read_*");
    // An invalid entry in our own file still takes its name.
    assert!(!names(&all).contains(&"docs"), "{all}");
}

#[tokio::test]
async fn mistakes_in_the_settings_stop_every_command_and_are_told_together() {
    let home = TestHome::new();
    let text = "[servers.files]\ncomand = \"npx\"\n[servers.web]\nurl = \"gopher://a\"\nper_minute = \"many\"\n\
                [servers.web2]\nurl = \"gopher://a\"\n";
    write(&home.path("work/wrong.toml"), text);
    for command in [&["servers"][..], &["config"], &["serve"]] {
        let output = home
            .run(&[&["--config", "wrong.toml"], command].concat())
            .await;
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
        insta::assert_snapshot!("servers_mistakes", output.stderr);
    }
}

#[tokio::test]
async fn the_doctor_counts_them_and_tells_what_is_wrong() {
    let home = home_with_imports();
    let output = run_command(home.command().env("SEARCH_KEY", "x").arg("doctor")).await;
    let lines: Vec<&str> = output
        .stdout
        .lines()
        .filter(|line| line.contains(" servers "))
        .collect();
    assert_eq!(lines.len(), 4, "{}", output.stdout);
    assert!(
        lines[0].starts_with("ok") && lines[0].contains("4 on, 1 off"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1..].iter().all(|line| line.starts_with("note")),
        "{lines:?}"
    );
    assert_eq!(
        output.code,
        Some(0),
        "other clients' mistakes are no fault here"
    );
}

#[tokio::test]
async fn without_servers_the_way_to_one_is_told() {
    let home = TestHome::new();
    let output = home.run(&["servers"]).await;
    assert_success(&output);
    assert!(
        output.stdout.contains("deliberate servers add"),
        "{}",
        output.stdout
    );
    for arguments in [
        &["servers", "test", "nobody"][..],
        &["servers", "tools", "nobody"],
        &["servers", "call", "nobody__x"],
        &["servers", "approve", "nobody", "--yes"],
    ] {
        let output = home.run(arguments).await;
        assert_eq!(output.code, Some(2));
        assert!(
            output.stderr.contains("there is no server \"nobody\""),
            "{}",
            output.stderr
        );
    }
    assert_eq!(home.run(&["servers", "test"]).await.code, Some(0));
}
