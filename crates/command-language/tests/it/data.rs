//! Data that looks like an operator is preserved byte for byte.

use deliberate_command_language::{ArgumentItem, StepArgs};

use crate::{parse_single_step, parse_text, parse_valid, raw_args, step_ids};

/// Returns the value of the only pair, or an empty string if there is anything else.
fn single_pair_value(text: &str) -> String {
    let pairs = match parse_single_step(text).args {
        StepArgs::Text { items, .. } => items,
        StepArgs::None | StepArgs::Json { .. } => Vec::new(),
    };
    match pairs.as_slice() {
        [ArgumentItem::Pair { value, .. }] => value.value.clone(),
        _ => String::new(),
    }
}

#[test]
fn signs_and_questions_in_quotes_are_data() {
    assert_eq!(single_pair_value(r#">>echo text:"2+2""#), "2+2");
    assert_eq!(single_pair_value(r#">>echo text:"what?""#), "what?");
    assert_eq!(
        single_pair_value(r#">>echo text:"a + >>b ? 'c' : >>d""#),
        "a + >>b ? 'c' : >>d"
    );
}

#[test]
fn operators_in_either_quote_are_data() {
    for data in [
        "a --> b", "x ==> y", " @x", " #x", " :: x", " = x", " %clean",
    ] {
        assert_eq!(single_pair_value(&format!(">>echo text:'{data}'")), data);
        assert_eq!(single_pair_value(&format!(">>echo text:\"{data}\"")), data);
    }
    let step = parse_single_step(r##">>echo 'a --> b' "x + y?" "#tag @home""##);
    assert_eq!(raw_args(&step), r##"'a --> b' "x + y?" "#tag @home""##);
}

#[test]
fn a_product_is_not_a_repeat() {
    assert_eq!(
        single_pair_value(r#">>echo text:"2 * 3 is six""#),
        "2 * 3 is six"
    );
    let step = parse_single_step(">>echo 2 * 3 is six");
    assert_eq!(raw_args(&step), "2 * 3 is six");
    assert_eq!(step.repeat, None);
    let step = parse_single_step(">>echo 2 * 3 is six * 2");
    assert_eq!(raw_args(&step), "2 * 3 is six");
    assert_eq!(step.repeat.unwrap().value, 2);
}

#[test]
fn json_keeps_every_byte_and_type() {
    let step = parse_single_step(
        r#">>echo {"text":"<b> a --> b :: @x \" </b>","n":1,"l":[true]} :: good"#,
    );
    let StepArgs::Json { value, .. } = &step.args else {
        panic!("{step:?}");
    };
    assert_eq!(value["text"], "<b> a --> b :: @x \" </b>");
    assert_eq!(value["n"], 1);
    assert_eq!(value["l"][0], true);
}

#[test]
fn braces_that_are_no_json_are_text() {
    for text in [
        "{{ x }} and $& too",
        "{not json}",
        "{\"a\":1} and more --",
        "{\"a\":",
    ] {
        let step = parse_single_step(&format!(">>echo {text}"));
        assert_eq!(raw_args(&step), text);
        assert!(matches!(step.args, StepArgs::Text { .. }));
    }
}

#[test]
fn templates_and_patterns_in_values_are_data() {
    let hostile = "{{range.constructor('x')()}} $& $1 \\d+ {% raw %}";
    assert_eq!(
        single_pair_value(&format!(">>echo text:\"{hostile}\"")),
        hostile
    );
}

#[test]
fn marks_inside_words_are_data() {
    for text in [
        "write me@home.org",
        "see a#b and c::d",
        "at @home.org or #1 or # head",
        "hi @home, #tag.",
        "100%clean and %s %d",
        "1+1 and C++ + more",
        "what ? yes : no",
        "really ? \"yes\" maybe",
        "note : see",
        "a - -> b = c > d >> e",
        "http://x.org/?a=b&c=d",
        "/etc/passwd and ../x",
    ] {
        assert_eq!(
            raw_args(&parse_single_step(&format!(">>echo {text}"))),
            text
        );
    }
}

#[test]
fn marks_that_are_words_of_their_own_leave_the_text() {
    let step = parse_single_step(">>p fix  this #analytical  and   that");
    assert_eq!(raw_args(&step), "fix  this and   that");
}

#[test]
fn quotes_open_at_the_start_of_a_word_only() {
    for text in [
        "don't stop",
        "a 5\" pipe",
        "say 'tis",
        "rock 'n roll",
        "\"open",
    ] {
        assert_eq!(
            raw_args(&parse_single_step(&format!(">>echo {text}"))),
            text
        );
    }
    let command = parse_valid(">>a don't --> >>b can't");
    assert_eq!(step_ids(&command), [["a"], ["b"]]);
}

#[test]
fn escapes_are_for_quotes_backslashes_lines_and_tabs() {
    assert_eq!(
        single_pair_value(r#">>p a:"x\"y\\z\n\t\d""#),
        "x\"y\\z\n\t\\d"
    );
    assert_eq!(single_pair_value(r#">>p a:'it\'s "so"'"#), "it's \"so\"");
}

#[test]
fn addresses_are_words() {
    let step = parse_single_step(">>p read https://a.b/c?d=e and std::mem");
    let StepArgs::Text { items, .. } = &step.args else {
        panic!("{step:?}");
    };
    assert!(
        items
            .iter()
            .all(|item| matches!(item, ArgumentItem::Word(_)))
    );
}

#[test]
fn every_item_has_its_place() {
    let text = ">>p first lang:\"rust\" #s note = 'x y'";
    let step = parse_single_step(text);
    let StepArgs::Text { raw, items } = &step.args else {
        panic!("{step:?}");
    };
    assert_eq!(raw.value, "first lang:\"rust\" note = 'x y'");
    let places: Vec<_> = items
        .iter()
        .flat_map(|item| match item {
            ArgumentItem::Word(word) => vec![word.span.slice(text)],
            ArgumentItem::Pair { name, value, .. } => {
                vec![name.span.slice(text), value.span.slice(text)]
            }
        })
        .collect();
    assert_eq!(places, ["first", "lang", "\"rust\"", "note", "'x y'"]);
}

#[test]
fn text_that_would_turn_into_an_operator_is_refused_not_guessed() {
    let parsed = parse_text(">>a x + #s >>b");
    // An annotation between `+` and `>>` belongs to the step after it.
    assert_eq!(step_ids(&parsed.command), [["a", "b"]]);
    let parsed = parse_text(">>a x * #s 3");
    assert_eq!(parsed.diagnostics[0].code.as_str(), "split-text");
}
