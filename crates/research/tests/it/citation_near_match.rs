//! Tests of citations with too few matching details, and the works that they may mean.

use serde_json::{Value, json};

use super::{
    mock_crossref::{crossref_work, harness_for, mock_crossref},
    research_harness::said_text,
};

#[tokio::test]
async fn a_work_of_the_title_by_others_is_told() {
    let title = "Honey bees and their dances in the dark";
    let server = mock_crossref(&[crossref_work("10.5555/one", title, 2024)]).await;
    let kit = harness_for(&server);
    let given = format!("Smith, J. (2019). {title}. Nature, 3, 1-2.");
    let found = kit
        .call_ok("verify_citation", json!({ "citation": given }))
        .await;
    assert_eq!(found["status"], "not_found", "{found:#}");
    assert_eq!(found["found"], Value::Null);
    assert_eq!(found["near"]["doi"], "10.5555/one", "{found:#}");
    assert!(
        said_text(&found).contains("is by Lovelace, 2024"),
        "{found:#}"
    );
    assert!(said_text(&found).contains("the citation may mean that one"));
    let differ = found["differences"].to_string();
    assert!(differ.contains("authors") && differ.contains("year"));
}

#[tokio::test]
async fn an_entry_with_nothing_to_look_for_is_unknown_and_repeated_keys_are_told() {
    let title = "Honey bees and their dances in the dark";
    let server = mock_crossref(&[crossref_work("10.5555/one", title, 2024)]).await;
    let kit = harness_for(&server);
    let bibliography = format!(
        "@misc{{bare, year = {{2020}}}}\n\
         @misc{{twin, title = {{{title}}}, doi = {{10.5555/one}}}}\n\
         @misc{{Twin, title = {{{title}}}, doi = {{10.5555/one}}}}"
    );
    let audit = json!({ "bibliography": bibliography });
    let audit = kit.call_ok("audit_bibliography", audit).await;
    let entries = audit["entries"].as_array().unwrap();
    let bare = entries.iter().find(|it| it["key"] == "bare").unwrap();
    assert_eq!(bare["status"], "unknown", "{bare:#}");
    let reasons = bare["reasons"].to_string();
    assert!(reasons.contains("nothing to search for"), "{reasons}");
    assert_eq!(audit["repeated_keys"], json!(["twin"]), "{audit:#}");
    assert!(said_text(&audit).contains("more than one entry has the key: twin"));
}
