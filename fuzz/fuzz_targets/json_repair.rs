//! Whatever a model writes: no panic, and a strict JSON object comes back unchanged.
#![no_main]

use deliberate_llm::{coerce, read_json};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    let read = read_json(text);
    if let Ok(strict @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
        assert_eq!(read, Ok(strict));
    }
    if let Ok(value) = read_json(text) {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "integer", "minimum": 0, "maximum": 100 },
                "b": { "type": "string", "maxLength": 5 },
                "c": { "type": "array", "items": { "type": "number" }, "maxItems": 3 },
                "d": { "type": "boolean" },
            },
        });
        let fitted = coerce(value, &schema);
        // Fitting what fits changes nothing.
        assert_eq!(coerce(fitted.clone(), &schema), fitted);
    }
});
