//! Crashes, disconnected callers and disk errors.

use std::fs;

use serde_json::json;

use super::resource_manager_support::ManagerHarness;

#[tokio::test]
async fn what_a_crash_left_is_harmless_and_swept() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    shop.write("prompts/people/greet/.deliberate-tmp-1-1", "half a fi");
    fs::create_dir_all(shop.workspace().join(".deliberate-try-1-1/own/x")).unwrap();
    let before = shop
        .manage_ok(json!({ "resource_type": "prompt", "action": "inspect", "id": "greet" }))
        .await;
    assert!(before.get("problems").is_none(), "{before}");
    shop.manage_ok(
        json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                      "description": "Another one" }),
    )
    .await;
    let left = shop.all_files();
    assert!(
        left.iter().all(|name| !name.contains("deliberate-t")),
        "{left:?}"
    );
    assert!(!shop.workspace().join(".deliberate-try-1-1").exists());
}

#[tokio::test]
async fn a_folder_that_can_not_be_written_keeps_the_old() {
    use std::os::unix::fs::PermissionsExt;

    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    let folder = shop.resource_path("prompts/people/greet");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write anywhere, so the test proves nothing then.
    let is_root = fs::write(folder.join("probe"), "").is_ok();
    if !is_root {
        let (code, text) = shop
            .manage_error(
                json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                           "description": "Another one" }),
            )
            .await;
        assert_eq!(code, "StorageError", "{text}");
        assert!(!text.contains(shop.root().to_str().unwrap()), "{text}");
        assert!(
            shop.read("prompts/people/greet/prompt.yaml")
                .contains("Greets someone")
        );
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_folder_in_the_way_of_a_file_keeps_the_old() {
    let shop = ManagerHarness::new();
    shop.create_greeting("greet").await;
    // The rename over this folder fails after other files were replaced.
    fs::create_dir_all(shop.resource_path("prompts/people/greet/system-message.md/x")).unwrap();
    let before = shop.read("prompts/people/greet/prompt.yaml");
    let (code, _) = shop
        .manage_error(
            json!({ "resource_type": "prompt", "action": "update", "id": "greet",
                       "description": "Another one", "system_message": "s",
                       "user_message_template": "new {{ who }}" }),
        )
        .await;
    assert_eq!(code, "StorageError");
    assert_eq!(shop.read("prompts/people/greet/prompt.yaml"), before);
    assert_eq!(
        shop.read("prompts/people/greet/user-message.md"),
        "Hello {{ who }}!"
    );
    let left = shop.all_files();
    assert!(
        left.iter().all(|name| !name.contains("deliberate-t")),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_cancelled_call_finishes_its_work() {
    let shop = ManagerHarness::new();
    shop.library.library().await;
    let registry = shop.registry.clone();
    let call = tokio::spawn(async move {
        registry
            .call(
                "resource_manager",
                json!({ "resource_type": "gate", "action": "create", "id": "late", "name": "N",
                        "description": "d", "guidance": "g" }),
                deliberate_toolkit::CallerContext::default(),
            )
            .await
    });
    tokio::task::yield_now().await;
    call.abort();
    let _ = call.await;
    // The operation either never started or is complete.
    let answer = shop
        .manage_ok(json!({ "resource_type": "gate", "action": "list", "filter": "late" }))
        .await;
    assert!(answer["total"].as_u64().unwrap() <= 1);
    let half = shop.resource_path("gates/late/guidance.md").exists()
        && !shop.resource_path("gates/late/gate.yaml").exists();
    if half {
        // The operation is running: wait for the lock with a harmless call.
        shop.manage_ok(json!({ "resource_type": "checkpoint", "action": "create", "id": "wait" }))
            .await;
        assert!(shop.resource_path("gates/late/gate.yaml").exists());
    }
}
