//! The library and its chain runs as MCP resources.

use std::collections::HashMap;

use deliberate_core::{ChainEvent, ChainRun, ChainState, Change, RunId, Timestamp};
use deliberate_prompts::{
    library::{LibraryDiff, PromptLibrary},
    library_resource_changes,
    model::LibraryItemKind,
};
use deliberate_toolkit::{
    CompletionRequest, ResourceBody, ResourceChange, ResourceProvider, ToolError,
};
use serde_json::{Value, json};

use super::control_support::ControlHarness;

fn library_resources(harness: &ControlHarness) -> &dyn ResourceProvider {
    harness.registry.resources().next().unwrap()
}

async fn read_text(harness: &ControlHarness, uri: &str) -> Result<String, ToolError> {
    assert!(library_resources(harness).matches(uri), "{uri}");
    let found = library_resources(harness)
        .read(uri, harness.resource_context())
        .await
        .unwrap()?;
    assert_eq!(found[0].uri, uri);
    match &found[0].body {
        ResourceBody::Text(text) => Ok(text.clone()),
        ResourceBody::Bytes(_) => panic!("bytes"),
    }
}

async fn list_all_uris(harness: &ControlHarness, page: usize) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let listed = library_resources(harness)
            .list(after.as_deref(), page, harness.resource_context())
            .await
            .unwrap();
        assert!(listed.resources.len() <= page);
        found.extend(listed.resources.into_iter().map(|it| it.uri));
        match listed.next {
            Some(next) => after = Some(next),
            None => return found,
        }
    }
}

#[tokio::test]
async fn row_39_what_is_listed_can_be_read_in_pages_of_any_size() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.call_engine(json!({ "command": ">>greet Ann" })).await;
    house.call_engine(json!({ "command": ">>greet Bob" })).await;
    let whole = list_all_uris(&house, 1_000).await;
    assert_eq!(
        whole[..2],
        ["deliberate://prompts", "deliberate://problems"]
    );
    assert_eq!(whole.last().unwrap(), "deliberate://runs/chain-greet%231");
    assert_eq!(list_all_uris(&house, 1).await, whole);
    assert_eq!(list_all_uris(&house, 7).await, whole);
    for uri in &whole {
        assert!(!read_text(&house, uri).await.unwrap().is_empty(), "{uri}");
    }
    let wrong = library_resources(&house)
        .list(Some("nonsense"), 5, house.resource_context())
        .await;
    assert!(matches!(wrong, Err(ToolError::Invalid(_))));
    assert_eq!(
        library_resources(&house).required_scope(),
        Some("prompt_engine")
    );
}

#[tokio::test]
async fn each_kind_has_its_page_and_older_addresses_lead_there() {
    let house = ControlHarness::new();
    house.write_sample_prompts().prompt(
        "flow",
        "chainSteps:\n  - promptId: flow/inner\n    stepName: one",
    );
    house.write(
        "resources/prompts/own/flow/inner/prompt.yaml",
        "id: inner\nname: Inner\ndescription: d\nuserMessageTemplate: 'Inner ``` {{x}}'\n",
    );
    let page = read_text(&house, "deliberate://prompts/flow%2Finner")
        .await
        .unwrap();
    assert!(page.contains("````\nInner ``` {{x}}\n````"), "{page}");
    let text = read_text(&house, "deliberate://prompts/flow%2Finner/template")
        .await
        .unwrap();
    assert_eq!(text, "Inner ``` {{x}}");
    for (older, uri) in [
        (
            "resource://prompt/flow/inner",
            "deliberate://prompts/flow%2Finner",
        ),
        (
            "resource://prompt/flow/inner/template",
            "deliberate://prompts/flow%2Finner/template",
        ),
        ("resource://prompt/", "deliberate://prompts"),
        ("resource://gate/no-filler", "deliberate://gates/no-filler"),
        ("resource://gate/", "deliberate://gates"),
    ] {
        assert_eq!(
            read_text(&house, older).await.unwrap(),
            read_text(&house, uri).await.unwrap()
        );
    }
    let list = read_text(&house, "deliberate://prompts").await.unwrap();
    assert!(list.contains("- hello(who): About hello\n"), "{list}");
    assert!(
        list.contains("- greet(who) (chain): About greet\n"),
        "{list}"
    );
    let ids = list_all_uris(&house, 1_000).await;
    for folder in ["methodologies", "styles"] {
        let start = format!("deliberate://{folder}/");
        let uri = ids.iter().find(|it| it.starts_with(&start)).unwrap();
        assert!(
            read_text(&house, uri)
                .await
                .unwrap()
                .contains("## Guidance")
        );
    }
    for gone in [
        "deliberate://prompts/nobody",
        "deliberate://runs/chain-x%231",
        "resource://gate/x",
    ] {
        assert_eq!(
            read_text(&house, gone).await.unwrap_err().code(),
            "ResourceNotFound"
        );
    }
    assert!(!library_resources(&house).matches("deliberate://sessions/x"));
}

#[tokio::test]
async fn a_run_tells_how_far_it_has_come_and_what_is_held() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let begun = house
        .call_engine(json!({ "command": ">>greet Ann :: \"is polite\"" }))
        .await;
    let id = begun["chain_id"].as_str().unwrap().to_owned();
    house
        .call_engine(json!({ "chain_id": id, "user_response": "Hi" }))
        .await;
    let text = read_text(&house, "deliberate://runs/chain-greet%231")
        .await
        .unwrap();
    let run: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(run["chain_id"], json!(id));
    assert_eq!(run["progress"]["steps"], json!(2));
    assert_eq!(run["steps"][0]["status"], "in review");
    assert_eq!(run["pending_review"][0]["step"], json!(1));
    for older in [
        "resource://session/chain-greet#1",
        "resource://session/chain-greet",
    ] {
        assert_eq!(read_text(&house, older).await.unwrap(), text);
    }
    let other = house.second_process().with_caller("ann");
    let error = read_text(&other, "deliberate://runs/chain-greet%231")
        .await
        .unwrap_err();
    assert_eq!(error.code(), "ResourceNotFound");
    let list = read_text(&house, "deliberate://runs").await.unwrap();
    assert!(list.contains("chain-greet#1"), "{list}");
}

#[tokio::test]
async fn problems_have_an_address() {
    let house = ControlHarness::new();
    let before = read_text(&house, "deliberate://problems").await.unwrap();
    assert!(!before.contains("broken"), "{before}");
    house.write(
        "resources/prompts/own/broken/prompt.yaml",
        "id: broken\nname: [\n",
    );
    house
        .call_control(json!({ "action": "maintenance", "confirm": true }))
        .await;
    let text = read_text(&house, "deliberate://problems").await.unwrap();
    let problems: Value = serde_json::from_str(&text).unwrap();
    let all = problems.as_array().unwrap();
    let problem = all.iter().find(|it| it["id"] == "broken").unwrap();
    assert!(problem["line"].is_u64(), "{text}");
}

#[tokio::test]
async fn ids_are_completed() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.call_engine(json!({ "command": ">>greet Ann" })).await;
    let templates = library_resources(&house).templates();
    let uris: Vec<&str> = templates.iter().map(|it| it.uri.as_str()).collect();
    assert!(
        uris.contains(&"deliberate://prompts/{id}/template"),
        "{uris:?}"
    );
    for (uri, text, first) in [
        ("deliberate://prompts/{id}", "hel", "hello"),
        ("deliberate://prompts/{id}/template", "The hello", "hello"),
        ("deliberate://gates/{id}", "no-f", "no-filler"),
        ("deliberate://runs/{id}", "chain-g", "chain-greet#1"),
    ] {
        let given = HashMap::new();
        let typed = CompletionRequest {
            argument: "id",
            text,
            arguments: &given,
        };
        let choices = library_resources(&house)
            .complete(uri, typed, house.resource_context())
            .await
            .unwrap();
        assert_eq!(choices.unwrap().values[0], first);
    }
}

#[test]
fn runs_touch_their_addresses() {
    let house = ControlHarness::new();
    let at = Timestamp::from_micros(0);
    let id = RunId::from("chain-a#1".to_owned());
    let uri = ResourceChange::Resource("deliberate://runs/chain-a%231".to_owned());
    let run = ChainRun {
        id: id.clone(),
        base: "a".to_owned(),
        number: 1,
        command: String::new(),
        plan: Value::Null,
        owner: None,
        state: ChainState::Open,
        steps: 1,
        at_step: 1,
        events: 0,
        created_at: at,
        updated_at: at,
    };
    let event = ChainEvent {
        run_id: id.clone(),
        seq: 1,
        kind: "answered".to_owned(),
        step: Some(1),
        data: Value::Null,
        created_at: at,
    };
    let added = Change::AddRunEvent {
        event,
        state: ChainState::Open,
        at_step: 1,
    };
    for (change, list) in [
        (Change::StartRun(run), true),
        (added, false),
        (Change::DeleteRun(id), true),
    ] {
        let touched = library_resources(&house).changes_for(&change, None);
        assert!(touched.contains(&uri));
        assert_eq!(touched.contains(&ResourceChange::ListChanged), list);
    }
}

#[test]
fn changes_of_the_library_touch_their_addresses() {
    let changed = LibraryDiff {
        prompts: true,
        problems: true,
        ids: vec![(LibraryItemKind::Prompt, "a/b".to_owned())],
        ..LibraryDiff::default()
    };
    let touched = library_resource_changes(&changed);
    for uri in [
        "deliberate://prompts/a%2Fb",
        "deliberate://prompts/a%2Fb/template",
        "deliberate://prompts",
        "deliberate://problems",
    ] {
        assert!(
            touched.contains(&ResourceChange::Resource(uri.to_owned())),
            "{uri}"
        );
    }
    assert!(touched.contains(&ResourceChange::ListChanged));
    let library = PromptLibrary::default();
    assert_eq!(
        library_resource_changes(&LibraryDiff::compute(&library, &library)),
        []
    );
    let many = LibraryDiff {
        gates: true,
        ids: (0..200)
            .map(|at| (LibraryItemKind::Gate, format!("g{at}")))
            .collect(),
        ..LibraryDiff::default()
    };
    let touched = library_resource_changes(&many);
    assert!(touched.contains(&ResourceChange::Prefix("deliberate://gates/".to_owned())));
    assert!(touched.len() < 10);
}
