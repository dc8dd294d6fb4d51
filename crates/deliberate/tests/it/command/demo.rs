//! Tests of `deliberate demo`.

use std::{path::Path, process::Stdio};

use deliberate_testkit::MockProvider;
use serde_json::Value;
use tokio::process::Command;

use crate::support::{CliOutput, PROGRAM, TestHome, run_command, terminate, wait_until};

/// The built-in replies, so that a test can count them.
const REPLIES: &str = include_str!("../../../src/commands/demo/replies.toml");

/// Creates a home that also contains the temporary directory.
fn create_home() -> TestHome {
    let home = TestHome::new();
    std::fs::create_dir(home.path("tmp")).unwrap();
    home
}

fn demo_command(home: &TestHome, arguments: &[&str]) -> Command {
    let mut command = home.command();
    command
        .env("TMPDIR", home.path("tmp"))
        .arg("demo")
        .args(arguments);
    command
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn assert_home_empty(test_home: &TestHome) {
    for folder in ["home", "data", "config", "work", "tmp"] {
        assert!(is_empty(&test_home.path(folder)), "{folder}");
    }
}

fn assert_success(output: &CliOutput) {
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output:?}"
    );
    assert!(!output.stdout.contains('\u{1b}'), "{}", output.stdout);
}

/// Normalizes what differs between runs, machines and releases.
fn normalize_output(stdout: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in stdout.replace(PROGRAM, "PROGRAM").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        lines.push(match words.as_slice() {
            [what, "session", id] if id.len() == 36 => line.replace(id, &format!("{what}-id")),
            ["Deliberate", version, "offers", count, "tools."] => {
                line.replace(version, "VERSION").replace(count, "N")
            }
            [.., seconds, "seconds."] => line.replace(seconds, "SOME"),
            _ => line.to_owned(),
        });
    }
    lines.join("\n")
}

#[tokio::test]
async fn it_plays_in_an_empty_home_and_leaves_nothing_behind() {
    let home = create_home();
    let output = run_command(&mut demo_command(&home, &[])).await;
    assert_success(&output);
    assert_home_empty(&home);
    insta::assert_snapshot!("demo", normalize_output(&output.stdout));
}

#[tokio::test]
async fn json_holds_the_ids_and_the_pictures_and_every_shipped_reply_was_given() {
    let home = create_home();
    let output = run_command(&mut demo_command(&home, &["--json"])).await;
    assert_success(&output);
    assert_home_empty(&home);
    let shown: Value = serde_json::from_str(&output.stdout).unwrap();
    for (mode, id) in [("tree", "session_id"), ("graph", "graph_id")] {
        assert_eq!(shown[mode][id].as_str().unwrap().len(), 36);
        let mermaid = shown[mode]["mermaid"].as_str().unwrap();
        assert!(mermaid.starts_with("flowchart TD\n"), "{mermaid}");
        let text = shown[mode]["text"].as_str().unwrap();
        assert!(text.contains("├─") && text.contains('★'), "{text}");
    }
    assert_ne!(shown["tree"]["session_id"], shown["graph"]["session_id"]);
    assert_eq!(shown["kept_in"], Value::Null);
    let shipped = REPLIES.matches("[[reply]]").count();
    assert_eq!(shown["replies"]["shipped"], shipped);
    assert_eq!(shown["replies"]["given"], shipped, "a reply is dead");
}

#[tokio::test]
async fn kept_sessions_lie_in_ones_own_database_and_can_be_read() {
    let home = create_home();
    let output = run_command(&mut demo_command(&home, &["--keep", "--json"])).await;
    assert_success(&output);
    assert!(is_empty(&home.path("tmp")));
    let shown: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(shown["kept_in"], home.database().to_str().unwrap());
    let listed = home.run_json(&["sessions", "list", "--json"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 2);
    for mode in ["tree", "graph"] {
        let id = shown[mode]["session_id"].as_str().unwrap();
        let read = home.run_json(&["sessions", "show", id, "--json"]).await;
        assert_eq!(read["session"]["id"], id);
        let read = home.run(&["sessions", "show", id]).await;
        assert!(read.stdout.contains(id), "{read:?}");
    }
    let again = run_command(&mut demo_command(&home, &["--keep"])).await;
    assert_success(&again);
    let database = home.database().display().to_string();
    assert!(again.stdout.contains(&database), "{}", again.stdout);
    assert!(again.stdout.contains(&format!("    {PROGRAM} sessions\n")));
    assert!(!again.stdout.contains("Nothing is kept"));
    assert_eq!(home.stored_counts().await.0, 4);
}

/// Returns the words of the line with this prefix, after the program, as a shell parses them.
async fn find_command_line(stdout: &str, begins: &str) -> Vec<String> {
    let line = stdout
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with(begins));
    let line = line.unwrap_or_else(|| panic!("no {begins} in {stdout}"));
    let script = format!("printf '%s\\n' {}", line.strip_prefix(begins).unwrap());
    let output = run_command(Command::new("sh").args(["-c", &script])).await;
    output.stdout.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_chosen_database_is_named_in_every_line_to_paste() {
    let home = create_home();
    let chosen = home.path("work/own place/it's.db");
    std::fs::create_dir(home.path("work/own place")).unwrap();
    let chosen = chosen.to_str().unwrap();
    let mut by_variable = demo_command(&home, &["--keep"]);
    by_variable.env("DATABASE_PATH", chosen);
    // Relative to the working directory, which a client does not share.
    let by_flag = demo_command(&home, &["--keep", "--database", "own place/it's.db"]);
    let by_key = demo_command(
        &home,
        &["--keep", "--set", &format!("database.path={chosen}")],
    );
    for mut command in [by_variable, by_flag, by_key] {
        let output = run_command(&mut command).await;
        assert_success(&output);
        let said = &output.stdout;
        assert!(
            said.contains(&format!("stored in      {chosen}\n")),
            "{said}"
        );
        let serve = format!("claude mcp add deliberate -- {PROGRAM}");
        assert_eq!(
            find_command_line(said, &serve).await,
            ["serve", "--database", chosen]
        );
        let setup = find_command_line(said, &format!("{PROGRAM} setup")).await;
        let variable = format!("DELIBERATE_DATABASE_PATH={chosen}");
        assert_eq!(setup, ["claude-desktop", "--env", variable.as_str()]);
        let list = find_command_line(said, PROGRAM).await;
        assert_eq!(list, ["sessions", "--database", chosen]);
        let show = find_command_line(said, &format!("{PROGRAM} sessions show")).await;
        let arguments = [&["sessions".to_owned(), "show".to_owned()], show.as_slice()].concat();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let cli_output = home.run(&arguments).await;
        assert!(cli_output.stdout.contains("## Branches"), "{cli_output:?}");
    }
    let listed = home
        .run_json(&["sessions", "list", "--json", "--database", chosen])
        .await;
    assert_eq!(listed.as_array().unwrap().len(), 6);
    assert!(is_empty(&home.path("data")));
}

#[tokio::test]
async fn nobody_is_asked_whatever_keys_and_settings_there_are() {
    let (home, standin) = (create_home(), MockProvider::start().await.unwrap());
    let settings = "provider = \"anthropic\"\nmodel = \"x\"\n";
    std::fs::write(home.path("config/own.toml"), settings).unwrap();
    let mut command = home.command_with_provider(&standin);
    command
        .env("TMPDIR", home.path("tmp"))
        .env("DELIBERATE_CONFIG", home.path("config/own.toml"))
        .env("DELIBERATE_PROVIDER", "langbase")
        .env("DELIBERATE_DISCOVER", "on")
        .arg("demo");
    assert_success(&run_command(&mut command).await);
    assert_eq!(standin.requests().len(), 0);
    assert!(is_empty(&home.path("tmp")) && is_empty(&home.path("data")));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_home_that_can_not_be_written_is_enough() {
    let home = create_home();
    let mut command = demo_command(&home, &[]);
    // Not even root can create a folder there.
    command
        .env("HOME", "/proc/self")
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CONFIG_HOME");
    assert_success(&run_command(&mut command).await);
    assert_home_empty(&home);

    let mut command = demo_command(&home, &["--keep"]);
    command
        .env("HOME", "/proc/self")
        .env_remove("XDG_DATA_HOME");
    let output = run_command(&mut command).await;
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("/proc/self"), "{}", output.stderr);
    assert_home_empty(&home);
}

#[tokio::test]
async fn without_a_temporary_folder_it_says_what_to_do() {
    let home = create_home();
    let mut command = demo_command(&home, &[]);
    command.env("TMPDIR", home.path("nowhere"));
    let output = run_command(&mut command).await;
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(2), ""),
        "{output:?}"
    );
    assert!(
        output.stderr.contains("TMPDIR") && output.stderr.contains("--keep"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_error_and_leaves_nothing_behind() {
    let home = create_home();
    let mut command = demo_command(&home, &[]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().await.unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
    assert_home_empty(&home);
}

#[tokio::test]
async fn stopped_half_way_it_leaves_nothing_behind() {
    let home = create_home();
    let mut command = demo_command(&home, &[]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let begun = || !is_empty(&home.path("tmp"));
    wait_until(begun).await;
    terminate(child.id().unwrap()).await;
    // It may have ended by itself in the meantime.
    let code = child.wait().await.unwrap().code();
    assert!(matches!(code, Some(0 | 2)), "{code:?}");
    assert_home_empty(&home);
}

#[tokio::test]
async fn it_explains_itself() {
    let output = create_home().run(&["demo", "--help"]).await;
    assert_success(&output);
    insta::assert_snapshot!("help_demo", output.stdout);
}
