//! Tests of `deliberate sessions`.

use deliberate_testkit::{MockFault, MockProvider};

use serde_json::{Value, json};
use sqlx::Connection as _;

use crate::support::{TestHome, run_with_input, serve, shut_down, text, think, think_in_session};

/// Creates two sessions, the first with two steps, and returns both ids.
async fn create_two_sessions(home: &TestHome) -> (String, String) {
    let standin = MockProvider::start().await.unwrap();
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    let first = text(
        &think(&mut client, "What is\n a   tide?").await,
        "session_id",
    )
    .to_owned();
    let second = text(&think(&mut client, "Who named it?").await, "session_id").to_owned();
    standin.push_fault(MockFault::Text("Line one.\nLine two.".to_owned()));
    think_in_session(&mut client, &first, "Go\non.").await;
    shut_down(client).await;
    (first, second)
}

#[tokio::test]
async fn the_list_shows_the_last_changed_first() {
    let home = TestHome::new();
    assert_eq!(
        home.run(&["sessions"]).await.stdout,
        "No sessions yet. Try: deliberate think \"…\"\n"
    );
    let (first, second) = create_two_sessions(&home).await;
    let list = home.run_json(&["sessions", "list", "--json"]).await;
    let ids: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["session"]["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [first.as_str(), second.as_str()]);
    assert_eq!(
        (&list[0]["thoughts"], &list[0]["nodes"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(list[0]["session"]["title"], "What is a tide?");
    let table = home.run(&["sessions"]).await.stdout;
    assert_eq!(table, home.run(&["sessions", "list"]).await.stdout);
    assert!(
        table.lines().nth(1).unwrap().contains("What is a tide?"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 3);

    let one = home
        .run_json(&[
            "sessions", "list", "--json", "--limit", "1", "--offset", "1",
        ])
        .await;
    assert_eq!(one.as_array().unwrap().len(), 1);
    assert_eq!(one[0]["session"]["id"], second);
    let beyond = home
        .run_json(&["sessions", "list", "--json", "--offset", "9"])
        .await;
    assert_eq!(beyond.as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn a_session_is_shown_step_by_step() {
    let home = TestHome::new();
    let (first, _) = create_two_sessions(&home).await;
    let output = home.run(&["sessions", "show", &first]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let begun = output
        .stdout
        .lines()
        .find(|line| line.contains("begun"))
        .unwrap();
    assert!(begun.starts_with(&format!("linear session `{first}`, ")));
    let (text, usage) = output.stdout.rsplit_once("\nUsage: ").unwrap();
    // The second step's answer lacked the fields, so they were asked for.
    assert!(usage.starts_with("2 calls, 3 model requests ("), "{usage}");
    let steady = text.replace(begun, "linear session ID, begun TIME");
    insta::assert_snapshot!("sessions_show", steady);
}

/// Runs the demo and returns its sessions: a tree and a graph.
async fn run_demo(home: &TestHome) -> (String, String) {
    let played = home.run_json(&["demo", "--keep", "--json"]).await;
    let id = |mode: &str| played[mode]["session_id"].as_str().unwrap().to_owned();
    (id("tree"), id("graph"))
}

#[tokio::test]
async fn a_tree_and_a_graph_are_shown_as_what_they_are() {
    let home = TestHome::new();
    let (tree, graph) = run_demo(&home).await;
    let text = home.run(&["sessions", "show", &tree]).await.stdout;
    for part in [
        "## Branches\n",
        "- **Fill it when shopping is put away** ",
        "\n## Step 2 `t2` · Shop by a plan (64 %)\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let data = home.run_json(&["sessions", "show", &tree, "--json"]).await;
    let fields: Vec<&String> = data.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "session",
            "thoughts",
            "branches",
            "cross_references",
            "graphs",
            "checkpoints",
            "usage"
        ]
    );
    assert_eq!(data["branches"].as_array().unwrap().len(), 6);
    assert_eq!(data["cross_references"], json!([]));

    let text = home.run(&["sessions", "show", &graph]).await.stdout;
    assert!(text.contains("\n### `n5` "), "{text}");
    assert!(text.contains("\n**Conclusion `n5`:** "), "{text}");
    assert!(text.contains(", conclusion ← "), "{text}");
    let data = home.run_json(&["sessions", "show", &graph, "--json"]).await;
    assert_eq!(data["graphs"][0]["nodes"].as_array().unwrap().len(), 5);

    let table = home.run(&["sessions"]).await.stdout;
    let row = |id: &str| table.lines().find(|line| line.contains(id)).unwrap();
    assert!(row(&graph).contains("  5 nodes  "), "{table}");
    assert!(row(&tree).contains("  7  "), "{table}");
    let list = home.run_json(&["sessions", "list", "--json"]).await;
    assert_eq!(
        (&list[0]["thoughts"], &list[0]["nodes"]),
        (&json!(0), &json!(5))
    );
}

/// Returns the numbers of the headings with this prefix.
fn heading_numbers(text: &str, heading: &str) -> Vec<usize> {
    let found = text.lines().filter_map(|line| line.strip_prefix(heading));
    let number = |rest: &str| {
        let end = rest.find(|letter: char| !letter.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse().unwrap()
    };
    found.map(number).collect()
}

#[tokio::test]
async fn a_long_session_is_shown_whole_and_once() {
    let home = TestHome::new();
    let (_, session) = run_demo(&home).await;
    let mut database = home.open_database().await;
    for query in [
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
         INSERT INTO thoughts (id, session_id, input, content, confidence, mode, created_at)
         SELECT 't' || i, $1, 'Go on.', 'Thought ' || i || ' of many. ' || hex(zeroblob(500)), 0.5,
         'got', i FROM n",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
         INSERT INTO graph_nodes (id, graph_id, session_id, content, node_type, depth, is_active,
         is_terminal, created_at)
         SELECT 'n' || i, (SELECT id FROM graphs WHERE session_id = $1), $1,
         'Node ' || i || ' of many. ' || hex(zeroblob(500)), 'thought', 1, 1, 0, i FROM n",
    ] {
        let grow = sqlx::query(query).bind(&session);
        grow.execute(&mut database).await.unwrap();
    }
    let output = home.run(&["sessions", "show", &session]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let text = output.stdout;
    assert_eq!(
        heading_numbers(&text, "## Step "),
        (1..=450).collect::<Vec<_>>()
    );
    assert_eq!(
        heading_numbers(&text, "### `n"),
        (1..=455).collect::<Vec<_>>()
    );
    for number in 1..=450 {
        for what in ["Thought", "Node"] {
            let said = format!("{what} {number} of many.");
            assert_eq!(text.matches(&said).count(), 1, "{said}");
        }
    }
    let titles = text.lines().filter(|line| line.starts_with("# "));
    assert_eq!(titles.count(), 1);
    assert_eq!(text.matches("## Graph `").count(), 1);
    assert!(!text.contains("\n*More "), "{text}");

    let data = home
        .run_json(&["sessions", "show", &session, "--json"])
        .await;
    let graph = &data["graphs"][0];
    let count = |list: &Value| list.as_array().unwrap().len();
    assert_eq!(count(&data["graphs"]), 1);
    assert_eq!(
        (count(&data["thoughts"]), count(&graph["nodes"])),
        (450, 455)
    );
    assert_eq!(count(&graph["edges"]), 5);
    assert_eq!(graph.get("next_offset"), None);
    let table = home.run(&["sessions"]).await.stdout;
    assert!(table.contains("  450 + 455 nodes  "), "{table}");
}

#[tokio::test]
async fn a_providers_conversation_is_not_told() {
    let home = TestHome::new();
    let (first, second) = create_two_sessions(&home).await;
    let set = "UPDATE sessions SET metadata = $2 WHERE id = $1";
    let given = [
        (&first, r#"{"thread": "t-1"}"#, Value::Null),
        (
            &second,
            r#"{"thread": "t-2", "own": 1}"#,
            json!({ "own": 1 }),
        ),
    ];
    for (id, metadata, _) in &given {
        let set = sqlx::query(set).bind(*id).bind(*metadata);
        set.execute(&mut home.open_database().await).await.unwrap();
    }
    let list = home.run_json(&["sessions", "list", "--json"]).await;
    for ((id, _, told), listed) in given.iter().zip(list.as_array().unwrap()) {
        assert_eq!(&listed["session"]["metadata"], told);
        let shown = home.run_json(&["sessions", "show", id, "--json"]).await;
        assert_eq!(&shown["session"]["metadata"], told);
    }
}

#[tokio::test]
async fn an_old_session_is_found_by_the_beginning_of_its_id() {
    let home = TestHome::new();
    let (first, _) = create_two_sessions(&home).await;
    let newer = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001) \
                 INSERT INTO sessions (id, mode, created_at, updated_at) \
                 SELECT 'newer' || i, 'linear', 1, 9000000000000000 FROM n";
    let mut database = home.open_database().await;
    sqlx::query(newer).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
    let beginning = &first[..first.len() - 1];
    let shown = home
        .run_json(&["sessions", "show", beginning, "--json"])
        .await;
    assert_eq!(shown["session"]["id"], first);
}

#[tokio::test]
async fn the_beginning_of_an_id_is_enough_if_it_fits_one() {
    let home = TestHome::new();
    let (first, second) = create_two_sessions(&home).await;
    let shared = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let mut whole = home.run_json(&["sessions", "show", &first, "--json"]).await;
    let mut part = home
        .run_json(&["sessions", "show", &first[..=shared], "--json"])
        .await;
    // To show a session is a call of it, too.
    for shown in [&mut whole, &mut part] {
        shown.as_object_mut().unwrap().remove("usage").unwrap();
    }
    assert_eq!(part, whole);
    let both = home.run(&["sessions", "show", &first[..shared]]).await;
    assert_eq!(both.code, Some(2));
    assert!(
        both.stderr.contains("several sessions start with"),
        "{}",
        both.stderr
    );
    for unknown in ["zzz", "", "%", "'; --"] {
        let output = home.run(&["sessions", "show", unknown]).await;
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(2), ""),
            "{unknown:?}"
        );
        assert!(!output.stderr.contains("sqlite"), "{}", output.stderr);
    }
    let output = home.run(&["sessions", "show", "zzz"]).await;
    assert_eq!(
        output.stderr,
        "error: there is no session \"zzz\"; `deliberate sessions` lists them\n"
    );
}

#[tokio::test]
async fn thoughts_are_found_by_their_words_and_can_not_command_the_terminal() {
    let home = TestHome::new();
    let mut command = home.command();
    command.args([
        "think",
        "--manual",
        "Where do \u{1b}]0;pwned\u{7}the swallows go?",
    ]);
    let cli_output = run_with_input(&mut command, "South, \u{1b}[2Jover the desert.\n").await;
    assert_eq!(cli_output.code, Some(0), "{cli_output:?}");
    let found = home.run(&["sessions", "search", "desert", "swallow"]).await;
    assert!(found.stdout.contains("[swallows]"), "{found:?}");
    let listed = home.run(&["sessions"]).await;
    let id = listed
        .stdout
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    let shown = home.run(&["sessions", "show", id]).await;
    assert!(shown.stdout.contains("over the desert"), "{shown:?}");
    for output in [&cli_output, &found, &listed, &shown] {
        assert!(!output.stdout.contains(['\u{1b}', '\u{7}']), "{output:?}");
    }
    let none = home.run(&["sessions", "search", "penguin"]).await;
    assert_eq!(
        none.stdout,
        "No thought has any of: penguin; none is close in meaning. Try other words.\n"
    );
}

/// Thoughts of different subjects.
const THOUGHTS: [&str; 5] = [
    "The automobile engine overheats because the radiator fan never starts.",
    "We decided to keep the cache for sixty seconds, since stale prices cost more.",
    "The patient's fever fell after the second dose, so an infection is likely.",
    "Tomatoes need six hours of sun; the balcony faces north, so herbs are the better choice.",
    "Moving out of the office saves rent, but the lease runs until March.",
];

#[tokio::test]
async fn thoughts_are_found_by_meaning_and_nonsense_finds_nothing() {
    let home = TestHome::new();
    for thought in THOUGHTS {
        let mut command = home.command();
        command.args(["think", "--manual", "Go on."]);
        let output = run_with_input(&mut command, &format!("{thought}\n")).await;
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    for (query, thought, note) in [
        (
            "car",
            THOUGHTS[0],
            "No thought has any of: car; these are close in meaning.",
        ),
        (
            "illness medicine",
            THOUGHTS[2],
            "No thought has any of: illness, medicine;",
        ),
        (
            "plants vegetables",
            THOUGHTS[3],
            "No thought has any of: plants, vegetables;",
        ),
        (
            "apartment landlord",
            THOUGHTS[4],
            "No thought has any of: apartment, landlord;",
        ),
    ] {
        let found = home
            .run_json(&["sessions", "search", query, "--json"])
            .await;
        let found = found.as_array().unwrap();
        assert_eq!(found.len(), 1, "{query}: {found:?}");
        assert_eq!(found[0]["matched"], "meaning", "{query}");
        assert!(
            found[0]["content"].as_str().unwrap().contains(thought),
            "{query}"
        );
        let table = home.run(&["sessions", "search", query]).await.stdout;
        assert!(table.starts_with(note), "{table}");
    }
    for query in [
        "xyzzy",
        "qwrtp blorf",
        "asdf jkl",
        "tag7f3a",
        "violin concerto",
        "dinosaur fossils",
        "\" OR NEAR( * -",
    ] {
        let found = home
            .run_json(&["sessions", "search", "--json", "--", query])
            .await;
        assert_eq!(found, json!([]), "{query}");
    }
    let found = home
        .run_json(&["sessions", "search", "--json", "caches", "rent", "pelican"])
        .await;
    let words: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["words"])
        .collect();
    assert_eq!(words.len(), 2, "{found}");
    assert!(
        words.contains(&&json!(["caches"])) && words.contains(&&json!(["rent"])),
        "{found}"
    );
}
