//! Tests of argument binding.

use deliberate_command_language::{
    BoundArguments, DeclaredArgument, GivenArgument, StepArgs, bind,
};
use serde_json::{Value, json};

use crate::{parse_single_step, parse_text};

fn declare_arguments(names: &[&'static str]) -> Vec<DeclaredArgument<'static>> {
    names
        .iter()
        .map(|name| DeclaredArgument {
            name,
            ..DeclaredArgument::default()
        })
        .collect()
}

fn bind_command(text: &str, names: &[&'static str]) -> BoundArguments {
    bind(
        &parse_single_step(text).args,
        &declare_arguments(names),
        &|name| name == "used",
    )
}

fn name_value_pairs(arguments: &[GivenArgument]) -> Vec<(&str, Value)> {
    arguments
        .iter()
        .map(|argument| (argument.name.as_str(), argument.value.clone()))
        .collect()
}

#[test]
fn plain_text_goes_to_the_only_argument() {
    let bound = bind_command(">>p what is 2+2? see foo:bar", &["zeta"]);
    assert_eq!(
        name_value_pairs(&bound.values),
        [("zeta", json!("what is 2+2? see foo:bar"))]
    );
}

#[test]
fn plain_text_finds_the_likeliest_argument() {
    let text = ">>p some words";
    let target = |names: &[&'static str]| bind_command(text, names).values[0].name.clone();
    assert_eq!(target(&["lang", "query", "user_text"]), "user_text");
    assert_eq!(target(&["lang", "file_name", "MyTopic"]), "MyTopic");
    assert_eq!(target(&["lang", "other"]), "lang");
    let mut arguments = declare_arguments(&["lang", "other", "text"]);
    arguments[1].required = true;
    arguments.pop();
    let step = parse_single_step(text);
    let bound = bind(&step.args, &arguments, &|_| false);
    assert_eq!(bound.values[0].name, "other");
    arguments[0].takes_unnamed_text = true;
    let bound = bind(&step.args, &arguments, &|_| false);
    assert_eq!(bound.values[0].name, "lang");
}

#[test]
fn plain_text_without_arguments_is_the_input_if_that_is_used() {
    let text = ">>p \"quoted --> text\"";
    let used = bind(&parse_single_step(text).args, &[], &|name| name == "input");
    assert_eq!(
        name_value_pairs(&used.extra),
        [("input", json!("quoted --> text"))]
    );
    assert!(used.diagnostics.is_empty());
    let unused = bind_command(text, &[]);
    assert_eq!(unused.extra, []);
    let fault = &unused.diagnostics[0];
    assert_eq!(fault.code.as_str(), "leftover-text");
    assert!(fault.render(text, "command").contains("takes no arguments"));
}

#[test]
fn a_misspelt_name_lands_in_no_other_argument() {
    let text = ">>two x:\"1\" yy:2";
    let two = bind_command(text, &["x", "y"]);
    assert_eq!(name_value_pairs(&two.values), [("x", json!("1"))]);
    assert_eq!(name_value_pairs(&two.unknown), [("yy", json!("2"))]);
    assert_eq!(two.unknown[0].span.slice(text), "2");
    let bare = bind_command(
        ">>p content:some words lnaguage:rust and c",
        &["content", "language"],
    );
    assert_eq!(
        name_value_pairs(&bare.values),
        [("content", json!("some words"))]
    );
    assert_eq!(
        name_value_pairs(&bare.unknown),
        [("lnaguage", json!("rust and c"))]
    );
    assert_eq!(bare.doubtful, []);
}

#[test]
fn a_pair_that_is_like_no_argument_stays_text_and_is_told() {
    let text = ">>a text:1 unknown:2";
    let bound = bind_command(text, &["text"]);
    assert_eq!(
        name_value_pairs(&bound.values),
        [("text", json!("1 unknown:2"))]
    );
    assert_eq!(name_value_pairs(&bound.doubtful), [("unknown", json!("2"))]);
    assert_eq!(bound.doubtful[0].span.slice(text), "2");
    assert_eq!(bound.unknown, []);
}

#[test]
fn times_addresses_and_paths_are_never_taken_for_arguments() {
    for words in ["at 12:30", "see https://example.org/a?b=c", "in C:\\dir"] {
        let bound = bind_command(&format!(">>p http:{words}"), &["http", "x"]);
        assert_eq!(name_value_pairs(&bound.values), [("http", json!(words))]);
        assert_eq!((bound.unknown, bound.doubtful), (vec![], vec![]), "{words}");
    }
}

#[test]
fn pairs_bind_in_every_quote_and_bare() {
    let bound = bind_command(
        r#">>p a:"one two" b='three' c:four five d = "six" used:seven"#,
        &["a", "b", "c", "d"],
    );
    assert_eq!(
        name_value_pairs(&bound.values),
        [
            ("a", json!("one two")),
            ("b", json!("three")),
            ("c", json!("four five")),
            ("d", json!("six")),
        ]
    );
    assert_eq!(name_value_pairs(&bound.extra), [("used", json!("seven"))]);
}

#[test]
fn an_unknown_bare_pair_is_part_of_the_text_before_it() {
    let bound = bind_command(
        ">>p note: see  foo:bar at 10:30 lang:rust",
        &["note", "lang"],
    );
    assert_eq!(
        name_value_pairs(&bound.values),
        [
            ("note", json!("see  foo:bar at 10:30")),
            ("lang", json!("rust")),
        ]
    );
    assert!(bound.unknown.is_empty());
    assert_eq!(
        name_value_pairs(&bound.doubtful),
        [("foo", json!("bar at"))]
    );
}

#[test]
fn an_unknown_quoted_pair_is_told_with_its_place() {
    let text = ">>p a:\"x\" colour:\"red\"";
    let bound = bind_command(text, &["a"]);
    assert_eq!(name_value_pairs(&bound.unknown), [("colour", json!("red"))]);
    assert_eq!(bound.unknown[0].span.slice(text), "\"red\"");
}

#[test]
fn words_beside_pairs_go_to_the_plain_argument() {
    let bound = bind_command(">>p review this lang:\"rust\" now", &["lang", "text"]);
    assert_eq!(
        name_value_pairs(&bound.values),
        [("lang", json!("rust")), ("text", json!("review this now"))]
    );
}

#[test]
fn words_with_no_argument_left_are_a_fault_and_not_lost() {
    let text = ">>p text:\"x\" more of it";
    let bound = bind_command(text, &["text"]);
    assert_eq!(bound.diagnostics[0].code.as_str(), "leftover-text");
    assert_eq!(bound.diagnostics[0].span.slice(text), "more of it");
}

#[test]
fn json_binds_as_it_is() {
    let bound = bind_command(
        r#">>p {"a":"<b>","n":1.5,"o":{"x":[null]},"used":true,"z":0}"#,
        &["a", "n", "o"],
    );
    assert_eq!(
        name_value_pairs(&bound.values),
        [
            ("a", json!("<b>")),
            ("n", json!(1.5)),
            ("o", json!({ "x": [null] })),
        ]
    );
    assert_eq!(name_value_pairs(&bound.extra), [("used", json!(true))]);
    assert_eq!(name_value_pairs(&bound.unknown), [("z", json!(0))]);
}

#[test]
fn a_name_given_twice_is_shown_in_both_places() {
    let text = ">>p a:\"one\" a:\"two\"";
    let bound = bind_command(text, &["a"]);
    assert_eq!(name_value_pairs(&bound.values), [("a", json!("one"))]);
    insta::assert_snapshot!(bound.diagnostics[0].render(text, "command"));
}

#[test]
fn nothing_binds_nothing() {
    assert_eq!(bind_command(">>p", &["a"]), BoundArguments::default());
    assert_eq!(
        bind(&StepArgs::None, &[], &|_| true),
        BoundArguments::default()
    );
}

#[test]
fn an_empty_value_is_a_value() {
    let bound = bind_command(">>p a:\"\" b:", &["a", "b"]);
    assert_eq!(
        name_value_pairs(&bound.values),
        [("a", json!("")), ("b", json!(""))]
    );
}

#[test]
fn a_value_of_only_the_name_before_an_unknown_pair_keeps_it() {
    assert!(parse_text(">>p time: 10:30").is_valid());
    let bound = bind_command(">>p time: 10:30", &["time"]);
    assert_eq!(name_value_pairs(&bound.values), [("time", json!("10:30"))]);
}
