//! Tests of citation styles, bibliography files, and references of texts.

use serde_json::{Value, json};

use super::research_harness::{ResearchHarness, files_in, make_pdf, paper_pdf, said_text};

async fn harness_with_bees() -> (ResearchHarness, String) {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest(
            "bees.pdf",
            paper_pdf("On bees & their ways_of_life", "bees"),
        )
        .await;
    let set = json!({
        "article_identifier": id,
        "update_metadata": {
            "doi": "10.5555/bees", "publication_date": "2019-05", "journal": "Journal of Bogs",
            "authors": ["Lovelace, Ada", "Babbage, Charles"],
        },
    });
    kit.call_ok("update_article_metadata", set).await;
    (kit, id)
}

fn read_exported(output: &Value) -> String {
    std::fs::read_to_string(output["path"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn every_format_is_written_to_a_file() {
    let (kit, _) = harness_with_bees().await;
    for (format, ending, mark) in [
        ("bibtex", "bib", "\\&"),
        ("ris", "ris", "TY  - "),
        ("endnote", "enw", "%0 "),
        ("json", "json", "\"DOI\""),
        ("csv", "csv", "10.5555/bees"),
    ] {
        let output = kit
            .call_ok("export_bibliography", json!({ "format": format }))
            .await;
        let path = output["path"].as_str().unwrap();
        assert!(path.ends_with(&format!("bibliography.{ending}")), "{path}");
        let text = read_exported(&output);
        assert!(
            text.contains(mark) && text.contains("Lovelace"),
            "{format}: {text}"
        );
        assert_eq!(output["records"], 1);
        // Exporting the same file again is no error.
        kit.call_ok("export_bibliography", json!({ "format": format }))
            .await;
    }
    assert_eq!(files_in(&kit.folder.path().join("exports")).len(), 5);
}

#[tokio::test]
async fn no_name_leads_elsewhere_and_each_gets_its_ending() {
    let (kit, _) = harness_with_bees().await;
    for name in [
        "../x",
        "a/b",
        "/etc/x",
        ".hidden",
        "a\\b",
        "x\u{0}",
        "nul",
        "",
        "x\u{202e}bib",
    ] {
        let told = kit
            .call_error("export_bibliography", json!({ "filename": name }))
            .await;
        assert!(told.contains("filename"), "{name:?}: {told}");
    }
    for (name, file) in [
        ("mine", "mine.bib"),
        ("smith.2020", "smith.2020.bib"),
        ("Mine.BIB", "Mine.BIB"),
        ("run.sh", "run.sh.bib"),
        ("page.html", "page.html.bib"),
        ("deliberate.db", "deliberate.db.bib"),
    ] {
        let output = kit
            .call_ok("export_bibliography", json!({ "filename": name }))
            .await;
        assert!(output["path"].as_str().unwrap().ends_with(file), "{name}");
    }
    let told = kit
        .call_error("export_bibliography", json!({ "articles": ["nobody"] }))
        .await;
    assert!(told.starts_with("NothingToExport"), "{told}");
}

#[tokio::test]
async fn what_is_there_is_left_alone_unless_it_is_meant() {
    let (kit, id) = harness_with_bees().await;
    let exports = kit.folder.path().join("exports");
    std::fs::create_dir_all(&exports).unwrap();
    let place = exports.join("mine.bib");
    std::fs::write(&place, "my own notes").unwrap();
    let arguments = json!({ "filename": "mine", "articles": [id] });
    let told = kit
        .call_error("export_bibliography", arguments.clone())
        .await;
    assert!(told.starts_with("Exists"), "{told}");
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "my own notes");
    let mut over = arguments;
    over["overwrite"] = json!(true);
    kit.call_ok("export_bibliography", over).await;
    assert!(
        std::fs::read_to_string(&place)
            .unwrap()
            .contains("Lovelace")
    );
    assert_eq!(
        files_in(&exports),
        ["mine.bib"],
        "nothing is left beside it"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_is_not_followed_and_a_folder_not_replaced() {
    let (kit, _) = harness_with_bees().await;
    let exports = kit.folder.path().join("exports");
    std::fs::create_dir_all(exports.join("folder.bib")).unwrap();
    let outside = kit.folder.path().join("outside.txt");
    std::fs::write(&outside, "precious").unwrap();
    std::os::unix::fs::symlink(&outside, exports.join("link.bib")).unwrap();
    let nowhere = kit.folder.path().join("nowhere.txt");
    std::os::unix::fs::symlink(&nowhere, exports.join("dangling.bib")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(exports.join("pipe.bib"))
        .status();
    assert!(made.unwrap().success());
    for name in ["link", "dangling", "folder", "pipe"] {
        let told = kit
            .call_error("export_bibliography", json!({ "filename": name }))
            .await;
        assert!(told.starts_with("Exists"), "{name}: {told}");
    }
    let over = json!({ "filename": "link", "overwrite": true });
    kit.call_ok("export_bibliography", over).await;
    let over = json!({ "filename": "folder", "overwrite": true });
    assert!(
        kit.call_error("export_bibliography", over)
            .await
            .starts_with("File")
    );
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
    assert!(!nowhere.exists());
}

#[tokio::test]
async fn what_is_left_out_is_told() {
    let (kit, _) = harness_with_bees().await;
    for name in ["ants", "wasps"] {
        let title = format!("On {name} and where they live");
        kit.ingest(&format!("{name}.pdf"), paper_pdf(&title, name))
            .await;
    }
    for tool in ["export_bibliography", "format_citations"] {
        let some = kit.call_ok(tool, json!({ "max_results": 2 })).await;
        assert_eq!(some["left_out"], 1, "{tool}: {some:#}");
        assert!(
            said_text(&some).contains("1 more of the collection"),
            "{some:#}"
        );
        let mut all = json!({ "max_results": 3 });
        if tool == "export_bibliography" {
            all["overwrite"] = json!(true);
        }
        let all = kit.call_ok(tool, all).await;
        assert_eq!(all["left_out"], 0, "{tool}");
        assert!(!said_text(&all).contains("more of the collection"));
    }
}

#[tokio::test]
async fn styles_are_known_by_name_and_incomplete_records_flagged() {
    let (kit, id) = harness_with_bees().await;
    for style in [
        "ieee",
        "apa",
        "mla",
        "chicago",
        "harvard",
        "APA",
        "nature",
        "vancouver",
    ] {
        let output = kit
            .call_ok(
                "format_citations",
                json!({ "articles": [id], "style": style }),
            )
            .await;
        let text = output["citations"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("Lovelace") && text.contains("2019"),
            "{style}: {text}"
        );
    }
    let told = kit
        .call_error(
            "format_citations",
            json!({ "articles": [id], "style": "aap" }),
        )
        .await;
    assert!(told.contains("style") && told.contains("apa"), "{told}");
    let told = kit
        .call_error(
            "format_citations",
            json!({ "articles": [id], "locale": "klingon" }),
        )
        .await;
    assert!(told.contains("klingon"), "{told}");
    let german = json!({ "articles": [id], "style": "apa", "locale": "de" });
    let german = kit.call_ok("format_citations", german).await;
    assert!(
        german["citations"][0]["text"]
            .as_str()
            .unwrap()
            .contains("2019")
    );
    let bare = kit
        .ingest(
            "bare.md",
            "# Notes on a burnt bog\n\nIt burnt for a long time.",
        )
        .await;
    let output = kit
        .call_ok(
            "format_citations",
            json!({ "articles": [bare, "who knows"], "style": "apa" }),
        )
        .await;
    let entry = &output["citations"][0];
    assert!(!entry["missing"].as_array().unwrap().is_empty());
    assert!(!entry.to_string().contains("n.d."), "{entry}");
    assert!(said_text(&output).contains("**Incomplete**"));
    assert_eq!(output["not_found"].as_array().unwrap().len(), 1);
    // The fields that are reported missing can be set.
    let fields = json!({
        "document_type": "journal", "authors": ["Runa Olsen"], "publication_date": "2021-03",
        "journal": "Bogs", "volume": "3", "issue": "2", "pages": "11-19", "publisher": "Fen",
    });
    let update = json!({ "article_identifier": bare, "update_metadata": fields });
    let updated = kit.call_ok("update_article_metadata", update).await;
    assert_eq!(updated["changes"].as_array().unwrap().len(), 8, "{updated}");
    let whole = json!({ "articles": [bare], "style": "apa" });
    let whole = said_text(&kit.call_ok("format_citations", whole).await).to_owned();
    assert!(!whole.contains("Incomplete"), "{whole}");
    assert!(whole.contains("*Bogs*, *3*(2), 11–19"), "{whole}");
    let impossible = json!({ "publication_date": "2020-02-30" });
    let impossible = json!({ "article_identifier": bare, "update_metadata": impossible });
    kit.call_error("update_article_metadata", impossible).await;
    // A search instead of names.
    let found = json!({ "search_query": "ways of bees", "max_results": 1 });
    let found = kit.call_ok("format_citations", found).await;
    assert_eq!(found["citations"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_style_may_be_a_file_that_may_be_read() {
    let (kit, id) = harness_with_bees().await;
    let style = r#"<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">
        <info><title>House</title><id>house</id><updated>2024-01-01T00:00:00+00:00</updated></info>
        <citation><layout><text variable="title"/></layout></citation>
        <bibliography><layout prefix="House: "><text variable="title"/></layout></bibliography>
        </style>"#;
    let path = kit.write_paper("house.csl", style);
    let cite = |style: &str| json!({ "articles": [id], "style": style });
    let output = kit.call_ok("format_citations", cite(&path)).await;
    assert_eq!(output["style"], "House");
    let text = output["citations"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("House: "), "{text}");

    let broken = kit.write_paper("broken.CSL", "<style>");
    let told = kit.call_error("format_citations", cite(&broken)).await;
    assert!(told.contains("style"), "{told}");
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().join("house.csl");
    std::fs::write(&outside, style).unwrap();
    let outside = outside.display().to_string();
    for path in [outside.as_str(), "/etc/../none.csl", "none.csl"] {
        kit.call_error("format_citations", cite(path)).await;
    }
}

/// A paper with numeric citations.
pub(crate) fn citing_pdf(title: &str, body: &[&str], references: &[&str]) -> Vec<u8> {
    let mut first: Vec<(u32, &str)> =
        vec![(20, title), (10, "Charles Babbage"), (14, "1 Introduction")];
    first.extend(body.iter().map(|it| (10, *it)));
    let mut last: Vec<(u32, &str)> = vec![(14, "References")];
    last.extend(references.iter().map(|it| (10, *it)));
    make_pdf(Some(title), &[&first, &last])
}

#[tokio::test]
async fn references_are_told_both_ways_and_as_deep_as_wanted() {
    let kit = ResearchHarness::new();
    let bees = kit
        .ingest(
            "bees.pdf",
            paper_pdf("The complete ways of all the honey bees", "bees"),
        )
        .await;
    let middle = citing_pdf(
        "Waggling considered as a language of its own",
        &["Bees are known to dance [1]."],
        &[
            "[1] A. Lovelace, \"The complete ways of all the honey bees,\" Journal of Bogs, 2019.",
            "[2] B. Someone, \"A work that nobody here has read yet,\" Journal of Bogs, 2018.",
        ],
    );
    let middle = kit.ingest("middle.pdf", middle).await;
    let last = citing_pdf(
        "A history of those who watched the waggling",
        &["It was called a language [1]."],
        &["[1] C. Babbage, \"Waggling considered as a language of its own,\" Bogs, 2020."],
    );
    let last = kit.ingest("last.pdf", last).await;
    let out = kit
        .call_ok("extract_citations", json!({ "article_identifier": middle }))
        .await;
    assert_eq!(out["references"], 2, "{out:#}");
    assert_eq!(out["outbound"][0]["article_id"], bees);
    assert_eq!(out["outbound"][1]["article_id"], Value::Null);
    assert_eq!(out["inbound"][0]["article_id"], last);
    assert_eq!(out["inbound"].as_array().unwrap().len(), 1);
    let deep = kit
        .call_ok(
            "extract_citations",
            json!({ "article_identifier": last, "include_inbound": false }),
        )
        .await;
    let depths: Vec<u64> = deep["outbound"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["depth"].as_u64().unwrap())
        .collect();
    assert_eq!(depths, [1, 2, 2], "{deep:#}");
    assert_eq!(deep["outbound"][1]["by"], middle);
    assert_eq!(deep["looked_at"], 0);
    let flat = json!({ "article_identifier": last, "max_depth": 1, "include_outbound": true });
    let flat = kit.call_ok("extract_citations", flat).await;
    assert_eq!(flat["outbound"].as_array().unwrap().len(), 1);
    let cited = kit
        .call_ok("extract_citations", json!({ "article_identifier": bees }))
        .await;
    assert_eq!(cited["inbound"][0]["article_id"], middle, "{cited:#}");
}

#[tokio::test]
async fn a_search_cites_what_fits_and_tells_what_does_not() {
    let (kit, id) = harness_with_bees().await;
    for name in ["ants", "wasps"] {
        let title = format!("On {name} and where they live");
        kit.ingest(&format!("{name}.pdf"), paper_pdf(&title, name))
            .await;
    }
    let nothing = json!({ "search_query": "quantum chromodynamics" });
    let told = kit.call_error("export_bibliography", nothing.clone()).await;
    assert!(
        told.starts_with("NothingToExport") && told.contains("no word of"),
        "{told}"
    );
    assert!(told.contains("search_articles"), "{told}");
    let file = kit.folder.path().join("exports/bibliography.bib");
    assert!(!file.exists());
    let cited = kit.call_ok("format_citations", nothing).await;
    assert_eq!(cited["citations"], json!([]));
    assert!(said_text(&cited).contains("no word of"), "{cited:#}");

    for tool in ["export_bibliography", "format_citations"] {
        let some = json!({ "search_query": "careful set of rules", "max_results": 2 });
        let some = kit.call_ok(tool, some).await;
        assert_eq!(some["left_out"], 1, "{tool}: {some:#}");
        assert!(
            said_text(&some).contains("1 more of the collection"),
            "{some:#}"
        );
        let both = json!({ "articles": [id], "search_query": "bees" });
        let told = kit.call_error(tool, both).await;
        assert!(told.contains("search_query") && told.contains("cannot be combined"));
    }
}

#[tokio::test]
async fn data_is_plain_and_markdown_is_in_what_is_said() {
    let (kit, id) = harness_with_bees().await;
    let cited = kit
        .call_ok("format_citations", json!({ "articles": [id] }))
        .await;
    let text = cited["citations"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("[1]"), "{text}");
    assert!(text.contains("ways_of_life"), "{text}");
    assert!(!text.contains('\\') && !text.contains('*'), "{text}");
    assert!(said_text(&cited).contains("*Journal of Bogs*"), "{cited:#}");
}
