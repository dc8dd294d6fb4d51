//! Tests of citation verification and bibliography audits.

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path, query_param_contains},
};

use super::{
    mock_crossref::{
        crossref_work, harness_for, mock_crossref, mount_response, search_response, work_response,
    },
    research_harness::{ResearchHarness, make_pdf, said_text},
};

const TITLE: &str = "Honey bees and their dances in the dark";

async fn verify_citation(harness: &ResearchHarness, arguments: Value) -> Value {
    harness.call_ok("verify_citation", arguments).await
}

#[tokio::test]
async fn a_citation_is_verified_or_it_is_told_in_what_it_differs() {
    let server = mock_crossref(&[crossref_work("10.5555/one", TITLE, 2024)]).await;
    let kit = harness_for(&server);
    let whole =
        json!({ "title": TITLE, "authors": ["Ada Lovelace"], "year": 2024, "doi": "10.5555/one" });
    let found = verify_citation(&kit, whole.clone()).await;
    assert_eq!(found["status"], "verified", "{found:#}");
    assert_eq!(found["retracted"], false);
    let mut wrong = whole.clone();
    wrong["year"] = json!(2019);
    let found = verify_citation(&kit, wrong).await;
    assert_eq!(found["status"], "differs");
    assert_eq!(found["differences"][0]["field"], "year");
    // A year that is given with only an id is compared, too.
    let found = verify_citation(&kit, json!({ "doi": "10.5555/one", "year": 2019 })).await;
    assert_eq!(found["status"], "differs", "{found:#}");
    let found = verify_citation(&kit, json!({ "citation": "https://doi.org/10.5555/ONE" })).await;
    assert_eq!(found["status"], "verified");
    assert_eq!(found["found"]["title"], TITLE);
    assert!(
        !found["missing"].to_string().contains("\"title\""),
        "{found:#}"
    );
    // Without an id, by title.
    let found = verify_citation(
        &kit,
        json!({ "citation": format!("Lovelace, A. (2024). {TITLE}. Journal of Bogs.") }),
    )
    .await;
    assert_eq!(found["found"]["doi"], "10.5555/one", "{found:#}");
}

#[tokio::test]
async fn another_works_identifier_is_found_out_and_the_right_one_told() {
    let right = crossref_work("10.5555/one", TITLE, 2024);
    let other = crossref_work("10.5555/two", "Concrete bridges under load and frost", 2024);
    let server = mock_crossref(&[right, other]).await;
    let kit = harness_for(&server);
    let given = json!({ "title": TITLE, "authors": ["Ada Lovelace"], "doi": "10.5555/two" });
    let found = verify_citation(&kit, given).await;
    assert_eq!(found["status"], "wrong_identifier", "{found:#}");
    assert!(found["reasons"][0].as_str().unwrap().contains("Concrete"));
    assert_eq!(found["found"]["doi"], "10.5555/one");
    assert_eq!(found["differences"][0]["field"], "doi");
}

#[tokio::test]
async fn not_found_is_not_the_same_as_nobody_could_be_asked() {
    let server = mock_crossref(&[]).await;
    let kit = harness_for(&server);
    let given = json!({ "title": TITLE, "doi": "10.5555/none" });
    let found = verify_citation(&kit, given.clone()).await;
    assert_eq!(found["status"], "not_found", "{found:#}");
    let found = verify_citation(&kit, json!({ "doi": "10.5555/none" })).await;
    assert_eq!(found["status"], "not_found", "{found:#}");
    let broken = MockServer::start().await;
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(400))
        .mount(&broken)
        .await;
    let kit = harness_for(&broken);
    for given in [
        given,
        json!({ "doi": "10.5555/none" }),
        json!({ "title": TITLE }),
    ] {
        let found = verify_citation(&kit, given.clone()).await;
        assert_eq!(found["status"], "unknown", "{given}: {found:#}");
        assert!(said_text(&found).contains("unknown"));
    }
    // The title is found and the id could not be looked up, so nothing is known to be wrong.
    let half = mock_crossref(&[crossref_work("10.5555/one", TITLE, 2024)]).await;
    mount_response(&half, "/works/10.5555/two", ResponseTemplate::new(400), 9).await;
    let kit = harness_for(&half);
    let given = json!({ "title": TITLE, "authors": ["Ada Lovelace"], "doi": "10.5555/two" });
    let found = verify_citation(&kit, given).await;
    assert_ne!(found["status"], "verified", "{found:#}");
    assert!(found["reasons"].to_string().contains("10.5555/two"));
}

#[tokio::test]
async fn retractions_are_found_from_both_sides() {
    // The record of the work says so.
    let mut own = crossref_work("10.5555/own", &format!("RETRACTED: {TITLE}"), 2024);
    own["updated-by"] = json!([{ "DOI": "10.5555/note", "type": "retraction" }]);
    let server = mock_crossref(&[own]).await;
    mount_response(&server, "/works", search_response(&[]), 1).await;
    let found = verify_citation(
        &harness_for(&server),
        json!({ "title": TITLE, "doi": "10.5555/own" }),
    )
    .await;
    assert_eq!(found["retracted"], true, "{found:#}");
    assert_eq!(
        found["status"], "verified",
        "the mark is no other title: {found:#}"
    );
    assert!(said_text(&found).contains("RETRACTED") && said_text(&found).contains("retraction"));
    // Only the notice says so.
    let server = MockServer::start().await;
    mount_response(
        &server,
        "/works/10.5555/quiet",
        work_response(&crossref_work("10.5555/quiet", TITLE, 2024)),
        9,
    )
    .await;
    let mut note = crossref_work("10.5555/note", "Retraction of a paper", 2025);
    note["update-to"] = json!([{ "DOI": "10.5555/quiet", "type": "retraction" }]);
    Mock::given(method("GET"))
        .and(path("/works"))
        .and(query_param_contains("filter", "updates:10.5555/quiet"))
        .respond_with(search_response(&[note]))
        .mount(&server)
        .await;
    let found = verify_citation(
        &harness_for(&server),
        json!({ "citation": "10.5555/quiet" }),
    )
    .await;
    assert_eq!(found["retracted"], true, "{found:#}");
    assert_eq!(found["notices"][0]["kind"], "retraction");
}

#[tokio::test]
async fn an_id_that_nobody_knows_is_told_though_another_leads_to_the_work() {
    let server = MockServer::start().await;
    let paper = json!({
        "paperId": "a".repeat(40), "externalIds": { "ArXiv": "2301.00001" }, "title": TITLE,
        "year": 2024, "authors": [{ "name": "Ada Lovelace" }],
    });
    Mock::given(method("GET"))
        .and(path("/paper/ARXIV:2301.00001"))
        .respond_with(ResponseTemplate::new(200).set_body_json(paper))
        .mount(&server)
        .await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["semantic_scholar"]);
    let entry = |doi: &str| {
        let fields = "author = {Lovelace, Ada}, year = 2024, eprint = {2301.00001}";
        let more = "archiveprefix = {arXiv}";
        json!({ "citation": format!("@misc{{x, title = {{{TITLE}}}, {fields}, {more}{doi}}}") })
    };
    let found = verify_citation(&kit, entry("")).await;
    assert_eq!(found["status"], "verified", "{found:#}");
    assert_eq!(
        found["retracted"],
        Value::Null,
        "nobody who knows of retractions was asked: {found:#}"
    );
    assert!(said_text(&found).contains("retraction: unknown"));
    // The DOI that arXiv assigns identifies the same work.
    let found = verify_citation(&kit, entry(", doi = {10.48550/arXiv.2301.00001}")).await;
    assert_eq!(found["status"], "verified", "{found:#}");
    let found = verify_citation(&kit, entry(", doi = {10.5555/made.up}")).await;
    assert_eq!(found["status"], "differs", "{found:#}");
    assert!(said_text(&found).contains("10.5555/made.up"), "{found:#}");
}

#[tokio::test]
async fn what_became_of_a_work_is_unknown_unless_it_could_be_asked_for() {
    let server = MockServer::start().await;
    let own = crossref_work("10.5555/one", TITLE, 2024);
    mount_response(&server, "/works/10.5555/one", work_response(&own), 9).await;
    mount_response(&server, "/works", ResponseTemplate::new(400), 9).await;
    let kit = harness_for(&server);
    let found = verify_citation(&kit, json!({ "doi": "10.5555/one" })).await;
    assert_eq!(found["status"], "verified", "{found:#}");
    assert_eq!(found["retracted"], Value::Null, "{found:#}");
    assert!(found["reasons"].to_string().contains("retractions by"));
    let entry = json!({ "bibliography": format!("@misc{{x, title = {{{TITLE}}}, doi = {{10.5555/one}}}}") });
    let audit = kit.call_ok("audit_bibliography", entry).await;
    assert_eq!(audit["retraction_unknown"], json!(["x"]), "{audit:#}");
    assert!(said_text(&audit).contains("not known whether retracted: x"));
}

#[tokio::test]
async fn a_retraction_of_the_work_behind_a_wrong_id_is_not_the_cited_works() {
    let right = crossref_work("10.5555/one", TITLE, 2024);
    let other = crossref_work(
        "10.5555/two",
        "RETRACTED: Concrete bridges under load",
        2024,
    );
    let kit = harness_for(&mock_crossref(&[right, other.clone()]).await);
    let given = json!({ "title": TITLE, "authors": ["Ada Lovelace"], "doi": "10.5555/two" });
    let found = verify_citation(&kit, given.clone()).await;
    assert_eq!(found["status"], "wrong_identifier", "{found:#}");
    assert_eq!(found["retracted"], false, "{found:#}");
    // The right work is not found, so its retraction status is unknown.
    let kit = harness_for(&mock_crossref(&[other]).await);
    let found = verify_citation(&kit, given).await;
    assert_eq!(found["status"], "wrong_identifier", "{found:#}");
    assert_eq!(found["retracted"], Value::Null, "{found:#}");
}

#[tokio::test]
async fn nobody_cites_what_was_taken_back_without_being_told() {
    let mut own = crossref_work("10.5555/own", TITLE, 2024);
    own["updated-by"] = json!([{ "DOI": "10.5555/note", "type": "retraction" }]);
    let kit = harness_for(&mock_crossref(&[own]).await);
    kit.call_ok("add_article", json!({ "identifiers": ["10.5555/own"] }))
        .await;
    for (tool, mark) in [
        ("format_citations", "**Retracted**"),
        ("export_bibliography", "**Retracted**"),
    ] {
        let output = kit.call_ok(tool, json!({})).await;
        assert_eq!(output["retracted"].as_array().unwrap().len(), 1, "{tool}");
        assert!(said_text(&output).contains(mark), "{tool}: {output:#}");
    }
}

#[tokio::test]
async fn a_citation_of_a_retracted_work_says_so() {
    let mut own = crossref_work("10.5555/own", &format!("RETRACTED: {TITLE}"), 2024);
    own["updated-by"] = json!([{ "DOI": "10.5555/note", "type": "retraction" }]);
    let server = mock_crossref(&[own]).await;
    let kit = harness_for(&server);
    kit.call_ok("add_article", json!({ "identifiers": ["10.5555/own"] }))
        .await;
    let asked = json!({ "articles": ["10.5555/own"], "style": "apa" });
    let cited = kit.call_ok("format_citations", asked).await;
    assert!(said_text(&cited).contains("**Retracted**"), "{cited:#}");
    let file = kit.call_ok("export_bibliography", json!({})).await;
    assert!(
        file["preview"]
            .as_str()
            .unwrap()
            .contains("note = {Retracted}"),
        "{file:#}"
    );
}

#[tokio::test]
async fn what_says_nothing_is_refused() {
    let kit = ResearchHarness::with_sources("http://127.0.0.1:9/", &["crossref"]);
    for (arguments, field) in [
        (json!({}), "citation"),
        (json!({ "title": "  " }), "citation"),
        (json!({ "title": "x", "doi": "no doi" }), "doi"),
        (
            json!({ "citation": "@article{x, title = {Never closed" }),
            "cannot be parsed, line 1",
        ),
        (
            json!({ "citation": "@misc{a, title = {A}}\n@misc{b, title = {B}}" }),
            "audit_bibliography",
        ),
        (json!({ "title": "x", "year": 99_999 }), "year"),
        (
            json!({ "article_identifier": "x", "title": "y" }),
            "article_identifier",
        ),
        (json!({ "article_identifier": "x" }), "ArticleNotFound"),
    ] {
        let told = kit.call_error("verify_citation", arguments.clone()).await;
        assert!(told.contains(field), "{arguments}: {told}");
    }
}

const BIBTEX: &str = r"
@article{good, title = {Honey bees and their dances in the dark}, author = {Lovelace, Ada},
  journal = {Journal of Bogs}, year = 2024, volume = 1, pages = {1--2}, doi = {10.5555/one}}
@article{twin, title = {Honey bees and their dances in the dark}, author = {Lovelace, Ada}, year = 2024}
@misc{third, title = {Something else by its name entirely}, doi = {10.5555/one}}
@article{broken, title = {Never closed
@book{last, title = {Concrete bridges under load and frost}, author = {Lovelace, Ada}, year = 2024}
";

#[tokio::test]
async fn a_bibliography_is_audited_entry_by_entry() {
    let server = mock_crossref(&[crossref_work("10.5555/one", TITLE, 2024)]).await;
    let kit = harness_for(&server);
    let audit = kit
        .call_ok("audit_bibliography", json!({ "bibliography": BIBTEX }))
        .await;
    let entries = audit["entries"].as_array().unwrap();
    let status = |key: &str| {
        entries
            .iter()
            .find(|it| it["key"] == key)
            .map(|it| it["status"].clone())
    };
    assert_eq!(status("good"), Some(json!("verified")), "{audit:#}");
    assert_eq!(status("third"), Some(json!("wrong_identifier")));
    // One work through a third entry: the DOI joins two of them, the title the others.
    assert_eq!(audit["duplicates"], json!([["good", "twin", "third"]]));
    assert!(!audit["unreadable"].as_array().unwrap().is_empty());
    assert_eq!(audit["left_out"], 0);
    assert!(said_text(&audit).contains("the same work: good, twin, third"));
    let few = json!({ "bibliography": BIBTEX, "max_entries": 1 });
    let few = kit.call_ok("audit_bibliography", few).await;
    assert_eq!(few["entries"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&few["left_out"], &few["next_offset"]),
        (&json!(3), &json!(1))
    );
    assert!(
        said_text(&few).contains("continue with offset 1"),
        "{few:#}"
    );
    assert_eq!(
        few["duplicates"], audit["duplicates"],
        "those that are not looked at are compared, too"
    );
    let rest = json!({ "bibliography": BIBTEX, "max_entries": 9, "offset": 1 });
    let rest = kit.call_ok("audit_bibliography", rest).await;
    let keys: Vec<&Value> = rest["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["key"])
        .collect();
    assert_eq!(keys, ["twin", "third", "last"]);
    assert_eq!(
        (&rest["left_out"], rest.get("next_offset")),
        (&json!(0), None)
    );
    let beyond = json!({ "bibliography": BIBTEX, "offset": 4 });
    assert!(
        kit.call_error("audit_bibliography", beyond)
            .await
            .contains("offset")
    );
}

#[tokio::test]
async fn what_is_audited_is_said_once_and_is_there() {
    let server = mock_crossref(&[crossref_work("10.5555/one", TITLE, 2024)]).await;
    let kit = harness_for(&server);
    let told = kit.call_error("audit_bibliography", json!({})).await;
    assert!(told.starts_with("NothingToAudit"), "{told}");
    let told = kit
        .call_error(
            "audit_bibliography",
            json!({ "bibliography": "nothing here" }),
        )
        .await;
    assert!(told.contains("bibliography"), "{told}");
    let both = json!({ "bibliography": BIBTEX, "articles": ["x"] });
    assert!(
        kit.call_error("audit_bibliography", both)
            .await
            .contains("give one of")
    );
    let mut names = Vec::new();
    for at in 0..3 {
        let title = format!("On bees, the part with number {at}");
        let page: &[(u32, &str)] = &[(20, &title), (10, "Bees are told of here, at some length.")];
        names.push(
            kit.ingest(&format!("{at}.pdf"), make_pdf(Some(&title), &[page]))
                .await,
        );
    }
    let bare = json!({ "article_identifier": names[0] });
    let told = kit.call_error("audit_bibliography", bare).await;
    assert!(told.starts_with("NoReferences"), "{told}");
    let named = json!({ "articles": names, "max_entries": 2 });
    let named = kit.call_ok("audit_bibliography", named).await;
    assert_eq!(
        (
            named["entries"].as_array().unwrap().len(),
            named["left_out"].as_u64()
        ),
        (2, Some(1))
    );
    let all = kit
        .call_ok("audit_bibliography", json!({ "max_entries": 1 }))
        .await;
    assert_eq!(
        (
            all["entries"].as_array().unwrap().len(),
            all["left_out"].as_u64()
        ),
        (1, Some(2))
    );
    let last = json!({ "max_entries": 1, "offset": 2 });
    let last = kit.call_ok("audit_bibliography", last).await;
    assert_eq!(last["left_out"], 0);
    assert_ne!(last["entries"][0]["key"], all["entries"][0]["key"]);
    let beyond = json!({ "offset": 3 });
    assert!(
        kit.call_error("audit_bibliography", beyond)
            .await
            .contains("offset")
    );
}
