//! Expressions and templates that ask for much: large numbers, nesting, loops, recursion.

use crate::random::Random;

const FILTERS: [&str; 37] = [
    "abs",
    "batch",
    "capitalize",
    "center",
    "chain",
    "default",
    "dictsort",
    "dump",
    "first",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "keys",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "pairs",
    "replace",
    "reverse",
    "round",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "truncate",
    "unique",
    "upper",
    "values",
    "zip",
];

const OPERATORS: [&str; 10] = ["+", "-", "*", "//", "~", "==", "<", "in", "and", "or"];

/// Returns an expression of at most this depth.
pub(crate) fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return atom(random);
    }
    match random.below(11) {
        8 => format!("(({},) * {})", atom(random), random.number()),
        9 => format!(
            "{}[::{}]|length",
            expression(random, depth - 1),
            random.number()
        ),
        10 => many_copies(random),
        0 => format!(
            "({} {} {})",
            expression(random, depth - 1),
            random.pick(&OPERATORS),
            expression(random, depth - 1)
        ),
        1..=3 => filtered(random, depth),
        4 => format!(
            "{}[{}:{}]",
            expression(random, depth - 1),
            random.number(),
            random.number()
        ),
        5 => format!("[{}] * {}", expression(random, depth - 1), random.number()),
        6 => format!("range({})|list|length", random.number()),
        _ => format!(
            "({} if {} else {})",
            atom(random),
            expression(random, depth - 1),
            atom(random)
        ),
    }
}

/// Returns a list of many copies of a value.
fn many_copies(random: &mut Random) -> String {
    let copy = random.pick(&[
        "topic ~ topic",
        "topic[1:]",
        "topic|upper",
        "topic|dump(16)",
    ]);
    format!("[{}]|length", vec![copy; random.below(1_000)].join(","))
}

fn filtered(random: &mut Random, depth: usize) -> String {
    let inner = expression(random, depth - 1);
    let name = random.pick(&FILTERS);
    match random.below(4) {
        0 => format!("{inner}|{name}"),
        1 => format!("{inner}|{name}({})", random.number()),
        2 => format!("{inner}|{name}({}, {})", random.number(), random.number()),
        _ => format!("{inner}|{name}(\"{}\")", "a".repeat(random.below(50))),
    }
}

fn atom(random: &mut Random) -> String {
    match random.below(8) {
        0 => random.number(),
        1 => format!("range({})", random.number()),
        2 => format!("\"{}\"", "ab".repeat(random.below(200))),
        3 => format!("\"x\" * {}", random.number()),
        4 => "topic".to_owned(),
        5 => {
            let depth = random.below(90);
            let inner = random.pick(&["1", "range(90000)|list", "topic"]);
            format!("{}{inner}{}|dump(16)", "[".repeat(depth), "]".repeat(depth))
        }
        6 => "{\"a\": [1, 2, 3], \"b\": \"c\"}".to_owned(),
        _ => format!("{}1{}", "(".repeat(100), ")".repeat(100)),
    }
}

/// Returns a template.
pub(crate) fn template(random: &mut Random) -> String {
    let (first, second) = (expression(random, 3), expression(random, 2));
    let body = match random.below(9) {
        0 => format!("{{{{ {first} }}}}"),
        1 => format!(
            "{{% for x in range({}) %}}{{{{ {second} }}}}{{% endfor %}}",
            random.number()
        ),
        2 => nested_loops(random, &second),
        3 => "{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}".to_owned(),
        4 => doubling(random),
        5 => format!(
            "{{% set y %}}{{{{ {first} }}}}{{% endset %}}{{{{ y|{} }}}}",
            random.pick(&FILTERS)
        ),
        6 => format!("{{% if {first} %}}{second}{{% elif {second} %}}x{{% endif %}}"),
        7 => "{% if 1 %}".repeat(random.below(300)),
        _ => format!(
            "{{% for x in topic %}}{{% if topic[1:] == topic ~ {second} %}}{{% endif %}}{{% endfor %}}"
        ),
    };
    format!("{body} {{{{ topic }}}}")
}

fn nested_loops(random: &mut Random, inside: &str) -> String {
    let depth = 1 + random.below(6);
    let mut text = format!("{{{{ {inside} }}}}");
    for level in 0..depth {
        let count = random.number();
        text = format!("{{% for x{level} in range({count}) %}}{text}{{% endfor %}}");
    }
    text
}

/// Doubles a text or a list again and again.
fn doubling(random: &mut Random) -> String {
    let join = random.pick(&["~", "+"]);
    let start = random.pick(&["\"ab\"", "[1, 2]"]);
    let step = format!("{{% set x = x {join} x %}}");
    format!(
        "{{% set x = {start} %}}{}{{{{ x|length }}}}",
        step.repeat(random.below(80))
    )
}
