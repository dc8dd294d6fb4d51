//! What holds for every text.

use deliberate_language::{
    Args, Arrow, Command, Declared, Marks, Span, Spanned, Stage, StageKind, Step, bind, quote,
    tokens,
};
use proptest::prelude::*;
use serde_json::json;

use crate::read;

/// Pieces that, put together, come near every rule.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        ">>",
        ">",
        "/",
        "-->",
        "==>",
        "+",
        "?",
        ":",
        "::",
        "@",
        "#",
        "%",
        "*",
        "\"",
        "'",
        "\\",
        ",",
        ";",
        "=",
        "{",
        "}",
        "(",
        ")",
        " ",
        "\n",
        "\t",
        "a",
        "b1",
        "x-y",
        "3",
        "0",
        "100",
        "999",
        "verify:",
        "clean",
        "lean",
        "style",
        ":fast",
        "max:2",
        "loop:true",
        "é",
        "→",
        "\u{a0}",
        "\u{0}",
        "\\\"",
        "\\'",
        " * 3",
        " + >>b",
        " --> >>c",
        " ? \"c\" : >>d",
        " : >>e",
        " :: g",
        " :: \"h\"",
        " :: 'i\\\"j'",
        " @F",
        " #s",
        " k:\"v\"",
        " k='v'",
        " {\"j\":\"-->\"}",
        ">>p ",
        " :: verify:\"t\"",
        " n : ",
        " \"",
        " '",
    ]);
    fixed.prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(piece(), 0..24)
        .prop_map(|pieces| pieces.concat())
        .boxed();
    prop_oneof![
        4 => pieces.clone(),
        4 => pieces.prop_map(|rest| format!(">>p {rest}")),
        1 => any::<String>(),
    ]
}

fn step(args: Args) -> Step {
    Step {
        id: Spanned::new("p".to_owned(), Span::default()),
        marks: Marks::default(),
        repeat: None,
        args,
    }
}

fn command(args: Args) -> Command {
    Command {
        whole: Marks::default(),
        stages: vec![
            Stage {
                arrow: Arrow::First,
                kind: StageKind::Group(vec![step(args.clone()), step(args.clone())]),
            },
            Stage {
                arrow: Arrow::Delegate,
                kind: StageKind::Conditional {
                    condition: Spanned::new("c".to_owned(), Span::default()),
                    then: vec![step(args.clone())],
                    otherwise: vec![step(args)],
                },
            },
        ],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_read_prints_to_text_that_reads_the_same(text in text()) {
        let parsed = read(&text);
        if parsed.is_sound() {
            let printed = parsed.command.to_string();
            let again = read(&printed);
            prop_assert_eq!(&again.diagnostics, &[], "{:?} printed as {:?}", &text, &printed);
            prop_assert_eq!(&again.command, &parsed.command, "{:?} printed as {:?}", &text, &printed);
            prop_assert_eq!(again.command.to_string(), printed);
        }
    }

    #[test]
    fn every_fault_can_be_drawn(text in text()) {
        let parsed = read(&text);
        for fault in &parsed.diagnostics {
            prop_assert!(fault.span.start <= fault.span.end);
            prop_assert!(fault.span.end <= parsed.source.len());
            prop_assert!(fault.render(&parsed.source, "command").contains(fault.code.as_str()));
        }
    }

    #[test]
    fn tokens_cover_the_text(text in text()) {
        let mut end = 0;
        for token in tokens(&text) {
            prop_assert_eq!(token.span.start, end);
            prop_assert!(token.span.end > end);
            prop_assert!(text.is_char_boundary(token.span.end));
            end = token.span.end;
        }
        prop_assert_eq!(end, text.len());
    }

    #[test]
    fn any_bytes_survive_as_a_quoted_value(value in prop_oneof![any::<String>(), text()]) {
        let built = command(Args::pairs([("text", value.as_str()), ("other", "x")]));
        let parsed = read(&built.to_string());
        prop_assert_eq!(&parsed.diagnostics, &[]);
        prop_assert_eq!(&parsed.command, &built);
        let declared = [Declared { name: "text", ..Declared::default() }, Declared { name: "other", ..Declared::default() }];
        for step in parsed.command.steps() {
            let bound = bind(&step.args, &declared, &|_| false);
            prop_assert_eq!(&bound.values[0].value, &json!(value));
        }
    }

    #[test]
    fn any_bytes_survive_as_plain_text(value in prop_oneof![any::<String>(), text()]) {
        let built = command(Args::quoted(&value));
        let parsed = read(&built.to_string());
        prop_assert_eq!(&parsed.command, &built);
        for step in parsed.command.steps() {
            let bound = bind(&step.args, &[], &|name| name == "input");
            prop_assert_eq!(&bound.extra[0].value, &json!(value));
        }
    }

    #[test]
    fn any_bytes_survive_in_json(value in prop_oneof![any::<String>(), text()]) {
        let object = json!({ "text": value, "n": [1, { "x": value }] });
        let built = command(Args::json(object.as_object().unwrap().clone()));
        let parsed = read(&built.to_string());
        prop_assert_eq!(&parsed.diagnostics, &[]);
        prop_assert_eq!(&parsed.command, &built);
    }

    #[test]
    fn any_bytes_survive_in_a_gate_and_a_condition(value in prop_oneof![any::<String>(), text()]) {
        let quoted = quote(&value);
        let parsed = read(&format!(">>a :: {quoted} --> ? {quoted} : >>b :: verify:{quoted}"));
        prop_assert_eq!(&parsed.diagnostics, &[]);
        prop_assert_eq!(read(&parsed.command.to_string()).command, parsed.command);
    }

    #[test]
    fn binding_never_fails_and_loses_no_text(text in text()) {
        let parsed = read(&text);
        for step in parsed.command.steps() {
            let bound = bind(&step.args, &[Declared { name: "k", ..Declared::default() }], &|name| name == "n");
            let given = bound.values.len() + bound.extra.len() + bound.unknown.len() + bound.diagnostics.len();
            let empty = match &step.args {
                Args::None => true,
                Args::Json { value, .. } => value.is_empty(),
                Args::Text { .. } => false,
            };
            prop_assert_eq!(given == 0, empty);
        }
    }
}
