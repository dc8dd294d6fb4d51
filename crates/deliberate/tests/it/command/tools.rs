//! Tests of `deliberate tools`.

use serde_json::{Value, json};

use crate::support::{TestHome, serve, shut_down};

#[tokio::test]
async fn the_tools_are_shown_as_a_table_and_as_markdown() {
    let home = TestHome::new();
    let table = home.run(&["tools"]).await;
    assert_eq!((table.code, table.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("tools_table", table.stdout);
    let markdown = home.run(&["tools", "--markdown"]).await;
    assert_eq!(markdown.code, Some(0));
    // The same as in the documentation, which `deliberate tools --markdown` generates.
    let page = include_str!("../../../../../docs/tools.md");
    assert_eq!(markdown.stdout, page);
    assert_eq!(
        home.run(&["tools", "--markdown", "--json"]).await.code,
        Some(2)
    );
}

fn field_names(schema: &Value) -> Vec<String> {
    let fields = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    fields.keys().cloned().collect()
}

/// Checks that a listed schema is part of the whole one; only limits that no caller reaches are
/// left out.
fn assert_schema_subset(listed: &Value, whole: &Value) {
    let listed = listed.as_object().unwrap();
    for (keyword, value) in whole.as_object().unwrap() {
        let told = listed.get(keyword);
        match keyword.as_str() {
            "properties" => {
                assert_eq!(
                    field_names(&json!({ "properties": told })),
                    field_names(whole)
                );
                for (name, property) in value.as_object().unwrap() {
                    assert_schema_subset(&told.unwrap()[name], property);
                }
            }
            "items" => assert_schema_subset(told.unwrap(), value),
            "type" if value.is_array() => {
                assert!(value.as_array().unwrap().contains(told.unwrap()), "{value}");
            }
            "additionalProperties" if !value.is_boolean() => assert_eq!(told, Some(value)),
            "default" if *value == json!([]) || *value == json!({}) => assert!(told.is_none()),
            "additionalProperties" | "minLength" | "maxLength" | "maxItems" => {
                assert!(told.is_none(), "{keyword}");
            }
            "minimum" | "maximum" if told.is_none() => {
                assert_eq!(whole["type"], "integer", "{keyword} {value}");
                assert!(value.as_i64().is_some_and(|it| it <= 1 || it >= 1_000));
            }
            _ => assert_eq!(told, Some(value), "{keyword}"),
        }
    }
    // A client gets one type where the program takes several or any.
    let is_known = |keyword: &String| whole.get(keyword).is_some() || keyword == "type";
    assert!(listed.keys().all(is_known));
}

#[tokio::test]
async fn the_json_has_all_of_what_a_client_is_told_in_outline() {
    let home = TestHome::new();
    let printed = home.run_json(&["tools", "--json"]).await;
    let mut client = serve(&mut home.command()).await;
    let listed = client.request("tools/list", json!({})).await.unwrap();
    let listed = listed["result"]["tools"].as_array().unwrap();
    let printed = printed.as_array().unwrap();
    assert_eq!(printed.len(), listed.len());
    for (printed, listed) in printed.iter().zip(listed) {
        for field in ["name", "title", "description"] {
            assert_eq!(printed[field], listed[field], "{field}");
        }
        assert_schema_subset(&listed["inputSchema"], &printed["inputSchema"]);
        let mut ids = field_names(&printed["outputSchema"]);
        ids.retain(|field| field.ends_with("_id") || field.ends_with("_ids"));
        // What the caller had to give is not told to it again.
        let required = printed["inputSchema"]["required"].as_array();
        ids.retain(|field| !required.is_some_and(|all| all.contains(&json!(field))));
        assert_eq!(ids, field_names(&listed["outputSchema"]));
    }
    shut_down(client).await;
}
