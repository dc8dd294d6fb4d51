//! Where the answer stands in the output of each mode. Everything that this benchmark knows about
//! the shape of results is here.

use deliberate_bench::{BenchTask, ExpectedAnswer, extract_final_answer};
use serde_json::Value;

/// What a mode says: its answer, if it names one, and the text that it reasons in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModeAnswer {
    pub(crate) answer: Option<String>,
    pub(crate) text: String,
}

impl ModeAnswer {
    pub(crate) fn from_text(text: &str) -> Self {
        Self {
            answer: None,
            text: text.to_owned(),
        }
    }

    fn read(object: &Value, answer: &str, text: &str) -> Self {
        Self {
            answer: string(&object[answer]),
            text: string(&object[text]).unwrap_or_default(),
        }
    }

    /// Returns the part that is judged: the named answer if it has a value of the wanted kind, else
    /// the text.
    pub(crate) fn judged_text(&self, task: &BenchTask) -> &str {
        match &self.answer {
            Some(answer) if has_value(task, answer) => answer,
            _ => &self.text,
        }
    }
}

fn has_value(task: &BenchTask, answer: &str) -> bool {
    match task.expected {
        ExpectedAnswer::PythonTests(_) => answer.contains("def "),
        _ => extract_final_answer(task, answer).is_some(),
    }
}

/// Returns a text or a number as text; nothing for null, other types and empty text.
fn string(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

pub(crate) fn linear(output: &Value) -> ModeAnswer {
    ModeAnswer::read(output, "answer", "content")
}

/// Returns the improved version; `None` if the original was kept.
pub(crate) fn reflection(output: &Value) -> Option<ModeAnswer> {
    let text = string(&output["improved_reasoning"])?;
    let answer = string(&output["improved_answer"]).or_else(|| string(&output["answer"]));
    Some(ModeAnswer { answer, text })
}

/// Returns what the recommended branch says.
pub(crate) fn tree(output: &Value) -> ModeAnswer {
    let branches = output["branches"].as_array().into_iter().flatten();
    let mut branches = branches.filter(|branch| branch["id"] == output["recommended_branch"]);
    match branches.next() {
        Some(branch) => ModeAnswer::read(branch, "answer", "content"),
        None => ModeAnswer::read(output, "answer", "content"),
    }
}

/// Returns the first conclusion; `None` if there is none.
pub(crate) fn graph(output: &Value) -> Option<ModeAnswer> {
    let conclusion = output["conclusions"].get(0)?;
    Some(ModeAnswer::read(conclusion, "answer", "content"))
}

/// Returns the ids of new nodes of a graph.
pub(crate) fn continuation_ids(output: &Value) -> Vec<Value> {
    let nodes = output["continuations"].as_array().into_iter().flatten();
    nodes.map(|node| node["node_id"].clone()).collect()
}

#[cfg(test)]
mod tests {
    use deliberate_bench::TaskFamily;
    use serde_json::json;

    use super::*;

    fn task(expected: ExpectedAnswer) -> BenchTask {
        BenchTask {
            id: String::new(),
            family: TaskFamily::Counting,
            prompt: String::new(),
            expected,
        }
    }

    #[test]
    fn the_named_answer_is_judged_only_if_it_has_a_value() {
        let number = task(ExpectedAnswer::Integer(7));
        let named = linear(&json!({ "answer": "7 apples", "content": "first 3, then 4" }));
        assert_eq!(named.judged_text(&number), "7 apples");
        for answer in [json!(null), json!("see above"), json!("")] {
            let unnamed = linear(&json!({ "answer": answer, "content": "it is 7" }));
            assert_eq!(unnamed.judged_text(&number), "it is 7");
        }
        let code = task(ExpectedAnswer::PythonTests(String::new()));
        let named = linear(&json!({ "answer": "the function f", "content": "def f(): pass" }));
        assert_eq!(named.judged_text(&code), "def f(): pass");
    }

    #[test]
    fn a_tree_answers_with_its_recommended_branch() {
        let output = json!({
            "content": "both fit",
            "recommended_branch": "b",
            "branches": [{ "id": "a", "content": "1" }, { "id": "b", "content": "2", "answer": "3" }],
        });
        let expected = ModeAnswer {
            answer: Some("3".to_owned()),
            text: "2".to_owned(),
        };
        assert_eq!(tree(&output), expected);
    }

    #[test]
    fn reflection_without_improvement_keeps_the_original() {
        assert_eq!(
            reflection(&json!({ "improved_reasoning": null, "answer": "5" })),
            None
        );
        let improved = reflection(&json!({ "improved_reasoning": "so 6", "improved_answer": 6 }));
        assert_eq!(improved.unwrap().answer.as_deref(), Some("6"));
    }
}
