//! Prints the result of `deliberate think`: the answer in full, how sure the model is, which model
//! thought, and how to continue.

use std::io::{self, Write};

use serde_json::Value;

use super::ThinkMode;
use crate::commands::table::escape_control;

/// Prints the outputs of a mode's tools.
pub(super) fn print_outputs(
    mode: ThinkMode,
    outputs: &Value,
    shell: &mut dyn Write,
) -> io::Result<()> {
    let part = |name: &str| outputs.get(name).unwrap_or(&Value::Null);
    match mode {
        ThinkMode::Linear => print_thought(outputs, shell),
        ThinkMode::Tree => print_tree(outputs, shell),
        ThinkMode::Graph => print_graph(outputs, shell),
        ThinkMode::Reflect => print_reflection(part("thought"), part("reflection"), shell),
        ThinkMode::Auto => {
            let choice = part("auto");
            let chosen = text(choice, "recommended_mode");
            writeln!(shell, "Mode: {chosen}. {}\n", text(choice, "rationale"))?;
            let result = choice.get("result").unwrap_or(&Value::Null);
            // Only the whole answer names the model.
            let model = choice.get("model");
            if outputs.get("graph").is_some() {
                print_graph(part("graph"), shell)
            } else if outputs.get("thought").is_some() {
                print_thought(part("thought"), shell)
            } else if result.get("branches").is_some() {
                print_tree(&with_model(result, model), shell)
            } else if result.get("weaknesses").is_some() {
                print_reflection(&Value::Null, &with_model(result, model), shell)
            } else {
                print_thought(&with_model(result, model), shell)
            }
        }
    }
}

fn with_model(result: &Value, model: Option<&Value>) -> Value {
    let mut result = result.clone();
    if let (Some(fields), Some(model)) = (result.as_object_mut(), model) {
        fields.insert("model".to_owned(), model.clone());
    }
    result
}

fn print_thought(output: &Value, shell: &mut dyn Write) -> io::Result<()> {
    writeln!(shell, "{}\n", text(output, "content"))?;
    print_answer(&[output], shell)?;
    let sure = percent_sentence("Confidence", output.get("confidence"));
    print_end(&sure, output, "", shell)
}

fn print_tree(output: &Value, shell: &mut dyn Write) -> io::Result<()> {
    writeln!(shell, "{}\n", text(output, "content"))?;
    let recommended = output.get("recommended_branch");
    let branches = output.get("branches").and_then(Value::as_array);
    let best = branches
        .into_iter()
        .flatten()
        .find(|branch| branch.get("id") == recommended);
    let best = best.unwrap_or(&Value::Null);
    writeln!(shell, "★ {}", text(best, "name"))?;
    writeln!(shell, "{}\n", text(best, "content"))?;
    print_answer(&[best, output], shell)?;
    let sure = percent_sentence("Confidence", output.get("confidence"));
    print_end(&sure, output, " --mode tree", shell)
}

fn print_graph(outputs: &Value, shell: &mut dyn Write) -> io::Result<()> {
    let finalized = outputs.get("finalize").unwrap_or(&Value::Null);
    let conclusions = finalized.get("conclusions").and_then(Value::as_array);
    let conclusions = conclusions.map(Vec::as_slice).unwrap_or_default();
    for conclusion in conclusions {
        writeln!(shell, "{}\n", text(conclusion, "content"))?;
    }
    let best = conclusions.first().unwrap_or(&Value::Null);
    let judged = score_of(best.get("node_id"), outputs);
    print_answer(&[best, judged], shell)?;
    if let Some(note) = finalized.get("note").and_then(Value::as_str) {
        writeln!(shell, "{}\n", escape_control(note))?;
    }
    // A merge is not scored; its confidence is the share of the thoughts that agree with it.
    let score = match best.get("score").filter(|score| !score.is_null()) {
        Some(score) => percent_sentence("Score", Some(score)),
        None => percent_sentence("Confidence", outputs.pointer("/aggregate/confidence")),
    };
    // No model is asked for the last step.
    let model = outputs.pointer("/scores/0/model");
    print_end(
        &score,
        &with_model(finalized, model),
        " --mode graph",
        shell,
    )
}

fn print_reflection(thought: &Value, reflection: &Value, shell: &mut dyn Write) -> io::Result<()> {
    if let Some(content) = thought.get("content").and_then(Value::as_str) {
        writeln!(shell, "{}\n", escape_control(content))?;
    }
    writeln!(shell, "Reflection: {}", text(reflection, "content"))?;
    for (title, list) in [("Weakness", "weaknesses"), ("Better", "recommendations")] {
        let items = reflection.get(list).and_then(Value::as_array);
        for item in items.into_iter().flatten().filter_map(Value::as_str) {
            writeln!(shell, "- {title}: {}", escape_control(item))?;
        }
    }
    writeln!(shell)?;
    match reflection.get("improved_reasoning").and_then(Value::as_str) {
        Some(improved) => writeln!(shell, "Improved:\n{}\n", escape_control(improved))?,
        None => writeln!(shell, "The thought stays as it is.\n")?,
    }
    print_answer(&[reflection, thought], shell)?;
    let sure = percent_sentence("Confidence", reflection.get("confidence"));
    print_end(&sure, reflection, "", shell)
}

/// Prints the first answer that one of the outputs has, and the first weakest point.
fn print_answer(outputs: &[&Value], shell: &mut dyn Write) -> io::Result<()> {
    for (title, field) in [("Answer", "answer"), ("Weakest point", "weakest_point")] {
        let texts = outputs
            .iter()
            .filter_map(|output| output.get(field)?.as_str());
        for text in texts.filter(|text| !text.trim().is_empty()).take(1) {
            writeln!(shell, "{title}: {}\n", escape_control(text.trim()))?;
        }
    }
    Ok(())
}

/// Returns the latest score of a node; it has the node's weakest point.
fn score_of<'a>(node: Option<&Value>, outputs: &'a Value) -> &'a Value {
    let calls = outputs.get("scores").and_then(Value::as_array);
    let scores = calls.into_iter().flatten().rev().flat_map(|call| {
        let several = call.get("scores").and_then(Value::as_array);
        several.into_iter().flatten().chain([call])
    });
    let mut scores = scores.filter(|score| node.is_some() && score.get("node_id") == node);
    scores.next().unwrap_or(&Value::Null)
}

fn percent_sentence(name: &str, share: Option<&Value>) -> String {
    let share = share.and_then(Value::as_f64);
    share.map_or_else(String::new, |share| {
        format!("{name} {:.0} %. ", share * 100.0)
    })
}

/// Prints how good it is, who thought, and the command that continues the session.
fn print_end(sure: &str, output: &Value, mode: &str, shell: &mut dyn Write) -> io::Result<()> {
    let model = match output.get("model").and_then(Value::as_str) {
        // The person who is reading this.
        None | Some("client") => String::new(),
        Some(model) => format!("Model: {}. ", escape_control(model)),
    };
    writeln!(shell, "{sure}{model}Continue with:")?;
    let session = text(output, "session_id");
    writeln!(shell, "  deliberate think{mode} --session {session} \"…\"")
}

/// Returns a text of an output, safe for a terminal.
pub(super) fn text(output: &Value, field: &str) -> String {
    text_of(output.get(field))
}

/// Returns a text, safe for a terminal.
pub(super) fn text_of(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str);
    escape_control(text.unwrap_or_default())
}
