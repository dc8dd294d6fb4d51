//! The filters and tests of templates. Filters of the template engine are enabled one by one, each
//! with a check of its input size. Some are replaced, because prompts use other conventions
//! (`dump`, values that may be absent) or because the engine's filters are unbounded.

mod custom;

use deliberate_toolkit::is_abandoned;
use minijinja::{
    Environment, Error, ErrorKind, State, filters,
    value::{Rest, Value, ValueKind, ValueOrKwargs},
};

use super::value::{ValueSizeBudget, ValueTooLarge, absent_value, is_absent, measure};
use custom::{
    default, fenced, first_or_last, indent, join, keys, length, pairs, replace, text, to_json_text,
    truncate, values,
};

/// The filter that limits the size of a variable; the preprocessor inserts it, authors never use
/// it.
pub(super) const SIZE_GUARD_FILTER: &str = "_held";

/// The filter that puts a text inside the prompt fence.
pub(super) const FENCE_FILTER: &str = "fenced";

/// The variable that holds the random number of the call. No template can use a name with a blank
/// in it.
pub(super) const FENCE_VARIABLE: &str = "fence nonce";

/// The maximum number of entries that a filter processes.
const MAX_ENTRIES: usize = 200_000;

/// The work of one entry of a list, compared with a byte of text.
const ENTRY_WORK: usize = 32;

/// The filters that authors may use after `|`.
pub(super) const FILTERS: [&str; 52] = [
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

/// The bytes that one rendering has printed and inspected; the engine only counts instructions.
#[derive(Debug, Default)]
pub(super) struct RenderUsage {
    printed: usize,
    inspected: usize,
}

impl RenderUsage {
    /// Counts printed bytes, including those printed into captured blocks.
    pub(super) fn count_printed(&mut self, bytes: usize, most: usize) -> Result<(), Error> {
        check_abandoned()?;
        self.printed = self.printed.saturating_add(bytes);
        check_limit(self.printed, most)
    }

    /// Counts the bytes inspected to measure a value, because measuring takes time.
    fn count_inspected(&mut self, size: usize, most: usize) -> Result<(), Error> {
        check_abandoned()?;
        self.inspected = self.inspected.saturating_add(size);
        check_limit(self.inspected, most)
    }
}

/// Fails if nobody waits for the rendering any more. Every print, filter and turn of a loop comes
/// here, so that a rendering ends soon after its deadline.
fn check_abandoned() -> Result<(), Error> {
    if is_abandoned() {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "the template takes too long",
        ));
    }
    Ok(())
}

fn check_limit(used: usize, most: usize) -> Result<(), Error> {
    if used > most {
        Err(output_too_large())
    } else {
        Ok(())
    }
}

/// Creates the error for output that exceeds the limit.
pub(super) fn output_too_large() -> Error {
    Error::new(
        ErrorKind::WriteFailure,
        "the template produces more text than a prompt may contain",
    )
}

/// Adds the filters to an environment. No result is longer than `most` bytes.
pub(super) fn add_all(environment: &mut Environment<'static>, most: usize) {
    // Unbounded built-ins are removed first: only what is added below exists.
    for name in [
        "format",
        "pprint",
        "attr",
        "bool",
        "urlencode",
        "tojson",
        "default",
        "d",
    ] {
        environment.remove_filter(name);
    }
    for name in ["debug", "dict", "namespace"] {
        environment.remove_global(name);
    }
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
    add_guarded(environment, most);
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("first", |value: &Value| first_or_last(value, false));
    environment.add_filter("last", |value: &Value| first_or_last(value, true));
    environment.add_filter("length", length);
    environment.add_filter("count", length);
    environment.add_filter("pairs", pairs);
    environment.add_filter("keys", keys);
    environment.add_filter("values", values);
    environment.add_filter("safe", |value: Value| value);
    let dumped = move |value: &Value, indent: Option<usize>| to_json_text(value, indent, most);
    environment.add_filter("dump", dumped);
    environment.add_filter("tojson", dumped);
    environment.add_filter("string", move |value: &Value| text(value, most));
    environment.add_filter(
        "join",
        move |value: &Value, with: Option<&Value>, attribute: Option<&str>| {
            join(value, with, attribute, most)
        },
    );
    environment.add_filter("replace", move |it: &Value, from: &Value, to: &Value| {
        replace(&text(it, most)?, &text(from, most)?, &text(to, most)?, most)
    });
    environment.add_filter(
        "indent",
        move |it: &Value, width: Option<usize>, first: Option<bool>| {
            indent(&text(it, most)?, width, first, most)
        },
    );
    environment.add_filter("center", move |it: &Value, width: Option<usize>| {
        let width = width.unwrap_or(80).min(1_000);
        text(it, most).map(|it| format!("{it:^width$}"))
    });
    environment.add_filter(
        "truncate",
        move |it: &Value, most_letters: Option<usize>, whole: Option<bool>, end: Option<String>| {
            text(it, most).map(|it| truncate(&it, most_letters, whole, end.as_deref()))
        },
    );
    environment.add_filter("wordcount", move |it: &Value| {
        text(it, most).map(|it| it.split_whitespace().count())
    });
    environment.add_filter(
        FENCE_FILTER,
        move |state: &State<'_, '_>, it: &Value, tag: Option<&str>| {
            fenced(state, it, tag.unwrap_or("material"), most)
        },
    );
    environment.add_filter(
        SIZE_GUARD_FILTER,
        move |state: &mut State<'_, '_>, value: Value| {
            let mut budget = ValueSizeBudget(most);
            measure(&value, &mut budget).map_err(|ValueTooLarge| output_too_large())?;
            let used = state.get_or_insert_extension_with(RenderUsage::default);
            used.count_inspected(most.saturating_sub(budget.0), most.saturating_mul(64))?;
            Ok(value)
        },
    );
    environment.add_test("defined", |value: &Value| !is_absent(value));
    environment.add_test("undefined", is_absent);
    environment.add_test("none", is_absent);
}

/// The value that a filter receives for an absent one.
#[derive(Clone, Copy)]
enum AbsentReplacement {
    /// Empty text.
    Text,
    /// An empty list, as in the rest of the template.
    List,
    /// No replacement.
    Nothing,
}

/// Adds filters of the template engine, each with a check of its input size.
fn add_guarded(environment: &mut Environment<'static>, most: usize) {
    use AbsentReplacement::{List, Nothing, Text};
    let all: [(&'static str, Value, AbsentReplacement); 34] = [
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
        ("length", Value::from_function(filters::length), List),
        ("count", Value::from_function(filters::length), List),
    ];
    for (name, function, absent_is) in all {
        let makes_parts = name == "batch" || name == "slice";
        environment.add_filter(
            name,
            move |state: &mut State<'_, '_>, given: Rest<ValueOrKwargs>| {
                let mut given = given.into_values();
                let mut work = 0_usize;
                for value in &given {
                    check_size(value, most)?;
                    work = work.saturating_add(input_size(value));
                }
                if makes_parts {
                    let parts = given.get(1).and_then(part_count).unwrap_or_default();
                    let parts = check_limit_of_parts(parts)?;
                    work = work.saturating_add(parts.saturating_mul(ENTRY_WORK));
                }
                let used = state.get_or_insert_extension_with(RenderUsage::default);
                used.count_inspected(work, most.saturating_mul(64))?;
                if let Some(first) = given.first_mut().filter(|it| is_absent(it)) {
                    *first = match absent_is {
                        AbsentReplacement::Text => Value::from(""),
                        AbsentReplacement::Nothing => Value::from(()),
                        AbsentReplacement::List if first.is_undefined() => first.clone(),
                        AbsentReplacement::List => absent_value(),
                    };
                }
                function.call(state, &given)
            },
        );
    }
}

/// The number of parts that `batch` and `slice` are asked for, by place or by name.
fn part_count(value: &Value) -> Option<usize> {
    let named = || value.get_attr("count").ok()?.as_usize();
    value.as_usize().or_else(named)
}

/// Fails if a filter would make more parts than a list may have.
fn check_limit_of_parts(parts: usize) -> Result<usize, Error> {
    if parts > MAX_ENTRIES {
        return Err(output_too_large());
    }
    Ok(parts)
}

/// The work of a filter that reads a value, in bytes of text.
fn input_size(value: &Value) -> usize {
    let entries = || value.len().unwrap_or(1).saturating_mul(ENTRY_WORK);
    value.as_str().map_or_else(entries, str::len)
}

fn check_size(value: &Value, most: usize) -> Result<(), Error> {
    let fits = match value.as_str() {
        Some(text) => text.len() <= most,
        None => value.len().is_none_or(|entries| entries <= MAX_ENTRIES),
    };
    if fits {
        Ok(())
    } else {
        Err(output_too_large())
    }
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
            "([1] * 1000000000)|list|length",
            "([1] * 1000000000)|join(\",\")",
            "\"a\" * 1000000000",
            "range(9)|batch(1000000000, \"x\")|list|length",
        ] {
            assert_eq!(evaluate(expression), None, "{expression}");
        }
        assert!(evaluate("range(9)|slice(3)|list|length").is_some());
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
}
