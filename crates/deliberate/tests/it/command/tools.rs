//! `deliberate tools`.

use serde_json::{Value, json};

use crate::support::{Place, end, serve};

#[tokio::test]
async fn the_tools_are_shown_as_a_table_and_as_markdown() {
    let place = Place::new();
    let table = place.run(&["tools"]).await;
    assert_eq!((table.code, table.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("tools_table", table.stdout);
    let markdown = place.run(&["tools", "--markdown"]).await;
    assert_eq!(markdown.code, Some(0));
    // As it is in the documentation, which is brought up to date by `deliberate tools --markdown`.
    let page = include_str!("../../../../../docs/tools.md");
    assert_eq!(markdown.stdout, page);
    assert_eq!(
        place.run(&["tools", "--markdown", "--json"]).await.code,
        Some(2)
    );
}

fn fields(schema: &Value) -> Vec<String> {
    let fields = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    fields.keys().cloned().collect()
}

#[tokio::test]
async fn the_json_has_all_of_what_a_client_is_told_in_outline() {
    let place = Place::new();
    let printed = place.json(&["tools", "--json"]).await;
    let mut client = serve(&mut place.command()).await;
    let listed = client.request("tools/list", json!({})).await.unwrap();
    let listed = listed["result"]["tools"].as_array().unwrap();
    let printed = printed.as_array().unwrap();
    assert_eq!(printed.len(), listed.len());
    for (printed, listed) in printed.iter().zip(listed) {
        for field in ["name", "title", "description"] {
            assert_eq!(printed[field], listed[field], "{field}");
        }
        let mut input = printed["inputSchema"].clone();
        input
            .as_object_mut()
            .unwrap()
            .remove("additionalProperties");
        assert_eq!(input, listed["inputSchema"]);
        let mut answers = fields(&printed["outputSchema"]);
        // Told once, in the instructions.
        answers.retain(|field| field != "still_running");
        assert_eq!(answers, fields(&listed["outputSchema"]));
    }
    end(client).await;
}
