//! Properties that hold for every input.

use deliberate_command_language::{
    Arrow, CommandAnnotations, CommandStage, CommandStep, CommandTree, DeclaredArgument, Span,
    Spanned, StageKind, StepArgs, bind, quote, tokenize,
};
use proptest::prelude::*;
use serde_json::json;

use crate::parse_text;

/// Fragments that, joined, come close to every syntax rule.
fn any_piece() -> impl Strategy<Value = String> {
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

fn any_command_text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(any_piece(), 0..24)
        .prop_map(|pieces| pieces.concat())
        .boxed();
    prop_oneof![
        4 => pieces.clone(),
        4 => pieces.prop_map(|rest| format!(">>p {rest}")),
        1 => any::<String>(),
    ]
}

fn step_with_args(args: StepArgs) -> CommandStep {
    CommandStep {
        id: Spanned::new("p".to_owned(), Span::default()),
        marks: CommandAnnotations::default(),
        repeat: None,
        args,
    }
}

fn command_with_args(args: StepArgs) -> CommandTree {
    CommandTree {
        whole: CommandAnnotations::default(),
        stages: vec![
            CommandStage {
                arrow: Arrow::First,
                kind: StageKind::Group(vec![
                    step_with_args(args.clone()),
                    step_with_args(args.clone()),
                ]),
            },
            CommandStage {
                arrow: Arrow::Delegate,
                kind: StageKind::Conditional {
                    condition: Spanned::new("c".to_owned(), Span::default()),
                    then: vec![step_with_args(args.clone())],
                    otherwise: vec![step_with_args(args)],
                },
            },
        ],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_read_prints_to_text_that_reads_the_same(text in any_command_text()) {
        let parsed = parse_text(&text);
        if parsed.is_valid() {
            let printed = parsed.command.to_string();
            let again = parse_text(&printed);
            prop_assert_eq!(&again.diagnostics, &[], "{:?} printed as {:?}", &text, &printed);
            prop_assert_eq!(&again.command, &parsed.command, "{:?} printed as {:?}", &text, &printed);
            prop_assert_eq!(again.command.to_string(), printed);
        }
    }

    #[test]
    fn every_fault_can_be_drawn(text in any_command_text()) {
        let parsed = parse_text(&text);
        for fault in &parsed.diagnostics {
            prop_assert!(fault.span.start <= fault.span.end);
            prop_assert!(fault.span.end <= parsed.source.len());
            prop_assert!(fault.render(&parsed.source, "command").contains(fault.code.as_str()));
        }
    }

    #[test]
    fn tokens_cover_the_text(text in any_command_text()) {
        let mut end = 0;
        for token in tokenize(&text) {
            prop_assert_eq!(token.span.start, end);
            prop_assert!(token.span.end > end);
            prop_assert!(text.is_char_boundary(token.span.end));
            end = token.span.end;
        }
        prop_assert_eq!(end, text.len());
    }

    #[test]
    fn any_bytes_survive_as_a_quoted_value(value in prop_oneof![any::<String>(), any_command_text()]) {
        let built = command_with_args(StepArgs::from_pairs([("text", value.as_str()), ("other", "x")]));
        let parsed = parse_text(&built.to_string());
        prop_assert_eq!(&parsed.diagnostics, &[]);
        prop_assert_eq!(&parsed.command, &built);
        let declared = [DeclaredArgument { name: "text", ..DeclaredArgument::default() }, DeclaredArgument { name: "other", ..DeclaredArgument::default() }];
        for step in parsed.command.steps() {
            let bound = bind(&step.args, &declared, &|_| false);
            prop_assert_eq!(&bound.values[0].value, &json!(value));
        }
    }

    #[test]
    fn any_bytes_survive_as_plain_text(value in prop_oneof![any::<String>(), any_command_text()]) {
        let built = command_with_args(StepArgs::from_text(&value));
        let parsed = parse_text(&built.to_string());
        prop_assert_eq!(&parsed.command, &built);
        for step in parsed.command.steps() {
            let bound = bind(&step.args, &[], &|name| name == "input");
            prop_assert_eq!(&bound.extra[0].value, &json!(value));
        }
    }

    #[test]
    fn any_bytes_survive_in_json(value in prop_oneof![any::<String>(), any_command_text()]) {
        let object = json!({ "text": value, "n": [1, { "x": value }] });
        let built = command_with_args(StepArgs::from_json(object.as_object().unwrap().clone()));
        let parsed = parse_text(&built.to_string());
        prop_assert_eq!(&parsed.diagnostics, &[]);
        prop_assert_eq!(&parsed.command, &built);
    }

    #[test]
    fn any_bytes_survive_in_a_gate_and_a_condition(value in prop_oneof![any::<String>(), any_command_text()]) {
        let quoted = quote(&value);
        let parsed = parse_text(&format!(">>a :: {quoted} --> ? {quoted} : >>b :: verify:{quoted}"));
        prop_assert_eq!(&parsed.diagnostics, &[]);
        prop_assert_eq!(parse_text(&parsed.command.to_string()).command, parsed.command);
    }

    #[test]
    fn binding_never_fails_and_loses_no_text(text in any_command_text()) {
        let parsed = parse_text(&text);
        for step in parsed.command.steps() {
            let bound = bind(&step.args, &[DeclaredArgument { name: "k", ..DeclaredArgument::default() }], &|name| name == "n");
            let given = bound.values.len() + bound.extra.len() + bound.unknown.len() + bound.diagnostics.len();
            let empty = match &step.args {
                StepArgs::None => true,
                StepArgs::Json { value, .. } => value.is_empty(),
                StepArgs::Text { .. } => false,
            };
            prop_assert_eq!(given == 0, empty);
        }
    }
}
