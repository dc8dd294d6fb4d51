//! Tests of edited texts: everything else stays the same byte for byte.

use super::*;
use crate::commands::setup::{diff, json_edit, toml_edit};

fn json_edit(text: &str, entry: &ServerEntry) -> ClientConfigEdit {
    json_edit::edit(text, "mcpServers", false, entry)
}

fn changed_text(edit: ClientConfigEdit) -> String {
    match edit {
        ClientConfigEdit::Changed(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn json_keeps_order_numbers_escapes_and_spacing() {
    let old = "{\n\t\"z\": 1.10, \"big\": 123456789012345678901234567890,\n\n\t\"name\": \"caf\\u00e9\",\n\t\"mcpServers\": { \"a\": {} },\n\t\"b\": [1,2]\n}";
    let new = changed_text(json_edit(old, &server_entry(&[])));
    assert_snapshot!(new.replace('\t', "→"), @r#"
    {
    →"z": 1.10, "big": 123456789012345678901234567890,

    →"name": "caf\u00e9",
    →"mcpServers": {
    →→"a": {},
    →→"deliberate": {
    →→→"command": "/opt/bin/deliberate",
    →→→"args": ["serve"]
    →→}
    →},
    →"b": [1,2]
    }
    "#);
    assert_eq!(
        json_edit(&new, &server_entry(&[])),
        ClientConfigEdit::Unchanged
    );
}

#[test]
fn json_of_every_shape_stays_json() {
    for old in [
        "",
        "  \n",
        "{}",
        "{ }",
        "{\"mcpServers\":{}}",
        "{\"mcpServers\": {\"a\":{\"command\":\"x\"}},\"z\":{}}",
        "{\"a\":1}",
        "{\r\n    \"a\": 1\r\n}\r\n",
        "{\"mcpServers\": {\"deliberate\": null}}",
        "{\"mcpServers\": {\"deliberate\": {\"env\": 5}}}",
    ] {
        let entry = server_entry(&[("A", "1\n\"2\"")]);
        let new = changed_text(json_edit(old, &entry));
        let value: serde_json::Value = serde_json::from_str(&new).unwrap();
        let ours = &value["mcpServers"]["deliberate"];
        assert_eq!(ours["command"], "/opt/bin/deliberate", "{new}");
        assert_eq!(ours["args"], serde_json::json!(["serve"]), "{new}");
        assert_eq!(ours["env"]["A"], "1\n\"2\"", "{new}");
        if let Ok(serde_json::Value::Object(before)) = serde_json::from_str(old) {
            for (key, before) in before.iter().filter(|(key, _)| *key != "mcpServers") {
                assert_eq!(&value[key], before, "{new}");
            }
        }
        assert_eq!(
            json_edit(&new, &entry),
            ClientConfigEdit::Unchanged,
            "{new}"
        );
        let line_ends = |text: &str| (text.matches("\r\n").count(), text.matches('\n').count());
        if old.contains('\r') {
            let (both, newlines) = line_ends(&new);
            assert_eq!(both, newlines, "{new:?}");
        }
    }
}

#[test]
fn json_keeps_what_was_added_to_our_entry_by_hand() {
    let old = r#"{
  "mcpServers": {
    "deliberate": {
      "command": "/old/deliberate",
      "disabled": true,
      "env": { "LANGBASE_API_KEY": "sk-1" }
    },
    "z": {}
  }
}
"#;
    let new = changed_text(json_edit(old, &server_entry(&[("LOG_LEVEL", "debug")])));
    assert_snapshot!(new, @r#"
    {
      "mcpServers": {
        "deliberate": {
          "command": "/opt/bin/deliberate",
          "disabled": true,
          "env": {
            "LANGBASE_API_KEY": "sk-1",
            "LOG_LEVEL": "debug"
          },
          "args": ["serve"]
        },
        "z": {}
      }
    }
    "#);
}

#[test]
fn json_keeps_comments_trailing_commas_and_a_byte_order_mark() {
    let old = r#"// Settings of the editor.
{
  /* first */ "theme": "dark", // better at night
  "mcpServers": {
    // for the project
    "files": { "command": "npx", "args": ["-y", "files"], }, // keep
    "deliberate": {
      // moved once
      "command": "/old/deliberate", // where it was
      "args": [
        "serve", // over stdio
      ],
      "env": { "A": "1", /* mine */ "B": "2" },
    },
  },
}
"#;
    let new = changed_text(json_edit(old, &server_entry(&[("C", "3")])));
    assert_snapshot!(new, @r#"
    // Settings of the editor.
    {
      /* first */ "theme": "dark", // better at night
      "mcpServers": {
        // for the project
        "files": { "command": "npx", "args": ["-y", "files"], }, // keep
        "deliberate": {
          // moved once
          "command": "/opt/bin/deliberate", // where it was
          "args": [
            "serve", // over stdio
          ],
          "env": {
            "A": "1",
            /* mine */ "B": "2",
            "C": "3"
          },
        },
      },
    }
    "#);
    assert_eq!(
        json_edit(&new, &server_entry(&[("C", "3")])),
        ClientConfigEdit::Unchanged
    );

    let old = "\u{feff}{\n  // mine\n  \"a\": 1,\n}\n";
    let new = changed_text(json_edit(old, &server_entry(&[])));
    assert_snapshot!(new.replace('\u{feff}', "BOM"), @r#"
    BOM{
      // mine
      "a": 1,
      "mcpServers": {
        "deliberate": {
          "command": "/opt/bin/deliberate",
          "args": ["serve"]
        }
      },
    }
    "#);
    assert_eq!(
        json_edit(&new, &server_entry(&[])),
        ClientConfigEdit::Unchanged
    );
}

#[test]
fn json_that_is_not_understood_is_left_alone() {
    for (old, reason) in [
        ("{\n  \"mcpServers\": ", "line 2 is not JSON"),
        (
            "{\n  // mine\n  \"a\": 1\n  \"b\": 2\n}",
            "line 3 is not JSON",
        ),
        ("{'a': 1}", "line 1 is not JSON"),
        ("{} /* open", "line 1 is not JSON"),
        ("// nothing but a list\n[]", "it is not a JSON object"),
        (
            "{\"mcpServers\": []} // no",
            "`mcpServers` in it is not an object",
        ),
    ] {
        let edit = json_edit(old, &server_entry(&[]));
        assert_eq!(
            edit,
            ClientConfigEdit::ManualEditNeeded(reason.to_owned()),
            "{old}"
        );
    }
}

#[test]
fn toml_keeps_comments_and_order() {
    let old = "# mine\nmodel = \"o3\"   # best\n\n[mcp_servers.files]\ncommand = \"npx\"\n\n[tui]\nnotifications = true # yes\n";
    let new = changed_text(toml_edit::edit(
        old,
        "mcp_servers",
        &server_entry(&[("A", "1")]),
    ));
    assert_snapshot!(new, @r#"
    # mine
    model = "o3"   # best

    [mcp_servers.files]
    command = "npx"

    [mcp_servers.deliberate]
    command = "/opt/bin/deliberate"
    args = ["serve"]
    env = { A = "1" }

    [tui]
    notifications = true # yes
    "#);
    let again = toml_edit::edit(&new, "mcp_servers", &server_entry(&[("A", "1")]));
    assert_eq!(again, ClientConfigEdit::Unchanged);
}

#[test]
fn toml_without_servers_gets_a_table_at_its_end() {
    let new = changed_text(toml_edit::edit(
        "model = \"o3\"\n",
        "mcp_servers",
        &server_entry(&[]),
    ));
    assert_snapshot!(new, @r#"
    model = "o3"

    [mcp_servers.deliberate]
    command = "/opt/bin/deliberate"
    args = ["serve"]
    "#);
}

#[test]
fn toml_keeps_what_was_added_to_our_entry_by_hand() {
    let old = "[mcp_servers.deliberate]\ncommand = \"/old\" # here\nargs = [ \"serve\" ] # so\nstartup_timeout_sec = 5\n\n[mcp_servers.deliberate.env]\nLANGBASE_API_KEY = \"sk-1\"\n\n[tui]\n";
    let new = changed_text(toml_edit::edit(
        old,
        "mcp_servers",
        &server_entry(&[("B", "2")]),
    ));
    assert_snapshot!(new, @r#"
    [mcp_servers.deliberate]
    command = "/opt/bin/deliberate"
    args = [ "serve" ] # so
    startup_timeout_sec = 5

    [mcp_servers.deliberate.env]
    LANGBASE_API_KEY = "sk-1"
    B = "2"

    [tui]
    "#);
}

#[test]
fn toml_that_is_not_understood_is_left_alone() {
    for old in [
        "a = \n",
        "mcp_servers = 5\n",
        "[mcp_servers]\ndeliberate = 5\n",
        "mcp_servers = {}\n",
    ] {
        let edit = toml_edit::edit(old, "mcp_servers", &server_entry(&[]));
        assert!(
            matches!(edit, ClientConfigEdit::ManualEditNeeded(_)),
            "{edit:?}"
        );
    }
}

#[test]
fn the_diff_shows_little_and_hides_keys() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n";
    assert_snapshot!(diff::unified_diff(old, &old.replace('5', "five\nAPI_KEY = \"k\"")), @r#"
    @@ -2,7 +2,8 @@
     2
     3
     4
    -5
    +five
    +API_KEY = "(hidden)"
     6
     7
     8
    "#);
    assert_snapshot!(
        diff::unified_diff("", "env = { API_KEY = \"k\", \"X-Auth\" = \"v\\\"w\", plain = \"p\" }\n\"a\": {\"token\":\"t\", \"b\": \"c\"}"),
        @r#"
        @@ -0,0 +1,2 @@
        +env = { API_KEY = "(hidden)", "X-Auth" = "(hidden)", plain = "p" }
        +"a": {"token":"(hidden)", "b": "c"}
        "#
    );
    let long = diff::unified_diff("", &"é".repeat(1000));
    assert_eq!(
        long.lines().last().map(|line| line.chars().count()),
        Some(162)
    );
}
