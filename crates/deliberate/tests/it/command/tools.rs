//! `deliberate tools`.

use serde_json::json;

use crate::support::{Place, end, serve};

#[tokio::test]
async fn the_tools_are_shown_as_a_table_and_as_markdown() {
    let place = Place::new();
    let table = place.run(&["tools"]).await;
    assert_eq!((table.code, table.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("tools_table", table.stdout);
    let markdown = place.run(&["tools", "--markdown"]).await;
    assert_eq!(markdown.code, Some(0));
    insta::assert_snapshot!("tools_markdown", markdown.stdout);
    assert_eq!(
        place.run(&["tools", "--markdown", "--json"]).await.code,
        Some(2)
    );
}

#[tokio::test]
async fn the_json_is_what_a_client_is_told() {
    let place = Place::new();
    let printed = place.json(&["tools", "--json"]).await;
    let mut client = serve(&mut place.command()).await;
    let listed = client.request("tools/list", json!({})).await.unwrap();
    let listed = listed["result"]["tools"].as_array().unwrap();
    let printed = printed.as_array().unwrap();
    assert_eq!(printed.len(), listed.len());
    for (printed, listed) in printed.iter().zip(listed) {
        for field in [
            "name",
            "title",
            "description",
            "inputSchema",
            "outputSchema",
        ] {
            assert_eq!(printed[field], listed[field], "{field}");
        }
    }
    end(client).await;
}
