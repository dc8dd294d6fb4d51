//! The filters and tests of templates. Filters of the template engine are enabled one by one. Some
//! are replaced, because prompts use other conventions (`dump`, values that may be absent) or
//! because the engine's filters are unbounded. All that read whole values pass the same guard.

mod custom;
mod guard;
mod slice;

use minijinja::{
    Environment, Error, ErrorKind, State, filters,
    value::{Value, ValueKind},
};

use super::value::{absent_value, is_absent};
use custom::{
    default, fenced, first_or_last, indent, join, keys, length, pairs, repeat, replace, text,
    to_json_text, truncate, values,
};
use guard::{AbsentReplacement, add_guarded, count_captured, counted_range, hold_variable};
pub(super) use guard::{RenderUsage, check_copies, largest_copied, output_too_large};

/// The filter that limits the size of a variable; the preprocessor inserts it, authors never use
/// it.
pub(super) const SIZE_GUARD_FILTER: &str = "_held";

/// The filter that counts captured text and prints nothing; the preprocessor writes it.
pub(super) const CAPTURE_FILTER: &str = "_captured";

/// The filter that only numbers pass; the preprocessor puts it behind the operands of `*`.
pub(super) const FACTOR_FILTER: &str = "_factor";

/// The filter that takes a slice with a step; the preprocessor writes it.
pub(super) const SLICE_FILTER: &str = "_slice";

/// The filter that puts a text inside the prompt fence.
pub(super) const FENCE_FILTER: &str = "fenced";

/// The variable that holds the random number of the call. No template can use a name with a blank
/// in it.
pub(super) const FENCE_VARIABLE: &str = "fence nonce";

/// The filters that authors may use after `|`.
pub(super) const FILTERS: [&str; 53] = [
    "abs",
    "batch",
    "capitalize",
    "count",
    "d",
    "default",
    "dictsort",
    "dump",
    "e",
    "escape",
    FENCE_FILTER,
    "first",
    "float",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "keys",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pairs",
    "reject",
    "rejectattr",
    "repeat",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "values",
    "wordcount",
    "center",
    "chain",
    "zip",
];

/// A filter: its name, its function, and what it receives for an absent value.
type FilterEntry = (&'static str, Value, AbsentReplacement);

/// Adds the filters to an environment. No result is longer than `most` bytes.
pub(super) fn add_all(environment: &mut Environment<'static>, most: usize) {
    remove_builtins(environment);
    // Other languages use these names for absent values.
    for name in ["null", "undefined"] {
        environment.add_global(name, absent_value());
    }
    environment.set_unknown_method_callback(|_, value, method, _| match method {
        _ if value.kind() != ValueKind::Map => Err(ErrorKind::UnknownMethod.into()),
        "items" => pairs(value.clone()),
        "keys" => keys(value),
        "values" => values(value),
        _ => Err(ErrorKind::UnknownMethod.into()),
    });
    let entries = engine_filters()
        .into_iter()
        .chain(list_filters())
        .chain(text_filters(most));
    for (name, function, absent) in entries {
        add_guarded(environment, name, function, absent, most);
    }
    add_constant_time_filters(environment);
    environment.add_function(
        "range",
        move |state: &mut State<'_, '_>,
              lower: isize,
              upper: Option<isize>,
              step: Option<isize>| counted_range(state, lower, upper, step, most),
    );
    environment.add_filter(
        CAPTURE_FILTER,
        move |state: &mut State<'_, '_>, bytes: usize| count_captured(state, bytes, most),
    );
    environment.add_filter(FACTOR_FILTER, factor);
    environment.add_filter(SLICE_FILTER, slice::slice_with_step);
    add_size_guard(environment, most, most);
    environment.add_test("defined", |value: &Value| !is_absent(value));
    environment.add_test("undefined", is_absent);
    environment.add_test("none", is_absent);
}

/// Adds the filter that limits the size of variables to `largest`.
pub(super) fn add_size_guard(environment: &mut Environment<'static>, largest: usize, most: usize) {
    environment.add_filter(
        SIZE_GUARD_FILTER,
        move |state: &mut State<'_, '_>, value: Value| hold_variable(state, value, largest, most),
    );
}

/// Removes what the engine offers without a bound: only filters that are added later exist.
fn remove_builtins(environment: &mut Environment<'static>) {
    for name in ["format", "pprint", "attr", "bool", "urlencode"] {
        environment.remove_filter(name);
    }
    for name in ["debug", "dict", "namespace"] {
        environment.remove_global(name);
    }
}

/// Returns a number unchanged. `*` would repeat texts and lists.
fn factor(value: Value) -> Result<Value, Error> {
    if matches!(value.kind(), ValueKind::Number | ValueKind::Bool) {
        return Ok(value);
    }
    let message = if is_absent(&value) {
        "`*` has a value that is not given; write `| default(1)` behind it".to_owned()
    } else {
        let kind = value.kind();
        format!("`*` multiplies numbers, not a {kind}; use `| repeat(3)` for texts")
    };
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// The filters of the template engine.
fn engine_filters() -> [FilterEntry; 32] {
    use AbsentReplacement::{List, Nothing, Text};
    [
        ("abs", Value::from_function(filters::abs), Nothing),
        ("batch", Value::from_function(filters::batch), List),
        (
            "capitalize",
            Value::from_function(filters::capitalize),
            Text,
        ),
        ("chain", Value::from_function(filters::chain), List),
        ("dictsort", Value::from_function(filters::dictsort), List),
        ("e", Value::from_function(filters::escape), Text),
        ("escape", Value::from_function(filters::escape), Text),
        ("float", Value::from_function(filters::float), Nothing),
        ("groupby", Value::from_function(filters::groupby), List),
        ("int", Value::from_function(filters::int), Nothing),
        ("items", Value::from_function(filters::items), List),
        ("lines", Value::from_function(filters::lines), Text),
        ("list", Value::from_function(filters::list), List),
        ("lower", Value::from_function(filters::lower), Text),
        ("map", Value::from_function(filters::map), List),
        ("max", Value::from_function(filters::max), List),
        ("min", Value::from_function(filters::min), List),
        ("reject", Value::from_function(filters::reject), List),
        (
            "rejectattr",
            Value::from_function(filters::rejectattr),
            List,
        ),
        ("reverse", Value::from_function(filters::reverse), List),
        ("round", Value::from_function(filters::round), Nothing),
        ("select", Value::from_function(filters::select), List),
        (
            "selectattr",
            Value::from_function(filters::selectattr),
            List,
        ),
        ("slice", Value::from_function(filters::slice), List),
        ("sort", Value::from_function(filters::sort), List),
        ("split", Value::from_function(filters::split), Text),
        ("sum", Value::from_function(filters::sum), List),
        ("title", Value::from_function(filters::title), Text),
        ("trim", Value::from_function(filters::trim), Text),
        ("unique", Value::from_function(filters::unique), List),
        ("upper", Value::from_function(filters::upper), Text),
        ("zip", Value::from_function(filters::zip), List),
    ]
}

/// Adds our filters that take one step, however long a list is. They know absent values themselves,
/// and are not counted: templates ask for the length of a list in every turn of a loop.
fn add_constant_time_filters(environment: &mut Environment<'static>) {
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("first", |value: &Value| first_or_last(value, false));
    environment.add_filter("last", |value: &Value| first_or_last(value, true));
    environment.add_filter("length", length);
    environment.add_filter("count", length);
    environment.add_filter("safe", |value: Value| value);
}

/// Our filters that return lists. They know absent values themselves.
fn list_filters() -> [FilterEntry; 3] {
    use AbsentReplacement::Unchanged;
    [
        ("pairs", Value::from_function(pairs), Unchanged),
        ("keys", Value::from_function(keys), Unchanged),
        ("values", Value::from_function(values), Unchanged),
    ]
}

/// Our filters that return text.
fn text_filters(most: usize) -> [FilterEntry; 11] {
    use AbsentReplacement::Unchanged;
    let dump = move |value: &Value, indent: Option<usize>| to_json_text(value, indent, most);
    let string = move |value: &Value| text(value, most);
    let joined = move |value: &Value, with: Option<&Value>, attribute: Option<&str>| {
        join(value, with, attribute, most)
    };
    let replaced = move |it: &Value, from: &Value, to: &Value| {
        replace(&text(it, most)?, &text(from, most)?, &text(to, most)?, most)
    };
    let repeated = move |it: &Value, times: usize| repeat(&text(it, most)?, times, most);
    let indented = move |it: &Value, width: Option<usize>, first: Option<bool>| {
        indent(&text(it, most)?, width, first, most)
    };
    let centered = move |it: &Value, width: Option<usize>| {
        let width = width.unwrap_or(80).min(1_000);
        text(it, most).map(|it| format!("{it:^width$}"))
    };
    let truncated =
        move |it: &Value, most_letters: Option<usize>, whole: Option<bool>, end: Option<String>| {
            text(it, most).map(|it| truncate(&it, most_letters, whole, end.as_deref()))
        };
    let words = move |it: &Value| text(it, most).map(|it| it.split_whitespace().count());
    let inside_fence = move |state: &State<'_, '_>, it: &Value, tag: Option<&str>| {
        fenced(state, it, tag.unwrap_or("material"), most)
    };
    [
        ("dump", Value::from_function(dump), Unchanged),
        ("tojson", Value::from_function(dump), Unchanged),
        ("string", Value::from_function(string), Unchanged),
        ("join", Value::from_function(joined), Unchanged),
        ("replace", Value::from_function(replaced), Unchanged),
        ("repeat", Value::from_function(repeated), Unchanged),
        ("indent", Value::from_function(indented), Unchanged),
        ("center", Value::from_function(centered), Unchanged),
        ("truncate", Value::from_function(truncated), Unchanged),
        ("wordcount", Value::from_function(words), Unchanged),
        (FENCE_FILTER, Value::from_function(inside_fence), Unchanged),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use deliberate_core::PromptFence;

    use super::*;
    use crate::{EngineLimits, template::TemplateRenderer};

    /// Evaluates an expression and returns the length of its value as text; `None` for an error.
    fn evaluate(expression: &str) -> Option<usize> {
        let renderer = TemplateRenderer::new(&EngineLimits::default());
        let value = renderer.evaluate(expression, &BTreeMap::new()).ok()?;
        Some(value.to_string().len())
    }

    #[test]
    fn no_filter_makes_much_of_a_large_number() {
        let most = EngineLimits::default().rendered_bytes * 8;
        for name in FILTERS {
            for input in ["\"abc\"", "range(9)", "7", "\"a\" * 9", "[[1, 2]]"] {
                for arguments in [
                    "(1000000000)",
                    "(2, 1000000000)",
                    "(1000000000, 1000000000)",
                    "(\"a\", 1000000000)",
                    "(count=1000000000)",
                    "(width=1000000000)",
                    "(length=1000000000)",
                    "(times=1000000000)",
                    "(start=1000000000)",
                    "(2, start=1000000000)",
                    "(\"slice\", 1000000000)",
                    "(1000000000, 1000000000, 1000000000)",
                ] {
                    let expression = format!("{input}|{name}{arguments}");
                    let length = evaluate(&expression).unwrap_or_default();
                    assert!(length < most, "{expression}: {length}");
                }
            }
        }
        for expression in [
            "range(9)|slice(1000000000)|list|length > 1",
            "range(1000000000)",
            "range(9)|batch(1000000000, \"x\")|list|length",
            "[range(9), [1]]|map('slice', 1000000000)|list|length",
            "[range(9), [1]]|map('slice', 10**9)|list|length",
        ] {
            assert_eq!(evaluate(expression), None, "{expression}");
        }
        assert!(evaluate("range(9)|slice(3)|list|length").is_some());
    }

    #[test]
    fn a_list_of_one_long_text_is_as_large_as_its_text() {
        for expression in [
            "(range(9999)|map(attribute='z', default='x'|repeat(4000000)))~'' != ''",
            "(range(900)|map(attribute='z', default='x'|repeat(4000000)))|upper",
            "(range(500)|map(attribute='z', default='x'|repeat(4000000))) in 'abc'",
        ] {
            assert_eq!(evaluate(expression), None, "{expression}");
        }
        let ranges = vec!["range(99999)"; 100].join("~");
        assert_eq!(evaluate(&ranges), None);
        let renderer = TemplateRenderer::new(&EngineLimits::default());
        let long = "x".repeat(600_000);
        let values = BTreeMap::from([("topic".to_owned(), serde_json::json!(long))]);
        let list = format!("[{}]", vec!["topic"; 1_600].join(","));
        for expression in [format!("{list}~'' != ''"), format!("{list} in 'abc'")] {
            assert!(renderer.evaluate(&expression, &values).is_err());
        }
        let few = "topic in [topic, topic] and topic ~ topic";
        assert!(renderer.evaluate(few, &values).is_ok());
    }

    #[test]
    fn the_work_of_many_filters_is_counted_together() {
        let many = format!("{}|length", "range(90000)|slice(90000)|list".to_owned());
        let loops = format!("{{% for x in range(1000) %}}{{{{ {many} }}}}{{% endfor %}}");
        let renderer = TemplateRenderer::new(&EngineLimits::default());
        let source = crate::model::TemplateSource {
            body: loops,
            ..crate::model::TemplateSource::default()
        };
        assert!(
            renderer
                .render(&source, "", &BTreeMap::new(), &PromptFence::new(0, &[]))
                .is_err()
        );
    }

    #[test]
    fn the_length_of_a_long_list_can_be_asked_in_every_turn() {
        let body = "{% for x in items %}{{ loop.index }}/{{ items|length }} {{ x.name|upper }}\n{% endfor %}";
        let source = crate::model::TemplateSource {
            body: body.to_owned(),
            ..crate::model::TemplateSource::default()
        };
        let items: Vec<_> = (0..5_000)
            .map(|at| serde_json::json!({ "name": at }))
            .collect();
        let values = BTreeMap::from([("items".to_owned(), serde_json::json!(items))]);
        let renderer = TemplateRenderer::new(&EngineLimits::default());
        let rendered = renderer.render(&source, "", &values, &PromptFence::new(0, &[]));
        assert!(rendered.unwrap().contains("5000/5000 4999"));
    }

    #[test]
    fn only_numbers_are_multiplied() {
        for expression in [
            "'x' * 99999999",
            "99999999 * 'x'",
            "(1,) * 99999999",
            "([1] * 99999999)[::-1]|length",
            "([1] * 99999999)|keys",
            "('x' * 99999999)|length",
            "2 * [1]|list",
            "'*' * 3",
            "25000000 * 1 is odd|string",
            "'x'|repeat(99999999)",
            "range(9)|map('string')|sum(start='')",
            "range(9)|sum(none, [])",
        ] {
            assert_eq!(evaluate(expression), None, "{expression}");
        }
        assert_eq!(evaluate("2 * 'abc'|length * -(1 + 1)"), Some("-12".len()));
        assert_eq!(evaluate("'ab'|repeat(3)"), Some(8));
        assert_eq!(evaluate("[1, 2]|sum(start=3) * 5e-1"), Some("3.0".len()));
    }

    #[test]
    fn slices_go_backwards_over_anything() {
        assert_eq!(evaluate("[[][::-1]]"), Some("[[]]".len()));
        assert_eq!(evaluate("''[::-1]|length"), Some(1));
        assert_eq!(evaluate("[1, 2, 3][0:2:-1]"), Some("[]".len()));
        assert_eq!(evaluate("('abc'[::-1])[0]"), Some(3));
        for expression in ["[1][::0]", "[1][::'x']", "7[::2]", "{'a': 1}[::2]"] {
            assert_eq!(evaluate(expression), None, "{expression}");
        }
    }

    #[test]
    fn what_a_filter_makes_is_bounded() {
        let nested = format!(
            "{}range(90000)|list{}|dump(16)",
            "[".repeat(70),
            "]".repeat(70)
        );
        let long = "x".repeat(3_000_000);
        for expression in [
            nested.as_str(),
            "long|batch(1)|list|length",
            "long|list|length",
            "long|split(\"\")|length",
            "long|slice(1)|list|length",
        ] {
            let renderer = TemplateRenderer::new(&EngineLimits::default());
            let values = BTreeMap::from([("long".to_owned(), serde_json::json!(long))]);
            assert!(
                renderer.evaluate(expression, &values).is_err(),
                "{expression}"
            );
        }
    }

    #[test]
    fn copies_of_a_long_text_are_bounded_in_one_expression() {
        let long = "x".repeat(1_000_000);
        let many = |part: &str| format!("[{}]|length", vec![part; 500].join(","));
        for part in ["long ~ long", "long[1:]", "long + long"] {
            for (text, is_right) in [(long.as_str(), false), ("short", true)] {
                let renderer = TemplateRenderer::new(&EngineLimits::default());
                let values = BTreeMap::from([("long".to_owned(), serde_json::json!(text))]);
                let found = renderer.evaluate(&many(part), &values);
                assert_eq!(found.is_ok(), is_right, "{part}: {found:?}");
            }
        }
    }
}
