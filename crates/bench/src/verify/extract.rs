//! Finds the final answer in free text: in `\boxed{}`, after the word "answer", in bold, in the last
//! line, else the last value of the wanted kind. Where the text itself marks its final answer, no other
//! part counts, even if what is marked has no value of the wanted kind.

use std::sync::LazyLock;

use regex::Regex;

use super::values::{find_values, pattern};
use crate::{BenchTask, ExpectedAnswer};

static THINKING: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)<think>.*?</think>"));
static BOXED: LazyLock<Regex> = LazyLock::new(|| pattern(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"));
static BOLD: LazyLock<Regex> = LazyLock::new(|| pattern(r"\*\*([^*\n]+)\*\*"));
static ANSWER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\banswer\b"));
static MARKED_ANSWER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:answer[*_\s]*:|final answer is\b)[*_:]*"));
static ANSWER_VERB: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i):|=|\bis\b|\bwould be\b"));
static FENCE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)```[ \t]*[A-Za-z0-9_+-]*[ \t]*\r?\n(.*?)(?:\n[ \t]*```|\z)"));

/// Which value of a part of the text is the answer.
#[derive(Clone, Copy)]
enum ValuePosition {
    First,
    Last,
}

/// Returns the final answer in the form in which answers are compared; for code the last fenced
/// block with a function, else the last block, else the whole text.
pub fn extract_final_answer(task: &BenchTask, text: &str) -> Option<String> {
    let text = THINKING.replace_all(text, "");
    if matches!(task.expected, ExpectedAnswer::PythonTests(_)) {
        return code(&text);
    }
    let find = |part: &str, position| value_in(&task.expected, part, position);
    if let Some(content) = boxed(&text) {
        return find(content, ValuePosition::Last);
    }
    let has_lines = matches!(task.expected, ExpectedAnswer::Sequence { .. });
    if let Some(marked) = marked_answer(&text, has_lines) {
        return find(marked, ValuePosition::First);
    }
    after_answer(&text, find)
        .or_else(|| bold(&text, find))
        .or_else(|| find(last_line(&text), ValuePosition::Last))
        .or_else(|| find(&text, ValuePosition::Last))
}

fn code(text: &str) -> Option<String> {
    let blocks: Vec<&str> = FENCE
        .captures_iter(text)
        .filter_map(|block| block.get(1))
        .map(|block| block.as_str())
        .collect();
    // Examples of use and their output often follow in blocks of their own.
    let with_function = blocks.iter().rfind(|block| block.contains("def "));
    let block = with_function.or(blocks.last()).copied().unwrap_or(text);
    (!block.trim().is_empty()).then(|| block.to_owned())
}

fn boxed(text: &str) -> Option<&str> {
    let content = BOXED.captures_iter(text).last()?.get(1)?;
    Some(content.as_str())
}

/// Returns what stands after the last "answer:", in its line or in the next, if at most one line
/// follows: then it is the end of the text and not its heading. An answer that can have several lines
/// is all that follows.
fn marked_answer(text: &str, has_lines: bool) -> Option<&str> {
    let mark = MARKED_ANSWER.find_iter(text).last()?;
    let rest = text.get(mark.end()..)?;
    let mut lines = rest
        .lines()
        .filter(|line| has_words(line) && !line.trim_end_matches(['*', ' ']).ends_with(':'));
    let answer = lines.next()?;
    (lines.count() <= 1).then_some(if has_lines { rest } else { answer })
}

fn bold(text: &str, find: impl Fn(&str, ValuePosition) -> Option<String>) -> Option<String> {
    let contents: Vec<&str> = BOLD
        .captures_iter(text)
        .filter_map(|bold| bold.get(1))
        .map(|content| content.as_str())
        .collect();
    // Bold at the start of the last line is a heading like "**Step 3:**" unless the text ends there.
    let last = contents.last()?;
    last_line(text)
        .contains(last)
        .then(|| find(last, ValuePosition::Last))?
}

/// Returns the value after the last "answer" that has one in its line, or in the next if its own line
/// ends there.
fn after_answer(
    text: &str,
    find: impl Fn(&str, ValuePosition) -> Option<String>,
) -> Option<String> {
    let mentions: Vec<_> = ANSWER.find_iter(text).collect();
    mentions.iter().rev().find_map(|mention| {
        let rest = text.get(mention.end()..)?;
        let mut lines = rest.lines();
        let line = lines.next().unwrap_or_default();
        let said = ANSWER_VERB
            .find(line)
            .and_then(|verb| line.get(verb.end()..));
        let next = lines.find(|line| has_words(line));
        said.and_then(|said| find(said, ValuePosition::First))
            .or_else(|| find(line, ValuePosition::First))
            .or_else(|| {
                find(
                    next.filter(|_| !has_words(said.unwrap_or(line)))?,
                    ValuePosition::First,
                )
            })
    })
}

fn last_line(text: &str) -> &str {
    let mut lines = text.lines().rev();
    lines.find(|line| has_words(line)).unwrap_or_default()
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

fn value_in(expected: &ExpectedAnswer, part: &str, position: ValuePosition) -> Option<String> {
    let part = plain_text(part);
    // What stands after the last equals sign is the result of a calculation.
    let result = part.rsplit_once('=').map(|(_, result)| result);
    let in_result = result.and_then(|result| find_values(expected, result).into_iter().next());
    let mut values = find_values(expected, &part).into_iter();
    in_result.or_else(|| match position {
        ValuePosition::First => values.next(),
        ValuePosition::Last => values.next_back(),
    })
}

/// Removes Markdown and LaTeX around words and numbers.
fn plain_text(text: &str) -> String {
    let mut plain = text
        .replace("{,}", ",")
        .replace("\\,", "")
        .replace("\\%", "%");
    for mark in [
        "**", "`", "$", "\\text", "\\mathrm", "\\boxed", "\\(", "\\)", "\\[", "\\]", "\\",
    ] {
        // Arrows keep their backslash, because they separate names.
        if mark == "\\" {
            plain = plain.replace("\\rightarrow", "→").replace("\\to", "→");
        }
        plain = plain.replace(mark, "");
    }
    plain.replace(['{', '}'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskFamily;

    fn extract(expected: ExpectedAnswer, text: &str) -> Option<String> {
        let task = BenchTask {
            id: String::new(),
            family: TaskFamily::Logic,
            prompt: String::new(),
            expected,
        };
        extract_final_answer(&task, text)
    }

    #[test]
    fn a_number_is_found_in_the_forms_that_models_use() {
        for text in [
            "42",
            "42.",
            "**42**",
            "`42` apples",
            "The answer is 42.",
            "The final answer is: \\( 42 \\)",
            "**Final answer:** 42 (not 41)",
            "First 6 * 7 = 42, so the answer is 42 apples in 3 bags.",
            "So we get\n\\[\n\\boxed{42}\n\\]\nbecause 6 times 7 is that.",
            "### Answer\n\n42",
            "The answer is 6 + 36 = 42.",
            "Therefore \\boxed{42 \\text{ dollars}} remain after 3 days.",
            "1. Take 6.\n2. Multiply by 7.\nThis gives 42.",
            "We find $x = 42$ eggs.",
            "<think>the answer is 7</think>It is 42.",
            "Forty-two: 42.00",
            "The total is **42** dollars.",
            "The answer after 3 steps is 42",
        ] {
            assert_eq!(
                extract(ExpectedAnswer::Integer(42), text).as_deref(),
                Some("42"),
                "{text}"
            );
        }
        assert_eq!(extract(ExpectedAnswer::Integer(42), "I don't know."), None);
        let thousands = extract(ExpectedAnswer::Integer(1200), "The answer is \\$1{,}200.");
        assert_eq!(thousands.as_deref(), Some("1200"));
    }

    #[test]
    fn words_and_times_are_found() {
        let choice = ExpectedAnswer::Choice {
            right: "no".to_owned(),
            options: ["yes", "no", "unknown"].map(str::to_owned).to_vec(),
        };
        assert_eq!(
            extract(choice.clone(), "Yes, it seems. Final answer: No.").as_deref(),
            Some("no")
        );
        assert_eq!(
            extract(choice, "It is known that\n**no**").as_deref(),
            Some("no")
        );
        let time = ExpectedAnswer::TimeOfDay(1085);
        let text = "She leaves at 14:00 and arrives at 6:05 PM.";
        assert_eq!(extract(time, text).as_deref(), Some("18:05"));
    }

    #[test]
    fn a_marked_answer_that_is_no_option_is_not_replaced_by_another() {
        let choice = ExpectedAnswer::Choice {
            right: "Anna".to_owned(),
            options: ["Anna", "Boris", "Clara"].map(str::to_owned).to_vec(),
        };
        for text in [
            "If Anna did it, two are true.\n\\[ \\boxed{\\text{No valid scenario}} \\]",
            "It can't be Anna.\nFinal answer: none of them",
            "It can't be Anna.\n**Answer:** Nobody.\nAnna told the truth.",
            "It can't be Anna.\n\nThe final answer is:\n\n**nobody**",
        ] {
            assert_eq!(extract(choice.clone(), text), None, "{text}");
        }
        for text in [
            "**Final Answer:** Anna",
            "Boris lies.\nThe final answer is\n\n**Anna**",
            "Boris lies.\nThe final answer is the name:\n\nAnna",
            "Answer: let us see.\nBoris lies.\nClara lies.\nSo it was Anna.",
        ] {
            assert_eq!(
                extract(choice.clone(), text).as_deref(),
                Some("anna"),
                "{text}"
            );
        }
    }

    #[test]
    fn an_order_is_found_after_the_places_that_it_joins() {
        let names = ["Ann", "Bob", "Cy"].map(str::to_owned).to_vec();
        let order = ExpectedAnswer::Sequence {
            right: names.clone(),
            names,
        };
        for text in [
            "The fastest way from Ann to Cy is:\nAnn, Bob, Cy",
            "\\[ \\text{Ann} \\rightarrow \\text{Bob} \\rightarrow \\text{Cy} \\]",
            "The answer is **Ann**, **Bob**, **Cy**.",
            "Answer: Ann > Bob > Cy",
            "Final answer:\n1. Ann\n2. Bob\n3. Cy",
        ] {
            assert_eq!(
                extract(order.clone(), text).as_deref(),
                Some("ann, bob, cy"),
                "{text}"
            );
        }
    }

    #[test]
    fn code_is_the_last_fenced_block_or_the_whole_text() {
        let tests = ExpectedAnswer::PythonTests(String::new());
        let text = "Draft:\n```python\nx = 1\n```\nBetter:\n```python\nx = 2\ny = 3\n```\nDone.";
        assert_eq!(
            extract(tests.clone(), text).as_deref(),
            Some("x = 2\ny = 3")
        );
        assert_eq!(extract(tests.clone(), "x = 1").as_deref(), Some("x = 1"));
        assert_eq!(
            extract(tests.clone(), "```\nx = 1").as_deref(),
            Some("x = 1")
        );
        let example = "```python\ndef f(): pass\n```\nFor example:\n```\n>>> f()\n```";
        assert_eq!(
            extract(tests.clone(), example).as_deref(),
            Some("def f(): pass")
        );
        assert_eq!(extract(tests, " \n"), None);
    }
}
