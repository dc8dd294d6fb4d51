//! `reasoning_reflection` on a thought whose result can be compared: independent solutions decide
//! whether it stands.

use deliberate_llm::ModelReply;
use deliberate_testkit::fixtures::expect_needs_reply;
use serde_json::{Value, json};

use super::{
    reflection_fixtures::{REFLECT, check_reply, client_replies, request_keys},
    test_registry::{ReasoningTestRegistry, conversation, reply_with_fields, text_reply},
};

const QUESTION: &str = "30 × 40?";

fn solution(text: &str, answer: &Value) -> ModelReply {
    let fields = json!({ "answer": answer, "weakest_point": "none", "confidence_percent": 70 });
    reply_with_fields(text, &fields)
}

/// Reflects on a thought with the result 1,200; the model replies the check and these solutions.
async fn reflect_on_result(
    registry: &ReasoningTestRegistry,
    solutions: &[ModelReply],
    most: u8,
) -> Value {
    registry.script_replies([solution("ORIGINAL: 1,200.", &json!("1,200"))]);
    let first = registry.think_ok(json!({ "content": QUESTION })).await;
    registry.script_replies([check_reply(80, "A revision that is not asked for")]);
    registry.script_replies(solutions.iter().cloned());
    let arguments = json!({ "thought_id": first["thought_id"], "max_iterations": most });
    registry.call_ok(REFLECT, arguments).await
}

#[tokio::test]
async fn a_solution_with_the_same_result_confirms_it() {
    let desk = ReasoningTestRegistry::new();
    let same = solution("30 × 40 is 1200", &json!("It is **1200**."));
    let output = reflect_on_result(&desk, &[same], 1).await;
    assert_eq!(output["improved_reasoning"], Value::Null);
    assert_eq!(output["answer"], "1,200");
    assert_eq!(output["confidence"], 1.0);
    assert_eq!(
        output["note"],
        "An independent solution also reaches 1,200."
    );
    assert_eq!(output["weaknesses"], json!(["vague"]));
    assert_eq!(output["iterations"], 1);
    assert_eq!(
        request_keys(&desk),
        ["linear", "reflection_1", "solution_1"]
    );
    // The solution is not shown what it checks.
    let asked = conversation(&desk.requests()[2]);
    assert!(
        asked.contains(QUESTION) && !asked.contains("ORIGINAL"),
        "{asked}"
    );
}

#[tokio::test]
async fn two_solutions_with_another_result_replace_it() {
    let desk = ReasoningTestRegistry::new();
    let others = [
        solution("First anew: 1300", &json!(1300)),
        solution("Second anew: 1300", &json!("1,300 in all")),
    ];
    let output = reflect_on_result(&desk, &others, 1).await;
    assert_eq!(output["improved_reasoning"], "First anew: 1300");
    assert_eq!(output["answer"], "1300");
    assert_eq!(
        output["note"],
        "Two independent solutions reach 1300, not 1,200, so the text was replaced."
    );
    assert_eq!(
        output["weaknesses"],
        json!([
            "vague",
            "Independent solutions reach 1300 instead of 1,200."
        ])
    );
    assert_eq!(output["quality_before"], 0.5);
    assert_eq!(output["confidence"], 0.6667);
    let thoughts = desk.thoughts().await;
    assert_eq!(thoughts[2].metadata.as_ref().unwrap()["answer"], "1300");
}

#[tokio::test]
async fn one_solution_alone_never_replaces_it() {
    let same = solution("again 1200", &json!("1200"));
    let other = solution("1300", &json!("1300"));
    let third = solution("1400", &json!("1400"));
    let nothing = solution("I can't say.", &Value::Null);
    let uncertain = "Independent solutions reach other results (1300; 1400), but no two agree, so \
                     the original was kept. Take it as uncertain.";
    let unchecked = "No independent solution reached a result, so the original was kept unchecked.";
    let confirmed = "An independent solution also reaches 1,200.";
    for (solutions, note, confidence) in [
        (vec![other.clone(), same], confirmed, 0.6667),
        (vec![other, third], uncertain, 0.3333),
        (vec![nothing.clone(), nothing], unchecked, 0.7),
    ] {
        let desk = ReasoningTestRegistry::new();
        let output = reflect_on_result(&desk, &solutions, 1).await;
        assert_eq!(output["improved_reasoning"], Value::Null, "{note}");
        assert_eq!(output["answer"], "1,200", "{note}");
        assert_eq!(output["note"], note);
        assert_eq!(output["confidence"], confidence, "{note}");
    }
}

#[tokio::test]
async fn more_rounds_bring_more_solutions_until_two_agree() {
    let desk = ReasoningTestRegistry::new();
    let results = ["1300", "1400", "1500", "1400", "1600"];
    let solutions = results.map(|result| solution(result, &json!(result)));
    let output = reflect_on_result(&desk, &solutions, 5).await;
    assert_eq!(output["answer"], "1400");
    assert_eq!(output["iterations"], 4);
    let keys = request_keys(&desk);
    assert_eq!(keys.last().unwrap(), "solution_4");
}

#[tokio::test]
async fn the_clients_model_solves_and_checks_in_one_round_the_solution_first() {
    let desk = ReasoningTestRegistry::without_model();
    let step = solution("ORIGINAL: 1,200.", &json!("1,200")).text;
    let first = json!({ "content": QUESTION, "reply": step });
    let first = desk.call_ok("reasoning_linear", first).await;
    let round = client_replies(&[solution("1200", &json!("1200")), check_reply(80, "")]);
    let arguments = json!({ "thought_id": first["thought_id"] });
    let needs = expect_needs_reply(desk.call_tool(REFLECT, arguments.clone()).await);
    let keys: Vec<&str> = needs.asks.iter().map(|ask| ask.key.as_str()).collect();
    assert_eq!(keys, ["solution_1", "reflection_1"]);
    assert!(!needs.asks[0].messages[0].text.contains("ORIGINAL"));
    let resume = json!({ "id": needs.id, "replies": round });
    let output = desk.call_ok("reasoning_resume", resume).await;
    assert_eq!(
        output["note"],
        "An independent solution also reaches 1,200."
    );
    // A caller that brings its check is asked for nothing.
    let mut brought = arguments;
    brought["reply"] = json!(check_reply(80, "Said in another way: 1200.").text);
    let output = desk.call_ok(REFLECT, brought).await;
    assert_eq!(output["improved_reasoning"], "Said in another way: 1200.");
}

#[tokio::test]
async fn a_long_text_is_revised_and_not_solved_again() {
    let desk = ReasoningTestRegistry::new();
    let answer = "Move the cache behind the queue, then measure the two again under load";
    desk.script_replies([solution("A plan.", &json!(answer))]);
    let first = desk.think_ok(json!({ "content": "What to do?" })).await;
    desk.script_replies([check_reply(80, ""), text_reply("unused")]);
    desk.call_ok(REFLECT, json!({ "thought_id": first["thought_id"] }))
        .await;
    assert_eq!(request_keys(&desk), ["linear", "reflection_1"]);
}
