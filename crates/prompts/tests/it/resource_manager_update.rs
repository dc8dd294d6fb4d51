//! Updating resources: only the given fields, from the current files, with concurrent writers.

use serde_json::{Value, json};

use super::resource_manager_support::{ManagerHarness, reply_text};

fn update(more: &Value) -> Value {
    let mut all = json!({ "resource_type": "prompt", "action": "update", "id": "greet" });
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

#[tokio::test]
async fn only_what_is_given_changes_and_the_next_call_sees_it() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    let first = shop
        .manage_ok(update(&json!({ "user_message_template": "Hi {{ who }}!" })))
        .await;
    assert_eq!(first["version"], 2);
    assert!(reply_text(&first).contains("-Hello {{ who }}!"), "{first}");
    assert!(reply_text(&first).contains("+Hi {{ who }}!"), "{first}");
    assert!(
        shop.render_command(">>greet who:\"Ada\"")
            .await
            .contains("Hi Ada!")
    );
    let second = shop
        .manage_ok(update(
            &json!({ "description": "Greets in a friendly way" }),
        ))
        .await;
    assert_ne!(first["hash"], second["hash"]);
    assert_eq!(
        shop.read("prompts/people/greet/user-message.md"),
        "Hi {{ who }}!"
    );
    assert!(
        shop.render_command(">>greet who:\"Ada\"")
            .await
            .contains("Hi Ada!")
    );
    let same = shop
        .manage_ok(update(
            &json!({ "description": "Greets in a friendly way" }),
        ))
        .await;
    assert!(reply_text(&same).contains("Nothing to change"), "{same}");
}

#[tokio::test]
async fn edits_by_hand_comments_and_unknown_names_stay() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    let file = "prompts/people/greet/prompt.yaml";
    let mine = "# mine\nid: greet\nname: Greeting # short\nx-owner: me\n\n# why\ndescription: Greets someone\nuserMessageTemplateFile: user-message.md\narguments:\n- {name: who}\n";
    shop.write(file, mine);
    shop.write("prompts/people/greet/user-message.md", "By hand, {{ who }}");
    shop.manage_ok(update(&json!({ "description": "Greets anyone" })))
        .await;
    assert_eq!(
        shop.read(file),
        mine.replace("Greets someone", "Greets anyone")
    );
    assert_eq!(
        shop.read("prompts/people/greet/user-message.md"),
        "By hand, {{ who }}"
    );
    let history = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "history", "id": "greet" }))
        .await;
    assert_eq!(history["total"], 3);
    assert_eq!(history["versions"][1]["description"], "Changed outside");
}

#[tokio::test]
async fn an_empty_text_clears_what_may_be_left_out() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.manage_ok(update(&json!({ "system_message": "Be brief." })))
        .await;
    assert!(
        shop.resource_path("prompts/people/greet/system-message.md")
            .exists()
    );
    shop.manage_ok(update(&json!({ "system_message": "" })))
        .await;
    assert!(
        !shop
            .resource_path("prompts/people/greet/system-message.md")
            .exists()
    );
    assert!(
        shop.library.library().await.prompts["greet"]
            .system
            .is_none()
    );
    let (_, text) = shop.manage_error(update(&json!({ "name": "" }))).await;
    assert!(text.contains("name"), "{text}");
    assert_eq!(
        shop.library.library().await.prompts["greet"].name,
        "Greeting"
    );
}

#[tokio::test]
async fn a_hash_that_is_not_the_current_one_is_a_conflict() {
    let shop = ManagerHarness::new();
    let made = shop.create_greeting("greet").await;
    let hash = made["hash"].as_str().unwrap();
    let changed = shop
        .manage_ok(update(
            &json!({ "description": "Second", "expected_hash": hash }),
        ))
        .await;
    let (code, text) = shop
        .manage_error(update(
            &json!({ "description": "Third", "expected_hash": hash }),
        ))
        .await;
    assert_eq!(code, "Conflict");
    assert!(text.contains(changed["hash"].as_str().unwrap()), "{text}");
    // A manual edit counts even before the watcher detects it.
    shop.write("prompts/people/greet/user-message.md", "Else {{ who }}");
    let (code, _) = shop
        .manage_error(update(
            &json!({ "description": "Third", "expected_hash": changed["hash"] }),
        ))
        .await;
    assert_eq!(code, "Conflict");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_processes_with_the_same_hash_one_wins() {
    let shop = ManagerHarness::new();
    let other = shop.second_process();
    shop.create_greeting("greet").await;
    other.library.library().await;
    for round in 0..10 {
        let seen = shop
            .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "greet" }))
            .await;
        let change = |who: &str| {
            update(
                &json!({ "description": format!("By {who} in round {round}"),
                            "expected_hash": seen["hash"] }),
            )
        };
        let (one, two) = tokio::join!(shop.manage(change("one")), other.manage(change("two")));
        let winners = [&one, &two].iter().filter(|it| it.is_ok()).count();
        assert_eq!(winners, 1, "{one:?} {two:?}");
        let lost = if one.is_ok() { two } else { one };
        assert_eq!(lost.unwrap_err().to_json()["code"], "Conflict");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_different_fields_at_once_are_all_kept() {
    let shop = ManagerHarness::new();
    let other = shop.second_process();
    shop.create_greeting("greet").await;
    let calls: Vec<_> = (0..8)
        .map(|number| {
            let registry = if number % 2 == 0 { &shop } else { &other }
                .registry
                .clone();
            let step = json!({ "tool": format!("tool_{number}") });
            let call = update(&json!({ "chain_step_operation": "add", "chain_step_data": step }));
            tokio::spawn(async move {
                // A caller that waits too long for the lock gets an error and retries.
                loop {
                    let caller = deliberate_toolkit::CallerContext::default();
                    match registry
                        .call("resource_manager", call.clone(), caller)
                        .await
                    {
                        Err(error) if error.code() == "Busy" => {}
                        done => return done.map(drop).unwrap(),
                    }
                }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    shop.manage_ok(json!({ "resource_type": "prompt", "action": "reload" }))
        .await;
    let seen = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "greet" }))
        .await;
    assert_eq!(seen["total_steps"], 8, "{seen}");
    assert_eq!(seen["versions"], 9, "{seen}");
}

#[tokio::test]
async fn an_update_of_a_shipped_thing_is_a_copy() {
    let shop = ManagerHarness::new();
    let answer = shop
        .manage_ok(
            json!({ "resource_type": "gate", "action": "update", "id": "no-filler",
                      "severity": "critical" }),
        )
        .await;
    assert!(
        reply_text(&answer).contains("workspace now has a copy"),
        "{answer}"
    );
    assert_eq!(answer["version"], 2);
    let seen = shop
        .manage_ok(json!({ "resource_type": "gate", "action": "inspect", "id": "no-filler" }))
        .await;
    assert_eq!(seen["severity"], "critical");
    assert_eq!(seen["layer"], "workspace");
    assert!(shop.resource_path("gates/no-filler/guidance.md").exists());
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "update", "id": "release_notes/group",
                      "description": "Groups the changes of a release" }),
    )
    .await;
    assert_eq!(shop.problems().await, Vec::<String>::new());
    assert!(
        shop.resource_path("prompts/writing/release_notes/group/prompt.yaml")
            .exists()
    );
}

#[tokio::test]
async fn single_steps_and_old_sections_can_be_changed() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.create_greeting("bye").await;
    let chain = |more: Value| {
        let mut all = json!({ "resource_type": "prompt", "action": "update", "id": "chain" });
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "create", "id": "chain", "name": "C",
                      "description": "d", "chain_steps": ["greet"] }),
    )
    .await;
    shop.manage_ok(chain(
        json!({ "chain_step_operation": "add", "chain_step_data": "bye" }),
    ))
    .await;
    shop.manage_ok(chain(json!({ "chain_step_operation": "add", "index": 0,
                            "data": { "promptId": "bye", "stepName": "First" } })))
        .await;
    shop.manage_ok(chain(
        json!({ "chain_step_operation": { "operation": "reorder",
                                                      "order": [2, 0, 1] } }),
    ))
    .await;
    shop.manage_ok(chain(
        json!({ "chain_step_operation": "remove", "chain_step_index": 2 }),
    ))
    .await;
    shop.manage_ok(chain(
        json!({ "chain_step_operation": "replace", "chain_step_index": 1,
                            "chain_step_data": { "prompt_id": "greet", "retries": 1 } }),
    ))
    .await;
    let seen = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "chain" }))
        .await;
    assert_eq!(seen["steps"], json!(["bye", "greet"]));
    for (bad, hint) in [
        (
            json!({ "chain_step_operation": "remove", "chain_step_index": 2 }),
            "0 to 1",
        ),
        (
            json!({ "chain_step_operation": "reorder", "chain_step_order": [0, 0] }),
            "once",
        ),
        (json!({ "chain_step_operation": "shuffle" }), "reorder"),
        (json!({ "chain_step_index": 1 }), "chain_step_operation"),
        (
            json!({ "section": "User Message Template" }),
            "section_content",
        ),
    ] {
        let (_, text) = shop.manage_error(chain(bad)).await;
        assert!(text.contains(hint), "{text}");
    }
    shop.manage_ok(update(&json!({ "section": "User Message Template",
                              "section_content": "Hey {{ who }}" })))
        .await;
    assert_eq!(
        shop.read("prompts/people/greet/user-message.md"),
        "Hey {{ who }}"
    );
}

#[tokio::test]
async fn a_single_file_stays_one() {
    let shop = ManagerHarness::new();
    shop.write(
        "prompts/misc/one.yaml",
        "id: one\nname: One\ndescription: A single file\nuserMessageTemplate: |\n  Old {{ x }}\narguments: [{name: x}]\n",
    );
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "update", "id": "one",
                      "user_message_template": "New {{ x }}", "system_message": "s" }),
    )
    .await;
    assert!(shop.read("prompts/misc/one.yaml").contains("New {{ x }}"));
    assert!(!shop.resource_path("prompts/misc/one").exists());
    assert!(shop.render_command(">>one x:\"1\"").await.contains("New 1"));
    let history = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "history", "id": "one" }))
        .await;
    assert_eq!(history["total"], 2);
}

#[tokio::test]
async fn what_is_not_there_has_a_neighbour() {
    let shop = ManagerHarness::new();
    let (code, text) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "update", "id": "code_reveiw",
                       "name": "x" }),
        )
        .await;
    assert_eq!(code, "NotFound");
    assert!(text.contains("code_review"), "{text}");
}

#[tokio::test]
async fn what_is_remembered_of_a_broken_file_is_not_what_is_there() {
    let shop = ManagerHarness::new();
    let made = shop.create_greeting("greet").await;
    std::fs::remove_file(shop.resource_path("prompts/people/greet/user-message.md")).unwrap();
    let (code, _) = shop
        .manage_error(update(
            &json!({ "description": "Another", "expected_hash": made["hash"] }),
        ))
        .await;
    assert_eq!(code, "Conflict");
    let (code, text) = shop
        .manage_error(update(&json!({ "description": "Another" })))
        .await;
    assert_eq!(code, "InvalidResource", "{text}");
    shop.manage_ok(update(
        &json!({ "user_message_template": "Again {{ who }}" }),
    ))
    .await;
    assert!(
        shop.render_command(">>greet who:\"Ada\"")
            .await
            .contains("Again Ada")
    );
}

#[tokio::test]
async fn gates_methodologies_and_styles_change_field_by_field() {
    let shop = ManagerHarness::new();
    let gate = shop
        .manage_ok(
            json!({ "resource_type": "gate", "action": "update", "id": "no-filler",
                      "guidance": "No filler at all.", "gate_type": "guidance",
                      "pass_criteria": ["It is short"] }),
        )
        .await;
    assert!(reply_text(&gate).contains("+No filler at all."), "{gate}");
    let library = shop.library.library().await;
    assert_eq!(library.gates["no-filler"].criteria.len(), 1);
    assert_eq!(library.gates["no-filler"].gate_type, "custom");
    shop.manage_ok(
        json!({ "resource_type": "methodology", "action": "update", "id": "react",
                      "phases": [{ "name": "Reason" }, { "name": "Act" }], "enabled": false,
                      "judge_prompt": "Judge it." }),
    )
    .await;
    let library = shop.library.library().await;
    let changed = &library.methodologies["react"];
    assert_eq!(changed.phases.len(), 2);
    assert!(!changed.enabled);
    assert_eq!(changed.judge_prompt.as_deref(), Some("Judge it."));
    assert!(!changed.execution_steps.is_empty());
    shop.manage_ok(
        json!({ "resource_type": "style", "action": "update", "id": "concise",
                      "guidance": "Few words.", "priority": 7 }),
    )
    .await;
    let library = shop.library.library().await;
    assert_eq!(library.styles["concise"].guidance, "Few words.");
    assert_eq!(library.styles["concise"].priority, 7);
}
