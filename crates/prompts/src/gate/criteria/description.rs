//! Describes criteria in words, without looking at an answer.

use super::pattern;
use crate::model::{Criterion, CriterionKind};

/// Describes in words what a criterion asks for.
pub(crate) fn describe_criterion(criterion: &Criterion) -> String {
    if let Some(words) = criterion
        .description
        .as_deref()
        .filter(|it| !it.trim().is_empty())
    {
        return words.trim().to_owned();
    }
    let listed = |items: &[String]| {
        let items: Vec<String> = items
            .iter()
            .take(5)
            .map(|it| format!("`{}`", pattern::display_pattern(it)))
            .collect();
        items.join(", ")
    };
    match &criterion.kind {
        CriterionKind::ContentCheck {
            min_length,
            max_length,
            required_patterns,
            forbidden_patterns,
        } => {
            let mut parts = Vec::new();
            parts.extend(min_length.map(|it| format!("at least {it} characters")));
            parts.extend(max_length.map(|it| format!("at most {it} characters")));
            if !required_patterns.is_empty() {
                parts.push(format!("matches {}", listed(required_patterns)));
            }
            if !forbidden_patterns.is_empty() {
                parts.push(format!("does not match {}", listed(forbidden_patterns)));
            }
            join_sentence(&parts)
        }
        CriterionKind::PatternCheck {
            regex_patterns,
            keyword_count,
        } => {
            let mut parts = Vec::new();
            if !regex_patterns.is_empty() {
                parts.push(format!("matches {}", listed(regex_patterns)));
            }
            for (word, least) in keyword_count.iter().take(10) {
                parts.push(format!(
                    "says `{}` at least {least} time(s)",
                    pattern::display_pattern(word)
                ));
            }
            join_sentence(&parts)
        }
        CriterionKind::SchemaCheck { .. } => "contains JSON that matches the schema".to_owned(),
        CriterionKind::CitationCheck { min_citations } => {
            format!("names at least {min_citations} source(s)")
        }
        CriterionKind::LlmSelfCheck {
            prompt_template, ..
        } => prompt_template
            .as_deref()
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .unwrap_or("does what the guidance of this gate asks for")
            .to_owned(),
        CriterionKind::MethodologyCompliance { methodology, .. } => format!(
            "follows {}",
            methodology
                .as_deref()
                .filter(|it| !it.is_empty())
                .unwrap_or("the methodology in use")
        ),
        CriterionKind::ShellVerify(check) => {
            format!("`{}` succeeds", pattern::display_pattern(&check.command))
        }
        CriterionKind::ScriptTool { tool } => format!("the script `{tool}` passes"),
    }
}

fn join_sentence(parts: &[String]) -> String {
    if parts.is_empty() {
        "does what the guidance of this gate asks for".to_owned()
    } else {
        parts.join(", ")
    }
}
