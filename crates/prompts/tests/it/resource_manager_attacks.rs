//! Hostile ids, links, sizes and files.

use std::fs;

use serde_json::json;

use super::resource_manager_support::ManagerHarness;

#[tokio::test]
async fn no_id_and_no_category_leads_out_of_its_folder() {
    let shop = ManagerHarness::new();
    let long = "a".repeat(101);
    let ids = [
        "../x",
        "../../x",
        "..",
        ".",
        "",
        "/etc/x",
        "a/../../x",
        "a//b",
        "a/",
        "/a",
        "a\\b",
        "..\\x",
        "a\0b",
        "a\nb",
        "-x",
        "_x",
        ".x",
        "é",
        "ａ",
        "a b",
        "con:",
        "a/.b",
        "a/_b",
        "%2e%2e/x",
        "\u{202e}x",
        long.as_str(),
        "a/b/c/d/e/f/g/h/i",
    ];
    for id in ids {
        for kind in ["prompt", "gate", "methodology", "style"] {
            let create = json!({ "resource_type": kind, "action": "create", "id": id,
                                 "name": "N", "description": "d" });
            let mut create = create.as_object().unwrap().clone();
            match kind {
                "prompt" => create.insert("user_message_template".to_owned(), json!("t")),
                "methodology" => {
                    create.insert("phases".to_owned(), json!(["a"]));
                    create.insert("methodology_gates".to_owned(), json!(["a"]));
                    create.insert("system_prompt_guidance".to_owned(), json!("g"))
                }
                _ => create.insert("guidance".to_owned(), json!("g")),
            };
            let (code, text) = shop.manage_error(create.into()).await;
            assert_eq!(code, "InvalidInput", "{kind} {id:?}: {text}");
            for action in ["update", "delete", "history", "rollback", "compare"] {
                let (code, text) = shop
                    .manage_error(json!({ "resource_type": kind, "action": action, "id": id,
                                   "confirm": true, "version": 1 }))
                    .await;
                assert_eq!(code, "InvalidInput", "{kind} {action} {id:?}: {text}");
            }
        }
        if id.is_empty() {
            continue;
        }
        let (code, text) = shop
            .manage_error(
                json!({ "resource_type": "prompt", "action": "create", "id": "fine",
                           "name": "N", "description": "d", "user_message_template": "t",
                           "category": id }),
            )
            .await;
        assert_eq!(code, "InvalidInput", "category {id:?}: {text}");
    }
    assert_eq!(shop.all_files(), Vec::<String>::new());
}

#[tokio::test]
async fn a_nested_id_is_for_prompts_only() {
    let shop = ManagerHarness::new();
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "gate", "action": "create", "id": "a/b", "name": "N",
                       "description": "d", "guidance": "g" }),
        )
        .await;
    assert_eq!(code, "InvalidInput");
}

#[tokio::test]
async fn a_file_field_can_not_be_given() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    for field in [
        "user_message_template_file",
        "userMessageTemplateFile",
        "systemMessageFile",
    ] {
        let (code, _) = shop
            .manage_error(
                json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                           field: "../../../etc/hostname" }),
            )
            .await;
        assert_eq!(code, "InvalidInput");
    }
}

#[tokio::test]
async fn a_file_that_names_another_outside_is_not_written_through() {
    let shop = ManagerHarness::new();
    shop.write(
        "prompts/misc/sly/prompt.yaml",
        "id: sly\nname: Sly\ndescription: Names a file elsewhere\nuserMessageTemplateFile: ../../../../victim.md\n",
    );
    fs::write(shop.root().join("victim.md"), "mine").unwrap();
    shop.manage(
        json!({ "resource_type": "prompt", "action": "update", "id": "sly",
                        "user_message_template": "theirs" }),
    )
    .await
    .ok();
    assert_eq!(
        fs::read_to_string(shop.root().join("victim.md")).unwrap(),
        "mine"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    let shop = ManagerHarness::new();
    let elsewhere = shop.root().join("elsewhere");
    fs::create_dir_all(elsewhere.join("linked")).unwrap();
    fs::write(elsewhere.join("linked/gate.yaml"), "id: linked\n").unwrap();
    let gate = |id: &str| {
        json!({ "resource_type": "gate", "action": "create", "id": id, "name": "N",
                "description": "d", "guidance": "g" })
    };
    fs::create_dir_all(shop.resource_path("gates")).unwrap();
    symlink(elsewhere.join("linked"), shop.resource_path("gates/linked")).unwrap();
    let (code, _) = shop.manage_error(gate("linked")).await;
    assert_eq!(code, "Outside");
    for action in ["update", "delete"] {
        let (code, text) = shop
            .manage_error(
                json!({ "resource_type": "gate", "action": action, "id": "linked",
                           "confirm": true }),
            )
            .await;
        assert_eq!(code, "Outside", "{text}");
    }
    fs::create_dir_all(shop.resource_path("prompts")).unwrap();
    symlink(&elsewhere, shop.resource_path("prompts/cat")).unwrap();
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "create", "id": "p", "name": "N",
                       "description": "d", "user_message_template": "t", "category": "cat" }),
        )
        .await;
    assert_eq!(code, "Outside");
    symlink(&elsewhere, shop.resource_path("styles")).unwrap();
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "style", "action": "create", "id": "s", "name": "N",
                       "guidance": "g" }),
        )
        .await;
    assert_eq!(code, "Outside");
    symlink(&elsewhere, shop.workspace().join(".checkpoints")).unwrap();
    let (code, _) = shop
        .manage_error(json!({ "resource_type": "checkpoint", "action": "create", "id": "c" }))
        .await;
    assert_eq!(code, "Outside");
    let left: Vec<_> = fs::read_dir(&elsewhere).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(fs::read_dir(elsewhere.join("linked")).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_linked_file_is_replaced_and_its_target_left_alone() {
    use std::os::unix::fs::symlink;

    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    let victim = shop.root().join("victim.md");
    fs::write(&victim, "mine").unwrap();
    let text = shop.resource_path("prompts/people/greet/user-message.md");
    fs::remove_file(&text).unwrap();
    symlink(&victim, &text).unwrap();
    shop.manage(
        json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                        "user_message_template": "theirs {{ who }}" }),
    )
    .await
    .ok();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    let shop = ManagerHarness::new();
    let text = "x".repeat(2 << 20);
    let (code, message) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "create", "id": "big", "name": "N",
                       "description": "d", "user_message_template": text }),
        )
        .await;
    assert_eq!(code, "LimitReached");
    assert!(
        message.contains("user-message.md") && message.len() < 300,
        "{message}"
    );
    shop.create_greeting("greet").await;
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                       "user_message_template": text }),
        )
        .await;
    assert_eq!(code, "LimitReached");
    assert_eq!(
        shop.read("prompts/people/greet/user-message.md"),
        "Hello {{ who }}!"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn hostile_yaml_is_an_error() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (name, last) in ["b", "c", "d", "e", "f", "g"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f"])
    {
        let inner = vec![format!("*{last}"); 10].join(",");
        bomb.extend([name, ": &", name, " [", &inner, "]\n"]);
    }
    shop.write("prompts/people/greet/prompt.yaml", &bomb);
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                       "name": "x" }),
        )
        .await;
    assert_eq!(code, "InvalidResource");
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "create", "id": "deep", "name": "N",
                       "description": "d", "user_message_template": "t", "injection": deep }),
        )
        .await;
    assert_eq!(code, "InvalidResource");
}

#[tokio::test]
async fn a_forged_history_writes_nothing_elsewhere() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.create_greeting("greet/formal").await;
    let yaml = shop.read("prompts/people/greet/prompt.yaml");
    let names = [
        "../../../../victim.md",
        "/tmp/deliberate-victim",
        "..",
        "a/../../b",
        ".history.json",
        "formal/prompt.yaml",
        "tools/../x",
        "tools//x",
        "a\\b",
        "C:x",
    ];
    for name in names {
        let forged = json!({
            "resource_type": "prompt", "resource_id": "greet",
            "current_version": u64::MAX,
            "versions": [{ "version": 1, "date": "",
                           "snapshot": { "files": { "prompt.yaml": yaml, name: "forged" } } }],
        });
        shop.write("prompts/people/greet/.history.json", &forged.to_string());
        let before = shop.all_files();
        let (code, _) = shop
            .manage_error(
                json!({ "resource_type": "prompt", "action": "rollback", "id": "greet",
                           "version": 1, "confirm": true }),
            )
            .await;
        assert_eq!(code, "DamagedHistory", "{name}");
        assert_eq!(shop.all_files(), before, "{name}");
    }
    // The largest possible number does not prevent the next update.
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                      "description": "Goes on" }),
    )
    .await;
}

#[tokio::test]
async fn a_file_that_two_share_stays_when_one_goes() {
    let shop = ManagerHarness::new();
    for id in ["one", "two"] {
        shop.write(
            &format!("prompts/misc/{id}.yaml"),
            &format!(
                "id: {id}\nname: N\ndescription: Shares its text\nuserMessageTemplateFile: shared.txt\n"
            ),
        );
    }
    shop.write("prompts/misc/shared.txt", "both");
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "delete", "id": "one",
                      "confirm": true }),
    )
    .await;
    assert!(shop.render_command(">>two").await.contains("both"));
}
