//! Tests of deduplication: two files of one work, and one file of one work.

use deliberate_toolkit::{CallOutcome, CallerContext};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path_regex, query_param_contains},
};

use super::research_harness::{ResearchHarness, files_in, make_pdf, paper_pdf, said_text};

async fn upload(harness: &ResearchHarness, path: &str, collection: &str) -> Value {
    let arguments = json!({ "file_path": path, "collection_name": collection });
    harness
        .call_ok("upload_external_knowledge", arguments)
        .await
}

async fn process(harness: &ResearchHarness, path: &str) -> Value {
    harness
        .call_ok("process_pdf", json!({ "pdf_path": path }))
        .await
}

async fn search_finds(harness: &ResearchHarness, query: &str) -> bool {
    let found = harness
        .call_ok("search_articles", json!({ "query": query }))
        .await;
    found["results"].as_array().unwrap().iter().any(|it| {
        let preview = it["preview"].as_str().unwrap_or_default();
        preview.contains(query)
    })
}

#[tokio::test]
async fn two_files_of_one_title_are_two() {
    let kit = ResearchHarness::new();
    kit.write_paper(
        "x/Introduction.md",
        "# Introduction\n\nAll about turf, week 1.",
    );
    kit.write_paper(
        "y/Introduction.md",
        "# Introduction\n\nAll about cheese, week 9.",
    );
    let turf = upload(&kit, "x/Introduction.md", "Turf").await;
    let cheese = upload(&kit, "y/Introduction.md", "Cheese").await;
    assert_eq!(cheese["outcome"], "added", "{cheese:#}");
    assert_ne!(turf["article_id"], cheese["article_id"]);
    assert!(search_finds(&kit, "turf").await && search_finds(&kit, "cheese").await);

    kit.write_paper(
        "x/Introduction.md",
        "# Introduction\n\nAll about peat, week 1.",
    );
    let peat = upload(&kit, "x/Introduction.md", "Turf").await;
    assert_eq!(peat["article_id"], turf["article_id"], "a changed file");
    assert!(search_finds(&kit, "peat").await && search_finds(&kit, "cheese").await);

    kit.write_paper("a.md", "# Same Title Of Note\n\nWords on hedges.");
    kit.write_paper("b.md", "# Same Title Of Note\n\nWords on ditches.");
    let (a, b) = (process(&kit, "a.md").await, process(&kit, "b.md").await);
    assert_ne!(a["article_id"], b["article_id"]);
    assert!(search_finds(&kit, "hedges").await && search_finds(&kit, "ditches").await);
}

#[tokio::test]
async fn a_text_that_goes_for_another_is_told() {
    let kit = ResearchHarness::new();
    let title = "On bees and their ways in the high north of Sweden";
    let words = |line: &str| make_pdf(Some(title), &[&[(20, title), (10, line)]]);
    kit.write_paper(
        "a.pdf",
        words("These are the words of the first of two files."),
    );
    kit.write_paper(
        "b.pdf",
        words("These are the words of the second of two files."),
    );
    let first = process(&kit, "a.pdf").await;
    let second = process(&kit, "b.pdf").await;
    assert_eq!(first["article_id"], second["article_id"]);
    let said = said_text(&second);
    assert!(
        said.contains("The text of this file replaced that of ") && said.contains("a.pdf."),
        "{said}"
    );
    // From here on the two must not alternate.
    let folder = json!({ "directory_path": kit.papers_folder() });
    for _ in 0..2 {
        let batch = kit.call_ok("batch_process_pdfs", folder.clone()).await;
        let outcomes = batch["results"].as_array().unwrap().iter();
        assert!(
            outcomes.into_iter().all(|it| it["outcome"] == "unchanged"),
            "{batch:#}"
        );
        assert!(search_finds(&kit, "second").await && !search_finds(&kit, "first").await);
    }
    let still = process(&kit, "a.pdf").await;
    assert!(
        said_text(&still).contains("b.pdf; skip_existing false"),
        "{}",
        said_text(&still)
    );
    let wanted = json!({ "pdf_path": "a.pdf", "skip_existing": false });
    kit.call_ok("process_pdf", wanted).await;
    assert!(search_finds(&kit, "first").await && !search_finds(&kit, "second").await);
    let other = process(&kit, "b.pdf").await;
    assert_eq!(other["outcome"], "unchanged", "{other:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_brought_by_many_at_once_is_added_once() {
    let kit = ResearchHarness::new();
    kit.write_paper("bees.pdf", paper_pdf("On bees and their ways", "bees"));
    let calls = (0..6).map(|_| {
        let arguments = json!({ "pdf_path": "bees.pdf" });
        kit.registry
            .call("process_pdf", arguments, CallerContext::default())
    });
    let mut outcomes = Vec::new();
    for answer in futures::future::join_all(calls).await {
        let CallOutcome::Done(output) = answer.unwrap() else {
            panic!("it asks nothing");
        };
        outcomes.push(output["outcome"].as_str().unwrap().to_owned());
    }
    outcomes.sort();
    let unchanged = ["unchanged"; 5].map(str::to_owned);
    assert_eq!(outcomes[0], "added", "{outcomes:?}");
    assert_eq!(outcomes[1..], unchanged, "{outcomes:?}");
}

#[tokio::test]
async fn authors_are_found_as_people_type_them() {
    let server = MockServer::start().await;
    let record = json!({ "status": "ok", "message-type": "work", "message": {
        "DOI": "10.5555/moor",
        "type": "journal-article",
        "title": ["On moors and their ways"],
        "author": [
            { "given": "J\u{f6}rg", "family": "M\u{fc}ller" },
            { "given": "Zo\u{eb}", "family": "van der Meer" }
        ],
        "issued": { "date-parts": [[2019]] }
    } });
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(200).set_body_json(record))
        .mount(&server)
        .await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    kit.call_ok("add_article", json!({ "identifiers": ["10.5555/moor"] }))
        .await;
    for name in [
        "Muller",
        "M\u{fc}ller",
        "Mu\u{308}ller, J.",
        "M\u{fc}ller, J\u{f6}rg",
        "van der Meer",
        "Meer",
    ] {
        let listed = kit
            .call_ok("list_articles", json!({ "search_term": name }))
            .await;
        assert_eq!(listed["total"], 1, "{name}: {listed:#}");
        let arguments = json!({ "query": "moors", "author": name });
        let found = kit.call_ok("search_articles", arguments).await;
        let results = found["results"].as_array().unwrap();
        assert_eq!(results.len(), 1, "{name}: {found:#}");
    }
}

/// Papers of one author and year whose titles begin alike.
async fn harness_with_similar_titles(names: &[&str]) -> (MockServer, ResearchHarness) {
    let server = MockServer::start().await;
    for (at, name) in (1..).zip(names) {
        let title = format!("On the ways of bees in the high north, part {name}");
        let feed = format!(
            r#"<feed xmlns="http://www.w3.org/2005/Atom"><entry>
            <id>http://arxiv.org/abs/2301.0000{at}v1</id><published>2023-01-01T00:00:00Z</published>
            <title>{title}</title><summary>All about bees.</summary>
            <author><name>Ada Lovelace</name></author></entry></feed>"#
        );
        Mock::given(query_param_contains("id_list", format!("2301.0000{at}")))
            .respond_with(ResponseTemplate::new(200).set_body_raw(feed, "application/atom+xml"))
            .mount(&server)
            .await;
        let body = paper_pdf(&title, &format!("bees of part {name}"));
        Mock::given(path_regex(format!("^/pdf/2301.0000{at}")))
            .respond_with(ResponseTemplate::new(200).set_body_raw(body, "application/pdf"))
            .mount(&server)
            .await;
    }
    let kit = ResearchHarness::with_sources(&format!("{}/api", server.uri()), &["arxiv"]);
    (server, kit)
}

#[tokio::test]
async fn papers_whose_titles_begin_alike_have_files_of_their_own() {
    let (_server, kit) = harness_with_similar_titles(&["one", "two"]).await;
    let both = json!({ "identifiers": ["2301.00001", "2301.00002"], "download": true });
    kit.call_ok("add_article", both).await;
    for (id, part) in [("2301.00001", "one"), ("2301.00002", "two")] {
        let read = json!({ "article_identifier": id, "pages": "1" });
        let read = kit.call_ok("read_article", read).await;
        let there = format!("bees of part {part} ");
        assert!(
            said_text(&read).contains(&there),
            "{id}: {}",
            said_text(&read)
        );
    }
    assert_eq!(files_in(&kit.papers_folder()).len(), 2);
}

#[tokio::test]
async fn the_file_of_another_work_joins_no_two() {
    let (_server, kit) = harness_with_similar_titles(&["one", "two"]).await;
    let first = json!({ "identifiers": ["2301.00001"], "download": true });
    kit.call_ok("add_article", first).await;
    let second = json!({ "identifiers": ["2301.00002"] });
    kit.call_ok("add_article", second).await;
    let fetched = json!({ "source": "2301.00002" });
    let fetched = kit.call_ok("download_pdf", fetched).await;
    let first = json!({ "article_identifier": "2301.00001" });
    let first = kit.call_ok("get_article_details", first).await;
    let from = first["file"]["path"].as_str().unwrap();
    // The file is replaced by a wrong one.
    std::fs::copy(from, fetched["file"]["path"].as_str().unwrap()).unwrap();
    let read = json!({ "pdf_path": "2301.00002" });
    let wrong = kit.call_error("process_pdf", read).await;
    assert!(wrong.contains("AnothersFile"), "{wrong}");
    let listed = kit.call_ok("list_articles", json!({})).await;
    assert_eq!(listed["total"], 2, "{listed:#}");
}

#[tokio::test]
async fn one_of_a_thing_is_one() {
    let kit = ResearchHarness::new();
    kit.write_paper("ants.md", "# On ants\n\nWords about ants.");
    let id = process(&kit, "ants.md").await["article_id"].clone();
    for tool in ["read_article", "get_article_details"] {
        let shown = kit.call_ok(tool, json!({ "article_identifier": id })).await;
        assert!(
            said_text(&shown).contains("1 page, "),
            "{}",
            said_text(&shown)
        );
    }
}

#[tokio::test]
async fn of_what_is_unchanged_it_is_told_what_is_kept() {
    let kit = ResearchHarness::new();
    let cites = super::bibliography_export::citing_pdf(
        "Waggling considered as a language of its own",
        &["Bees are known to dance [1]."],
        &["[1] A. Lovelace, \"The ways of all the honey bees,\" Journal of Bogs, 2019."],
    );
    kit.write_paper("citing.pdf", cites);
    let first = process(&kit, "citing.pdf").await;
    let again = process(&kit, "citing.pdf").await;
    assert_eq!(again["outcome"], "unchanged");
    assert_eq!(again["references"], 1, "{again:#}");
    for field in ["headings", "figures_and_tables", "references"] {
        assert_eq!(again[field], first[field], "{field}");
    }
}

#[tokio::test]
async fn a_file_that_was_moved_is_known_where_it_is() {
    let kit = ResearchHarness::new();
    let before = kit.write_paper("ants.md", "# On ants\n\nWords about ants.");
    let id = process(&kit, "ants.md").await["article_id"].clone();
    let copy = kit.write_paper("sub/ants-moved.md", "# On ants\n\nWords about ants.");
    let path = async || {
        let asked = json!({ "article_identifier": id });
        kit.call_ok("get_article_details", asked).await["file"]["path"].clone()
    };
    process(&kit, "sub/ants-moved.md").await;
    assert!(path().await.as_str().unwrap().ends_with("papers/ants.md"));
    std::fs::remove_file(before).unwrap();
    let again = process(&kit, &copy).await;
    assert_eq!(again["outcome"], "unchanged", "{again:#}");
    let now = path().await;
    assert!(
        now.as_str().unwrap().ends_with("sub/ants-moved.md"),
        "{now}"
    );
}

#[tokio::test]
async fn a_file_that_was_written_anew_stays_one_whatever_it_is_called() {
    let kit = ResearchHarness::new();
    kit.write_paper("chapter.md", "# Hives, first draft\n\nWords on hedges.");
    let first = process(&kit, "chapter.md").await;
    kit.write_paper(
        "chapter.md",
        "# Hives, second draft\n\nWords on ditches, and more.",
    );
    let second = process(&kit, "chapter.md").await;
    assert_eq!(second["article_id"], first["article_id"], "{second:#}");
    assert_eq!(second["article"]["title"], "Hives, second draft");
    assert!(search_finds(&kit, "ditches").await && !search_finds(&kit, "hedges").await);
    // A title that a user set stays.
    let own = json!({
        "article_identifier": second["article_id"],
        "update_metadata": { "title": "A chapter of mine" },
    });
    kit.call_ok("update_article_metadata", own).await;
    kit.write_paper("chapter.md", "# Hives, third draft\n\nWords on walls.");
    let third = process(&kit, "chapter.md").await;
    assert_eq!(third["article_id"], first["article_id"], "{third:#}");
    assert_eq!(third["article"]["title"], "A chapter of mine");
}
