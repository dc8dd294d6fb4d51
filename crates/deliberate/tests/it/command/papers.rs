//! Tests of `deliberate papers`. Commands that ask sources are tested in `tests/clients`, with
//! simulated sources.

use std::path::Path;

use deliberate_testkit::MockProvider;
use serde_json::{Value, json};

use crate::support::{TestHome, run_command};

const TEXT: &str = "# Smouldering Fronts in Drained Peat\n\n## Results\n\nThe network found the \
    smouldering front 41 hours earlier than aerial thermography.\n";

fn write_paper(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, TEXT).unwrap();
}

#[tokio::test]
async fn a_file_that_is_named_is_read_though_it_is_hidden_and_its_neighbours_are_not() {
    let place = TestHome::new();
    let (hidden, beside) = (
        place.path("elsewhere/.hidden.md"),
        place.path("elsewhere/other.md"),
    );
    write_paper(&hidden);
    write_paper(&beside);
    let named = hidden.display().to_string();
    let ran = place.run(&["papers", "add", &named]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.starts_with("Added: "), "{}", ran.stdout);
    let arguments = json!({ "pdf_path": beside }).to_string();
    let ran = place
        .run(&["papers", "call", "process_pdf", &arguments])
        .await;
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("may not be read"), "{}", ran.stderr);
}

#[tokio::test]
async fn the_usual_folders_of_a_home_are_read_where_nothing_says_what_they_are_called() {
    let place = TestHome::new();
    for folder in ["Documents", "Downloads", "Desktop"] {
        let file = place.path("home").join(folder).join("paper.md");
        write_paper(&file);
        let arguments = json!({ "pdf_path": file }).to_string();
        let ran = place
            .run(&["papers", "call", "process_pdf", &arguments])
            .await;
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{folder}");
    }
}

#[tokio::test]
async fn a_file_is_read_again_when_asked_for() {
    let place = TestHome::new();
    write_paper(&place.path("work/paper.md"));
    let begins = async |arguments: &[&str], with: &str| {
        let ran = place
            .run(&[&["papers", "add"][..], arguments].concat())
            .await;
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert!(ran.stdout.starts_with(with), "{}", ran.stdout);
    };
    begins(&["paper.md"], "Added: ").await;
    begins(&["paper.md"], "Unchanged ").await;
    begins(&["--again", "paper.md"], "Joined ").await;
    for (what, sentence) in [(".", "--again needs file names"), ("10.5555/1", "no file")] {
        let ran = place.run(&["papers", "add", "--again", what]).await;
        assert_eq!(ran.code, Some(2), "{what}");
        assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
    }
}

#[tokio::test]
async fn a_question_that_nobody_could_be_asked_ends_with_one() {
    let (place, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    write_paper(&place.path("work/paper.md"));
    place.run(&["papers", "add", "paper.md"]).await;
    let mut asking = place.command_with_provider(&standin);
    drop(standin);
    asking.args([
        "papers",
        "ask",
        "How much earlier than thermography does the network find the front?",
    ]);
    let ran = run_command(&mut asking).await;
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("41 hours"), "{}", ran.stdout);
}

#[tokio::test]
async fn a_time_of_day_is_that_of_the_zone_that_is_named() {
    if !Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
        return;
    }
    let place = TestHome::new();
    let mut command = place.command();
    let arguments = r#"{"name": "Peat", "keywords": ["peat"], "schedule_time": "03:00"}"#;
    command.env("TZ", "Asia/Tokyo").args([
        "papers",
        "call",
        "create_research_question",
        arguments,
        "--json",
    ]);
    let ran = run_command(&mut command).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let saved: Value = serde_json::from_str(&ran.stdout).unwrap();
    let next = saved["question"]["next_run"].as_str();
    assert!(next.is_some_and(|it| it.ends_with("T18:00:00Z")), "{saved}");
}
