//! Values that look like templates, and templates that exceed the limits.

use deliberate_prompts::{
    EngineLimits,
    template::{TemplateError, TemplateRenderer},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::templates::{TEST_FENCE, text, values};

fn small_limits() -> EngineLimits {
    EngineLimits {
        rendered_bytes: 100_000,
        fuel: 50_000,
        ..EngineLimits::default()
    }
}

fn render_limited(
    limits: &EngineLimits,
    body: &str,
    given: Value,
) -> Result<String, TemplateError> {
    TemplateRenderer::new(limits).render(&text(body), "p", &values(given), &TEST_FENCE)
}

#[test]
fn row_17_braces_and_dollars_in_a_value_stay_as_they_are() {
    let hostile =
        "{{ 7*7 }} {% raw %} $& $1 $$ $` \\1 {# x #} {{ref:p}} {{script:s}} \"'\u{0}\u{1b}\r\n";
    let found = render_limited(
        &small_limits(),
        "<{{ x }}|{{ o.a }}|{{ l | join }}>",
        json!({"x": hostile, "o": {"a": hostile}, "l": [hostile]}),
    );
    assert_eq!(found.unwrap(), format!("<{hostile}|{hostile}|{hostile}>"));
}

#[test]
fn a_template_without_end_is_stopped() {
    let loops = "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}";
    let found = render_limited(&small_limits(), loops, json!({})).unwrap_err();
    assert_eq!(found.message, "the template executes too many instructions");
    assert!(
        render_limited(
            &small_limits(),
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
            json!({})
        )
        .is_err()
    );
    let forks =
        "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(40) }}";
    assert!(render_limited(&small_limits(), forks, json!({})).is_err());
}

#[test]
fn a_template_that_makes_too_much_is_stopped() {
    let big = "x".repeat(2_000);
    let doubled = "{% set a = a ~ a %}".repeat(60);
    let deep = "{% set a = [a] %}".repeat(5_000);
    let wide = "{% set a = [a, a] %}".repeat(60);
    let nested: Vec<String> = (0..40)
        .map(|n| format!("{{% for a{} in [a{n} ~ a{n}] %}}", n + 1))
        .collect();
    let nested = nested.concat();
    let macros: Vec<String> = (0..40)
        .map(|n| {
            format!(
                "{{% macro m{n}(a) %}}{{{{ m{}(a ~ a) }}}}{{% endmacro %}}",
                n + 1
            )
        })
        .collect();
    let macros = macros.concat();
    for body in [
        "{% for a in range(1000) %}{{ big }}{% endfor %}".to_owned(),
        "{% set a %}{% for a in range(1000) %}{{ big }}{% endfor %}{% endset %}".to_owned(),
        format!("{{% set a %}}{{% for a in range(100000) %}}{big}{{% endfor %}}{{% endset %}}"),
        format!("{{% set a = big %}}{doubled}{{{{ a | length }}}}"),
        format!("{{% set a = big %}}{deep}"),
        format!("{{% set a = big %}}{wide}{{{{ a == a }}}}"),
        format!("{{% set a0 = big %}}{nested}x{}", "{% endfor %}".repeat(40)),
        format!("{macros}{{{{ m0(big) }}}}"),
        "{% set a = 'x' * 99999999 %}".to_owned(),
        "{{ ([1] * 99999999) | join }}".to_owned(),
        "{{ ([1] * 99999999) | sort | first }}".to_owned(),
        "{{ ([1] * 99999999) | dump }}".to_owned(),
        "{{ ((1,) * 99999999) | first }}".to_owned(),
        "{{ ([1] * 99999999)[::-1] | length }}".to_owned(),
        "{{ (99999999 * 'x') | length }}".to_owned(),
        format!(
            "{{% set a = big %}}{{{{ [{}] | length }}}}",
            "a ~ a,".repeat(2_000)
        ),
        "{{ big | replace('x', big) | replace('x', big) }}".to_owned(),
    ] {
        let found = render_limited(&small_limits(), &body, json!({"big": big, "a": big}));
        let shown: String = body.chars().take(60).collect();
        assert!(found.is_err(), "{shown} rendered");
    }
    let found = render_limited(
        &small_limits(),
        "a\n{% for a in range(1000) %}{{ big }}{% endfor %}",
        json!({"big": big}),
    );
    let found = found.unwrap_err();
    assert_eq!(found.line, 2);
    assert_eq!(
        found.message,
        "the template produces more text than a prompt may contain"
    );
}

#[test]
fn a_raw_block_ends_where_the_engine_ends_it() {
    // To the engine a no-break space is no white space, so the block goes on.
    for blank in ["\u{a0}", "\u{b}", "\u{2003}"] {
        let body =
            format!("{{% raw %}}{{%{blank}endraw %}}{{# {{% endraw %}}{{{{ 'x' * 3 }}}} #}}");
        let found = render_limited(&small_limits(), &body, json!({})).unwrap_err();
        assert!(found.message.contains("multiplies numbers"), "{found}");
    }
}

#[test]
fn a_text_of_a_megabyte_full_of_tags_is_read_in_a_moment() {
    for unit in [
        "{% raw %}{%",
        "{{",
        "{{ref:x}}",
        "{# ",
        "{% set a=[a] %}",
        "{{ 'a",
        "{%",
    ] {
        for end in ["", "\n"] {
            let unit = format!("{unit}{end}");
            let body = unit.repeat(1_000_000 / unit.len());
            drop(render_limited(&small_limits(), &body, json!({"a": 1})));
        }
    }
    let line = "x".repeat(70_000);
    assert_eq!(
        render_limited(&small_limits(), &line, json!({})).as_deref(),
        Ok(line.as_str())
    );
    let long = render_limited(&small_limits(), &format!("\n{line}{{{{ x"), json!({})).unwrap_err();
    assert_eq!(long.line, 2);
    assert!(long.message.contains("60000 bytes"), "{long}");
}

/// Random concatenations of template fragments.
fn template() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{ x }}"),
        Just("{{ l | join(',') }}"),
        Just("{% for a in l %}"),
        Just("{% endfor %}"),
        Just("{% if x %}"),
        Just("{% elif l %}"),
        Just("{% else %}"),
        Just("{% endif %}"),
        Just("{% set x = x ~ x %}"),
        Just("{% set l = l + l %}"),
        Just("{% set x = [x, l] %}"),
        Just("{% macro m(a) %}"),
        Just("{% endmacro %}"),
        Just("{{ m(x) }}"),
        Just("{{ m(m(l)) }}"),
        Just("{% raw %}"),
        Just("{% endraw %}"),
        Just("{#"),
        Just("#}"),
        Just("{{"),
        Just("}}"),
        Just("{%"),
        Just("%}"),
        Just("'"),
        Just("{{ref:a}}"),
        Just("{{ x | dump(2) }}"),
        Just("{% set x %}"),
        Just("{% endset %}"),
        Just("{{ x * 50 }}"),
        Just("{{ l[0][1] }}"),
        Just("{{ x | replace('', x) }}"),
        Just("{% for a in range(9999) %}"),
        Just("{{ loop.index }}"),
        Just("{% for k, v in o %}"),
        Just("{{ o | dictsort | list | string | upper }}"),
        Just("text ü\n"),
        Just("{% with x = x ~ x %}"),
        Just("{% endwith %}"),
        Just("{% call m(x) %}"),
        Just("{% endcall %}"),
        Just("{{ x | truncate(3) | title }}"),
        Just("{{ -x }}"),
        Just("{{ 1 / 0 }}"),
        Just("{{ 2 ** 999 }}"),
        Just("{{ x[::-1] }}"),
        Just("{{ l | batch(0) }}"),
        Just("{{ l | slice(0) }}"),
        Just("{{ x | center(9) }}"),
        Just("{{ 9999999999999999999 // 0 }}"),
        Just("{{ x | round(-999) }}"),
        Just("{{ l | groupby('a') }}"),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_comes_out_as_it_went_in(value in any::<String>()) {
        let found = render_limited(&EngineLimits::default(), "{{ x }}", json!({"x": value})).unwrap();
        prop_assert_eq!(found, value);
    }

    #[test]
    fn text_full_of_marks_comes_out_as_it_went_in(
        value in r#"([{}%#$&"'\\`<>\x00-\x1f]|ref:p|script:s|raw|endraw|-->| ){0,40}"#
    ) {
        let body = "{% set y = x %}{{ x }}{{ y }}{% for a in [x] %}{{ a }}{% endfor %}{{ o.x }}";
        let found = render_limited(&EngineLimits::default(), body, json!({"x": value, "o": {"x": value}})).unwrap();
        prop_assert_eq!(found, value.repeat(4));
    }

    #[test]
    fn no_template_panics_or_runs_without_end(body in template()) {
        let given = json!({"x": "abc", "l": [1, "b", [2], {"a": 1}], "o": {"a": null, "b": [1]}});
        drop(render_limited(&small_limits(), &body, given));
    }

    #[test]
    fn no_text_as_a_template_panics(body in r#"([{}%#|.()\[\]"'a-c0-9~*+=<> \n-]|\{\{|\}\}|\{%|%\}| is | in | if | for | set ){0,40}"#) {
        drop(render_limited(&small_limits(), &body, json!({"a": "x", "b": [1]})));
    }
}
