//! Tests of the shapes of the original server's pipes.

use serde_json::json;

use super::*;

#[test]
fn linear_and_backtracking_scores_become_percentages() {
    let original = json!({ "thought": "so", "confidence": 0.85, "metadata": {} });
    for purpose in ["linear", "backtracking"] {
        assert_eq!(
            normalize_original_reply(purpose, original.clone()),
            json!({ "thought": "so", "confidence_percent": 85, "metadata": {} })
        );
    }
}

#[test]
fn tree_branches_become_approaches_and_the_index_a_number() {
    let original = json!({
        "branches": [
            { "thought": "a", "confidence": 0.5, "rationale": "cheap" },
            { "thought": "b", "confidence": 0.9, "rationale": "safe" },
        ],
        "recommended_branch": 1,
        "metadata": {},
    });
    assert_eq!(
        normalize_original_reply("tree", original),
        json!({
            "thought": "safe",
            "approaches": [
                { "thought": "a", "confidence_percent": 50, "rationale": "cheap" },
                { "thought": "b", "confidence_percent": 90, "rationale": "safe" },
            ],
            "recommended": 2,
            "metadata": {},
        })
    );
}

#[test]
fn divergent_perspectives_have_content_and_percentages() {
    let original = json!({
        "perspectives": [{
            "thought": "a", "novelty": 0.8, "viability": 1,
            "assumptions_challenged": ["x", "y"],
        }],
        "synthesis": "both",
    });
    assert_eq!(
        normalize_original_reply("divergent", original),
        json!({
            "perspectives": [{
                "content": "a", "novelty_percent": 80, "viability_percent": 100,
                "assumption_challenged": "x; y",
            }],
            "synthesis": "both",
        })
    );
}

#[test]
fn reflections_have_an_improved_text_and_serve_evaluations() {
    for improved in [
        json!("better"),
        json!({ "content": "better", "confidence": 0.9 }),
    ] {
        let original = json!({
            "analysis": "sound", "strengths": ["s"], "weaknesses": ["w"],
            "recommendations": ["r"], "confidence": 0.8,
            "quality_score": 0.65, "improved_thought": improved,
        });
        assert_eq!(
            normalize_original_reply("reflection", original),
            json!({
                "analysis": "sound", "assessment": "sound", "strengths": ["s"],
                "weaknesses": ["w"], "recommendations": ["r"], "confidence_percent": 80,
                "quality_percent": 65, "improved_reasoning": "better",
            })
        );
    }
}

#[test]
fn the_routers_mode_and_complexity_are_found() {
    let original = json!({
        "recommended_mode": "tree", "confidence": 0.8, "rationale": "options",
        "complexity": 0.5,
        "alternative_modes": [{ "mode": "linear", "confidence": 0.4, "rationale": "short" }],
    });
    assert_eq!(
        normalize_original_reply("auto", original),
        json!({
            "mode": "tree", "confidence_percent": 80, "rationale": "options",
            "complexity_percent": 50,
            "alternatives": [
                { "mode": "linear", "confidence_percent": 40, "rationale": "short" },
            ],
        })
    );
}

#[test]
fn the_first_continuation_stands_for_one_and_all_stay() {
    let original = json!({
        "continuations": [
            { "thought": "a", "confidence": 0.8, "novelty": 0.7, "rationale": "x" },
            { "thought": "b", "confidence": 0.6, "novelty": 0.2, "rationale": "y" },
        ],
        "metadata": {},
    });
    let first = json!({
        "thought": "a", "confidence_percent": 80, "novelty_percent": 70, "rationale": "x",
    });
    let second = json!({
        "thought": "b", "confidence_percent": 60, "novelty_percent": 20, "rationale": "y",
    });
    assert_eq!(
        normalize_original_reply("got_generate", original),
        json!({
            "thought": "a", "confidence_percent": 80, "novelty_percent": 70,
            "rationale": "x", "continuations": [first, second], "metadata": {},
        })
    );
}

#[test]
fn the_parts_of_a_score_are_lifted() {
    let original = json!({
        "overall_score": 0.8,
        "breakdown": { "relevance": 0.8, "validity": 0.7, "depth": 0.6, "novelty": 0.5 },
        "is_terminal_candidate": false,
        "rationale": "why",
    });
    let reply = normalize_original_reply("got_score", original);
    let measures = ["relevance", "validity", "depth", "novelty"];
    let found = measures.map(|name| reply[format!("{name}_percent")].clone());
    assert_eq!(found, [json!(80), json!(70), json!(60), json!(50)]);
    assert_eq!(reply["rationale"], "why");
}

#[test]
fn merged_and_refined_thoughts_are_found() {
    let merged = json!({
        "aggregated_thought": "both", "confidence": 0.8, "sources_used": ["1", "2"],
        "synthesis_approach": "overlap", "conflicts_resolved": ["c"],
    });
    assert_eq!(
        normalize_original_reply("got_aggregate", merged),
        json!({
            "thought": "both", "confidence_percent": 80, "sources_used": ["1", "2"],
            "approach": "overlap", "conflicts_resolved": ["c"],
        })
    );
    let refined = json!({
        "refined_thought": "better", "confidence": 0.8, "improvements_made": ["i"],
        "aspects_unchanged": ["u"], "quality_delta": 0.1,
    });
    assert_eq!(
        normalize_original_reply("got_refine", refined),
        json!({
            "thought": "better", "confidence_percent": 80, "improvements": ["i"],
            "aspects_unchanged": ["u"], "quality_delta": 0.1,
        })
    );
}

#[test]
fn requested_shapes_other_purposes_and_nonsense_stay() {
    let own = json!({
        "thought": "so", "confidence_percent": 1, "confidence": 0.9,
        "approaches": [{ "name": "a", "thought": "b", "confidence_percent": 2 }],
        "recommended": 1, "recommended_branch": 0,
    });
    assert_eq!(normalize_original_reply("tree", own.clone()), own);
    let foreign = json!({ "confidence": 0.5 });
    assert_eq!(normalize_original_reply("answer", foreign.clone()), foreign);
    for nonsense in [
        json!("text"),
        json!([1]),
        json!({ "branches": "none", "recommended_branch": -1, "confidence": "very" }),
    ] {
        let kept = normalize_original_reply("tree", nonsense.clone());
        assert!(kept.get("recommended").is_none(), "{kept}");
        assert!(kept.get("confidence_percent").is_none(), "{kept}");
    }
}

#[test]
fn scores_in_any_notation_become_percentages() {
    for (score, percent) in [
        (json!(0), json!(0)),
        (json!(1), json!(100)),
        (json!(0.005), json!(1)),
        (json!("0.7"), json!(70)),
        (json!(85), json!(85)),
        (json!(850), json!(100)),
    ] {
        let reply = normalize_original_reply("linear", json!({ "confidence": score }));
        assert_eq!(reply["confidence_percent"], percent, "{score}");
    }
}
