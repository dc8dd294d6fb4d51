//! Approaches as models write them: in other forms, cut off, without fields, or not at all.

use super::*;

#[tokio::test]
async fn what_models_get_wrong_is_mended() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([
        text_reply(
            r#"```json
            {"thought": "Build a tram.", "name": "", "confidence_percent": "250%"}
            ```"#,
        ),
        text_reply(
            r#"Sure! {"thought": "Run buses on lanes.", "name": "Bus", "confidence": 0.4} Done."#,
        ),
        approach_reply("Tram", "build a TRAM!", None, 90),
        compare_reply(COMPARISON, &json!(9)),
    ]);
    let arguments = json!({ "content": "x", "max_branches": 3 });
    let answer = desk.call_ok(TREE, arguments).await;
    assert_eq!(
        answer["branches_explored"], 2,
        "the third says the same as the first"
    );
    assert_eq!(answer["branches"][0]["confidence"], 1.0);
    assert_eq!(answer["branches"][0]["name"], "the natural way");
    assert_eq!(answer["branches"][1]["confidence"], 0.4);
    assert_eq!(answer["branches"][1]["content"], "Run buses on lanes.");
    // An unknown number: the most confident approach is recommended.
    assert_eq!(answer["recommended_branch"], answer["branches"][0]["id"]);
    assert_eq!(answer.get("cross_references"), None);
    assert_eq!(answer.get("note"), None);
}

#[tokio::test]
async fn an_approach_that_fails_does_not_cost_the_others() {
    let desk = ReasoningTestRegistry::new();
    // An approach without a text is requested again, and then given up.
    let blank = || text_reply("");
    desk.script_replies([blank(), blank()]);
    desk.script_replies(two_approaches());
    let arguments = json!({ "content": "x", "max_branches": 3 });
    let answer = desk.call_ok(TREE, arguments.clone()).await;
    assert_eq!(answer["branches_explored"], 2);
    let note = "1 of 3 model requests failed (InvalidResponse)";
    assert_eq!(answer["note"], note);
    assert_eq!(answer["branches"][1]["id"], answer["recommended_branch"]);
    assert_eq!(answer["branches"][1]["name"], "Bus");

    let before = desk.thoughts().await.len();
    desk.script_replies((0..6).map(|_| blank()));
    let error = desk.call_err(TREE, arguments).await;
    assert_eq!(error.code(), "InvalidResponse");
    assert_eq!(desk.thoughts().await.len(), before);
}

#[tokio::test]
async fn an_approach_that_is_cut_off_is_continued() {
    let desk = ReasoningTestRegistry::new();
    let [rail, bus, undecided, comparison] = two_approaches();
    let (begin, end) = bus.text.split_at(10);
    desk.script_replies([
        rail,
        truncated_reply(begin),
        text_reply(end),
        undecided,
        comparison,
    ]);
    let arguments = json!({ "content": "x", "max_branches": 2 });
    let answer = desk.call_ok(TREE, arguments.clone()).await;
    let branch = &answer["branches"][1];
    assert_eq!(branch["content"], "Run buses on lanes of their own.");
    assert_eq!(
        (&branch["name"], &branch["answer"]),
        (&json!("Bus"), &json!("bus"))
    );
    let asked = desk.requests();
    assert_eq!(asked[2].key, "tree_2/more1");
    assert_eq!(asked[2].messages[1].text, begin);

    // A text without fields: only they are requested.
    let [rail, _, undecided, comparison] = two_approaches();
    let fields = r#"{"name": "Bus", "answer": "bus", "confidence_percent": 75}"#;
    desk.script_replies([
        rail,
        text_reply("Run buses."),
        text_reply(fields),
        undecided,
        comparison,
    ]);
    let answer = desk.call_ok(TREE, arguments).await;
    assert_eq!(answer["branches"][1]["content"], "Run buses.");
    assert_eq!(answer["branches"][1]["confidence"], 0.75);
    assert_eq!(desk.requests()[7].key, "tree_2/fields");
}

#[tokio::test]
async fn an_approach_without_fields_is_its_text() {
    let desk = ReasoningTestRegistry::new();
    let bus = approach_reply("Bus", "Run buses.", Some("bus"), 75);
    // The fields are asked for, and the model never gives them.
    desk.script_replies([text_reply("Build a tram."), text_reply("I am sure."), bus]);
    desk.script_replies([compare_reply(COMPARISON, &json!(1))]);
    let arguments = json!({ "content": "x", "max_branches": 2 });
    let answer = desk.call_ok(TREE, arguments.clone()).await;
    let keys: Vec<_> = desk.requests().into_iter().map(|ask| ask.key).collect();
    assert_eq!(keys, ["tree_1", "tree_1/fields", "tree_2", "tree_compare"]);
    let branch = &answer["branches"][0];
    assert_eq!(branch["content"], "Build a tram.");
    assert_eq!(
        (&branch["name"], &branch["answer"], &branch["confidence"]),
        (&json!("the natural way"), &Value::Null, &json!(0.8))
    );
    assert_eq!(answer["recommended_branch"], branch["id"]);
    assert_eq!(answer.get("note"), None);

    // The client's own model is not asked for them in a round of its own.
    let desk = ReasoningTestRegistry::without_model();
    let round = vec![json!("Build a tram."), json!("Run buses.")];
    let answer = desk
        .call_with_client_rounds(TREE, arguments, &[round])
        .await;
    let texts = [0, 1].map(|number| answer["branches"][number]["content"].clone());
    assert_eq!(texts, ["Build a tram.", "Run buses."]);
}

#[tokio::test]
async fn an_approach_of_fields_alone_is_asked_for_with_its_work() {
    let desk = ReasoningTestRegistry::new();
    let bare =
        text_reply(r#"{"answer": "41", "weakest_point": "haste", "confidence_percent": 90}"#);
    desk.script_replies([bare, solution_reply("6 × 7 = 42.", Some("42"))]);
    desk.script_replies([solution_reply("7 × 6 = 42.", Some("42"))]);
    let arguments = json!({ "content": "What is 6 × 7?", "max_branches": 2 });
    let answer = desk.call_ok(TREE, arguments).await;
    let keys: Vec<_> = desk.requests().into_iter().map(|ask| ask.key).collect();
    assert_eq!(keys, ["tree_1", "tree_1/again", "tree_2"]);
    let branch = &answer["branches"][0];
    assert_eq!(
        (&branch["content"], &branch["answer"]),
        (&json!("6 × 7 = 42."), &json!("42"))
    );
}

#[tokio::test]
async fn names_in_any_script_are_cut_between_characters() {
    let desk = ReasoningTestRegistry::new();
    let name = "Длинное имя ветви с emoji 🧠 和中文".repeat(6);
    desk.script_replies([approach_reply(&name, &name, Some("да"), 50)]);
    desk.script_replies([approach_reply("Второй", "Иначе.", Some("да"), 50)]);
    let arguments = json!({ "content": "Куда?", "max_branches": 2 });
    let answer = desk.call_ok(TREE, arguments).await;
    assert_eq!(answer["branches"][0]["content"], name);
    assert!(
        answer["branches"][0]["name"]
            .as_str()
            .unwrap()
            .chars()
            .count()
            <= 80
    );
}

#[tokio::test]
async fn opposites_are_not_the_same() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([
        approach_reply("One", "if (a < b) return a;", Some("a < b"), 50),
        approach_reply("Other", "if (a > b) return a;", Some("a > b"), 50),
        undecided_reply(),
        compare_reply("They differ.", &json!(1)),
    ]);
    let arguments = json!({ "content": "x", "max_branches": 2 });
    let answer = desk.call_ok(TREE, arguments).await;
    assert_eq!(answer["branches_explored"], 2);
    assert_eq!(answer["cross_references"][0]["type"], "contradicts");
}

#[tokio::test]
async fn braces_in_a_text_do_not_cut_it() {
    let desk = ReasoningTestRegistry::new();
    for text in [
        r"so \frac{1}{2} holds",
        "the set {1, 2, 3} is it",
        "fn f() { return 1; } and that",
        "if {a: 1} then {b: 2}",
        "{{ 7 * 7 }} here",
        "an open { brace",
    ] {
        let texts = [format!("one {text}"), format!("two {text}")];
        let reply = |text: &String| approach_reply("a {name}", text, Some("{x}"), 50);
        desk.script_replies(texts.iter().map(reply));
        let arguments = json!({ "content": "x", "max_branches": 2 });
        let answer = desk.call_ok(TREE, arguments).await;
        let seen = [0, 1].map(|number| answer["branches"][number]["content"].clone());
        assert_eq!(seen, texts);
        assert_eq!(answer["branches"][0]["answer"], "{x}");
    }
}
