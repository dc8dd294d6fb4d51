//! Files under roots: which files are visible, and that no others are.

use std::{fs, path::Path};

use deliberate_server::{FileLimits, FileRoots, SubscriptionLimits};
use deliberate_toolkit::{
    CallerContext, Principal, ResourceContext, ResourceProvider, ToolError, ToolScope,
};
use serde_json::{Value, json};

use super::test_server::{ERAS, TestClient, TestEra, TestServer};

struct FileFixture {
    folder: tempfile::TempDir,
    server: TestServer,
}

/// A root with some files, and other files outside it that must not be visible.
fn file_fixture(limits: FileLimits) -> FileFixture {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    for folder in ["root/sub/deep", "root/.git", "root-evil", "outside"] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    for (file, text) in [
        ("root/a b.md", "# A"),
        ("root/data.json", "{}"),
        ("root/sub/deep/é.txt", "deep"),
        ("root/sub/%2e%2e", "a strange name"),
        ("root/.env", "SECRET"),
        ("root/.git/config", "SECRET"),
        ("root-evil/file", "SECRET"),
        ("outside/file", "SECRET"),
    ] {
        fs::write(place.path().join(file), text).unwrap();
    }
    fs::write(root.join("binary.bin"), [0xff, 0x00, 0xfe]).unwrap();
    let house = TestServer::with_registry(SubscriptionLimits::default(), move |registry| {
        registry.with_resources(FileRoots::new(vec![root.clone(), root.join("sub")], limits))
    });
    FileFixture {
        folder: place,
        server: house,
    }
}

impl FileFixture {
    fn uri(&self, inside: &str) -> String {
        let root = self.folder.path().canonicalize().unwrap();
        format!("file://{}/{inside}", root.display())
    }

    async fn names(&self) -> Vec<String> {
        let mut client = self.server.client(TestEra::Legacy).await;
        let pages = client.list_pages("resources/list", "resources").await;
        let all = pages.iter().flatten();
        all.map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

async fn read_resource(client: &mut TestClient, uri: &str) -> Value {
    let result = client
        .request_ok("resources/read", json!({ "uri": uri }))
        .await;
    result["contents"][0].clone()
}

#[tokio::test]
async fn files_are_listed_in_order_and_read_as_text_or_bytes() {
    let files = file_fixture(FileLimits::default());
    assert_eq!(
        files.names().await,
        [
            "a b.md",
            "binary.bin",
            "data.json",
            "sub/%2e%2e",
            "sub/deep/é.txt"
        ]
    );
    for era in ERAS {
        let mut client = files.server.client(era).await;
        let list = client.request_ok("resources/list", json!({})).await;
        let first = &list["resources"][0];
        assert_eq!(first["uri"], files.uri("root/a%20b.md"));
        assert_eq!(first["mimeType"], "text/markdown");
        assert_eq!(first["size"], 3);
        for resource in list["resources"].as_array().unwrap() {
            read_resource(&mut client, resource["uri"].as_str().unwrap()).await;
        }
        let text = read_resource(&mut client, &files.uri("root/a%20b.md")).await;
        assert_eq!(text["text"], "# A");
        assert_eq!(text["mimeType"], "text/markdown");
        let bytes = read_resource(&mut client, &files.uri("root/binary.bin")).await;
        assert_eq!(bytes["blob"], "/wD+");
        assert_eq!(bytes["mimeType"], "application/octet-stream");
        let strange = read_resource(&mut client, &files.uri("root/sub/%252e%252e")).await;
        assert_eq!(strange["text"], "a strange name");
    }
}

#[cfg(unix)]
fn make_special_file(place: &Path) {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let root = place.join("root");
    symlink(place.join("outside/file"), root.join("link")).unwrap();
    symlink(place.join("outside"), root.join("linked")).unwrap();
    symlink("../outside/file", root.join("relative")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    symlink("/proc/self/environ", root.join("environ")).unwrap();
    symlink(root.join(".env"), root.join("env")).unwrap();
    symlink(&root, root.join("circle")).unwrap();
    symlink("data.json", root.join("inner")).unwrap();
    drop(UnixListener::bind(root.join("socket")).unwrap());
    let made = std::process::Command::new("mkfifo")
        .arg(root.join("pipe"))
        .status();
    assert!(made.unwrap().success());
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_outside_the_roots_is_listed_or_read() {
    let files = file_fixture(FileLimits::default());
    make_special_file(files.folder.path());
    let names = files.names().await;
    assert!(names.contains(&"inner".to_owned()), "{names:?}");
    for hidden in [
        "link", "relative", "zero", "environ", "env", "socket", "pipe",
    ] {
        assert!(!names.contains(&hidden.to_owned()), "{hidden}");
    }
    assert!(
        !names
            .iter()
            .any(|it| it.contains("linked") || it.contains("circle"))
    );

    let mut refused = vec![
        "file:///etc/passwd".to_owned(),
        "file:///proc/self/environ".to_owned(),
        "file:///dev/zero".to_owned(),
        "file:/etc/passwd".to_owned(),
        "file://host/etc/passwd".to_owned(),
        "file:////host/share".to_owned(),
        "file://\\\\host\\share".to_owned(),
        "file:///C:/Windows/win.ini".to_owned(),
        "file:".to_owned(),
        "file:///".to_owned(),
    ];
    for inside in [
        "root/../outside/file",
        "root/%2e%2e/outside/file",
        "root/%2E%2e/outside/file",
        "root/..%2foutside/file",
        "root/..%2Foutside%2Ffile",
        "root/%252e%252e/outside/file",
        "root/sub/../../outside/file",
        "root/./data.json",
        "root//data.json",
        "root/..%5Coutside%5Cfile",
        "root-evil/file",
        "root/../root-evil/file",
        "outside/file",
        "root/link",
        "root/linked/file",
        "root/relative",
        "root/zero",
        "root/environ",
        "root/env",
        "root/.env",
        "root/.git/config",
        "root/socket",
        "root/pipe",
        "root/data.json%00.md",
        "root/data.json/x",
        "root/nothing",
        "root/data.json?x",
        "root/data.json#x",
    ] {
        refused.push(files.uri(inside));
    }
    for era in ERAS {
        let mut client = files.server.client(era).await;
        let expected = match era {
            TestEra::Legacy => -32_002,
            TestEra::Modern => -32_602,
        };
        for uri in &refused {
            let answer = client
                .request("resources/read", json!({ "uri": uri }))
                .await;
            assert_eq!(answer["error"]["code"], expected, "{uri}: {answer}");
            assert!(!answer.to_string().contains("SECRET"), "{uri}");
        }
        let inner = read_resource(&mut client, &files.uri("root/inner")).await;
        assert_eq!(inner["text"], "{}");
    }
}

#[tokio::test]
async fn a_folder_and_a_large_file_are_refused_with_a_reason() {
    let files = file_fixture(FileLimits {
        file_bytes: 3,
        max_listed: 1_000,
    });
    let mut client = files.server.client(TestEra::Legacy).await;
    read_resource(&mut client, &files.uri("root/a%20b.md")).await;
    let uri = json!({ "uri": files.uri("root/sub/deep/%C3%A9.txt") });
    let (code, message) = client.request_err("resources/read", uri).await;
    assert_eq!(code, -32_602);
    assert!(message.contains("larger than 3 bytes"), "{message}");
    let uri = json!({ "uri": files.uri("root/sub") });
    let (code, message) = client.request_err("resources/read", uri).await;
    assert_eq!(code, -32_602);
    assert!(message.contains("is a directory"), "{message}");
    let own = files.folder.path().display().to_string();
    assert!(!message.contains(&own), "{message}");
}

#[tokio::test]
async fn long_lists_come_in_pages_and_end() {
    let files = file_fixture(FileLimits {
        file_bytes: 10,
        max_listed: 120,
    });
    for number in 0..300 {
        let name = format!("root/sub/file {number:03}.txt");
        fs::write(files.folder.path().join(name), "x").unwrap();
    }
    let mut client = files.server.client(TestEra::Legacy).await;
    let pages = client.list_pages("resources/list", "resources").await;
    let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert_eq!(sizes, [50, 50, 20]);
    let names = files.names().await;
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(names, sorted);
}

#[tokio::test]
async fn paths_are_completed() {
    let files = file_fixture(FileLimits::default());
    let mut client = files.server.client(TestEra::Legacy).await;
    let sub = files.uri("root/sub/");
    let typed = sub.strip_prefix("file:///").unwrap();
    let params = json!({
        "ref": { "type": "ref/resource", "uri": "file:///{+path}" },
        "argument": { "name": "path", "value": typed },
    });
    let found = client.request_ok("completion/complete", params).await;
    let values = found["completion"]["values"].as_array().unwrap();
    assert_eq!(values.len(), 2);
    for value in values {
        read_resource(&mut client, &format!("file:///{}", value.as_str().unwrap())).await;
    }
}

#[tokio::test]
async fn nobody_can_subscribe_to_what_nobody_watches() {
    let files = file_fixture(FileLimits::default());
    let uri = files.uri("root/data.json");
    let mut older = files.server.client(TestEra::Legacy).await;
    let (code, message) = older
        .request_err("resources/subscribe", json!({ "uri": uri }))
        .await;
    assert_eq!(code, -32_602);
    assert!(
        message.contains("does not support subscriptions"),
        "{message}"
    );
    let mut newer = files.server.client(TestEra::Modern).await;
    let wanted = json!({ "notifications": {
        "toolsListChanged": true, "resourceSubscriptions": [uri],
    } });
    newer.send_request("subscriptions/listen", wanted).await;
    let accepted = newer
        .next_notification("notifications/subscriptions/acknowledged")
        .await;
    let accepted = &accepted["params"]["notifications"];
    assert_eq!(*accepted, json!({ "toolsListChanged": true }));
}

#[tokio::test]
async fn reading_needs_the_scope() {
    let files = file_fixture(FileLimits::default());
    let family = FileRoots::new(
        vec![files.folder.path().join("root")],
        FileLimits::default(),
    );
    let only = |tools: &[&str]| CallerContext {
        principal: Principal {
            name: None,
            scope: ToolScope::Only(tools.iter().map(|it| (*it).to_owned()).collect()),
        },
        ..CallerContext::default()
    };
    let uri = files.uri("root/data.json");
    for (caller, allowed) in [(only(&["reasoning_*"]), false), (only(&["files"]), true)] {
        let desk = ResourceContext {
            registry: &files.server.registry,
            caller: &caller,
        };
        let outcome = family.read(&uri, desk).await.unwrap();
        let forbidden = matches!(outcome, Err(ToolError::Forbidden { .. }));
        assert_eq!((outcome.is_ok(), forbidden), (allowed, !allowed));
    }
}
