//! Answers in the shapes of the original server's pipes, rewritten to the fields that the modes ask
//! for.
//!
//! A Langbase pipe may have its own stored prompt, and then it answers as that prompt says, whatever
//! is asked. The rules for each purpose are data; a field that is already there is never replaced, so
//! an answer in the requested shape stays as it is.

use serde_json::{Map, Value};

use crate::model_fields::is_blank;

/// The rules of one purpose.
struct OriginalShape {
    purpose: &'static str,
    rules: &'static [ShapeRule],
}

/// One rewriting of an object.
enum ShapeRule {
    /// The field has another name.
    Rename(&'static str, &'static str),
    /// The field is also known by another name.
    Copy(&'static str, &'static str),
    /// A score from 0 to 1 becomes a percentage.
    Percent(&'static str, &'static str),
    /// An index from 0 becomes a number from 1.
    IndexToNumber(&'static str, &'static str),
    /// A list of texts becomes one text.
    JoinTexts(&'static str, &'static str),
    /// An object with a text in `content` becomes that text.
    ContentOf(&'static str),
    /// The fields of an inner object become fields of the object.
    Lift(&'static str),
    /// Each object of a list is rewritten.
    Each(&'static str, &'static [Self]),
    /// The fields of the first object of a list are also fields of the object.
    FirstOf(&'static str),
    /// A missing text is taken from the item that a number chooses, or from the first one: the first
    /// of these fields that has a text.
    TextOfChosen {
        to: &'static str,
        list: &'static str,
        number: &'static str,
        fields: &'static [&'static str],
    },
}

use ShapeRule::{
    ContentOf, Copy, Each, FirstOf, IndexToNumber, JoinTexts, Lift, Percent, Rename, TextOfChosen,
};

/// A confidence, which the original writes as a score.
const CONFIDENCE: ShapeRule = Percent("confidence", "confidence_percent");

/// The shapes by purpose. Linear and backtracking answers differ in the confidence alone.
const SHAPES: &[OriginalShape] = &[
    OriginalShape {
        purpose: "linear",
        rules: &[Rename("content", "thought"), CONFIDENCE],
    },
    OriginalShape {
        purpose: "backtracking",
        rules: &[Rename("content", "thought"), CONFIDENCE],
    },
    OriginalShape {
        purpose: "tree",
        rules: &[
            Rename("branches", "approaches"),
            Each("approaches", &[Rename("content", "thought"), CONFIDENCE]),
            IndexToNumber("recommended_branch", "recommended"),
            CONFIDENCE,
            TextOfChosen {
                to: "thought",
                list: "approaches",
                number: "recommended",
                fields: &["rationale", "thought"],
            },
        ],
    },
    OriginalShape {
        purpose: "divergent",
        rules: &[
            Each(
                "perspectives",
                &[
                    Rename("thought", "content"),
                    Percent("novelty", "novelty_percent"),
                    Percent("viability", "viability_percent"),
                    JoinTexts("assumptions_challenged", "assumption_challenged"),
                ],
            ),
            CONFIDENCE,
        ],
    },
    OriginalShape {
        purpose: "reflection",
        rules: &[
            // The evaluation of a session has the same purpose and another name for it.
            Copy("analysis", "assessment"),
            Percent("quality_score", "quality_percent"),
            Percent("coherence_score", "coherence_percent"),
            Rename("improved_thought", "improved_reasoning"),
            ContentOf("improved_reasoning"),
            CONFIDENCE,
        ],
    },
    OriginalShape {
        purpose: "auto",
        rules: &[
            Rename("recommended_mode", "mode"),
            Percent("complexity", "complexity_percent"),
            Rename("alternative_modes", "alternatives"),
            Each(
                "alternatives",
                &[Rename("recommended_mode", "mode"), CONFIDENCE],
            ),
            CONFIDENCE,
        ],
    },
    OriginalShape {
        purpose: "got_generate",
        rules: &[
            Each(
                "continuations",
                &[
                    Rename("content", "thought"),
                    Percent("novelty", "novelty_percent"),
                    CONFIDENCE,
                ],
            ),
            FirstOf("continuations"),
            CONFIDENCE,
        ],
    },
    OriginalShape {
        purpose: "got_score",
        rules: &[
            Lift("breakdown"),
            Percent("relevance", "relevance_percent"),
            Percent("validity", "validity_percent"),
            Percent("depth", "depth_percent"),
            Percent("novelty", "novelty_percent"),
        ],
    },
    OriginalShape {
        purpose: "got_aggregate",
        rules: &[
            Rename("aggregated_thought", "thought"),
            Rename("synthesis_approach", "approach"),
            CONFIDENCE,
        ],
    },
    OriginalShape {
        purpose: "got_refine",
        rules: &[
            Rename("refined_thought", "thought"),
            Rename("improvements_made", "improvements"),
            CONFIDENCE,
        ],
    },
];

/// Rewrites an answer in the shape of the original server's pipe for this purpose. An answer in the
/// requested shape, and one for another purpose, stays as it is.
///
/// The original generates several continuations in one answer. The first is put where a single one
/// is expected; all of them stay in `continuations`.
pub(crate) fn normalize_original_reply(purpose: &str, reply: Value) -> Value {
    let shape = SHAPES.iter().find(|shape| shape.purpose == purpose);
    match (shape, reply) {
        (Some(shape), Value::Object(mut fields)) => {
            apply(shape.rules, &mut fields);
            Value::Object(fields)
        }
        (_, reply) => reply,
    }
}

fn apply(rules: &[ShapeRule], fields: &mut Map<String, Value>) {
    for rule in rules {
        match rule {
            Rename(from, to) => move_field(fields, from, to, Some),
            Percent(from, to) => move_field(fields, from, to, |score| to_percent(&score)),
            IndexToNumber(from, to) => move_field(fields, from, to, |index| to_number(&index)),
            JoinTexts(from, to) => move_field(fields, from, to, |texts| join_texts(&texts)),
            Copy(from, to) => {
                if let Some(value) = fields.get(*from).cloned() {
                    fields.entry(*to).or_insert(value);
                }
            }
            ContentOf(name) => {
                let inner = fields.get(*name).and_then(|value| value.get("content"));
                if let Some(content) = inner.cloned() {
                    fields.insert((*name).to_owned(), content);
                }
            }
            Lift(name) => {
                if let Some(Value::Object(inner)) = fields.get(*name).cloned() {
                    add_missing(fields, inner);
                }
            }
            Each(name, rules) => {
                let items = fields.get_mut(*name).and_then(Value::as_array_mut);
                for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
                    apply(rules, item);
                }
            }
            FirstOf(name) => {
                let first = fields.get(*name).and_then(|items| items.get(0));
                if let Some(Value::Object(first)) = first.cloned() {
                    add_missing(fields, first);
                }
            }
            TextOfChosen {
                to,
                list,
                number,
                fields: names,
            } => {
                if let Some(text) = text_of_chosen(fields, list, number, names) {
                    fields.entry(*to).or_insert(Value::String(text));
                }
            }
        }
    }
}

/// Moves a field to another name, changed by `convert`, unless that name is taken or the value
/// cannot be converted.
fn move_field(
    fields: &mut Map<String, Value>,
    from: &str,
    to: &str,
    convert: impl FnOnce(Value) -> Option<Value>,
) {
    if fields.contains_key(to) {
        return;
    }
    if let Some(converted) = fields.get(from).cloned().and_then(convert) {
        fields.remove(from);
        fields.insert(to.to_owned(), converted);
    }
}

fn add_missing(fields: &mut Map<String, Value>, inner: Map<String, Value>) {
    for (name, value) in inner {
        fields.entry(name).or_insert(value);
    }
}

/// Returns a number, which a model may have written as text.
fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    };
    number.filter(|number| number.is_finite())
}

/// Returns a score from 0 to 1 as a percentage; a larger number is one already.
fn to_percent(score: &Value) -> Option<Value> {
    let score = number_of(score)?;
    let percent = if score <= 1.0 { score * 100.0 } else { score };
    whole(percent.clamp(0.0, 100.0))
}

/// Returns an index from 0 as a number from 1.
fn to_number(index: &Value) -> Option<Value> {
    let index = number_of(index).filter(|index| *index >= 0.0)?;
    whole(index.trunc() + 1.0)
}

/// Rounds to a whole number, as a JSON number without decimals.
fn whole(number: f64) -> Option<Value> {
    let text = format!("{:.0}", number.round());
    text.parse::<u64>().ok().map(Value::from)
}

/// Joins a list of texts; a single text stays.
fn join_texts(texts: &Value) -> Option<Value> {
    let joined = match texts {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            texts.join("; ")
        }
        _ => return None,
    };
    (!is_blank(&joined)).then_some(Value::String(joined))
}

fn text_of_chosen(
    fields: &Map<String, Value>,
    list: &str,
    number: &str,
    names: &[&str],
) -> Option<String> {
    let items = fields.get(list)?.as_array()?;
    let chosen = fields
        .get(number)
        .and_then(Value::as_u64)
        .and_then(|number| usize::try_from(number).ok()?.checked_sub(1))
        .and_then(|index| items.get(index));
    let item = chosen.or_else(|| items.first())?;
    let mut texts = names.iter().filter_map(|name| item.get(name)?.as_str());
    texts.find(|text| !is_blank(text)).map(str::to_owned)
}

#[cfg(test)]
#[path = "original_shapes_tests.rs"]
mod tests;
