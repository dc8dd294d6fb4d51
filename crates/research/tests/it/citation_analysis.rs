//! Tests of citation networks and citation contexts.

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path_regex},
};

use super::{
    bibliography_export::citing_pdf,
    research_harness::{ResearchHarness, paper_pdf, said_text},
};

const BEES: &str = "The complete ways of all the honey bees";

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

async fn get_citation_context(harness: &ResearchHarness, citing: &str, cited: &str) -> Value {
    let arguments =
        json!({ "citing_paper_id": citing, "cited_paper_id": cited, "context_window": 1 });
    harness.call_ok("get_citation_context", arguments).await
}

#[tokio::test]
async fn sentences_that_cite_are_found_with_their_places() {
    let kit = ResearchHarness::new();
    let bees = kit.ingest("bees.pdf", paper_pdf(BEES, "bees")).await;
    let reference = format!("[2] A. Lovelace, \"{BEES},\" Journal of Bogs, 2019.");
    let citing = citing_pdf(
        "Waggling considered as a language of its own",
        &[
            "Nothing is cited by this sentence.",
            "Bees are known to dance [2].",
            "Others agree on that [1-3], and we do.",
            "This one cites another [1].",
            "A claim of Lovelace (2019) is older.",
        ],
        &[
            "[1] B. Someone, \"A work that nobody here has read yet,\" Bogs, 2018.",
            &reference,
            "[3] D. Other, \"One more work about something else,\" Bogs, 2017.",
        ],
    );
    let id = kit.ingest("citing.pdf", citing).await;
    let found = get_citation_context(&kit, &id, &bees).await;
    let all = found["contexts"].as_array().unwrap();
    let sentences: Vec<&str> = all
        .iter()
        .map(|it| it["sentence"].as_str().unwrap())
        .collect();
    assert_eq!(sentences.len(), 3, "{found:#}");
    for (sentence, part) in sentences
        .iter()
        .zip(["dance [2]", "[1-3]", "Lovelace (2019)"])
    {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert!(
        all[0]["around"]
            .as_str()
            .unwrap()
            .contains("Nothing is cited")
    );
    assert!(found["reference"].as_str().unwrap().contains("honey bees"));
    // The position leads back to the sentence.
    let (place, kept) = (
        &all[0]["place"],
        kit.store
            .document_parts("text", &id, deliberate_store::Pagination::limit(9))
            .await
            .unwrap(),
    );
    let page = kept[number(&place["page"]) - 1].chars().collect::<Vec<_>>();
    let (start, end) = (number(&place["start"]), number(&place["end"]));
    assert_eq!(page[start..end].iter().collect::<String>(), sentences[0]);
    assert!(said_text(&found).contains("<passage"));
    let none = get_citation_context(&kit, &bees, &id).await;
    assert_eq!(none["contexts"], json!([]));
    assert!(
        none["notes"][0].as_str().unwrap().contains("no such entry"),
        "{none:#}"
    );
}

#[tokio::test]
async fn every_common_way_of_citing_is_found() {
    let kit = ResearchHarness::new();
    let title = "Moisture thresholds for the ignition of peat";
    let cited = format!("# {title}\n\n## Results\n\nNo core ignited.\n");
    let cited = kit.ingest("cited.md", cited).await;
    let facts =
        json!({ "authors": ["Chidi Okafor", "Maja Lindqvist"], "publication_date": "2023" });
    let set = json!({ "article_identifier": cited, "update_metadata": facts });
    kit.call_ok("update_article_metadata", set).await;
    let numbered = format!(
        "1. Okafor C, Lindqvist M. {title}. Fire Soil. 2023;8:45-58.\n\
         2. Briain S. Drones over burning peat. Field Robotics. 2022;77-84.\n\
         3. Nystrom E. Ground water. Handbook of Wetlands. 1998;3-41.\n"
    );
    let named = format!(
        "Nystrom, E. (1998). Ground water. Handbook of Wetlands, 3-41.\n\n\
         Okafor, C., & Lindqvist, M. (2023). {title}. Fire & Soil, 8, 45-58.\n\n\
         Okafor, C. (2023). Another work on fungi. Spores, 1, 1-2.\n"
    );
    let raised = "Peat burns below that.¹";
    let round = ["Others found the same (1).", "Moisture matters most (1,2)."];
    let both = "A fact (Okafor & Lindqvist, 2023).";
    for (name, list, sentences, expected) in [
        (
            "round",
            &numbered,
            vec![
                raised,
                round[0],
                round[1],
                "Ground water does (3).",
                "It grows (2).",
            ],
            vec![raised, round[0], round[1]],
        ),
        (
            "square",
            &numbered,
            vec![
                "It is so [1, p. 5].",
                "It grows [2].",
                "We did (1) this and (2) that.",
            ],
            vec!["It is so [1, p. 5]."],
        ),
        (
            "named",
            &named,
            vec![both, "Another (Okafor, 2023).", "More (Nystrom, 1998)."],
            vec![both],
        ),
        ("none", &numbered, vec!["Nothing is cited here."], vec![]),
    ] {
        let body = sentences.join("\n\n");
        let text = format!(
            "# Fires of kind {name}\n\n## Introduction\n\n{body}\n\n## References\n\n{list}"
        );
        let citing = kit.ingest(&format!("{name}.md"), text).await;
        let found = get_citation_context(&kit, &citing, &cited).await;
        let places = found["contexts"].as_array().unwrap().iter();
        let all: Vec<&str> = places.map(|it| it["sentence"].as_str().unwrap()).collect();
        assert_eq!(all, expected, "{name}: {found:#}");
        let told = said_text(&found).contains("searched for “[1]”, “(1)”, a raised “1”");
        assert_eq!(told, all.is_empty(), "{found:#}");
    }
}

fn semantic_scholar_link(
    title: &str,
    doi: &str,
    contexts: &[&str],
    kind: &str,
    count: u64,
) -> Value {
    json!({
        "contexts": contexts, "isInfluential": false,
        kind: {
            "paperId": format!("{:040x}", title.len() * 7919 + doi.len()),
            "externalIds": { "DOI": doi }, "title": title, "year": 2020, "citationCount": count,
            "authors": [{ "authorId": "1", "name": "Ada Lovelace" }],
        },
    })
}

async fn mount_links(server: &MockServer, place: &str, data: &[Value]) {
    Mock::given(method("GET"))
        .and(path_regex(place))
        .respond_with(
            ResponseTemplate::new(200).set_body_json(json!({ "offset": 0, "data": data })),
        )
        .mount(server)
        .await;
}

#[tokio::test]
async fn a_paper_that_was_not_read_is_asked_for_and_a_failure_is_no_answer() {
    let server = MockServer::start().await;
    let cited = semantic_scholar_link(
        BEES,
        "10.5555/bees",
        &["As in [4], bees dance."],
        "citedPaper",
        1,
    );
    mount_links(&server, "10.5555/citing/references", &[cited]).await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["semantic_scholar"]);
    let found = get_citation_context(&kit, "10.5555/citing", "10.5555/bees").await;
    assert_eq!(
        found["contexts"][0]["sentence"], "As in [4], bees dance.",
        "{found:#}"
    );
    assert_eq!(found["contexts"][0]["from"], "semantic_scholar");
    assert_eq!(found["contexts"][0]["place"], Value::Null);
    // A citation without known sentences differs from an unknown citation.
    let silent = semantic_scholar_link(BEES, "10.5555/bees", &[], "citedPaper", 1);
    mount_links(&server, "10.5555/silent/references", &[silent]).await;
    for (citing, note) in [
        ("10.5555/silent", "lists the citation"),
        ("10.5555/nobody", "does not know what"),
    ] {
        let found = get_citation_context(&kit, citing, "10.5555/bees").await;
        assert_eq!(found["contexts"], json!([]));
        assert!(said_text(&found).contains(note), "{found:#}");
    }
    let wrong = |citing: &str| {
        let arguments = json!({ "citing_paper_id": citing, "cited_paper_id": "10.5555/bees" });
        kit.call_error("get_citation_context", arguments)
    };
    assert!(wrong("who knows").await.starts_with("ArticleNotFound"));
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(400))
        .mount(&server)
        .await;
    let told = wrong("10.5555/other").await;
    assert!(told.starts_with("SourcesFailed"), "{told}");
}

#[tokio::test]
async fn a_network_has_both_directions_each_work_once_and_tells_faults() {
    let server = MockServer::start().await;
    let paper = json!({
        "paperId": "a".repeat(40), "externalIds": { "DOI": "10.5555/bees" }, "title": BEES,
        "year": 2019, "citationCount": 8, "authors": [{ "name": "Ada Lovelace" }],
    });
    Mock::given(method("GET"))
        .and(path_regex("^/paper/DOI:10.5555/bees$"))
        .respond_with(ResponseTemplate::new(200).set_body_json(paper))
        .mount(&server)
        .await;
    let citing =
        |title: &str, doi: &str, many| semantic_scholar_link(title, doi, &[], "citingPaper", many);
    let cited =
        |title: &str, doi: &str, many| semantic_scholar_link(title, doi, &[], "citedPaper", many);
    mount_links(
        &server,
        "bees/citations",
        &[
            citing("A work that cites the bees often", "10.5555/c1", 5),
            citing("A work that cites the bees often", "10.5555/c1", 5),
        ],
    )
    .await;
    mount_links(
        &server,
        "bees/references",
        &[cited("An old work about insects", "10.5555/r1", 900)],
    )
    .await;
    mount_links(
        &server,
        "c1/references",
        &[
            cited(BEES, "10.5555/bees", 8),
            cited("What is cited beside the bees", "10.5555/beside", 3),
        ],
    )
    .await;
    mount_links(&server, "c1/citations", &[]).await;
    mount_links(&server, "r1/(citations|references)", &[]).await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["semantic_scholar"]);
    let near = kit
        .call_ok(
            "explore_citation_network",
            json!({ "article_id": "10.5555/bees" }),
        )
        .await;
    assert_eq!(near["nodes"].as_array().unwrap().len(), 3, "{near:#}");
    assert_eq!(near["nodes"][0]["article"]["title"], BEES);
    assert_eq!(near["edges"].as_array().unwrap().len(), 2);
    assert_eq!(near["metrics"]["citation_count"], 8);
    assert_eq!(
        (
            near["metrics"]["citing_shown"].as_u64(),
            near["metrics"]["cited_shown"].as_u64()
        ),
        (Some(1), Some(1))
    );
    assert!(said_text(&near).contains("Cited by (1)") && said_text(&near).contains("Cites (1)"));
    assert!(said_text(&near).contains("depth 2"), "{near:#}");
    let deep = json!({ "article_id": "10.5555/bees", "depth": 2, "include_metrics": false });
    let deep = kit.call_ok("explore_citation_network", deep).await;
    assert!(deep.get("metrics").is_none());
    let together = deep["cited_together"][0].as_array().unwrap();
    let node = &deep["nodes"][number(&together[0])];
    assert_eq!(
        node["article"]["title"], "What is cited beside the bees",
        "{deep:#}"
    );
    assert_eq!(node["distance"], 2);
    let farther = said_text(&deep)
        .split("## Farther away")
        .nth(1)
        .unwrap_or("");
    assert!(
        farther.contains("What is cited beside the bees")
            && farther.contains("cited by “A work that cites the bees often”"),
        "{}",
        said_text(&deep)
    );
    for (depth, id) in [(0, "10.5555/bees"), (4, "10.5555/bees")] {
        let told = kit
            .call_error(
                "explore_citation_network",
                json!({ "article_id": id, "depth": depth }),
            )
            .await;
        assert!(told.contains("depth"), "{told}");
    }
    let told = kit
        .call_error(
            "explore_citation_network",
            json!({ "article_id": "who knows" }),
        )
        .await;
    assert!(told.starts_with("ArticleNotFound"), "{told}");
    let told = kit
        .call_error(
            "explore_citation_network",
            json!({ "article_id": "10.5555/none" }),
        )
        .await;
    assert!(told.starts_with("PaperNotFound"), "{told}");
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(400))
        .with_priority(1)
        .mount(&server)
        .await;
    let told = kit
        .call_error(
            "explore_citation_network",
            json!({ "article_id": "10.5555/bees" }),
        )
        .await;
    assert!(told.starts_with("SourcesFailed"), "{told}");
}

#[tokio::test]
async fn where_no_source_knows_a_work_the_collection_tells_what_it_knows() {
    let server = MockServer::start().await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["semantic_scholar"]);
    let reference = format!("[1] A. Lovelace, \"{BEES},\" Journal of Bogs, 2019.");
    let text = citing_pdf(
        "Waggling considered as a language of its own",
        &["Bees are known to dance [1]."],
        &[&reference],
    );
    let id = kit.ingest("citing.pdf", text).await;
    let alone = kit
        .ingest("ants.pdf", paper_pdf("On ants alone", "ants"))
        .await;
    for (id, doi) in [(&id, "10.5555/citing"), (&alone, "10.5555/alone")] {
        let fields = json!({ "doi": doi });
        let set = json!({ "article_identifier": id, "update_metadata": fields });
        kit.call_ok("update_article_metadata", set).await;
    }
    let told = async |id: &str| {
        let deep = json!({ "article_id": id, "depth": 2 });
        kit.call_ok("explore_citation_network", deep).await
    };
    let found = told(&id).await;
    let cites = found["in_collection"]["outbound"].as_array().unwrap();
    assert_eq!(cites.len(), 1, "{found:#}");
    assert!(said_text(&found).contains("honey bees"), "{found:#}");
    assert!(said_text(&found).contains("no source knows what cites"));
    assert!(!said_text(&found).contains("depth 2"), "{found:#}");
    // That no source knows a citation is an answer, too.
    let none = told(&alone).await;
    assert!(none.get("in_collection").is_none(), "{none:#}");
    // A source that fails may know some, so the failure is reported.
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(400))
        .with_priority(1)
        .mount(&server)
        .await;
    let found = told(&id).await;
    assert!(
        said_text(&found).contains("no source could say"),
        "{found:#}"
    );
    let wrong = kit
        .call_error("explore_citation_network", json!({ "article_id": alone }))
        .await;
    assert!(wrong.starts_with("SourcesFailed"), "{wrong}");
}
