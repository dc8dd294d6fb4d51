//! Tests of `deliberate doctor`.

mod url;

use deliberate_testkit::{MockFault, MockProvider};
use serde_json::{Value, json};

use crate::command::import::create_legacy_database;
use crate::support::{CliOutput, ProviderFormat, TestHome, run_command};

fn find_verdict<'a>(findings: &'a Value, what: &str) -> (&'a str, &'a str) {
    let finding = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["what"] == what)
        .unwrap();
    (
        finding["verdict"].as_str().unwrap(),
        finding["text"].as_str().unwrap(),
    )
}

fn parse_findings(output: &CliOutput) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[tokio::test]
async fn all_is_well_with_a_provider_that_answers_and_nothing_that_costs_is_asked() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let output = run_command(
        home.command_with_provider(&standin)
            .args(["doctor", "--json"]),
    )
    .await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let findings = parse_findings(&output);
    assert_eq!(find_verdict(&findings, "settings").0, "ok");
    assert_eq!(find_verdict(&findings, "database").0, "ok");
    assert_eq!(find_verdict(&findings, "limits").0, "ok");
    let (word, text) = find_verdict(&findings, "provider");
    assert_eq!(word, "ok");
    assert_eq!(text, format!("langbase at {}, answers", standin.url()));
    assert!(standin.model_requests().is_empty());
    let plain = run_command(home.command_with_provider(&standin).arg("doctor")).await;
    assert_eq!(plain.code, Some(0));
    assert_eq!(
        plain.stdout.lines().count(),
        findings.as_array().unwrap().len()
    );
}

#[tokio::test]
async fn plain_http_beyond_this_machine_is_noted() {
    let home = TestHome::new();
    let doctor = ["doctor", "--json", "--set", "http.listen=0.0.0.0:8484"];
    let findings = parse_findings(&home.run(&doctor).await);
    let (verdict, text) = find_verdict(&findings, "http");
    assert_eq!(verdict, "note");
    assert!(text.contains("http.public_url"), "{text}");
    let mut encrypted = doctor.to_vec();
    encrypted.extend(["--set", "http.public_url=https://mcp.example.com"]);
    let findings = parse_findings(&home.run(&encrypted).await);
    let (verdict, text) = find_verdict(&findings, "http");
    assert_eq!(verdict, "note");
    assert!(text.contains("past the proxy"), "{text}");
    // A server that only the proxy of this machine reaches is fine.
    encrypted[3] = "http.listen=127.0.0.1:8484";
    let findings = parse_findings(&home.run(&encrypted).await);
    let all = findings.as_array().unwrap().iter();
    assert_eq!(all.filter(|it| it["what"] == "http").count(), 0);
}

/// The notes about pipes, one a line.
fn pipe_notes(findings: &Value) -> String {
    let notes = findings.as_array().unwrap().iter();
    let texts: Vec<&str> = notes
        .filter(|it| it["what"] == "provider" && it["verdict"] == "note")
        .map(|it| it["text"].as_str().unwrap())
        .collect();
    texts.join("\n")
}

#[tokio::test]
async fn pipes_that_are_public_or_store_are_noted_if_they_are_used() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    for pipe in [
        json!({ "name": "linear-reasoning-v1" }),
        json!({ "name": "tree-reasoning-v1", "status": "private", "store": true }),
        json!({ "name": "reflection-v1", "status": "public", "store": false }),
        json!({ "name": "got-score-v1", "status": "private", "store": false }),
        json!({ "name": "my-divergent" }),
        json!({ "name": "divergent-reasoning-v1" }),
        json!({ "name": "somebody-elses" }),
    ] {
        let name = pipe["name"].as_str().unwrap().to_owned();
        standin.add_pipe(&name, pipe);
    }
    let mut command = home.command_with_provider(&standin);
    command.env("PIPE_DIVERGENT", "my-divergent");
    let output = run_command(command.args(["doctor", "--json"])).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let findings = parse_findings(&output);
    assert_eq!(find_verdict(&findings, "provider").0, "ok");
    insta::assert_snapshot!(pipe_notes(&findings), @"
    the pipe linear-reasoning-v1 is public and stores what is sent; make it private and turn storing off in its settings at Langbase
    the pipe my-divergent is public and stores what is sent; make it private and turn storing off in its settings at Langbase
    the pipe reflection-v1 is public: anyone can run and read it; make it private in its settings at Langbase
    the pipe tree-reasoning-v1 stores what is sent; turn storing off in its settings at Langbase
    ");
}

#[tokio::test]
async fn pipes_that_can_not_be_listed_are_a_note_and_no_fault() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    standin.push_pipe_fault(MockFault::Body("[]".to_owned()));
    standin.push_pipe_fault(MockFault::status(403));
    let output = run_command(
        home.command_with_provider(&standin)
            .args(["doctor", "--json"]),
    )
    .await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let notes = pipe_notes(&parse_findings(&output));
    assert!(
        notes.starts_with("its privacy settings could not be read: "),
        "{notes}"
    );
}

#[tokio::test]
async fn a_key_that_is_refused_is_found_out() {
    for wire in ProviderFormat::ALL {
        let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
        let mut command = home.command();
        wire.configure_with_key(&mut command, &standin, "wrong-key");
        let output = run_command(command.args(["doctor", "--json"])).await;
        assert_eq!(output.code, Some(1), "{wire:?}");
        let findings = parse_findings(&output);
        let (word, text) = find_verdict(&findings, "provider");
        assert_eq!(word, "WRONG", "{wire:?}");
        assert!(text.contains("401"), "{wire:?}: {text}");
    }
}

#[tokio::test]
async fn no_provider_is_a_note_and_no_fault() {
    let output = TestHome::new().run(&["doctor", "--json"]).await;
    assert_eq!(output.code, Some(0));
    assert_eq!(find_verdict(&parse_findings(&output), "provider").0, "note");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_noted() {
    let home = TestHome::new();
    let mut command = home.command();
    command.env("DELIBERATE_RESEARCH_READABLE", "/nowhere/a:/nowhere/b");
    let output = run_command(command.args(["doctor", "--json"])).await;
    assert_eq!(output.code, Some(0));
    let findings = parse_findings(&output);
    let (word, text) = find_verdict(&findings, "research");
    assert_eq!(word, "note");
    assert!(
        text.contains("`research.readable` names /nowhere/a:/nowhere/b"),
        "{text}"
    );
    assert!(
        text.contains("separate several folders by commas"),
        "{text}"
    );
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_or_used_is_wrong() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut command = home.command_with_provider(&standin);
    drop(standin);
    let output = run_command(command.args(["doctor", "--json"])).await;
    assert_eq!(output.code, Some(1));
    let findings_ = parse_findings(&output);
    let (word, text) = find_verdict(&findings_, "provider");
    assert_eq!(word, "WRONG");
    assert!(text.contains("could not be reached"), "{text}");
    assert_eq!(
        find_verdict(&findings_, "database").0,
        "ok",
        "the rest is still told"
    );

    let output = home
        .run(&["--provider", "anthropic", "doctor", "--json"])
        .await;
    assert_eq!(output.code, Some(1));
    assert!(
        find_verdict(&parse_findings(&output), "provider")
            .1
            .contains("ANTHROPIC_API_KEY")
    );
}

#[tokio::test]
async fn a_database_of_the_original_server_is_wrong_and_the_way_out_is_told() {
    let home = TestHome::new();
    let old = home.path("work/reasoning.db");
    create_legacy_database(&old).await;
    let before = std::fs::read(&old).unwrap();
    let output = run_command(
        home.command()
            .env("DATABASE_PATH", &old)
            .args(["doctor", "--json"]),
    )
    .await;
    assert_eq!(output.code, Some(1));
    let findings = parse_findings(&output);
    let (word, text) = find_verdict(&findings, "database");
    assert_eq!(word, "WRONG");
    assert!(
        text.contains(&format!("deliberate import {}", old.display())),
        "{text}"
    );
    assert_eq!(
        std::fs::read(&old).unwrap(),
        before,
        "looking at it does not change it"
    );
}

#[tokio::test]
async fn other_files_in_the_place_of_the_database_are_wrong_and_stay_as_they_are() {
    let home = TestHome::new();
    let text = home.path("work/notes.txt");
    std::fs::write(
        &text,
        "not a database, but long enough to be taken for one ".repeat(50),
    )
    .unwrap();
    let other = home.path("work/other.db");
    let mut connection = crate::support::open_sqlite(&other).await;
    sqlx::query("CREATE TABLE recipes (name TEXT)")
        .execute(&mut connection)
        .await
        .unwrap();
    drop(connection);
    let folder = home.path("work");
    for path in [&text, &other, &folder] {
        let before = std::fs::read(path).ok();
        let output = run_command(
            home.command()
                .env("DATABASE_PATH", path)
                .args(["doctor", "--json"]),
        )
        .await;
        assert_eq!(output.code, Some(1), "{}", path.display());
        assert_eq!(
            find_verdict(&parse_findings(&output), "database").0,
            "WRONG"
        );
        assert_eq!(std::fs::read(path).ok(), before);
        let output = run_command(home.command().env("DATABASE_PATH", path).arg("sessions")).await;
        assert_eq!(output.code, Some(2), "{}", path.display());
    }
}

#[tokio::test]
async fn clients_on_this_machine_are_found() {
    let test_home = TestHome::new();
    std::fs::create_dir(test_home.path("home/.cursor")).unwrap();
    let output = test_home.run(&["doctor"]).await;
    let line = output
        .stdout
        .lines()
        .find(|line| line.contains("Cursor"))
        .unwrap();
    assert!(
        line.starts_with("note") && line.contains("deliberate setup cursor"),
        "{line}"
    );
    test_home.run(&["setup", "cursor", "--yes"]).await;
    let output = test_home.run(&["doctor"]).await;
    let line = output
        .stdout
        .lines()
        .find(|line| line.contains("Cursor"))
        .unwrap();
    assert!(
        line.starts_with("ok") && line.contains("Cursor is configured"),
        "{line}"
    );
}
