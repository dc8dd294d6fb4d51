//! Tests of the path policy: hostile paths, links, folders, sizes.

use serde_json::json;

use super::research_harness::{ResearchHarness, paper_pdf};

async fn rejection_message(harness: &ResearchHarness, path: &str) -> String {
    harness
        .call_error("process_pdf", json!({ "pdf_path": path }))
        .await
}

#[tokio::test]
async fn files_are_read_from_the_folders_that_are_named_alone() {
    let kit = ResearchHarness::new();
    let outside = kit.folder.path().join("secret.pdf");
    std::fs::write(
        &outside,
        paper_pdf("A secret that must stay one", "secrets"),
    )
    .unwrap();
    let outside = outside.to_string_lossy().into_owned();
    for path in [
        outside.as_str(),
        "../secret.pdf",
        "/etc/passwd",
        "/etc/not-there",
        "x/../../secret.pdf",
        "file:///etc/passwd",
    ] {
        let wrong = rejection_message(&kit, path).await;
        assert!(wrong.starts_with("PathNotAllowed"), "{path}: {wrong}");
        assert!(
            wrong.contains("papers") && wrong.contains("readable"),
            "{wrong}"
        );
    }
    let missing = rejection_message(&kit, "not-there.pdf").await;
    assert!(missing.starts_with("FileNotFound"), "{missing}");
    for path in ["", "a\u{0}b", &"x".repeat(5_000)] {
        let wrong = rejection_message(&kit, path).await;
        assert!(wrong.contains("pdf_path"), "{wrong}");
    }
    std::fs::write(
        kit.folder.path().join("readable/fine.md"),
        "# Fine\n\nWords.",
    )
    .unwrap();
    let path = kit.folder.path().join("readable/fine.md");
    let read = kit
        .call_ok("process_pdf", json!({ "pdf_path": path.to_string_lossy() }))
        .await;
    assert_eq!(read["outcome"], "added");
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_followed_before_they_are_judged() {
    let kit = ResearchHarness::new();
    let outside = kit.folder.path().join("secret.md");
    std::fs::write(&outside, "# Secret\n\nWords.").unwrap();
    std::os::unix::fs::symlink(&outside, kit.papers_folder().join("innocent.md")).unwrap();
    std::os::unix::fs::symlink(kit.folder.path(), kit.papers_folder().join("up")).unwrap();
    for path in ["innocent.md", "up/secret.md"] {
        assert!(
            rejection_message(&kit, path)
                .await
                .starts_with("PathNotAllowed"),
            "{path}"
        );
    }
    let listed = kit
        .call_ok("batch_process_pdfs", json!({ "directory_path": "." }))
        .await;
    assert_eq!(listed["results"], json!([]));
}

#[tokio::test]
async fn hidden_files_and_what_is_no_file_are_refused() {
    let kit = ResearchHarness::new();
    kit.write_paper(".hidden.md", "# Hidden\n\nWords.");
    kit.write_paper(".git/config.md", "# Hidden\n\nWords.");
    kit.write_paper("folder/inner.md", "# Inner\n\nWords.");
    for path in [".hidden.md", ".git/config.md"] {
        assert!(
            rejection_message(&kit, path)
                .await
                .starts_with("PathNotAllowed"),
            "{path}"
        );
    }
    assert!(
        rejection_message(&kit, "folder")
            .await
            .starts_with("NotAFile")
    );
    #[cfg(unix)]
    {
        let pipe = kit.papers_folder().join("pipe.pdf");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|it| it.success()) {
            assert!(
                rejection_message(&kit, "pipe.pdf")
                    .await
                    .starts_with("NotAFile")
            );
        }
    }
}

#[tokio::test]
async fn what_is_too_large_or_no_document_is_told() {
    let kit = ResearchHarness::with_options(|options| options.max_file_bytes = 1_000);
    kit.write_paper("large.txt", "word ".repeat(1_000));
    assert!(
        rejection_message(&kit, "large.txt")
            .await
            .starts_with("TooLarge")
    );
    kit.write_paper("noise.bin", [0_u8, 1, 2, 3, 255]);
    assert!(
        rejection_message(&kit, "noise.bin")
            .await
            .starts_with("UnknownFormat")
    );
    kit.write_paper("broken.pdf", "%PDF-1.4 and nothing more");
    let wrong = rejection_message(&kit, "broken.pdf").await;
    assert!(
        wrong.starts_with("BrokenFile") || wrong.starts_with("NoText"),
        "{wrong}"
    );
    assert_eq!(kit.call_ok("list_articles", json!({})).await["total"], 0);
}

#[tokio::test]
async fn a_file_in_place_of_a_folder_is_told_what_takes_it() {
    let kit = ResearchHarness::new();
    kit.write_paper("one.md", "# One\n\nWords.");
    let wrong = kit
        .call_error("batch_process_pdfs", json!({ "directory_path": "one.md" }))
        .await;
    assert!(wrong.starts_with("NotAFolder"), "{wrong}");
    assert!(
        wrong.contains("Name a folder, or use process_pdf for one file"),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_path_may_begin_at_home() {
    let Some(home) = std::env::home_dir() else {
        return;
    };
    let at = home.clone();
    let kit = ResearchHarness::with_options(|options| options.readable_folders.push(at));
    let name = "there-is-no-such-paper-of-deliberate.pdf";
    let wrong = rejection_message(&kit, &format!("~/{name}")).await;
    let expected = format!("there is no file {}", home.join(name).display());
    assert!(wrong.contains(&expected), "{wrong}");
}

#[tokio::test]
async fn an_empty_file_is_told_as_such() {
    let kit = ResearchHarness::new();
    kit.write_paper("empty.pdf", "");
    let wrong = rejection_message(&kit, "empty.pdf").await;
    assert!(wrong.contains("the file is empty"), "{wrong}");
}
