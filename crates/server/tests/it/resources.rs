//! Sessions, graphs, branches and thoughts as resources.

use std::collections::HashSet;

use deliberate_core::Change;
use serde_json::{Value, json};

use super::test_server::{ERAS, TestEra, TestServer, sample_session};

fn list_uris(pages: &[Vec<Value>]) -> Vec<String> {
    let all = pages.iter().flatten();
    all.map(|it| it["uri"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn every_session_is_listed_once_the_newest_first() {
    let house = TestServer::new();
    house.add_sessions(170).await;
    for era in ERAS {
        let mut client = house.client(era).await;
        let pages = client.list_pages("resources/list", "resources").await;
        let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
        assert_eq!(sizes, [50, 50, 50, 21]);
        let listed = list_uris(&pages);
        let newest = (0..170).rev();
        let expected = newest.map(|number| format!("deliberate://sessions/s{number:03}/markdown"));
        let expected: Vec<String> = std::iter::once("deliberate://sessions".to_owned())
            .chain(expected)
            .collect();
        assert_eq!(listed, expected);
        let first = &pages[0][1];
        assert_eq!(first["name"], "About s169");
        assert_eq!(first["mimeType"], "text/markdown");
        let said = first["description"].as_str().unwrap();
        assert!(said.starts_with("linear session, 0 thoughts"), "{said}");
    }
}

#[tokio::test]
async fn a_list_that_changes_between_its_pages_repeats_and_loses_nothing() {
    let house = TestServer::new();
    house.add_sessions(300).await;
    let mut client = house.client(TestEra::Legacy).await;
    let mut seen = Vec::new();
    let mut params = json!({});
    let mut round = 0;
    loop {
        let page = client.request_ok("resources/list", params).await;
        seen.extend(list_uris(&[page["resources"].as_array().unwrap().clone()]));
        if page["nextCursor"].is_null() {
            break;
        }
        params = json!({ "cursor": page["nextCursor"] });
        round += 1;
        // A session begins, and one that was listed is deleted.
        let id = format!("new{round}");
        let shown = format!("s{:03}", 300 - round);
        let changes = vec![
            Change::AddSession(sample_session(&id, "2026-06-01T00:00:00Z")),
            Change::DeleteSession(shown.as_str().into()),
        ];
        house.store.commit(changes).await.unwrap();
    }
    let once: HashSet<&String> = seen.iter().collect();
    assert_eq!(once.len(), seen.len(), "nothing twice");
    for number in 0..300 {
        let uri = format!("deliberate://sessions/s{number:03}/markdown");
        assert!(once.contains(&uri), "{uri} was lost");
    }
}

#[tokio::test]
async fn a_session_reads_as_markdown_and_as_json() {
    for era in ERAS {
        let house = TestServer::new();
        let mut client = house.client(era).await;
        let step = client
            .call_tool("reasoning_linear", json!({ "content": "what is it?" }))
            .await;
        let session = step["session_id"].as_str().unwrap();
        let thought = step["thought_id"].as_str().unwrap();

        let page = client
            .read_text(&format!("deliberate://sessions/{session}/markdown"))
            .await;
        assert!(page.starts_with("# what is it?"), "{page}");
        assert!(page.contains("so be it"), "{page}");

        let uri = format!("deliberate://sessions/{session}");
        let result = client
            .request_ok("resources/read", json!({ "uri": uri }))
            .await;
        let contents = &result["contents"][0];
        assert_eq!(contents["uri"], uri);
        assert_eq!(contents["mimeType"], "application/json");
        let data: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
        assert_eq!(data["session"]["id"], session);
        assert_eq!(data["thoughts"][0]["id"], thought);
        if era == TestEra::Modern {
            assert_eq!(result["ttlMs"], 0);
            assert_eq!(result["cacheScope"], "private");
        }

        let data = client
            .read_text(&format!("deliberate://thoughts/{thought}"))
            .await;
        let data: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(data["content"], "so be it");

        let list = client.read_text("deliberate://sessions").await;
        let list: Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list["sessions"][0]["session_id"], session);
    }
}

#[tokio::test]
async fn a_long_session_says_where_its_next_part_is() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Legacy).await;
    let mut arguments = json!({ "content": "step" });
    for _ in 0..60 {
        let step = client.call_tool("reasoning_linear", arguments).await;
        arguments = json!({ "content": "step", "session_id": step["session_id"] });
    }
    let session = arguments["session_id"].as_str().unwrap();
    for form in ["", "/markdown"] {
        let uri = format!("deliberate://sessions/{session}{form}");
        let first = client.read_text(&uri).await;
        let next = format!("{uri}?offset=50");
        assert!(first.contains(&next), "{first}");
        let second = client.read_text(&next).await;
        assert!(!second.contains("offset=") && second.len() < first.len());
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found_in_the_code_of_the_era() {
    for era in ERAS {
        let house = TestServer::new();
        house.add_sessions(1).await;
        let mut client = house.client(era).await;
        let expected = match era {
            TestEra::Legacy => -32_002,
            TestEra::Modern => -32_602,
        };
        let long = format!("deliberate://sessions/{}", "x".repeat(10_000));
        for uri in [
            "deliberate://sessions/nobody",
            "deliberate://graphs/s000",
            "deliberate://branches/s000/markdown",
            "deliberate://thoughts/s000",
            "deliberate://sessions/",
            "deliberate://sessions/s000/pdf",
            "deliberate://sessions/s000?offset=x",
            "deliberate://sessions/s000?limit=1",
            "deliberate://sessions/%ff",
            "deliberate://sessions/s000%00",
            "deliberate://",
            "deliberate://nothing/s000",
            "DELIBERATE://sessions/s000",
            "file:///etc/passwd",
            "",
            "x",
            &long,
        ] {
            let (code, message) = client
                .request_err("resources/read", json!({ "uri": uri }))
                .await;
            assert_eq!(code, expected, "{uri}: {message}");
            assert!(message.len() < 1_000, "{message}");
        }
        // Percent-encoding is decoded.
        client.read_text("deliberate://sessions/%73000").await;
    }
}

#[tokio::test]
async fn templates_say_how_addresses_look() {
    let house = TestServer::new();
    let mut client = house.client(TestEra::Modern).await;
    let result = client
        .request_ok("resources/templates/list", json!({}))
        .await;
    insta::assert_json_snapshot!(result["resourceTemplates"]);
    assert_eq!(result["cacheScope"], "public");
}

#[tokio::test]
async fn a_cursor_that_is_not_ours_is_refused() {
    let house = TestServer::new();
    house.add_sessions(60).await;
    let mut client = house.client(TestEra::Legacy).await;
    let page = client.request_ok("resources/list", json!({})).await;
    let ours = page["nextCursor"].as_str().unwrap();
    let cut = ours.get(..ours.len() - 2).unwrap();
    // {"v":1,"l":"resources","f":9} and {"v":1,"l":"resources","a":"x"}
    let made_up = [
        "eyJ2IjoxLCJsIjoicmVzb3VyY2VzIiwiZiI6OX0",
        "eyJ2IjoxLCJsIjoicmVzb3VyY2VzIiwiYSI6IngifQ",
    ];
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        let mut cursors = vec!["", "0", "made up", "e30", cut, "💥"];
        cursors.extend(made_up);
        if method != "resources/list" {
            cursors.push(ours);
        }
        for cursor in cursors {
            let (code, message) = client
                .request_err(method, json!({ "cursor": cursor }))
                .await;
            assert_eq!(code, -32_602, "{method} {cursor}: {message}");
            assert!(message.contains("cursor"), "{message}");
        }
    }
}
