//! Creating resources: never overwrites, never stores invalid files, visible immediately.

use serde_json::{Value, json};

use super::resource_manager_support::{ManagerHarness, reply_text};

#[tokio::test]
async fn a_created_prompt_is_there_at_once() {
    let shop = ManagerHarness::new();
    let answer = shop.create_greeting("greet").await;
    assert_eq!(answer["version"], 1);
    assert_eq!(
        shop.read("prompts/people/greet/user-message.md"),
        "Hello {{ who }}!"
    );
    assert!(
        shop.render_command(">>greet who:\"Ada\"")
            .await
            .contains("Hello Ada!")
    );
    let seen = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "greet" }))
        .await;
    assert_eq!(seen["hash"], answer["hash"]);
    assert_eq!(seen["category"], "people");
    assert_eq!(seen["versions"], 1);
}

#[tokio::test]
async fn a_created_gate_with_plain_criteria_loads_and_can_be_used() {
    let shop = ManagerHarness::new();
    let answer = shop
        .manage_ok(
            json!({ "resource_type": "gate", "action": "create", "id": "kind-words",
                      "name": "Kind words", "description": "Answers are kind",
                      "guidance": "Be kind.", "pass_criteria": ["No word hurts", "It helps"],
                      "severity": "high" }),
        )
        .await;
    assert!(reply_text(&answer).contains("guidance.md"), "{answer}");
    let seen = shop
        .manage_ok(json!({ "resource_type": "gate", "action": "inspect", "id": "kind-words" }))
        .await;
    let criteria = seen["pass_criteria"].as_array().unwrap();
    assert_eq!(criteria.len(), 2, "{seen}");
    assert_eq!(criteria[0]["type"], "llm_self_check");
    assert_eq!(criteria[0]["prompt_template"], "No word hurts");
    assert_eq!(seen["type"], "validation");
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "create", "id": "nice", "name": "Nice",
                      "description": "Says something nice", "user_message_template": "Say it.",
                      "gate_configuration": ["kind-words"] }),
    )
    .await;
    let seen = shop
        .manage_ok(json!({ "resource_type": "gate", "action": "inspect", "id": "kind-words" }))
        .await;
    assert_eq!(seen["used_by"], json!(["prompt nice"]));
}

#[tokio::test]
async fn methodologies_and_styles_are_made_with_their_files() {
    let shop = ManagerHarness::new();
    shop.manage_ok(
        json!({ "resource_type": "framework", "action": "create", "id": "focus",
                      "name": "FOCUS", "system_prompt_guidance": "Work in phases.",
                      "phases": ["Frame it", { "name": "Observe", "methodology_basis": "looking" }],
                      "methodology_gates": ["Each phase is visible"] }),
    )
    .await;
    let seen = shop
        .manage_ok(json!({ "resource_type": "methodology", "action": "inspect", "id": "FOCUS" }))
        .await;
    assert_eq!(seen["phases"][0]["id"], "frame_it");
    assert_eq!(seen["phases"][1]["methodologyBasis"], "looking");
    assert_eq!(
        seen["methodologyGates"][0]["validationCriteria"],
        json!(["Each phase is visible"])
    );
    assert!(
        shop.read("methodologies/focus/phases.yaml")
            .contains("processingSteps")
    );
    shop.manage_ok(
        json!({ "resource_type": "style", "action": "create", "id": "terse",
                      "name": "Terse", "guidance": "Few words." }),
    )
    .await;
    let seen = shop
        .manage_ok(json!({ "resource_type": "style", "action": "inspect", "id": "terse" }))
        .await;
    assert_eq!(seen["guidance"], "Few words.");
    assert!(
        !shop
            .read("styles/terse/style.yaml")
            .contains("guidanceFile")
    );
}

#[tokio::test]
async fn nothing_is_overwritten() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    let before = shop.read("prompts/people/greet/prompt.yaml");
    for id in ["greet", "GREET"] {
        let (code, text) = shop
            .manage_error(
                json!({ "resource_type": "prompt", "action": "create", "id": id, "name": "N",
                           "description": "d", "user_message_template": "other",
                           "category": "elsewhere" }),
            )
            .await;
        assert_eq!(code, "AlreadyExists");
        assert!(text.contains("update"), "{text}");
    }
    assert_eq!(shop.read("prompts/people/greet/prompt.yaml"), before);
    assert!(!shop.resource_path("prompts/elsewhere").exists());
    let (code, text) = shop
        .manage_error(
            json!({ "resource_type": "gate", "action": "create", "id": "no-filler",
                       "name": "N", "description": "d", "guidance": "g" }),
        )
        .await;
    assert_eq!(code, "AlreadyExists");
    assert!(text.contains("shipped/gates/no-filler"), "{text}");
    assert!(!shop.resource_path("gates").exists());
}

#[tokio::test]
async fn what_another_process_made_is_not_overwritten_either() {
    let shop = ManagerHarness::new();
    let other = shop.second_process();
    // Both processes have loaded the library before either writes.
    let list = json!({ "resource_type": "prompt", "action": "list" });
    shop.manage_ok(list.clone()).await;
    other.manage_ok(list).await;
    shop.create_greeting("greet").await;
    let (code, _) = other
        .manage_error(
            json!({ "resource_type": "prompt", "action": "create", "id": "greet", "name": "N",
                       "description": "d", "user_message_template": "other" }),
        )
        .await;
    assert_eq!(code, "AlreadyExists");
    let seen = other
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "greet" }))
        .await;
    assert_eq!(seen["name"], "Greeting");
}

#[tokio::test]
async fn what_could_not_be_used_is_not_written() {
    let shop = ManagerHarness::new();
    let prompt = |more: Value| {
        let mut all = json!({ "resource_type": "prompt", "action": "create", "id": "x",
            "name": "X", "description": "d", "user_message_template": "t" });
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    let cases = [
        (json!({ "user_message_template": "{% if %}" }), "line 1"),
        (
            json!({ "user_message_template": "{{ref:no_such}}" }),
            "no_such",
        ),
        (json!({ "chain_steps": ["code_reviw"] }), "code_review"),
        (json!({ "chain_steps": ["x"] }), "x → x"),
        (
            json!({ "gate_configuration": { "include": ["no-filer"] } }),
            "no-filler",
        ),
        (json!({ "tools": ["nothing"] }), "nothing"),
        (
            json!({ "arguments": [{ "name": "a", "validation": { "pattern": "(" } }] }),
            "pattern",
        ),
        (
            json!({ "arguments": [{ "description": "no name" }] }),
            "name",
        ),
        (json!({ "arguments": "text" , "name": 5 }), "text"),
        (json!({ "description": "" }), "description"),
        (
            json!({ "chain_steps": [{ "tool": "a", "promptId": "b" }] }),
            "exactly one",
        ),
    ];
    for (more, hint) in cases {
        let (_, text) = shop.manage_error(prompt(more.clone())).await;
        assert!(text.contains(hint), "{more}: {text}");
    }
    let (_, text) = shop
        .manage_error(json!({ "resource_type": "gate", "action": "create", "id": "g", "name": "G",
                       "description": "d", "guidance": "g",
                       "pass_criteria": [{ "type": "content_check", "required_patterns": ["("] }] }))
        .await;
    assert!(text.contains("pattern"), "{text}");
    let (_, text) = shop
        .manage_error(
            json!({ "resource_type": "gate", "action": "create", "id": "g", "name": "G",
                       "description": "d", "guidance": "g", "severity": "huge" }),
        )
        .await;
    assert!(text.contains("huge"), "{text}");
    let (_, text) = shop
        .manage_error(
            json!({ "resource_type": "methodology", "action": "create", "id": "m",
                       "name": "M", "phases": ["a"] }),
        )
        .await;
    assert!(text.contains("system_prompt_guidance"), "{text}");
    assert_eq!(shop.all_files(), Vec::<String>::new());
}

#[tokio::test]
async fn chains_nested_prompts_and_tools_are_made() {
    let shop = ManagerHarness::with_options(&|options| options.caller_scripts = true);
    shop.create_greeting("greet").await;
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "create", "id": "greet/formal",
                      "name": "Formal", "description": "A formal one",
                      "user_message_template": "Good day, {{ who }}.", "arguments": ["who"] }),
    )
    .await;
    assert!(
        shop.resource_path("prompts/people/greet/formal/prompt.yaml")
            .exists()
    );
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "create", "id": "party",
                      "name": "Party", "description": "Greets twice", "category": "people",
                      "chain_steps": [
                          "greet",
                          { "prompt_id": "greet/formal", "step_name": "Formal",
                            "input_mapping": { "who": "who" } },
                      ],
                      "tools": [{ "id": "count", "name": "Count", "runtime": "shell",
                                  "script": "echo 1", "schema": { "type": "object" } }] }),
    )
    .await;
    let seen = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "party" }))
        .await;
    assert!(reply_text(&seen).contains("chain with 2 steps"), "{seen}");
    assert_eq!(seen["total_steps"], 2);
    assert_eq!(seen["tools"], json!(["count"]));
    assert_eq!(
        shop.read("prompts/people/party/tools/count/script.sh"),
        "echo 1"
    );
    assert_eq!(shop.problems().await, Vec::<String>::new());
    let (_, text) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                       "chain_steps": ["party"] }),
        )
        .await;
    assert!(text.contains("greet → party → greet"), "{text}");
}

#[tokio::test]
async fn texts_are_kept_to_the_byte() {
    let shop = ManagerHarness::new();
    let text = "  \n{{ who }} \"quoted\" 'x' : # - é 😀\t\\n\r\n\n\n";
    let name = "a: b # c \"d\" 'e' {f} [g] é \\ \u{7f} yes";
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "create", "id": "odd", "name": name,
                      "description": "- {x: [y\n\n  z", "user_message_template": text,
                      "system_message": "null",
                      "arguments": [{ "name": "who", "description": "{\"a\": 1}" }] }),
    )
    .await;
    let library = shop.library.library().await;
    let prompt = &library.prompts["odd"];
    assert_eq!(prompt.template.as_ref().unwrap().body, text);
    assert_eq!(prompt.system.as_ref().unwrap().body, "null");
    assert_eq!(prompt.name, name);
    assert_eq!(prompt.description, "- {x: [y\n\n  z");
    assert_eq!(
        prompt.arguments[0].description.as_deref(),
        Some("{\"a\": 1}")
    );
}

#[tokio::test]
async fn a_prompt_that_creates_does_so_through_the_tool() {
    let shop = ManagerHarness::new();
    let said = shop
        .render_command(
            ">>create_gate id:\"polite\" name:\"Polite\" description:\"Answers are polite\" \
              guidance:\"Say please.\"",
        )
        .await;
    assert!(said.contains("Created gate `polite`"), "{said}");
    assert!(shop.library.library().await.gates.contains_key("polite"));
}

#[tokio::test]
async fn lists_may_come_as_text_and_texts_stay_text() {
    let shop = ManagerHarness::new();
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "create", "id": "x", "name": "[1]",
                      "description": "{\"a\": 1}", "user_message_template": "[{{ a }}]",
                      "arguments": "[{\"name\": \"a\", \"default\": 3}]" }),
    )
    .await;
    let library = shop.library.library().await;
    let prompt = &library.prompts["x"];
    assert_eq!(
        (prompt.name.as_str(), prompt.description.as_str()),
        ("[1]", "{\"a\": 1}")
    );
    assert_eq!(prompt.arguments[0].default_value, Some(json!(3)));
    let (_, text) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "create", "id": "cat", "name": "N",
                       "description": "d", "user_message_template": "t",
                       "arguments": [{ "name": "a", "type": "strange" }] }),
        )
        .await;
    assert!(text.contains("strange"), "{text}");
}
