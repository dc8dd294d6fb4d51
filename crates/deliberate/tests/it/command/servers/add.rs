//! Tests of `deliberate servers add` and `remove`: the file they write, and the files they do not
//! touch.

use serde_json::json;

use super::{
    CLAUDE_CONFIG, CURSOR_CONFIG, assert_success, home_with_imports, list_servers, names,
    read_servers_file, write, write_settings,
};
use crate::support::TestHome;

#[tokio::test]
async fn a_server_is_added_listed_and_removed_again() {
    let home = TestHome::new();
    write_settings(&home, "");
    write(
        &home.path("config/deliberate/servers.json"),
        r#"{"note": "mine", "mcpServers": {"old": {"command": "x", "alwaysAllow": ["y"], "z": 1.50}}, "last": [1]}"#,
    );
    let output = home
        .run(&[
            "servers",
            "add",
            "files",
            "--env",
            "KEY=sk-typed",
            "--env",
            "OTHER=${PATH}",
            "--pass-env",
            "LANG",
            "--cwd",
            "sub",
            "--expose",
            "read_*",
            "--expose",
            "list",
            "--description",
            "Papers",
            "--",
            "npx",
            "-y",
            "server",
            "--flag",
        ])
        .await;
    assert_success(&output);
    assert!(
        output.stdout.contains("deliberate servers test files"),
        "{}",
        output.stdout
    );
    assert_eq!(
        read_servers_file(&home),
        json!({
            "note": "mine",
            "mcpServers": {
                "old": { "command": "x", "alwaysAllow": ["y"], "z": 1.50 },
                "files": {
                    "command": "npx", "args": ["-y", "server", "--flag"],
                    "env": { "KEY": "sk-typed", "OTHER": "${PATH}" }, "pass_env": ["LANG"],
                    "cwd": home.path("work/sub").canonicalize().unwrap_or(home.path("work/sub")),
                    "description": "Papers", "expose": ["read_*", "list"],
                },
            },
            "last": [1],
        })
    );
    let again = home
        .run(&["servers", "add", "files", "https://example.org/mcp"])
        .await;
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    let forced = home
        .run(&[
            "servers",
            "add",
            "files",
            "https://example.org/mcp",
            "--type",
            "sse",
            "--header",
            "X-Key: ${NOT_SET}",
            "--expose",
            "all",
            "--force",
        ])
        .await;
    assert_success(&forced);
    assert!(
        forced.stdout.contains("NOT_SET is not set here"),
        "{}",
        forced.stdout
    );
    assert_eq!(
        read_servers_file(&home)["mcpServers"]["files"],
        json!({
            "type": "sse", "url": "https://example.org/mcp", "headers": { "X-Key": "${NOT_SET}" }, "expose": "all",
        })
    );
    assert_success(&home.run(&["servers", "remove", "files"]).await);
    let left = read_servers_file(&home);
    assert_eq!(names(&list_servers(&home).await), ["old"]);
    assert_eq!(left["mcpServers"]["old"]["alwaysAllow"], json!(["y"]));
    assert_eq!(
        left.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["note", "mcpServers", "last"]
    );
    let gone = home.run(&["servers", "remove", "olt"]).await;
    assert_eq!(gone.code, Some(2));
    assert!(
        gone.stderr.contains("did you mean \"old\"?"),
        "{}",
        gone.stderr
    );
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = TestHome::new();
    let file = home.path("config/deliberate/servers.json");
    let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_success(&home.run(&["servers", "add", "a", "--", "x"]).await);
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    assert_success(&home.run(&["servers", "add", "b", "--", "x"]).await);
    assert_eq!(mode(), 0o600);
    let folder = std::fs::read_dir(home.path("config/deliberate")).unwrap();
    assert_eq!(folder.count(), 1, "nothing else is left behind");
}

#[tokio::test]
async fn what_is_not_understood_is_not_added() {
    let cases: [(&[&str], &str); 12] = [
        (&[], "the name is missing"),
        (&["a"], "\"a\" needs a program"),
        (&["a", "npx"], "deliberate servers add a -- npx"),
        (&["a", "https://x", "--env", "A=1"], "for programs"),
        (&["a", "--header", "K: V", "--", "x"], "for URLs"),
        (&["a b", "--", "x"], "a name has 1 to 32"),
        (&["a__b", "--", "x"], "a name has 1 to 32"),
        (&["a", "ftp://x"], "must start with http://"),
        (
            &["a", "https://me:sk-secret@x"],
            "must not contain a password",
        ),
        (
            &["a", "https://x", "--header", "Host: sk-secret"],
            "set by the protocol",
        ),
        (&["a", "--", "deliberate", "serve"], "without end"),
        (&["a", "--env", "sk-secret", "--", "x"], "KEY=VALUE"),
    ];
    let home = TestHome::new();
    for (arguments, text) in cases {
        let output = home.run(&[&["servers", "add"], arguments].concat()).await;
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        assert!(
            output.stderr.contains(text),
            "{arguments:?}: {}",
            output.stderr
        );
    }
    assert!(!home.path("config/deliberate/servers.json").exists());
}

#[tokio::test]
async fn another_clients_servers_are_taken_over() {
    let home = TestHome::new();
    write(&home.path("work/claude.json"), CLAUDE_CONFIG);
    write(&home.path("work/cursor.json"), CURSOR_CONFIG);
    let output = home.run(&["servers", "add", "--from", "claude.json"]).await;
    assert_success(&output);
    assert!(
        output
            .stdout
            .contains("Skipped \"deliberate\": it is this program"),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains("deliberate servers test filesystem github"),
        "{}",
        output.stdout
    );
    let output = home.run(&["servers", "add", "--from", "cursor.json"]).await;
    assert_eq!(
        output.code,
        Some(1),
        "one of them can't be used: {output:?}"
    );
    assert!(
        output
            .stdout
            .contains("Skipped \"filesystem\", which is already in"),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains("Skipped \"broken\": needs `command`"),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains("sk-"), "{}", output.stdout);
    let kept = read_servers_file(&home);
    assert_eq!(kept["mcpServers"]["filesystem"]["command"], "npx");
    assert_eq!(
        kept["mcpServers"]["github"]["env"]["GITHUB_TOKEN"],
        "ghp_sk-claude"
    );
    let output = home
        .run(&[
            "servers",
            "add",
            "--from",
            "cursor.json",
            "filesystem",
            "--force",
        ])
        .await;
    assert_success(&output);
    assert_eq!(
        read_servers_file(&home)["mcpServers"]["filesystem"]["command"],
        "other"
    );
    let output = home
        .run(&["servers", "add", "--from", "cursor.json", "nobody"])
        .await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("it has filesystem, linear"),
        "{}",
        output.stderr
    );
    let output = home
        .run(&["servers", "add", "--from", "nowhere.json"])
        .await;
    assert!(
        output.stderr.contains("there is no file nowhere.json"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn what_is_written_elsewhere_is_left_to_its_writer() {
    let home = home_with_imports();
    let output = home.run(&["servers", "remove", "linear"]).await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("cursor.json") && output.stderr.contains("gateway.import"),
        "{}",
        output.stderr
    );
    write_settings(&home, "[servers.files]\ncommand = \"x\"\n");
    for arguments in [
        &["servers", "remove", "files"][..],
        &["servers", "add", "files", "--", "y"],
    ] {
        let output = home.run(arguments).await;
        assert_eq!(output.code, Some(2));
        assert!(output.stderr.contains("config.toml:1"), "{}", output.stderr);
    }
    assert_eq!(
        std::fs::read_to_string(home.path("work/cursor.json")).unwrap(),
        CURSOR_CONFIG
    );
}

#[tokio::test]
async fn a_file_with_comments_keeps_them() {
    let home = TestHome::new();
    write_settings(&home, "");
    let file = home.path("config/deliberate/servers.json");
    let text =
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }, // first\n  },\n}\n";
    write(&file, text);
    assert_eq!(names(&list_servers(&home).await), ["a"]);
    let output = home.run(&["servers", "add", "b", "--", "y"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(names(&list_servers(&home).await), ["a", "b"]);
    let both = std::fs::read_to_string(&file).unwrap();
    assert!(
        both.contains("// mine") && both.contains("// first"),
        "{both}"
    );
    let output = home.run(&["servers", "remove", "b"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn a_client_is_taken_over_by_its_name() {
    let test_home = TestHome::new();
    let nothing = test_home.run(&["servers", "add", "--from", "cursor"]).await;
    assert_eq!(nothing.code, Some(2));
    assert!(
        nothing.stderr.contains(".cursor/mcp.json"),
        "{}",
        nothing.stderr
    );
    std::fs::create_dir(test_home.path("home/.cursor")).unwrap();
    write(&test_home.path("home/.cursor/mcp.json"), CURSOR_CONFIG);
    assert_success(
        &test_home
            .run(&["servers", "add", "--from", "cursor", "linear"])
            .await,
    );
    assert_eq!(names(&list_servers(&test_home).await), ["linear"]);
}

#[tokio::test]
async fn servers_that_are_added_at_the_same_time_are_all_kept() {
    let home = TestHome::new();
    write_settings(&home, "");
    let names = ["one", "two", "three", "four", "five", "six"];
    let commands = names.map(|name| ["servers", "add", name, "--", "true"]);
    let running = commands.iter().map(|command| home.run(command));
    for output in futures::future::join_all(running).await {
        assert_success(&output);
    }
    let cli_output = home.run(&["servers", "list", "--json"]).await;
    for name in names {
        assert!(
            cli_output.stdout.contains(name),
            "{name}: {}",
            cli_output.stdout
        );
    }
}
