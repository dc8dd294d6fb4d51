//! Whatever text is fenced: no panic, one opening and one closing tag, nothing that still reads as a
//! tag, and text without brackets and hidden characters stays as it is.
#![no_main]

use deliberate_core::{PromptFence, disarm_tags};
use libfuzzer_sys::fuzz_target;

const TAGS: &[&str] = &["given", "passage", "answer"];

fuzz_target!(|text: &str| {
    let safe = disarm_tags(text, TAGS);
    assert_eq!(disarm_tags(&safe, TAGS), safe);
    let lower = safe.to_lowercase();
    for tag in TAGS {
        for (at, _) in lower.match_indices(&format!("</{tag}")) {
            let after = lower.get(at..).and_then(|it| it.chars().nth(tag.len() + 2));
            assert!(
                after.is_some_and(|it| it.is_alphanumeric() || it == '_'),
                "{safe:?}"
            );
        }
        assert!(!lower.contains(&format!("<{tag}-7f3a2c>")), "{safe:?}");
    }
    let plain = |it: char| it.is_ascii_graphic() && !"<&\\%".contains(it) || " \n".contains(it);
    if text.chars().all(plain) {
        assert_eq!(safe, text);
    }
    let wrapped = PromptFence::new(0x7f_3a2c, TAGS).wrap_with("given", &[("by", text)], text);
    assert_eq!(wrapped.matches("<given-7f3a2c").count(), 1, "{wrapped:?}");
    assert_eq!(wrapped.matches("</given-7f3a2c>").count(), 1, "{wrapped:?}");
    assert!(wrapped.ends_with("\n</given-7f3a2c>"));
});
