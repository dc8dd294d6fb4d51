//! The prompts of the library in a client's menu.

use std::collections::HashMap;

use deliberate_toolkit::{Choices, Dish, Menu, ToolError, Typed, Utterance};
use serde_json::{Map, Value, json};

use crate::control_house::House;

fn menu(house: &House) -> &dyn Menu {
    house.registry.menus().next().unwrap()
}

async fn get(house: &House, name: &str, arguments: Value) -> Option<Result<String, ToolError>> {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    let served = menu(house).get(name, &arguments, house.desk()).await?;
    Some(served.map(|served| match &served.said[0].what {
        Utterance::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }))
}

async fn complete(house: &House, name: &str, argument: &str, text: &str) -> Choices {
    let given = HashMap::new();
    let typed = Typed {
        argument,
        text,
        given: &given,
    };
    menu(house)
        .complete(name, typed, house.desk())
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn row_38_every_registered_prompt_is_listed_and_can_be_had() {
    let house = House::new();
    house
        .usual()
        .prompt("hidden", "registerWithMcp: false\nuserMessageTemplate: 'x'")
        .prompt("nest/inner", "userMessageTemplate: 'Inner'")
        .prompt("think", "userMessageTemplate: 'x'");
    let dishes = menu(&house).list().await;
    let names: Vec<&str> = dishes.iter().map(|it| it.name.as_str()).collect();
    assert!(names.is_sorted() && names.len() > 20, "{names:?}");
    for name in ["hello", "bye", "greet", "code_review"] {
        assert!(names.contains(&name), "{name}");
    }
    assert!(!names.contains(&"hidden") && !names.contains(&"think"));
    let hello: &Dish = dishes.iter().find(|it| it.name == "hello").unwrap();
    assert_eq!(hello.leads_to, "prompt_engine");
    assert_eq!(hello.arguments[0].name, "who");
    assert!(hello.arguments[0].required);

    let text = get(&house, "hello", json!({ "who": "{{ who }} --> \"x\"" })).await;
    assert_eq!(text.unwrap().unwrap(), "Hello {{ who }} --> \"x\"");
    assert!(get(&house, "hidden", json!({})).await.is_none());
    assert!(get(&house, "think", json!({})).await.is_none());
    assert!(get(&house, "nobody", json!({})).await.is_none());
}

#[tokio::test]
async fn a_nested_prompt_is_in_the_menu_too() {
    let house = House::new();
    house.prompt(
        "flow",
        "chainSteps:\n  - promptId: flow/inner\n    stepName: one",
    );
    house.write(
        "resources/prompts/own/flow/inner/prompt.yaml",
        "id: inner\nname: Inner\ndescription: d\nuserMessageTemplate: Inner text\n",
    );
    let dishes = menu(&house).list().await;
    assert!(
        dishes.iter().any(|it| it.name == "flow/inner"),
        "{dishes:?}"
    );
    let text = get(&house, "flow/inner", json!({})).await.unwrap().unwrap();
    assert_eq!(text, "Inner text");
}

#[tokio::test]
async fn the_prompt_decides_then_the_category_then_the_settings() {
    let house = House::with(|options| options.in_menu = false);
    house
        .usual()
        .prompt("shown", "registerWithMcp: true\nuserMessageTemplate: 'x'")
        .write(
            "resources/prompts/open/category.yaml",
            "id: open\nname: Open\nregisterWithMcp: true\n",
        )
        .write(
            "resources/prompts/open/also/prompt.yaml",
            "id: also\nname: Also\ndescription: d\nuserMessageTemplate: x\n",
        );
    let dishes = menu(&house).list().await;
    let names: Vec<&str> = dishes.iter().map(|it| it.name.as_str()).collect();
    assert!(
        names.contains(&"shown") && names.contains(&"also"),
        "{names:?}"
    );
    assert!(!names.contains(&"hello"));
}

#[tokio::test]
async fn nothing_is_added_whatever_is_switched_on() {
    let house = House::with(|options| options.methodology = Some("react".to_owned()));
    house.prompt(
        "plain",
        "systemMessage: 'You are kind.'\nuserMessageTemplate: 'Say it.'\ngateConfiguration: {include: [no-filler]}",
    );
    let text = get(&house, "plain", json!({})).await.unwrap().unwrap();
    assert_eq!(text, "You are kind.\n\nSay it.");
    let runs = house.control(json!({ "action": "session" })).await;
    assert_eq!(runs["total"], json!(0));
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_an_error() {
    let house = House::new();
    house.usual();
    for name in ["hello", "greet"] {
        for arguments in [json!({}), json!({ "who": "" })] {
            let error = get(&house, name, arguments).await.unwrap().unwrap_err();
            assert!(matches!(error, ToolError::Invalid(_)), "{error:?}");
            assert!(error.to_string().contains("`who`"), "{error}");
        }
    }
    let error = get(&house, "hello", json!({ "who": "x", "whom": "y" })).await;
    assert!(error.unwrap().is_err());
}

#[tokio::test]
async fn a_chain_is_a_word_about_the_call_and_never_empty() {
    let house = House::new();
    house.usual();
    let who = "a \"b\" --> c\n%clean";
    let text = get(&house, "greet", json!({ "who": who }))
        .await
        .unwrap()
        .unwrap();
    let start = text.find("{\"command\"").unwrap();
    let (call, _) = text.get(start..).unwrap().split_once(", do what").unwrap();
    let call: Value = serde_json::from_str(call).unwrap();
    let begun = house.engine(call).await;
    assert_eq!(begun["total_steps"], json!(2));
    assert!(
        begun["said"]
            .as_str()
            .unwrap()
            .starts_with(&format!("Hello {who}"))
    );

    house.prompt(
        "own",
        "userMessageTemplate: 'My own words'\nchainSteps:\n  - promptId: bye\n    stepName: one",
    );
    house
        .control(json!({ "action": "maintenance", "confirm": true }))
        .await;
    let text = get(&house, "own", json!({})).await.unwrap().unwrap();
    assert_eq!(text, "My own words");
}

#[tokio::test]
async fn looking_at_a_prompt_that_creates_creates_nothing() {
    let house = House::new();
    let all = json!({
        "id": "made", "name": "Made", "description": "d", "guidance": "g",
    });
    let text = get(&house, "create_gate", all).await.unwrap().unwrap();
    assert!(text.contains(">>create_gate"), "{text}");
    assert!(!house.path("resources/gates/made").exists());
}

#[tokio::test]
async fn values_are_completed_from_what_is_allowed_or_there() {
    let house = House::new();
    house.prompt(
        "pick",
        "arguments:\n  - {name: depth, allowedValues: [quick, normal, deep]}\n  - {name: sure, type: boolean}\n  - {name: gate_id}\n  - {name: framework}\n  - {name: text}\nuserMessageTemplate: '{{depth}}{{sure}}{{gate_id}}{{framework}}{{text}}'",
    );
    let values = |choices: Choices| choices.values;
    assert_eq!(
        values(complete(&house, "pick", "depth", "").await),
        ["quick", "normal", "deep"]
    );
    assert_eq!(
        values(complete(&house, "pick", "depth", "Q").await),
        ["quick"]
    );
    assert_eq!(
        values(complete(&house, "pick", "sure", "t").await),
        ["true"]
    );
    assert_eq!(
        values(complete(&house, "pick", "gate_id", "no-f").await),
        ["no-filler"]
    );
    assert_eq!(
        complete(&house, "pick", "framework", "").await.values.len(),
        4
    );
    assert_eq!(
        complete(&house, "pick", "text", "").await,
        Choices::default()
    );
    assert_eq!(
        complete(&house, "pick", "nothing", "").await,
        Choices::default()
    );
}
