//! `reasoning_reflection`: when a revision replaces the original, and how often a text is revised.

use serde_json::{Value, json};

use super::{
    reflection_fixtures::{
        REFLECT, assert_requests_distinct, check_reply, comparison_replies, preferred_round,
        request_keys,
    },
    test_registry::{ReasoningTestRegistry, conversation, reply_with_fields, text_reply},
};

const NOT_PREFERRED: &str =
    "A revision was written, but a comparison did not prefer it, so the original was kept.";

const SAME_RESULT: &str = "The check reaches the same result, so the original text was kept.";

/// Reflects on the text `first`, in at most five rounds.
async fn reflect_five_times(registry: &ReasoningTestRegistry) -> Value {
    let arguments = json!({ "content": "first", "max_iterations": 5 });
    registry.call_ok(REFLECT, arguments).await
}

#[tokio::test]
async fn it_goes_on_for_as_long_as_it_gets_better() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies(preferred_round(50, "second"));
    desk.script_replies(preferred_round(60, "third"));
    desk.script_replies([check_reply(75, "fourth")]);
    desk.script_replies(comparison_replies(["A", "A"]));
    let output = reflect_five_times(&desk).await;
    assert_eq!(output["iterations"], 3);
    assert_eq!(output["improved_reasoning"], "third");
    // The judgment is that of the subject.
    assert_eq!(output["content"], "about second");
    assert_eq!(output["quality_before"], 0.5);
    // What the next round says of the improved text.
    assert_eq!(output["quality_after"], 0.75);
    // The note on the fourth version would say that the original was kept.
    assert_eq!(output.get("note"), None);
    assert_eq!(
        request_keys(&desk),
        [
            "reflection_1",
            "reflection_compare_1_1",
            "reflection_compare_1_2",
            "reflection_2",
            "reflection_compare_2_1",
            "reflection_compare_2_2",
            "reflection_3",
            "reflection_compare_3_1",
            "reflection_compare_3_2",
        ]
    );
    let third = conversation(&desk.requests()[6]);
    assert!(
        third.contains("<subject-7e57ed>\nthird\n</subject-7e57ed>"),
        "{third}"
    );
    assert_requests_distinct(&desk);
    assert_eq!(desk.thoughts().await.len(), 2);
}

#[tokio::test]
async fn it_stops_at_the_number_of_rounds_asked_for() {
    let desk = ReasoningTestRegistry::new();
    for (most, rounds) in [(None, 1), (Some(2), 2), (Some(5), 5)] {
        let before = desk.requests().len();
        for number in 1..=rounds {
            desk.script_replies(preferred_round(50, &format!("v{number}")));
        }
        let output = desk
            .call_ok(
                REFLECT,
                json!({ "content": "first", "max_iterations": most }),
            )
            .await;
        assert_eq!(output["iterations"], rounds);
        assert_eq!(output["improved_reasoning"], format!("v{rounds}"));
        // A check and a comparison in both orders each.
        assert_eq!(desk.requests().len() - before, rounds * 3);
    }
}

#[tokio::test]
async fn only_a_preference_in_both_orders_replaces_the_original() {
    for (choices, what) in [
        (["A", "A"], "what is read first"),
        (["B", "B"], "what is read last"),
        (["A", "B"], "the original"),
        (["same", "same"], "neither"),
        (["B", "same"], "the revision once"),
        (["B", "the second"], "no version"),
    ] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([check_reply(60, "other")]);
        desk.script_replies(comparison_replies(choices));
        let output = reflect_five_times(&desk).await;
        assert_eq!(output["iterations"], 1, "{what}");
        assert_eq!(output["improved_reasoning"], Value::Null, "{what}");
        assert_eq!(output["improved_thought_id"], Value::Null, "{what}");
        assert_eq!(output["quality_after"], Value::Null, "{what}");
        assert_eq!(output["note"], NOT_PREFERRED, "{what}");
        assert_eq!(output["quality_before"], 0.6);
        assert_eq!(output["strengths"], json!(["short"]));
        assert_eq!(desk.requests().len(), 3, "{what}");
        assert_eq!(desk.thoughts().await.len(), 1);
    }
}

#[tokio::test]
async fn a_failed_comparison_keeps_the_check_and_the_original() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([check_reply(60, "other")]);
    // One order is answered, the other not even in the second attempt.
    desk.script_replies([comparison_replies(["B", "A"])[0].clone()]);
    desk.script_replies([text_reply(""), text_reply("")]);
    let output = reflect_five_times(&desk).await;
    assert_eq!(output["content"], "about other");
    assert_eq!(output["improved_reasoning"], Value::Null);
    let note = "A revision was written, but the comparison failed, so the original was kept.";
    assert_eq!(output["note"], note);
}

#[tokio::test]
async fn without_a_revision_nothing_is_compared() {
    for (reply, what) in [
        (check_reply(60, ""), "no heading"),
        (check_reply(60, "\u{200b} "), "nothing below the heading"),
        (check_reply(60, " First! "), "the same text"),
    ] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([reply]);
        let output = reflect_five_times(&desk).await;
        assert_eq!(output["iterations"], 1, "{what}");
        assert_eq!(output["improved_reasoning"], Value::Null, "{what}");
        assert_eq!(output.get("note"), None, "{what}");
        assert_eq!(request_keys(&desk), ["reflection_1"], "{what}");
    }
}

#[tokio::test]
async fn the_same_result_keeps_the_original_without_a_comparison() {
    let desk = ReasoningTestRegistry::new();
    let result = "Move the cache behind the queue, then measure again";
    let step = json!({ "answer": result, "weakest_point": "none", "confidence_percent": 70 });
    let fields = |answer: &str| {
        json!({
            "strengths": [], "weaknesses": [], "recommendations": [], "reaches_result": true,
            "quality_percent": 60, "answer": answer, "weakest_point": "w", "confidence_percent": 80,
        })
    };
    let checked = "I get the same.\n\n## Revised\n\nSaid in another way.";
    let same = "**Move** the cache behind the queue, then measure again.";
    for (answer, is_same) in [
        (same, true),
        ("Drop the cache and the queue altogether", false),
    ] {
        desk.clear_script();
        desk.script_replies([reply_with_fields("A plan.", &step)]);
        let first = desk.think_ok(json!({ "content": "What to do?" })).await;
        let before = desk.requests().len();
        desk.script_replies([reply_with_fields(checked, &fields(answer))]);
        desk.script_replies(comparison_replies(["B", "A"]));
        let arguments = json!({ "thought_id": first["thought_id"] });
        let output = desk.call_ok(REFLECT, arguments).await;
        if is_same {
            assert_eq!(output["improved_reasoning"], Value::Null, "{answer}");
            assert_eq!(output["note"], SAME_RESULT, "{answer}");
            assert_eq!(output["answer"], result, "{answer}");
            assert_eq!(desk.requests().len(), before + 1, "{answer}");
        } else {
            assert_eq!(output["improved_reasoning"], "Said in another way.");
            assert_eq!(output["answer"], answer);
            assert_eq!(desk.requests().len(), before + 3, "{answer}");
        }
    }
}

#[tokio::test]
async fn going_back_to_an_earlier_text_ends_it() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies(preferred_round(50, "second"));
    desk.script_replies(preferred_round(60, "FIRST"));
    let output = reflect_five_times(&desk).await;
    assert_eq!(output["iterations"], 2);
    assert_eq!(output["improved_reasoning"], "second");
    // The way back is not even compared.
    assert_eq!(desk.requests().len(), 4);
    assert_requests_distinct(&desk);
}

#[tokio::test]
async fn a_model_without_numbers_is_never_asked_the_same_twice() {
    // C6: the original server made the same request three times and answered a quality of 0.
    let desk = ReasoningTestRegistry::new();
    let without = json!({ "analysis": "fine", "improved_reasoning": "better" });
    desk.script_replies([text_reply(&without.to_string())]);
    desk.script_replies(comparison_replies(["B", "A"]));
    desk.script_replies([text_reply(
        &json!({ "analysis": "only this", "strengths": null }).to_string(),
    )]);
    let output = reflect_five_times(&desk).await;
    assert_eq!(output["iterations"], 2);
    assert_eq!(output["quality_before"], Value::Null);
    assert_eq!(output["quality_after"], Value::Null);
    assert_eq!(output["confidence"], 0.8);
    assert_eq!(output["strengths"], json!([]));
    assert_eq!(output["improved_reasoning"], "better");
    assert_eq!(desk.requests().len(), 4);
    assert_requests_distinct(&desk);
}

#[tokio::test]
async fn a_number_missing_later_leaves_the_best_so_far() {
    let desk = ReasoningTestRegistry::new();
    desk.script_replies(preferred_round(50, "second"));
    let without = json!({ "analysis": "?", "improved_reasoning": "third" });
    desk.script_replies([text_reply(&without.to_string())]);
    desk.script_replies(comparison_replies(["same", "same"]));
    let output = reflect_five_times(&desk).await;
    assert_eq!(output["iterations"], 2);
    assert_eq!(output["improved_reasoning"], "second");
    assert_eq!(output["quality_after"], Value::Null);
    assert_eq!(output["content"], "about second");
}

#[tokio::test]
async fn what_the_next_round_says_of_a_text_counts_more_than_its_authors_claim() {
    let round = |quality: u8, improved: &str, claimed: u8| {
        let reply = json!({
            "analysis": "a", "strengths": [], "weaknesses": [], "recommendations": [],
            "quality_percent": quality, "improved_reasoning": improved,
            "improved_quality_percent": claimed, "confidence_percent": 60, "weakest_point": "w",
        });
        text_reply(&reply.to_string())
    };
    // The claim stands as long as nobody else has judged the text.
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([round(50, "v2", 90)]);
    desk.script_replies(comparison_replies(["B", "A"]));
    let output = desk.call_ok(REFLECT, json!({ "content": "v1" })).await;
    assert_eq!(output["quality_after"], 0.9);
    // The next round judges it lower than its author did.
    let desk = ReasoningTestRegistry::new();
    desk.script_replies([round(50, "v2", 90)]);
    desk.script_replies(comparison_replies(["B", "A"]));
    desk.script_replies([round(70, "v3", 95)]);
    desk.script_replies(comparison_replies(["B", "B"]));
    let output = reflect_five_times(&desk).await;
    assert_eq!(output["improved_reasoning"], "v2");
    assert_eq!(output["quality_after"], 0.7);
    let improved = desk.thoughts().await.pop().unwrap();
    assert!((improved.confidence.get() - 0.7).abs() < 1e-9);
}

#[tokio::test]
async fn a_text_that_only_announces_work_is_rated_at_most_half_good() {
    for (reaches_result, percent, quality) in [
        (json!(true), 95, 0.95),
        (json!(false), 95, 0.5),
        (json!(false), 30, 0.3),
        (json!("no"), 95, 0.5),
        (Value::Null, 95, 0.95),
    ] {
        let desk = ReasoningTestRegistry::new();
        let fields = json!({
            "strengths": [], "weaknesses": [], "recommendations": [],
            "reaches_result": reaches_result, "quality_percent": percent, "answer": null,
            "weakest_point": "w", "confidence_percent": 80,
        });
        desk.script_replies([reply_with_fields("It says what should be done.", &fields)]);
        let arguments = json!({ "content": "One should calculate it." });
        let output = desk.call_ok(REFLECT, arguments).await;
        assert_eq!(output["quality_before"], quality, "{reaches_result}");
    }
}

#[tokio::test]
async fn the_revised_text_is_found_below_its_heading() {
    let fields = json!({ "strengths": [], "quality_percent": 50, "confidence_percent": 70 });
    for (text, analysis, revised) in [
        (
            "Wrong sum.\n\n## Revised\n\n2 + 2 = 4.",
            "Wrong sum.",
            "2 + 2 = 4.",
        ),
        (
            "Wrong sum.\n**Revised:**\n2 + 2 = 4.",
            "Wrong sum.",
            "2 + 2 = 4.",
        ),
        (
            "Wrong sum.\n### REVISED VERSION\n2 + 2 = 4.\n\nSo 4.",
            "Wrong sum.",
            "2 + 2 = 4.\n\nSo 4.",
        ),
        (
            "## Revised\n2 + 2 = 4.",
            "The text was written anew.",
            "2 + 2 = 4.",
        ),
    ] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([reply_with_fields(text, &fields)]);
        desk.script_replies(comparison_replies(["B", "A"]));
        let output = desk
            .call_ok(REFLECT, json!({ "content": "2 + 2 = 5." }))
            .await;
        assert_eq!(output["content"], analysis, "{text}");
        assert_eq!(output["improved_reasoning"], revised, "{text}");
    }
    // A sentence with the word is no heading.
    for text in [
        "It should be revised.\nRevised texts are longer.",
        "Revised by whom?",
    ] {
        let desk = ReasoningTestRegistry::new();
        desk.script_replies([reply_with_fields(text, &fields)]);
        let output = desk
            .call_ok(REFLECT, json!({ "content": "2 + 2 = 5." }))
            .await;
        assert_eq!(output["content"], text);
        assert_eq!(output["improved_reasoning"], Value::Null, "{text}");
    }
}
