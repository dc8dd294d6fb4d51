//! `system_control`: status, framework, gates, config.

use deliberate_toolkit::ToolError;
use serde_json::json;

use super::control_support::{ControlHarness, control_arguments, field_values};

#[test]
fn the_entry_in_the_list_of_tools_is_small() {
    let house = ControlHarness::new();
    let listing = house.registry.get("system_control").unwrap();
    let mut input = listing.input_schema.clone();
    input
        .as_object_mut()
        .unwrap()
        .remove("additionalProperties");
    // The form in which the server lists it: only the outline of the output, only unusual hints.
    let entry = json!({
        "name": listing.meta.name,
        "title": listing.meta.title,
        "description": listing.meta.description,
        "inputSchema": input,
        "outputSchema": { "type": "object", "properties": { "said": {} } },
        "annotations": { "openWorldHint": false },
    });
    let tokens = entry.to_string().len().div_ceil(4);
    assert!(tokens <= 330, "{tokens} tokens: {entry}");
}

#[tokio::test]
async fn row_33_every_parameter_is_in_the_schema_and_no_other_is_taken() {
    let house = ControlHarness::new();
    let listing = house.registry.get("system_control").unwrap();
    let properties = listing.input_schema["properties"].as_object().unwrap();
    for name in [
        "show_details",
        "framework",
        "reason",
        "persist",
        "search_query",
        "include_history",
        "confirm",
        "key",
        "topic",
        "type",
        "enabled",
        "scope",
        "scope_id",
        "expires_in_ms",
        "session_id",
        "source",
        "resourceType",
        "since",
        "limit",
    ] {
        assert!(properties.contains_key(name), "{name}");
    }
    let error = house
        .control_error(json!({ "action": "status", "sesion_id": "x" }))
        .await;
    assert!(
        error.to_string().contains("did you mean \"session_id\""),
        "{error}"
    );
    let error = house
        .control_error(control_arguments(
            "gates",
            "list",
            json!({ "framework": "x" }),
        ))
        .await;
    assert!(
        error.to_string().contains("not used by gates list"),
        "{error}"
    );
    let long = "x".repeat(20_000);
    let error = house
        .control_error(control_arguments(
            "gates",
            "list",
            json!({ "search_query": long }),
        ))
        .await;
    assert!(error.to_string().contains("at most 10000 bytes"), "{error}");
    let error = house
        .control_error(control_arguments("framework", "swich", json!({})))
        .await;
    assert!(
        error.to_string().contains("did you mean switch?"),
        "{error}"
    );
}

#[tokio::test]
async fn row_33_one_key_of_the_config_is_one_key() {
    let house =
        ControlHarness::with_options(|options| options.commands = vec!["cargo test".to_owned()]);
    let got = house
        .call_control(control_arguments(
            "config",
            "get",
            json!({ "key": "prompts.commands" }),
        ))
        .await;
    assert_eq!(got["value"], json!(["cargo test"]));
    assert_eq!(got["said"], "prompts.commands = [\"cargo test\"]");
    let short = house
        .call_control(control_arguments(
            "config",
            "get",
            json!({ "key": "prompts.steps" }),
        ))
        .await;
    assert_eq!(short["value"], json!(500));
    let error = house
        .control_error(control_arguments(
            "config",
            "get",
            json!({ "key": "prompts.comands" }),
        ))
        .await;
    assert!(
        error.to_string().contains("did you mean prompts.commands?"),
        "{error}"
    );
    let all = house.call_control(json!({ "action": "config" })).await;
    assert!(all["config"].as_object().unwrap().len() > 15);
}

#[tokio::test]
async fn settings_are_checked_and_never_set() {
    let house = ControlHarness::with_options(|options| {
        options.methodology = Some("NoSuch".to_owned());
        options.commands = vec!["cat | sh".to_owned()];
        options.scripts = vec!["gone".to_owned()];
    });
    let found = house
        .call_control(control_arguments("config", "validate", json!({})))
        .await;
    let said = found["said"].as_str().unwrap();
    assert_eq!(found["valid"], json!(false));
    for part in ["prompts.methodology", "prompts.commands", "prompts.scripts"] {
        assert!(said.contains(part), "{said}");
    }
    let set = control_arguments(
        "config",
        "set",
        json!({ "key": "prompts.judge", "value": "model" }),
    );
    let error = house.control_error(set).await;
    assert_eq!(error.code(), "ReadOnly");
    assert!(error.to_string().contains("prompts.judge"), "{error}");
    let error = house
        .control_error(control_arguments(
            "config",
            "restore",
            json!({ "confirm": true }),
        ))
        .await;
    assert_eq!(error.code(), "ReadOnly");
}

#[tokio::test]
async fn status_counts_by_layer_and_names_problems_with_their_places() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.write(
        "resources/prompts/own/broken/prompt.yaml",
        "id: broken\nname: [\n",
    );
    let status = house.call_control(json!({ "action": "status" })).await;
    assert_eq!(status["counts"]["chains"]["workspace"], json!(1));
    assert!(status["counts"]["prompts"]["workspace"].as_u64().unwrap() >= 3);
    assert!(status["counts"]["gates"]["shipped"].as_u64().unwrap() > 5);
    assert_eq!(status["open_runs"], json!(0));
    let said = status["said"].as_str().unwrap();
    assert!(said.contains("own/broken/prompt.yaml:"), "{said}");
    let problems = status["problems"].as_array().unwrap();
    let problem = problems.iter().find(|it| it["id"] == "broken").unwrap();
    assert_eq!(problem["last_good_kept"], json!(false));

    let health = house
        .call_control(control_arguments("status", "health", json!({})))
        .await;
    assert_eq!(health["healthy"], json!(false));
    let whole = house
        .call_control(control_arguments("status", "diagnostics", json!({})))
        .await;
    assert_eq!(whole["limits"]["steps"], json!(500));
    assert_eq!(whole["watching"], json!(true));
    assert_eq!(whole["problems_total"], status["problems_total"]);
    let details = house
        .call_control(json!({ "action": "status", "show_details": true }))
        .await;
    assert!(field_values(&details["categories"], "id").contains(&"own".to_owned()));
}

#[tokio::test]
async fn a_broken_edit_keeps_the_last_good_version_and_says_so() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.call_control(json!({ "action": "status" })).await;
    house.write(
        "resources/prompts/own/bye/prompt.yaml",
        "id: bye\nname: [\n",
    );
    house
        .call_control(control_arguments(
            "maintenance",
            "restart",
            json!({ "confirm": true }),
        ))
        .await;
    let said = house.control_text(json!({ "action": "status" })).await;
    assert!(
        said.contains("The last good version is still in use."),
        "{said}"
    );
    assert_eq!(
        house.call_engine(json!({ "command": ">>bye" })).await["said"],
        "Bye"
    );
}

#[tokio::test]
async fn row_37_a_switch_holds_for_other_processes_and_no_description_names_it() {
    let house = ControlHarness::new();
    let other = house.second_process();
    let before = house.registry.get("system_control").unwrap().meta.clone();
    let switch = json!({ "framework": "react", "reason": "debugging" });
    let done = house
        .call_control(control_arguments("framework", "switch", switch))
        .await;
    assert!(
        done["active"]
            .as_str()
            .unwrap()
            .eq_ignore_ascii_case("react")
    );
    let seen = other
        .call_control(control_arguments("status", "framework_status", json!({})))
        .await;
    assert_eq!(seen["active"], done["active"]);
    assert_eq!(seen["reason"], "debugging");
    assert!(seen["since"].as_str().unwrap().starts_with("2026-01-01"));
    let later = house.second_process();
    assert_eq!(
        later.call_control(json!({ "action": "framework" })).await["active"],
        done["active"]
    );

    for listing in house.registry.list() {
        let text = format!("{} {}", listing.meta.description, listing.input_schema);
        let text = text.to_lowercase();
        assert!(
            !text.contains("react") && !text.contains("cageerf"),
            "{text}"
        );
    }
    assert_eq!(house.registry.get("system_control").unwrap().meta, &before);
}

#[tokio::test]
async fn an_unknown_methodology_is_refused_with_the_nearest() {
    let house = ControlHarness::new();
    let error = house
        .control_error(control_arguments(
            "framework",
            "switch",
            json!({ "framework": "raect" }),
        ))
        .await;
    assert!(
        error
            .to_string()
            .to_lowercase()
            .contains("did you mean react?"),
        "{error}"
    );
    let error = house
        .control_error(control_arguments("framework", "switch", json!({})))
        .await;
    assert!(matches!(error, ToolError::Invalid(_)));
    let keep = json!({ "framework": "react", "persist": false });
    let error = house
        .control_error(control_arguments("framework", "switch", keep))
        .await;
    assert!(error.to_string().contains("persist"), "{error}");
}

#[tokio::test]
async fn methodologies_are_switched_off_and_on_again() {
    let house =
        ControlHarness::with_options(|options| options.methodology = Some("react".to_owned()));
    house.write_sample_prompts();
    let greet = json!({ "command": ">>hello Ann" });
    let with = house.call_engine(greet.clone()).await;
    assert!(with["said"].as_str().unwrap().starts_with("Work by ReACT"));
    house
        .call_control(control_arguments("framework", "disable", json!({})))
        .await;
    assert_eq!(house.call_engine(greet.clone()).await["said"], "Hello Ann");
    let on = house
        .call_control(control_arguments("framework", "enable", json!({})))
        .await;
    assert_eq!(on["active"], "react");
    let again = house.call_engine(greet).await;
    assert!(again["said"].as_str().unwrap().starts_with("Work by ReACT"));
    let list = house
        .call_control(control_arguments(
            "framework",
            "list_methodologies",
            json!({}),
        ))
        .await;
    assert_eq!(list["methodologies"].as_array().unwrap().len(), 4);
    let seen = house
        .control_text(control_arguments(
            "framework",
            "inspect",
            json!({ "framework": "scamper" }),
        ))
        .await;
    assert!(seen.contains("Substitute"), "{seen}");
}

#[tokio::test]
async fn gates_are_searched_switched_and_checked() {
    let house = ControlHarness::new();
    house.write_sample_prompts();
    house.write(
        "resources/gates/runs/gate.yaml",
        "id: runs\ntype: validation\nname: Runs\ndescription: Tests run\nguidance: Run them\nactivation: {explicit_request: true}\n\
         pass_criteria:\n  - type: shell_verify\n    shell_command: make test\n",
    );
    let found = house
        .call_control(control_arguments(
            "gates",
            "list",
            json!({ "search_query": "TESTS run" }),
        ))
        .await;
    let status = house.control_text(json!({ "action": "status" })).await;
    assert_eq!(field_values(&found["gates"], "id"), ["runs"], "{status}");
    let health = house
        .call_control(control_arguments("gates", "health", json!({})))
        .await;
    let unchecked = field_values(&health["unchecked"], "gate");
    assert!(unchecked.contains(&"runs".to_owned()), "{unchecked:?}");
    assert!(health["said"].as_str().unwrap().contains("not allowed"));

    let command = json!({ "command": ">>bye :: \"is polite\"" });
    assert!(house.call_engine(command.clone()).await["chain_id"].is_string());
    house
        .call_control(control_arguments("gates", "disable", json!({})))
        .await;
    let other = house.second_process();
    let plain = other.call_engine(command.clone()).await;
    assert!(
        plain["chain_id"].is_null() && plain["said"].as_str().unwrap().contains("are disabled")
    );
    let status = other
        .call_control(control_arguments("gates", "status", json!({})))
        .await;
    assert_eq!(status["on"], json!(false));
    house
        .call_control(control_arguments("gates", "enable", json!({})))
        .await;
    assert!(other.call_engine(command).await["chain_id"].is_string());
}
