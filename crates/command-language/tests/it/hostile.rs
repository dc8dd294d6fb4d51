//! A megabyte of any input is parsed to the end. No clock is read: a scan with unbounded lookahead
//! or lookbehind would take hours here, not seconds.

use std::fmt::Write as _;

use deliberate_command_language::{DeclaredArgument, bind, tokenize};

use crate::parse_text;

const MEGABYTE: usize = 1 << 20;
/// Large enough that a quadratic scan would not end, small enough for this many inputs.
const LARGE: usize = 1 << 15;

fn repeat_to_size(start: &str, piece: &str, size: usize) -> String {
    let mut text = start.to_owned();
    while text.len() < size {
        text.push_str(piece);
    }
    text
}

#[test]
fn much_of_any_sign_is_read_in_one_pass() {
    let pieces = [
        "\"",
        "'",
        ">>",
        ">",
        "-->",
        " --> ",
        "==>",
        "::",
        " :: ",
        " ? ",
        " ? \"",
        " ?\"a\"",
        " + ",
        " + >>",
        " + @a",
        " * 3",
        " * ",
        "@",
        " @a",
        " #a",
        "%",
        " %clean",
        "a:",
        " a:",
        " a : ",
        " a=\"",
        " a='",
        "{",
        " {\"",
        "\\",
        "\\\"",
        " \"\\",
        " '\"",
        "/",
        "é",
        "\u{0}",
        "\n",
        " :: \"a\",",
        " :: verify:\"a\" max:1",
        " --> >>a {\"",
        " : >>b",
        ">>a --> ",
        ">>a + ",
        " ? \"c\" : >>b",
    ];
    for piece in pieces {
        for start in ["", ">>p ", "? \"c\" : >>p "] {
            let text = repeat_to_size(start, piece, LARGE);
            let parsed = parse_text(&text);
            assert!(parsed.diagnostics.len() <= 20, "{start}{piece}");
            for fault in parsed.diagnostics.iter().take(2) {
                let drawn = fault.render(&parsed.source, "command");
                assert!(drawn.len() < 3000, "{start}{piece}: {}", drawn.len());
            }
        }
    }
}

#[test]
fn a_megabyte_of_one_operator_ends_in_an_answer() {
    for piece in ["\"", ">>", "-->", "::"] {
        for start in ["", ">>p "] {
            let text = repeat_to_size(start, piece, MEGABYTE);
            assert!(parse_text(&text).diagnostics.len() <= 20, "{start}{piece}");
        }
    }
}

#[test]
fn very_many_names_bind() {
    let mut text = String::from(">>p");
    for number in 0..20_000 {
        write!(text, " n{number}:\"\"").unwrap();
    }
    let parsed = parse_text(&text);
    let step = parsed.command.steps().next().unwrap();
    let declared = [DeclaredArgument::default()];
    let bound = bind(&step.args, &declared, &|_| false);
    assert_eq!(bound.unknown.len(), 20_000);
    let bound = bind(
        &parse_text(&repeat_to_size(">>p", " a:\"\"", LARGE))
            .command
            .steps()
            .next()
            .unwrap()
            .args,
        &declared,
        &|_| false,
    );
    assert!(bound.diagnostics.len() <= 20);
}

#[test]
fn very_many_unknown_pairs_are_not_all_compared() {
    let text = repeat_to_size(">>p k:1", " nameless:x", LARGE);
    let declared = [DeclaredArgument {
        name: "k",
        ..DeclaredArgument::default()
    }];
    let parsed = parse_text(&text);
    let step = parsed.command.steps().next().unwrap();
    let bound = bind(&step.args, &declared, &|_| false);
    assert_eq!((bound.values.len(), bound.doubtful.len()), (1, 20));
}

#[test]
fn deep_json_is_text_and_no_overflow() {
    let parsed = parse_text(&format!(">>p {}", "{\"a\":".repeat(100_000)));
    assert!(parsed.is_valid());
}

#[test]
fn tokens_of_a_megabyte_cover_it() {
    let text = repeat_to_size(">>p ", " a:\"b\" --> >>q x ", MEGABYTE);
    let end = tokenize(&text).iter().fold(0, |end, token| {
        assert_eq!(token.span.start, end);
        token.span.end
    });
    assert_eq!(end, text.len());
}
