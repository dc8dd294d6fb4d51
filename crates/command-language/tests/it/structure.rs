//! Tests of chains, groups, conditionals, repeats, wrappers, and the scope of annotations.

use deliberate_command_language::{
    Arrow, CommandLimits, CommandModifier, GateAnnotation, ShellVerify, ShellVerifyPreset,
    StageKind, StepArgs, parse,
};
use serde_json::json;

use crate::{parse_single_step, parse_text, parse_valid, raw_args, step_ids};

#[test]
fn a_lone_prompt_may_be_called_in_three_ways() {
    for text in [">>echo hi", "/echo hi", "echo hi", "  >> echo hi\n"] {
        let step = parse_single_step(text);
        assert_eq!(step.id.value, "echo");
        assert_eq!(raw_args(&step), "hi");
    }
}

#[test]
fn nested_ids_are_ids() {
    assert_eq!(
        parse_single_step(">>team/review_2/x-y").id.value,
        "team/review_2/x-y"
    );
}

#[test]
fn arrows_join_stages() {
    let command = parse_valid(">>a x --> >>b ==> c y");
    assert_eq!(step_ids(&command), [["a"], ["b"], ["c"]]);
    let arrows: Vec<_> = command.stages.iter().map(|stage| stage.arrow).collect();
    assert_eq!(arrows, [Arrow::First, Arrow::Chain, Arrow::Delegate]);
}

#[test]
fn an_arrow_needs_no_blanks() {
    let command = parse_valid(">>a @F-->>>b :: g--> >>c #s==>>>d x-->e");
    assert_eq!(step_ids(&command), [["a"], ["b"], ["c"], ["d"], ["e"]]);
    let first = command.steps().next().unwrap();
    assert_eq!(first.marks.framework.as_ref().unwrap().value, "F");
}

#[test]
fn a_plus_puts_steps_side_by_side() {
    let command = parse_valid(">>a one + >>b two +>>c + @X >>d --> >>e");
    assert_eq!(step_ids(&command), [vec!["a", "b", "c", "d"], vec!["e"]]);
    let fourth = command.steps().nth(3).unwrap();
    assert_eq!(fourth.marks.framework.as_ref().unwrap().value, "X");
}

#[test]
fn a_conditional_has_two_branches_and_may_lack_the_second() {
    let command = parse_valid(r#">>a --> ? "it is red" : >>b x + >>c : >>d y --> >>e"#);
    assert_eq!(
        step_ids(&command),
        [vec!["a"], vec!["b", "c", "d"], vec!["e"]]
    );
    let StageKind::Conditional {
        condition,
        then,
        otherwise,
    } = &command.stages[1].kind
    else {
        panic!("{command:?}");
    };
    assert_eq!(condition.value, "it is red");
    assert_eq!((then.len(), otherwise.len()), (2, 1));
    assert_eq!(raw_args(&otherwise[0]), "y");

    let command = parse_valid("? 'short' : >>b");
    assert_eq!(step_ids(&command), [["b"]]);
}

#[test]
fn a_conditional_right_behind_a_step_is_the_next_stage() {
    let short = parse_valid(r#">>a x ? "c" : >>b"#);
    assert_eq!(short, parse_valid(r#">>a x --> ? "c" : >>b"#));
    assert_eq!(short.stages[1].arrow, Arrow::Chain);
}

#[test]
fn marks_of_a_lone_step_hold_for_the_command_wherever_they_stand() {
    let command = parse_valid("%clean @CAGEERF >>p hi #analytical :: quick");
    let annotations = &command.whole;
    assert_eq!(
        annotations.modifier.as_ref().unwrap().value,
        CommandModifier::Clean
    );
    assert_eq!(annotations.framework.as_ref().unwrap().value, "CAGEERF");
    assert_eq!(annotations.style.as_ref().unwrap().value, "analytical");
    assert_eq!(
        annotations.gates[0].value,
        GateAnnotation::Word("quick".to_owned())
    );
    assert!(command.steps().all(|step| step.marks.is_empty()));
    assert_eq!(
        command,
        parse_valid("% clean >>p @CAGEERF #analytical hi :: quick")
    );
    assert_eq!(
        command,
        parse_valid(">>p hi :: quick %clean #analytical @CAGEERF")
    );
    assert_eq!(
        command,
        parse_valid("%clean :: quick #analytical >> @CAGEERF p hi")
    );
}

#[test]
fn marks_before_the_first_and_behind_the_last_step_hold_for_the_command() {
    let command = parse_valid("@A >>a x --> >>b y :: last #s");
    assert_eq!(command.whole.framework.as_ref().unwrap().value, "A");
    assert_eq!(command.whole.style.as_ref().unwrap().value, "s");
    assert_eq!(command.whole.gates.len(), 1);
    assert!(command.steps().all(|step| step.marks.is_empty()));
}

#[test]
fn marks_between_belong_to_their_step() {
    let command =
        parse_valid(r#">>a x #terse :: "short" --> %lean @B >>b y :: mid --> #plain >>c z"#);
    assert!(command.whole.is_empty());
    let steps: Vec<_> = command.steps().collect();
    assert_eq!(steps[0].marks.style.as_ref().unwrap().value, "terse");
    assert_eq!(steps[0].marks.gates.len(), 1);
    assert_eq!(
        steps[1].marks.modifier.as_ref().unwrap().value,
        CommandModifier::Lean
    );
    assert_eq!(steps[1].marks.framework.as_ref().unwrap().value, "B");
    assert_eq!(steps[1].marks.gates.len(), 1);
    assert_eq!(steps[2].marks.style.as_ref().unwrap().value, "plain");
}

#[test]
fn a_mark_inside_the_last_step_is_its_own() {
    let command = parse_valid(">>a --> >>b #s text");
    assert!(command.whole.is_empty());
    let last = command.steps().last().unwrap();
    assert_eq!(last.marks.style.as_ref().unwrap().value, "s");
}

#[test]
fn old_ways_to_write_a_style_are_read() {
    for text in ["#style(brief) >>p", "#style:brief >>p", "#style=brief >>p"] {
        assert_eq!(parse_valid(text).whole.style.unwrap().value, "brief");
    }
}

#[test]
fn criteria_are_split_at_quotes_alone() {
    let command = parse_valid(r#">>p :: "understand standards and handle errors, cite; x|y""#);
    let GateAnnotation::Criteria(criteria) = &command.whole.gates[0].value else {
        panic!("{command:?}");
    };
    assert_eq!(criteria.len(), 1);
    assert_eq!(
        criteria[0].value,
        "understand standards and handle errors, cite; x|y"
    );
    let command = parse_valid(r#">>p :: "one, two", 'three'; "four" :: "five""#);
    let counts: Vec<_> = command
        .whole
        .gates
        .iter()
        .map(|gate| match &gate.value {
            GateAnnotation::Criteria(criteria) => criteria.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(counts, [3, 1]);
}

#[test]
fn gates_have_names_and_verifications_have_options() {
    let command = parse_valid(
        r#">>p x :: tone:"be kind" :: verify:"npm test" :full max:5 timeout:60 loop:true"#,
    );
    assert_eq!(
        command.whole.gates[0].value,
        GateAnnotation::Named {
            name: "tone".to_owned(),
            text: "be kind".to_owned()
        }
    );
    let verify = ShellVerify {
        command: "npm test".to_owned(),
        preset: Some(ShellVerifyPreset::Full),
        max: Some(5),
        timeout: Some(60),
        again: Some(true),
    };
    assert_eq!(command.whole.gates[1].value, GateAnnotation::Verify(verify));
    let glued = parse_valid(r#">>p :: verify:"x":fast --> >>q"#);
    assert_eq!(glued.stages.len(), 2);
}

#[test]
fn a_repeat_stands_behind_the_id_or_at_the_end() {
    for text in [
        ">>p * 3 hi",
        ">>p hi * 3",
        ">>p*3 hi",
        ">>p hi *3",
        ">>p #s * 3 hi",
        ">>p hi * 3 :: good",
        ">>p hi :: good * 3",
    ] {
        let step = parse_single_step(text);
        assert_eq!(step.repeat.unwrap().value, 3, "{text}");
    }
    let command = parse_valid(">>p hi * 2 --> >>q + >>r x * 4");
    let repeats: Vec<_> = command
        .steps()
        .map(|step| step.repeat.as_ref().map(|repeat| repeat.value))
        .collect();
    assert_eq!(repeats, [Some(2), None, Some(4)]);
}

#[test]
fn repeats_unroll_in_a_row_or_side_by_side() {
    let stages = parse_valid(">>a x * 3 --> >>b * 2 + >>c ==> >>d * 2")
        .expand_repeats(&CommandLimits::default())
        .unwrap();
    let shape: Vec<_> = stages
        .iter()
        .map(|stage| match &stage.kind {
            StageKind::Group(steps) => (stage.arrow, steps.len()),
            StageKind::Conditional { .. } => unreachable!(),
        })
        .collect();
    assert_eq!(
        shape,
        [
            (Arrow::First, 1),
            (Arrow::Chain, 1),
            (Arrow::Chain, 1),
            (Arrow::Chain, 3),
            (Arrow::Delegate, 1),
            (Arrow::Chain, 1),
        ]
    );
}

#[test]
fn the_sum_is_checked_before_anything_is_unrolled() {
    let text = [">>a * 100"; 6].join(" --> ");
    let few = CommandLimits::default();
    let many = CommandLimits { steps: 1000, ..few };
    let command = parse(&text, &many);
    assert!(command.is_valid());
    assert_eq!(command.command.expand_repeats(&many).unwrap().len(), 600);
    let fault = command.command.expand_repeats(&few).unwrap_err();
    assert_eq!(fault.code.as_str(), "too-many-steps");
    assert_eq!(
        parse(&text, &few).diagnostics[0].code.as_str(),
        "too-many-steps"
    );
}

#[test]
fn a_wrapper_is_opened_twice_at_most_and_its_args_win() {
    let inner = json!({ "command": ">>p old:\"1\" --> >>q x", "args": { "n": 1 } });
    let step = parse_valid(&inner.to_string())
        .steps()
        .next()
        .unwrap()
        .clone();
    assert!(matches!(&step.args, StepArgs::Json { value, .. } if value["n"] == 1));

    let outer = json!({ "prompt": inner.to_string() });
    assert_eq!(
        parse_valid(&outer.to_string()),
        parse_valid(&inner.to_string())
    );

    let third = json!({ "command": outer.to_string() });
    assert!(!parse_text(&third.to_string()).is_valid());
}

#[test]
fn places_point_into_what_the_wrapper_held() {
    let parsed = parse_text(r#"{"command": ">>good --> >>../x"}"#);
    assert_eq!(parsed.source, ">>good --> >>../x");
    assert_eq!(parsed.diagnostics[0].span.slice(&parsed.source), ".");
}

#[test]
fn the_tree_can_be_written_as_json() {
    let written = serde_json::to_value(parse_valid("%lean >>p a:\"b\" :: \"c\"")).unwrap();
    assert_eq!(written["whole"]["modifier"]["value"], "lean");
    assert_eq!(
        written["stages"][0]["kind"]["group"][0]["args"]["text"]["items"][0]["pair"]["name"]["value"],
        "a"
    );
}

#[test]
fn a_style_begins_with_a_letter_in_the_old_forms_too() {
    for written in ["#style=3s", "#style:3s", "#style(3s)"] {
        let text = format!(">>a x {written}");
        let read = deliberate_command_language::parse(
            &text,
            &deliberate_command_language::CommandLimits::default(),
        );
        assert!(read.command.whole.style.is_none(), "{written}");
        let printed = read.command.to_string();
        let again = deliberate_command_language::parse(
            &printed,
            &deliberate_command_language::CommandLimits::default(),
        );
        assert_eq!(again.command, read.command, "{printed}");
    }
}

#[test]
fn a_condition_alone_is_not_sound() {
    for text in ["?\"\"", "?\"\"-->d", "? \"x\"", "? \"x\" :"] {
        let read = deliberate_command_language::parse(
            text,
            &deliberate_command_language::CommandLimits::default(),
        );
        assert!(!read.is_valid(), "{text}");
    }
}
