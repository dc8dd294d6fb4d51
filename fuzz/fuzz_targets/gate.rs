//! Whatever gates a call brings and whatever answer is checked against them: no panic, a result for
//! every criterion, and texts within their budget. `scripts/fuzz` limits time and memory.
//!
//! The first line of an input is one gate or a list of them, the rest the answer, which is read as a
//! verdict, too.
#![no_main]

use std::sync::LazyLock;

use deliberate_prompts::{
    gate::{
        CheckContext, CheckOutcome, GateParameter, GateSources, GateVerdict, JudgedBy,
        apply_verdict, check_all, decide_review, render_guidance, render_review, select_gates,
    },
    library::PromptLibrary,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const MAX_TEXT_CHARS: usize = 2_000;

static LIBRARY: LazyLock<PromptLibrary> = LazyLock::new(PromptLibrary::default);

fuzz_target!(|text: &str| {
    let (definition, answer) = text.split_once('\n').unwrap_or((text, ""));
    let given = match serde_json::from_str(definition) {
        Ok(Value::Array(several)) => several,
        Ok(one) => vec![one],
        Err(_) => vec![Value::from(definition)],
    };
    let parameter: Result<Vec<_>, _> = given.into_iter().map(GateParameter::try_from).collect();
    let Ok(parameter) = parameter else { return };
    let sources = GateSources {
        parameter: &parameter,
        ..GateSources::empty(&LIBRARY)
    };
    let Ok(selection) = select_gates(&sources) else {
        return;
    };
    let gates = selection.gates;
    assert!(render_guidance(&gates, MAX_TEXT_CHARS).chars().count() <= MAX_TEXT_CHARS);

    let results = check_all(&gates, answer, &CheckContext::default());
    assert_eq!(results.len(), gates.len());
    let mut number = 0;
    for (result, gate) in results.iter().zip(&gates) {
        assert_eq!(result.criteria.len(), gate.gate.criteria.len());
        for criterion in &result.criteria {
            number += 1;
            assert_eq!(criterion.number, number);
            // What only a judge can tell is never passed by code.
            assert!(!criterion.judgement || criterion.outcome == CheckOutcome::CannotTell);
        }
    }
    let review = decide_review(&results, 1, None);
    let shown = render_review(&results, &review, "run", 1, MAX_TEXT_CHARS);
    assert!(shown.chars().count() <= MAX_TEXT_CHARS, "{shown}");
    let verdict = serde_json::from_str(answer).unwrap_or_else(|_| Value::from(answer));
    if let Ok(verdict) = GateVerdict::parse(&verdict) {
        let _ = apply_verdict(&verdict, results, JudgedBy::Server);
    }
});
