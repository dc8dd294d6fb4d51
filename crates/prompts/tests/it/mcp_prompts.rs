//! The prompts of the library as MCP prompts.

use std::collections::HashMap;

use deliberate_toolkit::{
    CompletionRequest, CompletionValues, PromptInfo, PromptProvider, ToolError,
};
use serde_json::{Map, Value, json};

use super::control_support::ControlHarness;

fn prompt_provider(harness: &ControlHarness) -> &dyn PromptProvider {
    harness.registry.prompt_providers().next().unwrap()
}

async fn get_text(
    harness: &ControlHarness,
    name: &str,
    arguments: Value,
) -> Option<Result<String, ToolError>> {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    let served = prompt_provider(harness)
        .get(name, &arguments, harness.resource_context())
        .await?;
    Some(served.map(|served| served.text))
}

async fn complete(
    harness: &ControlHarness,
    name: &str,
    argument: &str,
    text: &str,
) -> CompletionValues {
    let given = HashMap::new();
    let typed = CompletionRequest {
        argument,
        text,
        arguments: &given,
    };
    prompt_provider(harness)
        .complete(name, typed, harness.resource_context())
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn row_38_every_registered_prompt_is_listed_and_can_be_had() {
    let house = ControlHarness::new();
    house
        .write_sample_prompts()
        .prompt("hidden", "registerWithMcp: false\nuserMessageTemplate: 'x'")
        .prompt("nest/inner", "userMessageTemplate: 'Inner'")
        .prompt("think", "userMessageTemplate: 'x'");
    let dishes = prompt_provider(&house).list().await;
    let names: Vec<&str> = dishes.iter().map(|it| it.name.as_str()).collect();
    assert!(names.is_sorted() && names.len() > 20, "{names:?}");
    for name in ["hello", "bye", "greet", "code_review"] {
        assert!(names.contains(&name), "{name}");
    }
    assert!(!names.contains(&"hidden") && !names.contains(&"think"));
    let hello: &PromptInfo = dishes.iter().find(|it| it.name == "hello").unwrap();
    assert_eq!(hello.tool, "prompt_engine");
    assert_eq!(hello.arguments[0].name, "who");
    assert!(hello.arguments[0].required);

    let text = get_text(&house, "hello", json!({ "who": "{{ who }} --> \"x\"" })).await;
    assert_eq!(text.unwrap().unwrap(), "Hello {{ who }} --> \"x\"");
    assert!(get_text(&house, "hidden", json!({})).await.is_none());
    assert!(get_text(&house, "think", json!({})).await.is_none());
    assert!(get_text(&house, "nobody", json!({})).await.is_none());
}

#[tokio::test]
async fn a_nested_prompt_is_in_the_menu_too() {
    let house = ControlHarness::new();
    house.prompt(
        "flow",
        "chainSteps:\n  - promptId: flow/inner\n    stepName: one",
    );
    house.write(
        "resources/prompts/own/flow/inner/prompt.yaml",
        "id: inner\nname: Inner\ndescription: d\nuserMessageTemplate: Inner text\n",
    );
    let dishes = prompt_provider(&house).list().await;
    assert!(
        dishes.iter().any(|it| it.name == "flow/inner"),
        "{dishes:?}"
    );
    let text = get_text(&house, "flow/inner", json!({}))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(text, "Inner text");
}

#[tokio::test]
async fn the_prompt_decides_then_the_category_then_the_settings() {
    let house = ControlHarness::with_options(|options| options.list_prompts = false);
    house
        .write_sample_prompts()
        .prompt("shown", "registerWithMcp: true\nuserMessageTemplate: 'x'")
        .write(
            "resources/prompts/open/category.yaml",
            "id: open\nname: Open\nregisterWithMcp: true\n",
        )
        .write(
            "resources/prompts/open/also/prompt.yaml",
            "id: also\nname: Also\ndescription: d\nuserMessageTemplate: x\n",
        );
    let dishes = prompt_provider(&house).list().await;
    let names: Vec<&str> = dishes.iter().map(|it| it.name.as_str()).collect();
    assert!(
        names.contains(&"shown") && names.contains(&"also"),
        "{names:?}"
    );
    assert!(!names.contains(&"hello"));
}

#[tokio::test]
async fn nothing_is_added_whatever_is_switched_on() {
    let house =
        ControlHarness::with_options(|options| options.methodology = Some("react".to_owned()));
    house.prompt(
        "plain",
        "systemMessage: 'You are kind.'\nuserMessageTemplate: 'Say it.'\ngateConfiguration: {include: [no-filler]}",
    );
    let text = get_text(&house, "plain", json!({})).await.unwrap().unwrap();
    assert_eq!(text, "You are kind.\n\nSay it.");
    let runs = house.call_control(json!({ "action": "session" })).await;
    assert_eq!(runs["total"], json!(0));
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_an_error() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    for name in ["hello", "greet"] {
        for arguments in [json!({}), json!({ "who": "" })] {
            let error = get_text(&house, name, arguments)
                .await
                .unwrap()
                .unwrap_err();
            assert!(matches!(error, ToolError::Invalid(_)), "{error:?}");
            assert!(error.to_string().contains("`who`"), "{error}");
        }
    }
    let error = get_text(&house, "hello", json!({ "who": "x", "whom": "y" })).await;
    assert!(error.unwrap().is_err());
}

#[tokio::test]
async fn a_chain_is_a_word_about_the_call_and_never_empty() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    let who = "a \"b\" --> c\n%clean";
    let text = get_text(&house, "greet", json!({ "who": who }))
        .await
        .unwrap()
        .unwrap();
    let start = text.find("{\"command\"").unwrap();
    let (call, _) = text.get(start..).unwrap().split_once(", do what").unwrap();
    let call: Value = serde_json::from_str(call).unwrap();
    let begun = house.call_engine(call).await;
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
        .call_control(json!({ "action": "maintenance", "confirm": true }))
        .await;
    let text = get_text(&house, "own", json!({})).await.unwrap().unwrap();
    assert_eq!(text, "My own words");
}

#[tokio::test]
async fn looking_at_a_prompt_that_creates_creates_nothing() {
    let house = ControlHarness::new();
    let all = json!({
        "id": "made", "name": "Made", "description": "d", "guidance": "g",
    });
    let text = get_text(&house, "create_gate", all).await.unwrap().unwrap();
    assert!(text.contains(">>create_gate"), "{text}");
    assert!(!house.path("resources/gates/made").exists());
}

#[tokio::test]
async fn values_are_completed_from_what_is_allowed_or_there() {
    let house = ControlHarness::new();
    house.prompt(
        "pick",
        "arguments:\n  - {name: depth, allowedValues: [quick, normal, deep]}\n  - {name: sure, type: boolean}\n  - {name: gate_id}\n  - {name: framework}\n  - {name: text}\nuserMessageTemplate: '{{depth}}{{sure}}{{gate_id}}{{framework}}{{text}}'",
    );
    let values = |choices: CompletionValues| choices.values;
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
        CompletionValues::default()
    );
    assert_eq!(
        complete(&house, "pick", "nothing", "").await,
        CompletionValues::default()
    );
}
