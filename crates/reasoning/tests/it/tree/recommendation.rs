//! How `reasoning_tree` chooses the branch to follow, and where a tree can grow.

use super::*;

/// One approach for each result, with that confidence.
fn approaches(results: &[(Option<&str>, u32)]) -> Vec<ModelReply> {
    let reply = |(number, (answer, percent)): (usize, &(Option<&str>, u32))| {
        let name = format!("Way {number}");
        approach_reply(&name, &format!("{name} in full."), *answer, *percent)
    };
    (1..).zip(results).map(reply).collect()
}

async fn explore(
    registry: &ReasoningTestRegistry,
    results: &[(Option<&str>, u32)],
    comparison: Option<ModelReply>,
) -> Value {
    registry.script_replies(approaches(results));
    registry.script_replies(comparison);
    let arguments = json!({ "content": "What is 6 × 7?", "max_branches": results.len() });
    registry.call_ok(TREE, arguments).await
}

fn keys(registry: &ReasoningTestRegistry) -> Vec<String> {
    registry.requests().into_iter().map(|ask| ask.key).collect()
}

#[tokio::test]
async fn the_result_of_most_approaches_is_recommended_without_a_comparison() {
    let desk = ReasoningTestRegistry::new();
    let results = [
        (Some("41"), 99),
        (Some("42"), 50),
        (Some("**42**."), 70),
        (Some("42.0"), 60),
    ];
    let answer = explore(&desk, &results, None).await;
    assert_eq!(keys(&desk), ["tree_1", "tree_2", "tree_3", "tree_4"]);
    let best = &answer["branches"][2];
    assert_eq!(
        answer["recommended_branch"], best["id"],
        "the most confident of those that agree"
    );
    assert_eq!(answer["answer"], "**42**.");
    assert_eq!(answer["confidence"], 0.75, "the share that agrees");
    assert_eq!(answer["weakest_point"], "Way 3 may fail");
    assert_eq!(
        answer["content"],
        "Of 4 approaches, these reach a result: 42 (2, 3, 4); 41 (1)"
    );
    let branch = |number: usize| answer["branches"][number - 1]["id"].clone();
    let relations: Vec<_> = answer["cross_references"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["from"].clone(), it["type"].clone(), it["to"].clone()))
        .collect();
    assert_eq!(
        relations,
        [
            (branch(3), json!("supports"), branch(2)),
            (branch(4), json!("supports"), branch(2)),
            (branch(1), json!("contradicts"), branch(2)),
        ]
    );
    let session = answer["session_id"].as_str().unwrap().into();
    let stored = desk
        .store
        .branches(&session, EpochFilter::Current, FULL_PAGE);
    let priorities: Vec<_> = stored
        .await
        .unwrap()
        .iter()
        .map(|it| it.branch.priority)
        .collect();
    assert_eq!(priorities, [1, 1, 1, 2, 1]);
    let fork = &desk.thoughts().await[0];
    assert_eq!(fork.metadata.as_ref().unwrap()["answer"], "**42**.");
}

#[tokio::test]
async fn approaches_that_all_agree_say_so() {
    let desk = ReasoningTestRegistry::new();
    let answer = explore(&desk, &[(Some("42"), 60), (Some("42"), 60)], None).await;
    assert_eq!(desk.requests().len(), 2);
    assert_eq!(answer["confidence"], 1.0);
    assert_eq!(
        answer["content"],
        "All 2 approaches reach the same result: 42"
    );
    assert_eq!(answer["recommended_branch"], answer["branches"][0]["id"]);
}

#[tokio::test]
async fn approaches_without_a_majority_are_compared_once() {
    let open = "keep one shelf for what must be eaten first";
    for results in [
        [(Some("41"), 90), (Some(open), 50)],
        [(Some("41"), 90), (None, 50)],
        [(None, 90), (None, 50)],
    ] {
        let desk = ReasoningTestRegistry::new();
        let comparison = compare_reply("6 × 7 is 42.", &json!(2));
        let answer = explore(&desk, &results, Some(comparison)).await;
        assert_eq!(keys(&desk), ["tree_1", "tree_2", "tree_compare"]);
        assert_eq!(answer["recommended_branch"], answer["branches"][1]["id"]);
        assert_eq!(answer["content"], "6 × 7 is 42.");
        // A recommendation that concludes nothing is at most half sure.
        let confidence = if results[1].0.is_some() { 0.7 } else { 0.5 };
        assert_eq!(answer["confidence"], confidence);
        assert_eq!(answer["weakest_point"], "land prices are guessed");
        assert_eq!(answer["answer"], json!(results[1].0));
        let shown = conversation(&desk.last_request());
        let texts = ["Way 1 in full.", "Way 2 in full.", "What is 6 × 7?"];
        assert!(texts.iter().all(|text| shown.contains(text)), "{shown}");
    }
}

#[tokio::test]
async fn one_more_solution_decides_between_results() {
    let desk = ReasoningTestRegistry::new();
    let results = [(Some("41"), 90), (Some("42"), 50)];
    let answer = explore(
        &desk,
        &results,
        Some(solution_reply("Once more.", Some("42.0"))),
    )
    .await;
    assert_eq!(keys(&desk), ["tree_1", "tree_2", "tree_decide"]);
    assert_eq!(answer["recommended_branch"], answer["branches"][1]["id"]);
    assert_eq!(answer["answer"], "42");
    assert_eq!(answer["confidence"], 0.6667, "two of three agree");
    assert_eq!(answer["branches_explored"], 2, "the solution is no branch");
    let shown = conversation(&desk.last_request());
    assert!(!shown.contains("Way 1"), "it sees no approach: {shown}");
}

#[tokio::test]
async fn a_solution_that_agrees_with_nothing_leaves_the_comparison() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies(approaches(&[(Some("41"), 90), (Some("42"), 50)]));
    desk.script_replies([
        solution_reply("Once more.", Some("40")),
        compare_reply("6 × 7 is 42.", &json!(2)),
    ]);
    let arguments = json!({ "content": "What is 6 × 7?", "max_branches": 2 });
    let answer = desk.call_ok(TREE, arguments).await;
    assert_eq!(
        keys(&desk),
        ["tree_1", "tree_2", "tree_decide", "tree_compare"]
    );
    assert_eq!(answer["answer"], "42");
}

#[tokio::test]
async fn open_results_contradict_nothing() {
    let desk = ReasoningTestRegistry::new();
    let results = [
        (Some("move the cache behind the queue and measure"), 50),
        (Some("measure first and leave the cache where it is"), 60),
        (Some("41"), 50),
        (Some("42"), 50),
    ];
    let comparison = compare_reply("The second.", &json!(2));
    let answer = explore(&desk, &results, Some(comparison)).await;
    let references = answer["cross_references"].as_array().unwrap();
    assert_eq!(references.len(), 1);
    assert_eq!(references[0]["from"], answer["branches"][3]["id"]);
    assert_eq!(references[0]["to"], answer["branches"][2]["id"]);
    assert_eq!(references[0]["type"], "contradicts");
}

#[tokio::test]
async fn the_result_that_most_approaches_reach_wins_without_a_majority() {
    let desk = ReasoningTestRegistry::new();
    let results = [
        (Some("1"), 50),
        (Some("1"), 50),
        (Some("2"), 90),
        (None, 50),
    ];
    let answer = explore(&desk, &results, None).await;
    assert_eq!(desk.requests().len(), 4);
    assert_eq!(
        (&answer["answer"], &answer["confidence"]),
        (&json!("1"), &json!(0.5))
    );
}

#[tokio::test]
async fn results_that_are_reached_equally_often_are_decided_or_compared() {
    let results = [
        (Some("1"), 50),
        (Some("1"), 50),
        (Some("2"), 60),
        (Some("2"), 50),
    ];
    let desk = ReasoningTestRegistry::new();
    let answer = explore(
        &desk,
        &results,
        Some(solution_reply("Once more.", Some("1"))),
    )
    .await;
    assert_eq!(desk.requests().len(), 5);
    assert_eq!(answer["answer"], "1");
    assert_eq!(answer["confidence"], 0.6);

    // A comparison that fails leaves the approaches, and the surest of them.
    let desk = ReasoningTestRegistry::new();
    desk.script_replies(approaches(&results));
    desk.script_replies(["", "", "", ""].map(text_reply));
    let answer = desk.call_ok(TREE, json!({ "content": "x" })).await;
    assert_eq!(answer["answer"], "2");
    assert_eq!(answer["branches_explored"], 4);
}

#[tokio::test]
async fn the_clients_model_is_not_asked_to_compare_what_it_wrote() {
    let desk = ReasoningTestRegistry::without_model();
    let start = json!({ "content": "x", "max_branches": 2 });
    let needs = expect_needs_reply(desk.call_tool(TREE, start).await);
    assert_eq!(needs.asks.len(), 2);
    let replies: Vec<_> = approaches(&[(Some("41"), 40), (Some("42"), 80)])
        .into_iter()
        .map(|reply| reply.text)
        .collect();
    let resume = json!({ "id": needs.id, "replies": replies });
    let answer = desk.call_ok("reasoning_resume", resume).await;
    assert_eq!(answer["answer"], "42");
    assert_eq!(answer["confidence"], 0.8);
}

#[tokio::test]
async fn a_tree_grows_from_a_thought_of_any_session() {
    let desk = ReasoningTestRegistry::new();
    let steps = [
        ("first question", "first step"),
        ("second", "second step"),
        ("third", "third step"),
    ];
    desk.add_session(Mode::Linear, steps).await;
    desk.script_replies(approaches_that_agree("One", "Two"));
    let arguments = json!({ "content": "Which way?", "thought_id": "t2", "max_branches": 2 });
    let answer = desk.call_ok(TREE, arguments).await;
    assert_eq!(answer["session_id"], "s");
    for ask in desk.requests() {
        let shown = conversation(&ask);
        assert!(
            shown.contains("first step") && shown.contains("second step"),
            "{shown}"
        );
        assert!(!shown.contains("third step"), "{shown}");
    }
    let thoughts = desk.thoughts().await;
    let fork = thoughts
        .iter()
        .find(|it| it.id.as_str() == answer["thought_id"])
        .unwrap();
    assert_eq!(fork.parent_id, Some("t2".into()));

    // A thought on a branch is continued on its branch.
    let branch = &answer["branches"][1];
    desk.script_replies(approaches_that_agree("Three", "Four"));
    let arguments =
        json!({ "content": "And then?", "thought_id": branch["thought_id"], "max_branches": 2 });
    let next = desk.call_ok(TREE, arguments).await;
    assert_eq!(next["branch_id"], branch["id"]);
    let shown = conversation(&desk.last_request());
    assert!(
        shown.contains("Two in full.") && !shown.contains("One in full."),
        "{shown}"
    );
}

#[tokio::test]
async fn equal_approaches_are_one_branch_but_each_counts_as_a_vote() {
    let desk = ReasoningTestRegistry::new();
    let same = || approach_reply("Way", "6 × 7 in the same words.", Some("42"), 60);
    desk.script_replies([
        same(),
        same(),
        approach_reply("Another", "6 × 7 otherwise.", Some("41"), 90),
    ]);
    let arguments = json!({ "content": "What is 6 × 7?", "max_branches": 3 });
    let answer = desk.call_ok(TREE, arguments).await;
    assert_eq!(answer["answer"], "42");
    assert_eq!(answer["confidence"], 0.6667);
    assert_eq!(answer["branches_explored"], 2);
}

#[tokio::test]
async fn a_tree_grows_from_a_thought_of_a_closed_branch() {
    let desk = ReasoningTestRegistry::new();
    let results = [(Some("41"), 60), (Some("42"), 70), (Some("42"), 70)];
    let first = explore(&desk, &results, None).await;
    let branch = &first["branches"][0];
    let close = json!({
        "session_id": first["session_id"], "branch_id": branch["id"], "state": "abandoned",
    });
    desk.call_ok("reasoning_tree_complete", close).await;
    desk.script_replies(approaches(&results));
    let arguments = json!({
        "content": "And 6 × 8?", "thought_id": branch["thought_id"], "max_branches": 3,
    });
    let second = desk.call_ok(TREE, arguments).await;
    assert_eq!(second["session_id"], first["session_id"]);
}
