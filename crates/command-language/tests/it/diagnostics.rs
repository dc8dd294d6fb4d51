//! Every diagnostic, rendered at its location.

use deliberate_command_language::{Span, unknown_name};

use crate::parse_text;

/// Renders all diagnostics of a command.
fn render_diagnostics(text: &str) -> String {
    let parsed = parse_text(text);
    assert!(!parsed.is_valid(), "{text}");
    let drawn: Vec<_> = parsed
        .diagnostics
        .iter()
        .map(|fault| fault.render(&parsed.source, "command"))
        .collect();
    drawn.join("\n\n")
}

macro_rules! diagnostic_snapshots {
    ($($name:ident: $text:expr),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(render_diagnostics($text));
            }
        )+
    };
}

diagnostic_snapshots! {
    an_empty_command: "",
    a_blank_command: "  \n ",
    a_single_angle: ">p hi",
    an_unknown_modifier: "%claen >>p",
    an_unknown_modifier_like_none: "%foo >>p",
    a_second_modifier: "%clean %lean >>p",
    a_second_modifier_behind: "%clean >>p hi %lean",
    a_second_framework: "@A @B >>p",
    nothing_before_an_arrow: "--> >>p",
    nothing_after_an_arrow: ">>a -->",
    nothing_between_arrows: ">>a --> ==> >>b",
    nothing_before_a_plus: "+ >>a",
    only_marks: "@CAGEERF #brief",
    a_repeat_of_none: ">>p hi * 0",
    a_repeat_of_far_too_many: ">>p * 100000",
    a_repeat_beyond_every_number: ">>p * 99999999999999999999999",
    two_repeats: ">>p 2 * 3 * 4",
    an_id_that_climbs: ">>../x",
    an_id_with_an_empty_part: ">>a//b",
    an_id_with_a_stranger: ">>naïve hi",
    an_id_glued_to_a_gate: ">>p:: \"x\"",
    no_id_at_all: ">>",
    a_quote_never_closed: ">>p text:\"abc --> >>q",
    a_gate_never_closed: ">>p :: \"abc",
    a_condition_never_closed: ">>p ? \"abc : >>q",
    a_gate_without_operand: ">>p hi ::",
    a_gate_with_half_a_list: ">>p :: \"a\", b",
    a_gate_with_bare_words: ">>p :: a,b",
    a_named_gate_without_text: ">>p :: tone: kind",
    an_unknown_option_of_verify: ">>p :: verify:\"x\" :fats",
    a_bad_number_for_verify: ">>p :: verify:\"x\" max:many",
    a_conditional_without_target: ">>a ? \"c\" :",
    a_conditional_without_colon: "? \"c\" >>b",
    a_conditional_without_condition: "? >>b",
    json_that_breaks_off: "{\"command\": \">>p\"",
    json_without_a_command: "{\"text\": 1}",
    json_with_bad_args: "{\"command\": \">>p\", \"args\": [1]}",
    text_that_joins_to_an_operator: ">>a x * #s 3",
    several_lines: ">>a one\n--> >>b two\n--> >>../c three\n--> >>d",
    several_faults: "%foo >>a --> >>b * 0 --> >>c//d",
}

#[test]
fn too_many_steps() {
    insta::assert_snapshot!(render_diagnostics(&[">>a * 100"; 9].join(" --> ")));
}

#[test]
fn a_long_command_is_shown_around_the_place_only() {
    let long = "word ".repeat(50_000);
    let drawn = render_diagnostics(&format!(">>a {long} --> >>b//c {long}"));
    insta::assert_snapshot!(drawn);
}

#[test]
fn an_unknown_name_finds_its_nearest() {
    let text = ">>ecoh hi";
    let known = ["echo", "review", "summary"];
    let fault = unknown_name("prompt", "ecoh", Span::new(2, 6), known);
    insta::assert_snapshot!(fault.render(text, "command"));
    let fault = unknown_name("framework", "zzzzzzzz", Span::new(2, 6), known);
    insta::assert_snapshot!(fault.render(text, "command"));
    let fault = unknown_name("style", "x", Span::new(2, 6), []);
    assert!(fault.help.unwrap().contains("no style"));
}

#[test]
fn colours_are_only_for_those_who_ask() {
    let fault = &parse_text(">p").diagnostics[0];
    assert!(!fault.render(">p", "command").contains('\u{1b}'));
    assert!(fault.render_colored(">p", "command").contains('\u{1b}'));
}

#[test]
fn control_characters_are_not_drawn() {
    let text = ">>a\u{1b}[31m\u{7}";
    let drawn = parse_text(text).diagnostics[0].render(text, "command");
    assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
    assert!(!drawn.contains('\u{7}'), "{drawn:?}");
}

#[test]
fn what_could_be_read_is_kept_beside_the_fault() {
    let parsed = parse_text(">>a x --> >>../b --> >>c");
    let ids: Vec<_> = parsed
        .command
        .steps()
        .map(|step| step.id.value.as_str())
        .collect();
    assert_eq!(ids, ["a", "c"]);
}
