//! Tests of the commands that connect. The upstream server is this program with its own settings.

use serde_json::Value;

use super::{assert_success, names, write, write_settings};
use crate::support::{PROGRAM, TestHome, run_with_input};

/// Creates a home with a working server, one that exits at once, and one that is disabled.
fn home_with_servers() -> TestHome {
    let home = TestHome::new();
    let guest = home.path("work/guest.toml");
    write(
        &guest,
        "[database]\npath = \"guest.db\"\n[tools]\nsets = [\"reasoning\"]\n",
    );
    write_settings(
        &home,
        &format!(
            "[servers.guest]\ncommand = {PROGRAM:?}\nargs = [\"--config\", '{guest}', \"serve\"]\n\n\
             [servers.broken]\ncommand = \"sh\"\nargs = [\"-c\", \"echo the reason >&2; exit 3\"]\n\
             connect_ms = 20000\n\n\
             [servers.off]\ncommand = {PROGRAM:?}\nargs = [\"--config\", '{guest}', \"serve\"]\n\
             disabled = true\n",
            guest = guest.display()
        ),
    );
    home
}

#[tokio::test]
async fn each_server_is_tested_and_one_that_fails_spoils_no_other() {
    let home = home_with_servers();
    let output = home.run(&["servers", "test"]).await;
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(1), ""),
        "{output:?}"
    );
    let line = |start: &str| {
        let mut lines = output.stdout.lines();
        lines.find(|line| line.starts_with(start)).unwrap()
    };
    let fine = line("ok     guest");
    assert!(
        fine.contains(concat!("deliberate ", env!("CARGO_PKG_VERSION"))),
        "{fine}"
    );
    assert!(
        fine.contains("protocol 20") && fine.contains(" tools,"),
        "{fine}"
    );
    assert!(line("WRONG  broken").contains("broken"));
    assert!(output.stdout.contains("the reason"), "{}", output.stdout);
    assert!(!output.stdout.contains(" off "), "{}", output.stdout);
}

#[tokio::test]
async fn a_server_that_is_named_is_tested_even_if_it_is_switched_off() {
    let home = home_with_servers();
    let tested = home.run_json(&["servers", "test", "off", "--json"]).await;
    let [off] = tested.as_array().unwrap().as_slice() else {
        panic!("{tested}");
    };
    assert_eq!((&off["name"], &off["ok"]), (&"off".into(), &true.into()));
    assert!(off["tools"].as_u64().unwrap() > 20, "{off}");
    let output = home.run(&["servers", "test", "broken", "--json"]).await;
    assert_eq!(output.code, Some(1));
    let tested: Value = serde_json::from_str(&output.stdout).unwrap();
    assert!(
        tested[0]["error"]["diagnosis"]
            .as_str()
            .unwrap()
            .contains("the reason"),
        "{tested}"
    );
}

#[tokio::test]
async fn tools_are_listed_with_what_each_takes() {
    let home = home_with_servers();
    let table = home.run(&["servers", "tools", "guest"]).await;
    assert_success(&table);
    assert!(
        table.stdout.contains("reasoning_sessions"),
        "{}",
        table.stdout
    );
    let schema = home
        .run_json(&["servers", "tools", "guest", "--schema", "reasoning_search"])
        .await;
    assert!(schema["properties"].is_object(), "{schema}");
    let all = home
        .run_json(&["servers", "tools", "guest", "--json"])
        .await;
    assert!(
        all[0]["name"].is_string() && all[0]["standing"].is_object(),
        "{all}"
    );
    let output = home
        .run(&["servers", "tools", "guest", "--schema", "reasoning_serch"])
        .await;
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("did you mean \"reasoning_search\"?"),
        "{}",
        output.stderr
    );
    let output = home.run(&["servers", "tools", "broken"]).await;
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("the reason"), "{}", output.stderr);
}

#[tokio::test]
async fn a_tool_is_called_in_each_of_the_ways_to_name_it() {
    let home = home_with_servers();
    let ways: [&[&str]; 4] = [
        &["guest__reasoning_search", "query=nothing there", "limit=3"],
        &[
            "guest",
            "reasoning_search",
            "query=nothing there",
            "limit=3",
        ],
        &[
            "guest__reasoning_search",
            "--args",
            r#"{"query": "nothing there", "limit": 3}"#,
        ],
        &["guest", "reasoning_search", "--args", "-"],
    ];
    for way in ways {
        let mut command = home.command();
        command.args(["servers", "call", "--json"]).args(way);
        let output = run_with_input(&mut command, r#"{"query": "nothing there"}"#).await;
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), ""),
            "{way:?} {output:?}"
        );
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(result["structuredContent"].is_object(), "{result}");
    }
    let text = home
        .run(&[
            "servers",
            "call",
            "guest",
            "reasoning_search",
            "query=nothing there",
        ])
        .await;
    assert_success(&text);
    assert!(!text.stdout.trim().is_empty() && !text.stdout.contains("structuredContent"));
}

/// A server whose only tool answers with its arguments, in structured content.
const COPYING_PROGRAM: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  arguments=$(printf '%s' "$line" | sed -n 's/.*"arguments":\({[^}]*}\).*/\1/p')
  part=result
  case "$line" in
    *'"initialize"'*) value='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) value='{"tools":[{"name":"copy","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}' ;;
    *'"tools/call"'*) value="{\"content\":[],\"structuredContent\":$arguments}" ;;
    *) part=error; value='{"code":-32601,"message":"no such method"}' ;;
  esac
  if [ -n "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,"%s":%s}\n' "$id" "$part" "$value"; fi
done
"#;

#[tokio::test]
async fn integers_beyond_64_bits_are_sent_and_printed_exactly() {
    const LARGE: &str = "18446744073709551617123";
    let home = TestHome::new();
    write(&home.path("work/copy.sh"), COPYING_PROGRAM);
    let settings = "[servers.up]\ncommand = \"sh\"\nargs = [\"copy.sh\"]\ncwd = '";
    let folder = home.path("work");
    write_settings(&home, &format!("{settings}{}'\n", folder.display()));
    let (pair, object) = (format!("n={LARGE}"), format!(r#"{{"n": {LARGE}}}"#));
    let ways: [&[&str]; 2] = [&[&pair], &["--args", &object]];
    for way in ways {
        for format in [&[][..], &["--json"]] {
            let call = [&["servers", "call", "up__copy"], way, format].concat();
            let output = home.run(&call).await;
            assert_success(&output);
            let expected = format!("\"n\": {LARGE}\n");
            assert!(
                output.stdout.contains(&expected),
                "{call:?} {}",
                output.stdout
            );
        }
    }
}

#[tokio::test]
async fn a_call_that_fails_is_told_by_the_exit_code() {
    let home = home_with_servers();
    let cases: [(&[&str], i32, &str); 6] = [
        // The tool itself fails.
        (
            &["guest", "reasoning_get", "id=nobody-knows-this"],
            1,
            "nobody-knows-this",
        ),
        (&["guest"], 2, "deliberate servers tools guest"),
        (&["guest", "a=b"], 2, "name a tool"),
        (&["guest__reasoning_get", "id"], 2, "KEY=VALUE"),
        (&["guest__reasoning_get", "--args", "[1]"], 2, "JSON object"),
        (&["broken__x"], 2, "broken"),
    ];
    for (arguments, code, text) in cases {
        let output = home.run(&[&["servers", "call"], arguments].concat()).await;
        assert_eq!(output.code, Some(code), "{arguments:?} {output:?}");
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(said.contains(text), "{arguments:?} {said}");
    }
}

#[tokio::test]
async fn a_server_with_nothing_to_approve_is_left_as_it_is() {
    let home = home_with_servers();
    let output = home.run(&["servers", "approve", "guest"]).await;
    assert_success(&output);
    assert!(
        output
            .stdout
            .contains("No tool of \"guest\" is quarantined")
    );
    let list = home.run_json(&["servers", "list", "--json"]).await;
    assert_eq!(names(&list), ["guest", "broken", "off"]);
}
