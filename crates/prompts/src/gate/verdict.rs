//! Verdicts on an answer: parsing them, and settling the open judgments with them. A verdict never
//! overrides a result that the server computed.

use serde_json::{Map, Value};

use super::{CheckOutcome, CriterionResult, GateResult, GateSource, JudgedBy};
use crate::{library::is_same_name, model::Enforcement};

/// The most characters of a reason that are stored.
const MAX_REASON_CHARS: usize = 2_000;

/// The most verdicts on single gates and criteria.
const MAX_PARTS: usize = 500;

/// A verdict on an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateVerdict {
    /// The verdict on the whole answer; unset if there are only partial verdicts.
    pub overall: Option<CheckOutcome>,
    pub rationale: String,
    /// The verdicts on single gates and criteria.
    pub parts: Vec<PartialVerdict>,
}

/// A verdict on one gate or one criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialVerdict {
    /// The id of the gate; unset if only numbers are given.
    pub gate: Option<String>,
    /// The position of the gate among the gates, from 1.
    pub gate_number: Option<usize>,
    /// The number of the criterion: in the gate if a gate is named, else among all. Unset means the
    /// whole gate.
    pub criterion: Option<usize>,
    pub outcome: CheckOutcome,
    pub rationale: String,
}

/// The error of an unusable verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerdictError {
    /// The verdict cannot be parsed.
    #[error(
        "gate_verdict can't be read: {0}. Send `GATE_REVIEW: PASS - why` or `GATE_REVIEW: FAIL - \
         why`, or an object {{\"overall\": \"pass\", \"rationale\": \"why\", \"per_criterion\": \
         [{{\"index\": 1, \"verdict\": \"pass\", \"rationale\": \"why\"}}]}}"
    )]
    Unreadable(String),
    /// The verdict refers to a gate or criterion that is not under review.
    #[error("gate_verdict names {0}, which is not part of this review; there are: {1}")]
    UnknownTarget(String, String),
}

/// The results after a verdict was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedVerdict {
    pub results: Vec<GateResult>,
    /// The parts of the verdict that contradict a computed result and were ignored.
    pub overruled: Vec<String>,
}

impl GateVerdict {
    /// Parses a `gate_verdict`: text, an object, or an object written as text.
    pub fn parse(value: &Value) -> Result<Self, VerdictError> {
        match value {
            Value::String(text) => {
                let text = text.trim();
                match serde_json::from_str::<Value>(text) {
                    Ok(Value::Object(fields)) => Self::parse_object(&fields),
                    _ => Self::parse_text(text),
                }
            }
            Value::Object(fields) => Self::parse_object(fields),
            _ => Err(unreadable("it is neither text nor an object")),
        }
    }

    fn parse_text(text: &str) -> Result<Self, VerdictError> {
        let body = match strip_word(text, "GATE_REVIEW").or_else(|| strip_word(text, "GATE REVIEW"))
        {
            Some(rest) => rest
                .strip_prefix([':', '-'])
                .ok_or_else(|| unreadable("`:` is missing after GATE_REVIEW"))?
                .trim_start(),
            None => strip_word(text, "GATE").unwrap_or(text),
        };
        let (outcome, rest) = if let Some(rest) = strip_word(body, "PASS") {
            (CheckOutcome::Pass, rest)
        } else if let Some(rest) = strip_word(body, "FAIL") {
            (CheckOutcome::Fail, rest)
        } else {
            return Err(unreadable("it has neither PASS nor FAIL"));
        };
        let rationale = rest
            .strip_prefix(['-', ':', '–', '—'])
            .map(str::trim)
            .filter(|why| !why.is_empty())
            .ok_or_else(|| unreadable("the reason is missing after PASS or FAIL"))?;
        Ok(Self {
            overall: Some(outcome),
            rationale: truncate_reason(rationale),
            parts: Vec::new(),
        })
    }

    fn parse_object(fields: &Map<String, Value>) -> Result<Self, VerdictError> {
        const VERDICT_FIELDS: [&str; 4] = ["overall", "rationale", "per_gate", "per_criterion"];
        if let Some(other) = fields
            .keys()
            .find(|key| !VERDICT_FIELDS.contains(&key.as_str()))
        {
            return Err(unreadable(&format!("it has an unknown field `{other}`")));
        }
        let overall = fields.get("overall").map(parse_outcome).transpose()?;
        let rationale = text_field(fields, "rationale");
        let mut parts = Vec::new();
        for (list, of_gates) in [("per_gate", true), ("per_criterion", false)] {
            let items = match fields.get(list) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(items)) => items,
                Some(_) => return Err(unreadable(&format!("`{list}` is not a list"))),
            };
            for item in items {
                parts.push(parse_part(item, of_gates)?);
            }
        }
        if parts.len() > MAX_PARTS {
            return Err(unreadable(&format!("it has more than {MAX_PARTS} parts")));
        }
        if overall.is_none() && parts.is_empty() {
            return Err(unreadable("it has neither `overall` nor `per_criterion`"));
        }
        if rationale.is_empty() && (overall.is_some() && parts.is_empty()) {
            return Err(unreadable("`rationale` is missing"));
        }
        if rationale.is_empty() && parts.iter().any(|part| part.rationale.is_empty()) {
            return Err(unreadable("`rationale` is missing"));
        }
        Ok(Self {
            overall,
            rationale,
            parts,
        })
    }
}

/// Strips a leading word from a text, ignoring case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.get(..word.len())
        .filter(|start| start.eq_ignore_ascii_case(word))
        .and_then(|_| text.get(word.len()..))
        .map(str::trim_start)
}

fn parse_part(item: &Value, of_gates: bool) -> Result<PartialVerdict, VerdictError> {
    const PART_FIELDS: [&str; 6] = [
        "index",
        "gate",
        "criterion",
        "passed",
        "verdict",
        "rationale",
    ];
    let Value::Object(fields) = item else {
        return Err(unreadable("one of its parts is not an object"));
    };
    if let Some(other) = fields
        .keys()
        .find(|key| !PART_FIELDS.contains(&key.as_str()))
    {
        return Err(unreadable(&format!(
            "one of its parts has an unknown field `{other}`"
        )));
    }
    let said = fields.get("verdict").or_else(|| fields.get("passed"));
    let outcome =
        parse_outcome(said.ok_or_else(|| unreadable("one of its parts has no `verdict`"))?)?;
    let number = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_u64()
            .and_then(|it| usize::try_from(it).ok())
            .filter(|it| *it > 0)
            .map(Some)
            .ok_or_else(|| unreadable(&format!("`{name}` is not a number from 1"))),
    };
    let gate = Some(text_field(fields, "gate")).filter(|it| !it.is_empty());
    let index = number("index")?;
    let inside = number("criterion")?;
    if gate.is_none() && index.is_none() && inside.is_none() {
        return Err(unreadable(
            "one of its parts has neither `index` nor `gate`",
        ));
    }
    let (gate_at, criterion) = match (of_gates, gate.is_some()) {
        (true, _) => (index, inside),
        (false, _) => (None, inside.or(index)),
    };
    Ok(PartialVerdict {
        gate,
        gate_number: gate_at,
        criterion,
        outcome,
        rationale: text_field(fields, "rationale"),
    })
}

fn parse_outcome(value: &Value) -> Result<CheckOutcome, VerdictError> {
    let text = match value {
        Value::Bool(true) => return Ok(CheckOutcome::Pass),
        Value::Bool(false) => return Ok(CheckOutcome::Fail),
        Value::String(said) => said.trim().to_ascii_lowercase().replace(['-', ' '], "_"),
        _ => String::new(),
    };
    match text.as_str() {
        "pass" | "passed" => Ok(CheckOutcome::Pass),
        "fail" | "failed" => Ok(CheckOutcome::Fail),
        "cannot_tell" | "can't_tell" | "unknown" => Ok(CheckOutcome::CannotTell),
        _ => Err(unreadable("a verdict is `pass`, `fail` or `cannot_tell`")),
    }
}

fn text_field(fields: &Map<String, Value>, name: &str) -> String {
    truncate_reason(
        fields
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim(),
    )
}

fn truncate_reason(text: &str) -> String {
    text.chars().take(MAX_REASON_CHARS).collect()
}

fn unreadable(why: &str) -> VerdictError {
    VerdictError::Unreadable(why.to_owned())
}

/// Applies a verdict. It settles open judgments; computed results stay as they are. A FAIL verdict
/// always counts: if there is no judgment to settle, it is added as a failed criterion.
pub fn apply_verdict(
    verdict: &GateVerdict,
    mut results: Vec<GateResult>,
    by: JudgedBy,
) -> Result<AppliedVerdict, VerdictError> {
    let mut overruled = Vec::new();
    let mut said_no = false;
    for part in &verdict.parts {
        let of_gate = part.criterion.is_none()
            && results
                .iter()
                .enumerate()
                .any(|(at, it)| targets_gate(part, at, it));
        let there = list_gates(&results);
        let why = if part.rationale.is_empty() {
            &verdict.rationale
        } else {
            &part.rationale
        };
        let mut found = false;
        let mut failed = false;
        for criterion in matching_criteria(part, &mut results) {
            found = true;
            failed |= settle_criterion(criterion, part.outcome, why, by, &mut overruled);
        }
        if !found && !of_gate {
            return Err(VerdictError::UnknownTarget(part_name(part), there));
        }
        if of_gate && part.outcome == CheckOutcome::Fail && !failed {
            add_failure(&mut results, why, by);
            failed = true;
        }
        said_no |= failed;
    }
    if let Some(overall) = verdict.overall {
        for criterion in results.iter_mut().flat_map(|it| &mut it.criteria) {
            if criterion.is_open() || contradicts_computed(criterion, overall) {
                said_no |=
                    settle_criterion(criterion, overall, &verdict.rationale, by, &mut overruled);
            }
        }
        if overall == CheckOutcome::Fail && !said_no {
            add_failure(&mut results, &verdict.rationale, by);
        }
    }
    results.iter_mut().for_each(GateResult::update_outcome);
    Ok(AppliedVerdict { results, overruled })
}

/// Returns whether a verdict passes a criterion that was computed to fail.
fn contradicts_computed(criterion: &CriterionResult, outcome: CheckOutcome) -> bool {
    outcome == CheckOutcome::Pass
        && criterion.judged_by == JudgedBy::Server
        && criterion.outcome == CheckOutcome::Fail
}

/// Settles one criterion; returns whether it now fails because of this verdict.
fn settle_criterion(
    criterion: &mut CriterionResult,
    outcome: CheckOutcome,
    why: &str,
    by: JudgedBy,
    overruled: &mut Vec<String>,
) -> bool {
    if criterion.is_open() {
        criterion.outcome = outcome;
        why.clone_into(&mut criterion.why);
        criterion.judged_by = by;
        return outcome == CheckOutcome::Fail;
    }
    if criterion.outcome != outcome {
        overruled.push(format!(
            "{}. {}: {}",
            criterion.number, criterion.what, criterion.why
        ));
    }
    false
}

/// Returns whether a partial verdict can refer to the gate at this position.
fn targets_gate(part: &PartialVerdict, at: usize, gate: &GateResult) -> bool {
    part.gate
        .as_ref()
        .is_none_or(|id| is_same_name(id, &gate.gate) || is_same_name(id, &gate.name))
        && part.gate_number.is_none_or(|wanted| wanted == at + 1)
}

/// Returns the criteria that a partial verdict refers to.
fn matching_criteria<'a>(
    part: &'a PartialVerdict,
    results: &'a mut [GateResult],
) -> impl Iterator<Item = &'a mut CriterionResult> {
    let names_gate = part.gate.is_some() || part.gate_number.is_some();
    results
        .iter_mut()
        .enumerate()
        .filter(move |(at, it)| targets_gate(part, *at, it))
        .flat_map(|(_, it)| &mut it.criteria)
        .filter(move |it| {
            let number = if names_gate { it.index } else { it.number };
            part.criterion.is_none_or(|wanted| wanted == number)
        })
}

fn add_failure(results: &mut Vec<GateResult>, why: &str, by: JudgedBy) {
    let number = results.iter().map(|it| it.criteria.len()).sum::<usize>() + 1;
    results.push(GateResult {
        gate: "verdict".to_owned(),
        name: "Verdict".to_owned(),
        source: GateSource::Client,
        enforcement: Enforcement::Blocking,
        strict: false,
        max_attempts: 2,
        hints: true,
        criteria: vec![CriterionResult::from_failed_verdict(
            number,
            1,
            why.to_owned(),
            by,
        )],
        outcome: CheckOutcome::Fail,
    });
}

fn part_name(part: &PartialVerdict) -> String {
    match (&part.gate, part.gate_number, part.criterion) {
        (Some(gate), _, Some(at)) => format!("criterion {at} of gate `{gate}`"),
        (Some(gate), _, None) => format!("gate `{gate}`"),
        (None, Some(gate), _) => format!("gate {gate}"),
        (None, None, at) => format!("criterion {}", at.unwrap_or_default()),
    }
}

fn list_gates(results: &[GateResult]) -> String {
    let gates: Vec<String> = results
        .iter()
        .map(|it| {
            let numbers: Vec<String> = it.criteria.iter().map(|it| it.number.to_string()).collect();
            format!("`{}` with criteria {}", it.gate, numbers.join(", "))
        })
        .collect();
    if gates.is_empty() {
        "none".to_owned()
    } else {
        gates.join("; ")
    }
}
