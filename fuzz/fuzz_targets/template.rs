//! Whatever text a prompt or a condition holds: no panic, and no more text than is allowed, however
//! many filters and loops it has. `scripts/fuzz` limits the memory.
//!
//! The limits of the engine are smaller than the default ones, so that the most costly input is
//! tried often, too.
#![no_main]

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::PromptFence;
use deliberate_prompts::{
    EngineLimits,
    model::TemplateSource,
    template::{ParsedCondition, TemplateRenderer, TemplateValues, find_includes},
};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

const FENCE: PromptFence = PromptFence::new(0x7f_3a2c, &[]);

const MAX_RENDERED_BYTES: usize = 64 << 10;

static RENDERER: LazyLock<TemplateRenderer> = LazyLock::new(|| {
    TemplateRenderer::new(&EngineLimits {
        rendered_bytes: MAX_RENDERED_BYTES,
        fuel: 20_000,
        ..EngineLimits::default()
    })
});

static VALUES: LazyLock<TemplateValues> = LazyLock::new(|| {
    let values = [
        (
            "text",
            json!("A line.\nAnother <b>line</b>, with {{ text }}."),
        ),
        ("list", json!([3, 1, 2, "x", null, [4, 5]])),
        (
            "items",
            json!([{ "name": "a", "size": 1 }, { "name": "b", "size": 2.5 }]),
        ),
        (
            "fields",
            json!({ "name": "n", "inner": { "deep": [true, false] } }),
        ),
        ("number", json!(7)),
        ("absent", json!(null)),
    ];
    let named = values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    named.collect()
});

fuzz_target!(|text: &str| {
    let source = TemplateSource {
        body: text.to_owned(),
        ..TemplateSource::default()
    };
    let _ = find_includes(text);
    let names = RENDERER.names_used(&source);
    match RENDERER.render(&source, "prompt", &VALUES, &FENCE) {
        Ok(rendered) => {
            assert!(rendered.len() <= MAX_RENDERED_BYTES, "{}", rendered.len());
            assert!(RENDERER.compile_check(&source, "prompt").is_none());
            assert!(names.iter().all(|name| !name.is_empty()));
        }
        Err(error) => assert!(error.line >= 1 && !error.to_string().is_empty()),
    }
    check_condition(text);
});

fn check_condition(text: &str) {
    let known: BTreeSet<String> = VALUES.keys().cloned().collect();
    if let Ok(ParsedCondition::Expression(expression)) = RENDERER.parse_condition(text, &known) {
        // What is an expression can be evaluated, or says why not.
        if let Err(error) = RENDERER.evaluate_bool(&expression, &VALUES) {
            assert!(!error.to_string().is_empty());
        }
        if let Ok(value) = RENDERER.evaluate(expression.as_str(), &VALUES) {
            // Characters are escaped, and every part has separators.
            assert!(value.to_string().len() <= 16 * MAX_RENDERED_BYTES);
        }
    }
}
