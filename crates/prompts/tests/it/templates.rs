//! Template syntax, absent values and error messages.

use deliberate_core::PromptFence;
use deliberate_prompts::{
    EngineLimits,
    model::TemplateSource,
    template::{TemplateError, TemplateRenderer, TemplateValues, compile_check, names_used},
};
use serde_json::{Value, json};

pub(crate) const TEST_FENCE: PromptFence = PromptFence::new(0x7e_57ed, &[]);

pub(crate) fn text(body: &str) -> TemplateSource {
    TemplateSource {
        body: body.to_owned(),
        file: "user-message.md".to_owned(),
        line: 1,
    }
}

pub(crate) fn values(json: Value) -> TemplateValues {
    let Value::Object(fields) = json else {
        panic!("not an object")
    };
    fields.into_iter().collect()
}

fn try_render(body: &str, given: Value) -> Result<String, TemplateError> {
    let renderer = TemplateRenderer::new(&EngineLimits::default());
    renderer.render(&text(body), "p", &values(given), &TEST_FENCE)
}

#[track_caller]
fn render(body: &str, given: Value) -> String {
    try_render(body, given).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn render_error(body: &str, given: Value) -> TemplateError {
    match try_render(body, given) {
        Ok(rendered) => panic!("rendered {rendered:?}"),
        Err(error) => error,
    }
}

#[test]
fn the_language_of_prompts_is_there() {
    assert_eq!(
        render("Hello {{ x }}!\n", json!({"x": "you"})),
        "Hello you!\n"
    );
    let branches =
        "{% if n > 2 %}many{% elif n == 2 %}two{% elseif n == 1 %}one{% else %}none{% endif %}";
    for (n, said) in [(3, "many"), (2, "two"), (1, "one"), (0, "none")] {
        assert_eq!(render(branches, json!({"n": n})), said);
    }
    assert_eq!(
        render(
            "{% for a in l %}{{ loop.index }}/{{ loop.length }}:{{ a }} {% endfor %}",
            json!({"l": ["x", "y"]})
        ),
        "1/2:x 2/2:y "
    );
    assert_eq!(
        render("{% raw %}{{ x }}{% endraw %}{# gone #}", json!({})),
        "{{ x }}"
    );
    assert_eq!(
        render("{% set a = x ~ '!' %}{{ a }}", json!({"x": "y"})),
        "y!"
    );
    assert_eq!(
        render(
            "{% macro m(a, b='B') %}<{{ a }}{{ b }}>{% endmacro %}{{ m(x) }}{{ m(x, 'C') }}",
            json!({"x": "y"})
        ),
        "<yB><yC>"
    );
    assert_eq!(
        render(
            "{% set a %}[{{ x }}]{% endset %}{{ a }}{{ a }}",
            json!({"x": 1})
        ),
        "[1][1]"
    );
    assert_eq!(render("a {%- if true -%} b {%- endif %}", json!({})), "ab");
    assert_eq!(render("a {% set b = 1 -%}  c", json!({})), "a c");
}

#[test]
fn the_filters_of_prompts_are_there() {
    let given =
        json!({"s": " a <b> & 'c' ", "l": ["x", "y"], "o": {"z": 1, "a": ["<", null]}, "n": 3});
    for (body, said) in [
        ("{{ s | trim }}", "a <b> & 'c'"),
        ("{{ s | trim | upper }}", "A <B> & 'C'"),
        ("{{ 'A' | lower }}", "a"),
        (
            "{{ l | length }} {{ l.length }} {{ s.length }} {{ o | length }}",
            "2 2 13 2",
        ),
        ("{{ l | join(', ') }}", "x, y"),
        ("{{ l | first }}{{ l | last }}{{ l[5] }}", "xy"),
        ("{{ 'aXa' | replace('a', 'b') }}", "bXb"),
        (
            "{{ 'ab cd' | capitalize }} {{ 'ab cd' | title }}",
            "Ab cd Ab Cd",
        ),
        ("{{ o | dump }}", r#"{"z":1,"a":["<",null]}"#),
        ("{{ o | tojson }}", r#"{"z":1,"a":["<",null]}"#),
        ("{{ l | dump(2) }}", "[\n  \"x\",\n  \"y\"\n]"),
        ("{{ s | dump }}", r#"" a <b> & 'c' ""#),
        ("{{ 'one two three' | truncate(8) }}", "one two..."),
        ("{{ 'one two three' | wordcount }}", "3"),
        ("{{ s | safe | trim }}", "a <b> & 'c'"),
        ("{{ l | sort(reverse=true) | join }}", "yx"),
        ("{{ 'a\nb' | indent(2) }}", "a\n  b"),
        ("{{ 'a,b' | split(',') | join('-') }}", "a-b"),
        (
            "{% for k, v in o %}{{ k }}={{ v }};{% endfor %}",
            "z=1;a=<,;",
        ),
        ("{% for k, v in o | items %}{{ k }};{% endfor %}", "z;a;"),
        ("{% for k, v in o.items() %}{{ k }};{% endfor %}", "z;a;"),
        (
            "{{ 'in l' if 'x' in l else 'out' }}{{ 'z' in o }}{{ 'q' in o }}",
            "in ltruefalse",
        ),
    ] {
        assert_eq!(render(body, given.clone()), said, "{body}");
    }
}

#[test]
fn values_print_as_people_read_them() {
    let given = json!({"t": true, "f": false, "n": 2.5, "i": 7, "l": [1, "b", true], "o": {"b": [1, {}], "a": 1}, "z": null});
    assert_eq!(
        render(
            "{{ t }} {{ f }} {{ n }} {{ i }} {{ l }} {{ o }} {{ o.b }} [{{ z }}]",
            given
        ),
        r#"true false 2.5 7 1,b,true {"b":[1,{}],"a":1} [1,{}] []"#
    );
}

#[test]
fn what_is_declared_and_not_given_needs_no_care() {
    let given = json!({"x": null, "o": {"a": {}}});
    for (body, said) in [
        ("[{{ x }}]", "[]"),
        ("{% if x %}yes{% else %}no{% endif %}", "no"),
        ("{% if not x %}no{% endif %}", "no"),
        (
            "{{ x | default('y') }}{{ x | default }}{{ x | d('z') }}",
            "yz",
        ),
        (
            "{{ '' | default('y') }}|{{ '' | default('y', true) }}",
            "|y",
        ),
        ("{{ x | length }}{{ x.length }}", "00"),
        (
            "{{ x | upper }}{{ x | trim }}{{ x | join(', ') }}{{ x | first }}{{ x | replace('a', 'b') }}",
            "",
        ),
        ("{% for a in x %}a{% else %}none{% endfor %}", "none"),
        (
            "{{ x is defined }} {{ x is undefined }} {{ x is none }}",
            "false true true",
        ),
        (
            "{{ x == 'high' }} {{ x != 'high' }} {{ 'a' in x }}",
            "false true false",
        ),
        (
            "[{{ x.deep.er }}{{ x[0] }}{{ o.a.b }}{{ o.nothing }}]",
            "[]",
        ),
        ("{{ x ~ 'tail' }}", "tail"),
        ("{{ x | dump }}", "null"),
        ("{{ x or 'other' }}", "other"),
        (
            "{{ x == null }} {{ x == none }} {{ x != none }} {{ o.a == null }} {{ 'none' == none }}",
            "true true false false false",
        ),
    ] {
        assert_eq!(render(body, given.clone()), said, "{body}");
    }
}

#[test]
fn what_is_neither_declared_nor_given_is_an_error_with_the_nearest_name() {
    for body in [
        "a\n\n  {{ titel }}",
        "a\n\n  {% if titel %}{% endif %}",
        "a\n\n  {% for a in titel %}{% endfor %}",
    ] {
        let found = render_error(body, json!({"title": "x"}));
        assert_eq!((found.line, found.prompt.as_str()), (3, "p"), "{body}");
        assert_eq!(
            found.to_string(),
            "prompt \"p\", file user-message.md, line 3: there is no value named `titel`; did you mean `title`?"
        );
    }
    let far = render_error("{{ weather }}", json!({"title": "x"}));
    assert!(far.help.unwrap().contains("declare `weather`"));
    assert_eq!(
        render(
            "{{ weather | default('none') }}{{ weather is defined }}",
            json!({})
        ),
        "nonefalse"
    );
}

#[test]
fn an_error_stands_on_the_line_of_its_file() {
    let mut body = text("x\n{{ y | upperr }}");
    body.line = 11;
    body.file = "prompt.yaml".to_owned();
    let found = compile_check(&body).unwrap();
    assert_eq!((found.line, found.column), (12, Some(8)));
    assert_eq!(
        found.to_string(),
        "file prompt.yaml, line 12: there is no filter `upperr`; did you mean `upper`?"
    );
    let open = compile_check(&text("a\n{% if x %}\nb")).unwrap();
    assert!(open.line >= 2, "{open}");
    assert_eq!(compile_check(&text("{{ x }}")), None);
}

#[test]
fn columns_hold_behind_what_was_changed() {
    let found = render_error(
        "{% set a = 1 %}{% for k, v in o %}{% endfor %}{{ missing }}",
        json!({"o": {}}),
    );
    assert_eq!((found.line, found.column), (1, Some(50)), "{found}");
}

#[test]
fn words_of_other_languages_are_errors_that_say_what_to_write() {
    for (body, word, ours) in [
        ("{% if a === 'x' %}{% endif %}", "`===`", "`==`"),
        ("{% if a !== 'x' %}{% endif %}", "`!==`", "`!=`"),
        ("{% if a && b %}{% endif %}", "`&&`", "`and`"),
        ("{{ a || b }}", "`||`", "`or`"),
        ("{% if !a %}{% endif %}", "`!`", "`not`"),
    ] {
        let found = render_error(body, json!({"a": 1, "b": 2}));
        assert!(found.message.contains(word), "{found}");
        assert_eq!(found.help.unwrap(), format!("write {ours}"));
    }
    assert_eq!(
        render("{{ '=== && || !' }} === && || !", json!({})),
        "=== && || ! === && || !"
    );
}

#[test]
fn names_are_known_before_rendering() {
    let names = names_used(&text(
        "{% set a = b %}{{ a }}{% for c in d %}{{ c.e }}{{ loop.index }}{% endfor %}{{ range(3) }}{{ref:x}}",
    ));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(names, vec!["b", "d"]);
    let names = names_used(&text(
        "{% set a = 1 %}{% set t %}x{% endset %}{{ a[1:] }}{{ t[:1] }}{{ list.part[:2] }}{{ 'x[' }}",
    ));
    assert_eq!(names.into_iter().collect::<Vec<_>>(), vec!["list"]);
}

#[test]
fn parts_of_lists_and_texts_can_be_taken() {
    assert_eq!(
        render(
            "{{ l[1:] }} {{ t[:2] }} {{ o.l[::-1] }} {{ l[0] }} {% set s %}abc{% endset %}{{ s[1:] }}",
            json!({"l": [1, 2, 3], "t": "xyz", "o": {"l": [4, 5]}})
        ),
        "2,3 xy 5,4 1 bc"
    );
    assert_eq!(
        render("{{ 3 * l|length - 2*n }}", json!({"l": [1, 2], "n": 2})),
        "2"
    );
    let error = render_error("{{ 'ab' * 3 }}", json!({}));
    assert!(error.message.contains("multiplies numbers"), "{error}");
}

#[test]
fn no_file_and_no_inside_of_the_engine_can_be_reached() {
    for body in [
        "{% include 'user-message.md' %}",
        "{% extends '/etc/hostname' %}",
        "{% import 'x' as y %}",
        "{% include '' %}",
    ] {
        render_error(body, json!({}));
    }
    for body in [
        "{{ debug() }}",
        "{{ namespace(a=1) }}",
        "{{ range.constructor('return 1')() }}",
        "{{ x.__class__() }}",
    ] {
        render_error(body, json!({"x": "a"}));
    }
    let include = render_error("{% include 'a.md' %}", json!({}));
    assert!(include.help.unwrap().contains("{{ref:"));
}

#[test]
fn fenced_text_stands_between_tags_that_it_can_not_write() {
    assert_eq!(
        render("{{ x | fenced(\"notes\") }}", json!({"x": "a </notes> b"})),
        "<notes-7e57ed>\na [/notes> b\n</notes-7e57ed>"
    );
    assert_eq!(
        render("{{ x | fenced }}", json!({"x": "a"})),
        "<material-7e57ed>\na\n</material-7e57ed>"
    );
    // Nothing is shown of a value that is not given.
    assert_eq!(render("[{{ x | fenced }}]", json!({"x": null})), "[]");
    let block =
        "{% filter fenced('l') %}\n{%- for a in l %}\n- {{ a }}\n{%- endfor %}\n{%- endfilter %}";
    assert_eq!(
        render(block, json!({"l": ["x", "</l>"]})),
        "<l-7e57ed>\n- x\n- [/l>\n</l-7e57ed>"
    );
    assert_eq!(
        render(
            "{% macro m(a) %}{{ a | fenced('m') }}{% endmacro %}{{ m(x) }}",
            json!({"x": 7})
        ),
        "<m-7e57ed>\n7\n</m-7e57ed>"
    );
    for tag in ["", "A b", "x-1", "</x>", "a\u{200b}"] {
        let error = render_error("{{ x | fenced(t) }}", json!({"x": "y", "t": tag}));
        assert!(error.message.contains("short name"), "{error}");
    }
}
