//! Tests of the analysis tools: related articles, insights, authors, reading lists.

use serde_json::{Value, json};

use super::research_harness::{ResearchHarness, make_pdf, paper_pdf, said_text};

async fn update_metadata(harness: &ResearchHarness, id: &str, fields: Value) {
    let arguments = json!({ "article_identifier": id, "update_metadata": fields });
    harness.call_ok("update_article_metadata", arguments).await;
}

#[tokio::test]
async fn related_papers_are_others_and_say_what_they_share() {
    let kit = ResearchHarness::new();
    let bees = kit
        .ingest(
            "bees.pdf",
            paper_pdf("Pollination by bees in orchards", "bees"),
        )
        .await;
    let wasps = kit
        .ingest(
            "wasps.pdf",
            paper_pdf("Pollination by wasps in orchards", "wasps"),
        )
        .await;
    kit.ingest(
        "steel.pdf",
        paper_pdf("Fatigue of welded steel", "steel beams"),
    )
    .await;
    for id in [&bees, &wasps] {
        update_metadata(
            &kit,
            id,
            json!({ "journal": "Journal of Bogs", "authors": ["Ada Lovelace"] }),
        )
        .await;
    }
    let arguments = json!({
        "paper_identifier": bees, "explain_connections": true, "max_results": 20,
        "similarity_threshold": 0.0,
    });
    let found = kit.call_ok("find_related_papers", arguments).await;
    let related = found["related"].as_array().unwrap();
    assert_eq!(related[0]["article_id"], wasps, "{found:#}");
    assert!(related.iter().all(|it| it["article_id"] != bees));
    let shared = related[0]["connections"].to_string();
    for part in ["journal of bogs", "pollination", "lovelace"] {
        assert!(shared.to_lowercase().contains(part), "{part}: {shared}");
    }
    let strict = json!({ "paper_identifier": bees, "similarity_threshold": 1.0 });
    let strict = kit.call_ok("find_related_papers", strict).await;
    assert_eq!(strict["related"], json!([]));
    assert!(said_text(&strict).contains("that similar"));
    let told = kit
        .call_error(
            "find_related_papers",
            json!({ "paper_identifier": bees, "max_results": 21 }),
        )
        .await;
    assert!(told.contains("max_results"), "{told}");
}

fn study_pdf(title: &str, number: u32) -> Vec<u8> {
    let found = format!("We found that traps catch {number} percent more moths at night.");
    make_pdf(
        Some(title),
        &[
            &[
                (20, title),
                (10, "Ada Lovelace"),
                (14, "1 Introduction"),
                (10, "We propose a trap that is quieter than all the others."),
            ],
            &[
                (14, "2 Methods"),
                (
                    10,
                    "We used twelve traps in a wood over the whole of a summer.",
                ),
                (14, "3 Results"),
                (10, &found),
                (14, "4 Limitations"),
                (
                    10,
                    "We did not look at traps that stand in the rain for long.",
                ),
            ],
        ],
    )
}

#[tokio::test]
async fn articles_are_compared_on_what_is_named() {
    let kit = ResearchHarness::new();
    let one = kit
        .ingest("one.pdf", study_pdf("Quiet traps for moths", 12))
        .await;
    let two = kit
        .ingest("two.pdf", study_pdf("Loud traps for moths", 34))
        .await;
    let arguments = json!({
        "article_ids": [one, two],
        "compare_dimensions": ["findings", "methodology", "findings", "approach"],
    });
    let compared = kit.call_ok("compare_articles", arguments).await;
    let says = compared["articles"][0]["says"].as_array().unwrap();
    let dimensions: Vec<&str> = says
        .iter()
        .map(|it| it["dimension"].as_str().unwrap())
        .collect();
    assert_eq!(dimensions, ["findings", "methodology", "approach"]);
    let of = |article: usize, at: usize| {
        compared["articles"][article]["says"][at]["sentences"].to_string()
    };
    assert!(
        of(0, 0).contains("12 percent") && of(1, 0).contains("34 percent"),
        "{compared:#}"
    );
    assert!(of(0, 1).contains("twelve traps"));
    assert!(of(0, 2).contains("quieter"));
    assert!(!said_text(&compared).contains("## Citations"));
    assert_eq!(
        compared["articles"][0]["says"][0]["sentences"][0]["place"]["page"],
        2
    );
    for (arguments, rule) in [
        (json!({ "article_ids": [one] }), "article_ids"),
        (
            json!({ "article_ids": [one, "Quiet traps for moths"] }),
            "different articles",
        ),
        (
            json!({ "article_ids": [one, "who knows"] }),
            "ArticleNotFound",
        ),
        (
            json!({ "article_ids": [one, two], "compare_dimensions": ["colour"] }),
            "compare_dimensions",
        ),
    ] {
        let told = kit.call_error("compare_articles", arguments.clone()).await;
        assert!(told.contains(rule), "{arguments}: {told}");
    }
}

#[tokio::test]
async fn an_abstract_stands_on_no_page() {
    let server = super::mock_crossref::mock_crossref(&[{
        let mut work = super::mock_crossref::crossref_work(
            "10.5555/one",
            "Traps improve the catch of moths",
            2024,
        );
        work["abstract"] =
            json!("<p>We found that traps catch 12 percent more moths at night.</p>");
        work["updated-by"] = json!([{ "DOI": "10.5555/note", "type": "retraction" }]);
        work
    }])
    .await;
    let kit = super::mock_crossref::harness_for(&server);
    kit.call_ok("add_article", json!({ "identifiers": ["10.5555/one"] }))
        .await;
    let arguments =
        json!({ "article_id": "10.5555/one", "include_sections": ["findings", "findings"] });
    let found = kit.call_ok("extract_article_insights", arguments).await;
    let findings = found["insights"]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{found:#}");
    assert_eq!(findings[0]["place"], Value::Null);
    assert!(findings[0]["text"].as_str().unwrap().contains("12 percent"));
    assert!(said_text(&found).contains("page=\"abstract\"") && found["notes"][0].is_string());
    let other = kit
        .ingest("two.pdf", study_pdf("Loud traps for moths", 34))
        .await;
    let compared = kit
        .call_ok(
            "compare_articles",
            json!({ "article_ids": ["10.5555/one", other] }),
        )
        .await;
    assert!(
        compared["notes"][0]
            .as_str()
            .unwrap()
            .contains("has no text yet")
    );
    assert!(said_text(&compared).contains("article=\"A\" page=\"abstract\""));
    assert_eq!(compared["articles"][0]["retracted"], true, "{compared:#}");
    assert_eq!(said_text(&compared).matches("**RETRACTED**").count(), 1);
}

#[tokio::test]
async fn insights_are_sentences_with_their_places() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("one.pdf", study_pdf("Quiet traps for moths", 12))
        .await;
    let found = kit
        .call_ok("extract_article_insights", json!({ "article_id": id }))
        .await;
    let names: Vec<&String> = found["insights"].as_object().unwrap().keys().collect();
    let mut wanted = vec![
        "contributions",
        "methodology",
        "limitations",
        "future_work",
        "connections",
    ];
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    let limits = &found["insights"]["limitations"][0];
    assert!(
        limits["text"].as_str().unwrap().contains("in the rain"),
        "{found:#}"
    );
    assert_eq!(limits["place"]["page"], 2);
    assert!(limits["section"].as_str().unwrap().contains("Limitations"));
}

#[tokio::test]
async fn people_are_found_as_they_are_written() {
    let kit = ResearchHarness::new();
    let mut ids = Vec::new();
    for (at, (authors, date)) in [
        (json!(["van der Meer, Zoë", "Lovelace, Ada"]), "2019"),
        (json!(["van der Meer, Z."]), "2021-05"),
        (json!(["Müller, Johann Jakob"]), "2020"),
        (json!(["Müller, Karl"]), "2022"),
        (json!(["Lovelace, Ada", "Müller, J."]), "2023"),
    ]
    .into_iter()
    .enumerate()
    {
        let title = format!("A paper of several with the number {at}");
        let id = kit
            .ingest(
                &format!("{at}.pdf"),
                paper_pdf(&title, &format!("thing {at}")),
            )
            .await;
        update_metadata(
            &kit,
            &id,
            json!({ "authors": authors, "publication_date": date }),
        )
        .await;
        ids.push(id);
    }
    let found = async |arguments: Value| -> Vec<usize> {
        let found = kit.call_ok("find_articles_by_authors", arguments).await;
        let articles = found["articles"].as_array().unwrap().clone();
        let place = |it: &Value| ids.iter().position(|id| it["article_id"] == **id).unwrap();
        articles.iter().map(place).collect()
    };
    // Newest first.
    assert_eq!(found(json!({ "authors": ["van der Meer"] })).await, [1, 0]);
    assert_eq!(found(json!({ "authors": ["Meer"] })).await, [1, 0]);
    assert_eq!(
        found(json!({ "authors": ["Zoë van der Meer"] })).await,
        [1, 0]
    );
    assert_eq!(found(json!({ "authors": ["Müller"] })).await, [4, 3, 2]);
    assert_eq!(found(json!({ "authors": ["Müller, J."] })).await, [4, 2]);
    assert_eq!(found(json!({ "authors": ["Johann Müller"] })).await, [4, 2]);
    assert_eq!(found(json!({ "authors": ["Karl Müller"] })).await, [3]);
    assert_eq!(
        found(json!({ "authors": ["Eer"] })).await,
        Vec::<usize>::new()
    );
    let both = json!({ "authors": ["Lovelace", "Müller"], "match_all": true });
    assert_eq!(found(both).await, [4]);
    assert_eq!(
        found(json!({ "authors": ["Lovelace", "Müller"] })).await,
        [4, 3, 2, 0]
    );
    let years = json!({ "authors": ["Müller"], "year_from": 2020, "year_to": 2022 });
    assert_eq!(found(years).await, [3, 2]);
    assert_eq!(
        found(json!({ "authors": ["Müller"], "limit": 1 })).await,
        [4]
    );
    for (arguments, field) in [
        (json!({ "authors": [] }), "authors"),
        (json!({ "authors": ["  "] }), "authors"),
        (json!({ "authors": ["X"], "year_from": 99 }), "year_from"),
        (
            json!({ "authors": ["X"], "year_from": 2022, "year_to": 2020 }),
            "year_to",
        ),
    ] {
        let told = kit
            .call_error("find_articles_by_authors", arguments.clone())
            .await;
        assert!(told.contains(field), "{arguments}: {told}");
    }
}

#[tokio::test]
async fn a_topic_has_papers_people_and_an_order() {
    let kit = ResearchHarness::new();
    let mut ids = Vec::new();
    for (at, (date, count)) in [("2019", 5), ("2023", 1), ("2021", 90)]
        .into_iter()
        .enumerate()
    {
        let title = format!("Honey bees at night, volume {at}");
        let id = kit
            .ingest(
                &format!("{at}.pdf"),
                paper_pdf(&title, "honey bees at night"),
            )
            .await;
        update_metadata(
            &kit,
            &id,
            json!({ "publication_date": date, "citation_count": count }),
        )
        .await;
        ids.push(id);
    }
    let topic = kit
        .call_ok("analyze_topic", json!({ "topic": "honey bees at night" }))
        .await;
    assert_eq!(topic["papers"].as_array().unwrap().len(), 3, "{topic:#}");
    assert_eq!(topic["period"], json!([2019, 2023]));
    assert!(said_text(&topic).contains("<passage"));
    let quick = json!({ "topic": "honey bees at night", "depth": "quick" });
    assert!(!said_text(&kit.call_ok("analyze_topic", quick).await).contains("<passage"));
    let order = |output: &Value| -> Vec<usize> {
        let papers = output["papers"].as_array().unwrap();
        let place = |it: &Value| ids.iter().position(|id| it["article_id"] == **id).unwrap();
        papers.iter().map(place).collect()
    };
    for (sort_by, wanted) in [("date", [1, 2, 0]), ("citations", [2, 0, 1])] {
        let arguments = json!({ "topic": "honey bees", "sort_by": sort_by });
        assert_eq!(
            order(&kit.call_ok("search_by_topic", arguments).await),
            wanted,
            "{sort_by}"
        );
    }
    let years = json!({ "topic": "honey bees", "year_from": 2020, "year_to": 2021 });
    assert_eq!(order(&kit.call_ok("search_by_topic", years).await), [2]);
    for (criteria, wanted) in [("recent", [1, 2, 0]), ("citations", [2, 0, 1])] {
        let arguments = json!({ "topic_or_query": "honey bees", "priority_criteria": criteria });
        let list = kit.call_ok("generate_reading_list", arguments).await;
        assert_eq!(order(&list), wanted, "{criteria}");
        assert_eq!(list["total_minutes"], 45);
        assert_eq!(said_text(&list).matches("- [ ]").count(), 3);
    }
    let all = json!({ "topic_or_query": "honey bees", "priority_criteria": "comprehensive" });
    // First by date and by citations, whatever the relevance.
    update_metadata(&kit, &ids[2], json!({ "publication_date": "2025" })).await;
    assert_eq!(
        order(&kit.call_ok("generate_reading_list", all).await)[0],
        2
    );
    let plain = json!({ "topic_or_query": "honey bees", "reading_time_estimate": false });
    let plain = kit.call_ok("generate_reading_list", plain).await;
    assert!(!said_text(&plain).contains(" min") && !plain.to_string().contains("minutes"));
    let told = kit
        .call_error("analyze_topic", json!({ "topic": "x", "max_papers": 2 }))
        .await;
    assert!(told.contains("max_papers"), "{told}");
}
