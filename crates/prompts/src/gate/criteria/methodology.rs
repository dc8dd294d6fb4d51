//! Scores how well an answer follows a methodology, by the keywords and patterns of each phase and
//! by the rules for each phase's section.

use serde_json::Value;

use super::pattern;
use crate::{
    gate::check_budget::CheckBudget,
    library::is_same_name,
    model::{Methodology, MethodologyPhase, PhaseRequirement},
};

/// The compliance of an answer with a methodology.
pub(crate) enum ComplianceScore {
    /// The share of the phases found, 0 to 1, and the problems of the others.
    Scored(f64, Vec<String>),
    /// A pattern or the budget does not allow the check.
    Invalid(String),
    /// The methodology has no indicators or section rules.
    NotComputable,
}

/// Scores the compliance of an answer. `indicators` maps a phase to its `keywords` and `patterns`.
pub(crate) fn score_compliance(
    methodology: Option<&Methodology>,
    indicators: &Value,
    answer: &str,
    budget: &mut CheckBudget,
) -> ComplianceScore {
    // Finding the sections is a search through the answer, too.
    if let Err(why) = budget.take(answer) {
        return ComplianceScore::Invalid(why);
    }
    let own = |value: &Value| value.as_object().is_some_and(|it| !it.is_empty());
    let indicators = if own(indicators) {
        indicators
    } else {
        methodology.map_or(&Value::Null, |it| &it.quality_indicators)
    };
    let phases: &[MethodologyPhase] = methodology.map_or(&[], |it| &it.phases);
    let sections = AnswerSections::parse(answer, phases);
    let mut found = PhaseTally::default();
    let mut seen = Vec::new();
    for (name, signs) in indicators.as_object().into_iter().flatten() {
        let phase = phases.iter().find(|it| matches_phase(it, name));
        seen.extend(phase.map(|it| it.id.as_str()));
        let said = has_indicator(signs, answer, budget, &mut found.errors);
        let guarded =
            phase.and_then(|it| check_phase_section(it, &sections, budget, &mut found.errors));
        found.add(name, Some(said), guarded);
    }
    for phase in phases.iter().filter(|it| !seen.contains(&it.id.as_str())) {
        let guarded = check_phase_section(phase, &sections, budget, &mut found.errors);
        found.add(&phase.name, None, guarded);
    }
    found.into_score()
}

fn matches_phase(phase: &MethodologyPhase, name: &str) -> bool {
    is_same_name(&phase.id, name) || is_same_name(&phase.name, name)
}

#[derive(Default)]
struct PhaseTally {
    total: usize,
    present: usize,
    missing: Vec<String>,
    errors: Vec<String>,
}

impl PhaseTally {
    /// Adds a phase: whether indicators show it, and the problem of its section. Each is unset if
    /// there is no rule for it.
    fn add(&mut self, name: &str, said: Option<bool>, section: Option<Result<(), String>>) {
        if said.is_none() && section.is_none() {
            return;
        }
        self.total += 1;
        match (said, section) {
            (_, Some(Err(why))) => self.missing.push(format!("{name}: {why}")),
            (Some(false), _) => self
                .missing
                .push(format!("{name}: not found in the answer")),
            _ => self.present += 1,
        }
    }

    fn into_score(self) -> ComplianceScore {
        if self.total == 0 {
            return self
                .errors
                .into_iter()
                .next()
                .map_or(ComplianceScore::NotComputable, ComplianceScore::Invalid);
        }
        match self.errors.into_iter().next() {
            Some(why) if !self.missing.is_empty() => ComplianceScore::Invalid(why),
            _ => ComplianceScore::Scored(self.present as f64 / self.total as f64, self.missing),
        }
    }
}

/// Returns whether one of the keywords or patterns of a phase occurs.
fn has_indicator(
    signs: &Value,
    answer: &str,
    budget: &mut CheckBudget,
    broken: &mut Vec<String>,
) -> bool {
    let texts = |value: &Value| -> Vec<String> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    // A plain list is a list of keywords.
    let words = texts(signs.get("keywords").unwrap_or(signs));
    let patterns = texts(signs.get("patterns").unwrap_or(&Value::Null));
    for word in &words {
        if let Err(why) = budget.take(answer) {
            broken.push(why);
            return false;
        }
        if pattern::count_phrase(answer, word).is_ok_and(|times| times > 0) {
            return true;
        }
    }
    for text in &patterns {
        let found = budget
            .take(answer)
            .and_then(|()| pattern::matches(text, answer));
        match found {
            Ok(true) => return true,
            Ok(false) => {}
            Err(why) => broken.push(why),
        }
    }
    false
}

/// Checks the section of a phase; returns `None` if there is no rule for it.
fn check_phase_section(
    phase: &MethodologyPhase,
    sections: &AnswerSections<'_>,
    budget: &mut CheckBudget,
    broken: &mut Vec<String>,
) -> Option<Result<(), String>> {
    let guard = phase.guards.as_ref()?;
    let header = phase.section_header.as_deref().unwrap_or(&phase.name);
    let Some(text) = sections.section(header) else {
        let required = guard.required.unwrap_or(true);
        return required.then(|| Err(format!("there is no section `{header}`")));
    };
    Some(check_section(guard, text, budget, broken))
}

fn check_section(
    guard: &PhaseRequirement,
    text: &str,
    budget: &mut CheckBudget,
    broken: &mut Vec<String>,
) -> Result<(), String> {
    let length = text.trim().chars().count();
    if let Some(least) = guard.min_length.filter(|least| length < *least) {
        return Err(format!(
            "its section has {length} characters, at least {least} are needed"
        ));
    }
    if let Some(most) = guard.max_length.filter(|most| length > *most) {
        return Err(format!(
            "its section has {length} characters, at most {most} are allowed"
        ));
    }
    let lower = text.to_lowercase();
    let holds = |term: &String| lower.contains(&term.to_lowercase());
    if !guard.contains_any.is_empty() && !guard.contains_any.iter().any(holds) {
        return Err(format!(
            "its section contains none of: {}",
            guard.contains_any.join(", ")
        ));
    }
    if let Some(term) = guard.contains_all.iter().find(|term| !holds(term)) {
        return Err(format!("its section lacks `{term}`"));
    }
    if let Some(term) = guard.forbidden_terms.iter().find(|term| holds(term)) {
        return Err(format!("its section contains `{term}`, which is forbidden"));
    }
    let Some(wanted) = guard.matches_pattern.as_deref() else {
        return Ok(());
    };
    let found = budget
        .take(text)
        .and_then(|()| pattern::matches(wanted, text));
    match found {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "its section does not match `{}`",
            pattern::display_pattern(wanted)
        )),
        Err(why) => {
            broken.push(why.clone());
            Err(why)
        }
    }
}

/// The sections of an answer, by heading.
struct AnswerSections<'a>(Vec<(String, &'a str)>);

impl<'a> AnswerSections<'a> {
    /// Splits an answer at its headings. A heading is a line that begins with `#`, is enclosed in
    /// asterisks, or is the header of a phase.
    fn parse(answer: &'a str, phases: &[MethodologyPhase]) -> Self {
        let headers: Vec<String> = phases
            .iter()
            .map(|it| normalize_heading(it.section_header.as_deref().unwrap_or(&it.name)))
            .collect();
        let mut found: Vec<(String, usize, usize)> = Vec::new();
        let mut at = 0;
        for line in answer.split_inclusive('\n') {
            let bare = line.trim();
            let is_marked = bare.starts_with('#')
                || (bare.starts_with("**") && bare.trim_end_matches(':').ends_with("**"));
            let name = normalize_heading(bare);
            if !name.is_empty() && (is_marked || headers.contains(&name)) {
                found.push((name, at, at + line.len()));
            }
            at += line.len();
        }
        let ends: Vec<usize> = found.iter().skip(1).map(|it| it.1).chain([at]).collect();
        Self(
            found
                .into_iter()
                .zip(ends)
                .map(|((name, _, from), to)| (name, answer.get(from..to).unwrap_or_default()))
                .collect(),
        )
    }

    fn section(&self, header: &str) -> Option<&'a str> {
        let wanted = normalize_heading(header);
        let numbered = |name: &str| {
            name.trim_start_matches(|it: char| it.is_ascii_digit() || matches!(it, '.' | ')' | ' '))
                .to_owned()
        };
        self.0
            .iter()
            .find(|(name, _)| *name == wanted || numbered(name) == wanted)
            .map(|(_, text)| *text)
    }
}

/// Removes the markup of a heading.
fn normalize_heading(heading: &str) -> String {
    heading
        .trim_matches(|it: char| matches!(it, '#' | '*' | ':' | '_') || it.is_whitespace())
        .to_lowercase()
}
