//! Who cites whom, and in which sentences.

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path_regex},
};

use crate::{
    citing_files::citing,
    collect_kit::{Kit, paper, said},
};

const BEES: &str = "The complete ways of all the honey bees";

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

async fn contexts(kit: &Kit, citing: &str, cited: &str) -> Value {
    let arguments =
        json!({ "citing_paper_id": citing, "cited_paper_id": cited, "context_window": 1 });
    kit.done("get_citation_context", arguments).await
}

#[tokio::test]
async fn sentences_that_cite_are_found_with_their_places() {
    let kit = Kit::new();
    let bees = kit.ingest("bees.pdf", paper(BEES, "bees")).await;
    let reference = format!("[2] A. Lovelace, \"{BEES},\" Journal of Bogs, 2019.");
    let citing = citing(
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
    let found = contexts(&kit, &id, &bees).await;
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
    // The place leads back to the sentence.
    let (place, kept) = (
        &all[0]["place"],
        kit.store
            .item_parts("text", &id, deliberate_store::Page::first(9))
            .await
            .unwrap(),
    );
    let page = kept[number(&place["page"]) - 1].chars().collect::<Vec<_>>();
    let (start, end) = (number(&place["start"]), number(&place["end"]));
    assert_eq!(page[start..end].iter().collect::<String>(), sentences[0]);
    assert!(said(&found).contains("<passage"));
    let none = contexts(&kit, &bees, &id).await;
    assert_eq!(none["contexts"], json!([]));
    assert!(
        none["notes"][0].as_str().unwrap().contains("no such entry"),
        "{none:#}"
    );
}

fn s2(title: &str, doi: &str, contexts: &[&str], kind: &str, count: u64) -> Value {
    json!({
        "contexts": contexts, "isInfluential": false,
        kind: {
            "paperId": format!("{:040x}", title.len() * 7919 + doi.len()),
            "externalIds": { "DOI": doi }, "title": title, "year": 2020, "citationCount": count,
            "authors": [{ "authorId": "1", "name": "Ada Lovelace" }],
        },
    })
}

async fn answers(server: &MockServer, place: &str, data: &[Value]) {
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
    let cited = s2(
        BEES,
        "10.5555/bees",
        &["As in [4], bees dance."],
        "citedPaper",
        1,
    );
    answers(&server, "10.5555/citing/references", &[cited]).await;
    let kit = Kit::with_sources(&server.uri(), &["semantic_scholar"]);
    let found = contexts(&kit, "10.5555/citing", "10.5555/bees").await;
    assert_eq!(
        found["contexts"][0]["sentence"], "As in [4], bees dance.",
        "{found:#}"
    );
    assert_eq!(found["contexts"][0]["from"], "semantic_scholar");
    assert_eq!(found["contexts"][0]["place"], Value::Null);
    // That it is cited and nobody knows where is not the same as that nobody knows.
    let silent = s2(BEES, "10.5555/bees", &[], "citedPaper", 1);
    answers(&server, "10.5555/silent/references", &[silent]).await;
    for (citing, note) in [
        ("10.5555/silent", "says that it cites it"),
        ("10.5555/nobody", "does not know what"),
    ] {
        let found = contexts(&kit, citing, "10.5555/bees").await;
        assert_eq!(found["contexts"], json!([]));
        assert!(said(&found).contains(note), "{found:#}");
    }
    let wrong = |citing: &str| {
        let arguments = json!({ "citing_paper_id": citing, "cited_paper_id": "10.5555/bees" });
        kit.wrong("get_citation_context", arguments)
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
    let citing = |title: &str, doi: &str, many| s2(title, doi, &[], "citingPaper", many);
    let cited = |title: &str, doi: &str, many| s2(title, doi, &[], "citedPaper", many);
    answers(
        &server,
        "bees/citations",
        &[
            citing("A work that cites the bees often", "10.5555/c1", 5),
            citing("A work that cites the bees often", "10.5555/c1", 5),
        ],
    )
    .await;
    answers(
        &server,
        "bees/references",
        &[cited("An old work about insects", "10.5555/r1", 900)],
    )
    .await;
    answers(
        &server,
        "c1/references",
        &[
            cited(BEES, "10.5555/bees", 8),
            cited("What is cited beside the bees", "10.5555/beside", 3),
        ],
    )
    .await;
    answers(&server, "c1/citations", &[]).await;
    answers(&server, "r1/(citations|references)", &[]).await;
    let kit = Kit::with_sources(&server.uri(), &["semantic_scholar"]);
    let near = kit
        .done(
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
    assert!(said(&near).contains("Cited by (1)") && said(&near).contains("Cites (1)"));
    assert!(said(&near).contains("depth 2"), "{near:#}");
    let deep = json!({ "article_id": "10.5555/bees", "depth": 2, "include_metrics": false });
    let deep = kit.done("explore_citation_network", deep).await;
    assert!(deep.get("metrics").is_none());
    let together = deep["cited_together"][0].as_array().unwrap();
    let node = &deep["nodes"][number(&together[0])];
    assert_eq!(
        node["article"]["title"], "What is cited beside the bees",
        "{deep:#}"
    );
    assert_eq!(node["distance"], 2);
    let farther = said(&deep).split("## Farther away").nth(1).unwrap_or("");
    assert!(
        farther.contains("What is cited beside the bees")
            && farther.contains("cited by “A work that cites the bees often”"),
        "{}",
        said(&deep)
    );
    for (depth, id) in [(0, "10.5555/bees"), (4, "10.5555/bees")] {
        let told = kit
            .wrong(
                "explore_citation_network",
                json!({ "article_id": id, "depth": depth }),
            )
            .await;
        assert!(told.contains("depth"), "{told}");
    }
    let told = kit
        .wrong(
            "explore_citation_network",
            json!({ "article_id": "who knows" }),
        )
        .await;
    assert!(told.starts_with("ArticleNotFound"), "{told}");
    let told = kit
        .wrong(
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
        .wrong(
            "explore_citation_network",
            json!({ "article_id": "10.5555/bees" }),
        )
        .await;
    assert!(told.starts_with("SourcesFailed"), "{told}");
}
