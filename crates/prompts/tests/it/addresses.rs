//! The library and its runs by their addresses.

use std::collections::HashMap;

use deliberate_core::{Change, Run, RunEvent, RunId, RunState, Timestamp};
use deliberate_prompts::{
    changed_addresses,
    library::{Changed, Library},
    model::Kind,
};
use deliberate_toolkit::{Body, Resources, ToolError, Touched, Typed};
use serde_json::{Value, json};

use crate::control_house::House;

fn pages(house: &House) -> &dyn Resources {
    house.registry.resources().next().unwrap()
}

async fn read(house: &House, uri: &str) -> Result<String, ToolError> {
    assert!(pages(house).knows(uri), "{uri}");
    let found = pages(house).read(uri, house.desk()).await.unwrap()?;
    assert_eq!(found[0].uri, uri);
    match &found[0].body {
        Body::Text(text) => Ok(text.clone()),
        Body::Bytes(_) => panic!("bytes"),
    }
}

async fn all(house: &House, page: usize) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let listed = pages(house)
            .list(after.as_deref(), page, house.desk())
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
    let house = House::new();
    house.usual();
    house.engine(json!({ "command": ">>greet Ann" })).await;
    house.engine(json!({ "command": ">>greet Bob" })).await;
    let whole = all(&house, 1_000).await;
    assert_eq!(
        whole[..2],
        ["deliberate://prompts", "deliberate://problems"]
    );
    assert_eq!(whole.last().unwrap(), "deliberate://runs/chain-greet%231");
    assert_eq!(all(&house, 1).await, whole);
    assert_eq!(all(&house, 7).await, whole);
    for uri in &whole {
        assert!(!read(&house, uri).await.unwrap().is_empty(), "{uri}");
    }
    let wrong = pages(&house).list(Some("nonsense"), 5, house.desk()).await;
    assert!(matches!(wrong, Err(ToolError::Invalid(_))));
    assert_eq!(pages(&house).needs(), Some("prompt_engine"));
}

#[tokio::test]
async fn each_kind_has_its_page_and_older_addresses_lead_there() {
    let house = House::new();
    house.usual().prompt(
        "flow",
        "chainSteps:\n  - promptId: flow/inner\n    stepName: one",
    );
    house.write(
        "resources/prompts/own/flow/inner/prompt.yaml",
        "id: inner\nname: Inner\ndescription: d\nuserMessageTemplate: 'Inner ``` {{x}}'\n",
    );
    let page = read(&house, "deliberate://prompts/flow%2Finner")
        .await
        .unwrap();
    assert!(page.contains("````\nInner ``` {{x}}\n````"), "{page}");
    let text = read(&house, "deliberate://prompts/flow%2Finner/template")
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
            read(&house, older).await.unwrap(),
            read(&house, uri).await.unwrap()
        );
    }
    let list = read(&house, "deliberate://prompts").await.unwrap();
    assert!(list.contains("- hello(who): About hello\n"), "{list}");
    assert!(
        list.contains("- greet(who) (chain): About greet\n"),
        "{list}"
    );
    let ids = all(&house, 1_000).await;
    for folder in ["methodologies", "styles"] {
        let start = format!("deliberate://{folder}/");
        let uri = ids.iter().find(|it| it.starts_with(&start)).unwrap();
        assert!(read(&house, uri).await.unwrap().contains("## Guidance"));
    }
    for gone in [
        "deliberate://prompts/nobody",
        "deliberate://runs/chain-x%231",
        "resource://gate/x",
    ] {
        assert_eq!(
            read(&house, gone).await.unwrap_err().code(),
            "ResourceNotFound"
        );
    }
    assert!(!pages(&house).knows("deliberate://sessions/x"));
}

#[tokio::test]
async fn a_run_tells_how_far_it_has_come_and_what_is_held() {
    let house = House::new();
    house.usual();
    let begun = house
        .engine(json!({ "command": ">>greet Ann :: \"is polite\"" }))
        .await;
    let id = begun["chain_id"].as_str().unwrap().to_owned();
    house
        .engine(json!({ "chain_id": id, "user_response": "Hi" }))
        .await;
    let text = read(&house, "deliberate://runs/chain-greet%231")
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
        assert_eq!(read(&house, older).await.unwrap(), text);
    }
    let other = house.beside().called_by("ann");
    let error = read(&other, "deliberate://runs/chain-greet%231")
        .await
        .unwrap_err();
    assert_eq!(error.code(), "ResourceNotFound");
    let list = read(&house, "deliberate://runs").await.unwrap();
    assert!(list.contains("chain-greet#1"), "{list}");
}

#[tokio::test]
async fn problems_have_an_address() {
    let house = House::new();
    let before = read(&house, "deliberate://problems").await.unwrap();
    assert!(!before.contains("broken"), "{before}");
    house.write(
        "resources/prompts/own/broken/prompt.yaml",
        "id: broken\nname: [\n",
    );
    house
        .control(json!({ "action": "maintenance", "confirm": true }))
        .await;
    let text = read(&house, "deliberate://problems").await.unwrap();
    let problems: Value = serde_json::from_str(&text).unwrap();
    let all = problems.as_array().unwrap();
    let problem = all.iter().find(|it| it["id"] == "broken").unwrap();
    assert!(problem["line"].is_u64(), "{text}");
}

#[tokio::test]
async fn ids_are_completed() {
    let house = House::new();
    house.usual();
    house.engine(json!({ "command": ">>greet Ann" })).await;
    let templates = pages(&house).templates();
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
        let typed = Typed {
            argument: "id",
            text,
            given: &given,
        };
        let choices = pages(&house)
            .complete(uri, typed, house.desk())
            .await
            .unwrap();
        assert_eq!(choices.unwrap().values[0], first);
    }
}

#[test]
fn runs_touch_their_addresses() {
    let house = House::new();
    let at = Timestamp::from_micros(0);
    let id = RunId::from("chain-a#1".to_owned());
    let uri = Touched::Resource("deliberate://runs/chain-a%231".to_owned());
    let run = Run {
        id: id.clone(),
        base: "a".to_owned(),
        number: 1,
        command: String::new(),
        plan: Value::Null,
        owner: None,
        state: RunState::Open,
        steps: 1,
        at_step: 1,
        events: 0,
        created_at: at,
        updated_at: at,
    };
    let event = RunEvent {
        run_id: id.clone(),
        seq: 1,
        kind: "answered".to_owned(),
        step: Some(1),
        data: Value::Null,
        created_at: at,
    };
    let added = Change::AddRunEvent {
        event,
        state: RunState::Open,
        at_step: 1,
    };
    for (change, list) in [
        (Change::BeginRun(run), true),
        (added, false),
        (Change::DeleteRun(id), true),
    ] {
        let touched = pages(&house).touched(&change, None);
        assert!(touched.contains(&uri));
        assert_eq!(touched.contains(&Touched::List), list);
    }
}

#[test]
fn changes_of_the_library_touch_their_addresses() {
    let changed = Changed {
        prompts: true,
        problems: true,
        ids: vec![(Kind::Prompt, "a/b".to_owned())],
        ..Changed::default()
    };
    let touched = changed_addresses(&changed);
    for uri in [
        "deliberate://prompts/a%2Fb",
        "deliberate://prompts/a%2Fb/template",
        "deliberate://prompts",
        "deliberate://problems",
    ] {
        assert!(
            touched.contains(&Touched::Resource(uri.to_owned())),
            "{uri}"
        );
    }
    assert!(touched.contains(&Touched::List));
    let library = Library::default();
    assert_eq!(changed_addresses(&Changed::between(&library, &library)), []);
    let many = Changed {
        gates: true,
        ids: (0..200).map(|at| (Kind::Gate, format!("g{at}"))).collect(),
        ..Changed::default()
    };
    let touched = changed_addresses(&many);
    assert!(touched.contains(&Touched::Under("deliberate://gates/".to_owned())));
    assert!(touched.len() < 10);
}
