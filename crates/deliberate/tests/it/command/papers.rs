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
    let home = TestHome::new();
    let (hidden, beside) = (
        home.path("elsewhere/.hidden.md"),
        home.path("elsewhere/other.md"),
    );
    write_paper(&hidden);
    write_paper(&beside);
    let named = hidden.display().to_string();
    let output = home.run(&["papers", "add", &named]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert!(output.stdout.starts_with("Added: "), "{}", output.stdout);
    let arguments = json!({ "pdf_path": beside }).to_string();
    let output = home
        .run(&["papers", "call", "process_pdf", &arguments])
        .await;
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    assert!(
        output.stderr.contains("may not be read"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn the_usual_folders_of_a_home_are_read_where_nothing_says_what_they_are_called() {
    let test_home = TestHome::new();
    for folder in ["Documents", "Downloads", "Desktop"] {
        let file = test_home.path("home").join(folder).join("paper.md");
        write_paper(&file);
        let arguments = json!({ "pdf_path": file }).to_string();
        let output = test_home
            .run(&["papers", "call", "process_pdf", &arguments])
            .await;
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), ""),
            "{folder}"
        );
    }
}

#[tokio::test]
async fn a_file_is_read_again_when_asked_for() {
    let home = TestHome::new();
    write_paper(&home.path("work/paper.md"));
    let begins = async |arguments: &[&str], with: &str| {
        let output = home
            .run(&[&["papers", "add"][..], arguments].concat())
            .await;
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
        assert!(output.stdout.starts_with(with), "{}", output.stdout);
    };
    begins(&["paper.md"], "Added: ").await;
    begins(&["paper.md"], "Unchanged ").await;
    begins(&["--again", "paper.md"], "Joined ").await;
    for (what, sentence) in [(".", "--again needs file names"), ("10.5555/1", "no file")] {
        let output = home.run(&["papers", "add", "--again", what]).await;
        assert_eq!(output.code, Some(2), "{what}");
        assert!(output.stderr.contains(sentence), "{}", output.stderr);
    }
}

#[tokio::test]
async fn a_style_of_ones_own_is_read_from_its_file() {
    let home = TestHome::new();
    write_paper(&home.path("work/paper.md"));
    home.run(&["papers", "add", "paper.md"]).await;
    let style = r#"<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">
        <info><title>House</title><id>house</id><updated>2024-01-01T00:00:00+00:00</updated></info>
        <citation><layout><text variable="title"/></layout></citation>
        <bibliography><layout prefix="House: "><text variable="title"/></layout></bibliography>
        </style>"#;
    std::fs::write(home.path("work/my.csl"), style).unwrap();
    let output = home.run(&["papers", "cite", "--style", "my.csl"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert!(
        output.stdout.contains("House: Smouldering"),
        "{}",
        output.stdout
    );
    let output = home.run(&["papers", "cite", "--style", "none.csl"]).await;
    assert_eq!(output.code, Some(1), "{}", output.stdout);
}

#[tokio::test]
async fn a_question_that_nobody_could_be_asked_ends_with_one() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    write_paper(&home.path("work/paper.md"));
    home.run(&["papers", "add", "paper.md"]).await;
    let mut asking = home.command_with_provider(&standin);
    drop(standin);
    asking.args([
        "papers",
        "ask",
        "How much earlier than thermography does the network find the front?",
    ]);
    let output = run_command(&mut asking).await;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stdout.contains("41 hours"), "{}", output.stdout);
}

#[tokio::test]
async fn a_time_of_day_is_that_of_the_zone_that_is_named() {
    if !Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
        return;
    }
    let home = TestHome::new();
    let mut command = home.command();
    let arguments = r#"{"name": "Peat", "keywords": ["peat"], "schedule_time": "03:00"}"#;
    command.env("TZ", "Asia/Tokyo").args([
        "papers",
        "call",
        "create_research_question",
        arguments,
        "--json",
    ]);
    let output = run_command(&mut command).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let saved: Value = serde_json::from_str(&output.stdout).unwrap();
    let next = saved["question"]["next_run"].as_str();
    assert!(next.is_some_and(|it| it.ends_with("T18:00:00Z")), "{saved}");
}
