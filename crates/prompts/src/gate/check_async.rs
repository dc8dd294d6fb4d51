//! Checks an answer from async code. A check that may take long runs on a thread of its own.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_toolkit::compute;

use super::{
    CheckContext, ExternalCheckResult, GateResult, SelectedGate,
    check::{gate_results, unknown_finding},
    check_all,
    criteria::pattern::is_small,
};
use crate::{
    library::PromptLibrary,
    model::{CriterionKind, Methodology},
};

/// The longest answer, in bytes, and the most patterns that are checked on the async thread.
const INLINE_MAX_BYTES: usize = 16 << 10;
const INLINE_MAX_PATTERNS: usize = 20;

/// Checks an answer against all gates of a step like [`check_all`], without blocking the runtime if
/// the check may take long.
pub async fn check_all_async(
    gates: Vec<SelectedGate>,
    answer: String,
    methodology: Option<Arc<Methodology>>,
    library: Arc<PromptLibrary>,
    ran: BTreeMap<(String, usize), ExternalCheckResult>,
) -> Vec<GateResult> {
    let quick = answer.len() <= INLINE_MAX_BYTES && count_patterns(&gates) <= INLINE_MAX_PATTERNS;
    let gates = Arc::new(gates);
    let look = {
        let gates = Arc::clone(&gates);
        move || {
            let with = CheckContext {
                methodology: methodology.as_deref(),
                library: Some(&library),
                external_results: Some(&ran),
            };
            check_all(&gates, &answer, &with)
        }
    };
    if quick {
        return look();
    }
    compute(look).await.unwrap_or_else(|error| {
        gate_results(&gates, |_, _| {
            unknown_finding(format!("{error}; send the answer again"))
        })
    })
}

/// Estimates how many patterns and keywords the gates search for. A methodology counts as many,
/// because its patterns are not listed in the criterion.
fn count_patterns(gates: &[SelectedGate]) -> usize {
    let criteria = gates.iter().flat_map(|gate| &gate.gate.criteria);
    criteria
        .map(|criterion| match &criterion.kind {
            CriterionKind::ContentCheck {
                required_patterns,
                forbidden_patterns,
                ..
            } => required_patterns
                .iter()
                .chain(forbidden_patterns)
                .map(|it| pattern_weight(it))
                .sum(),
            CriterionKind::PatternCheck {
                regex_patterns,
                keyword_count,
            } => {
                let patterns: usize = regex_patterns.iter().map(|it| pattern_weight(it)).sum();
                patterns + keyword_count.len()
            }
            CriterionKind::CitationCheck { .. } => 5,
            // A schema may take its whole budget of work.
            CriterionKind::SchemaCheck { .. } | CriterionKind::MethodologyCompliance { .. } => {
                INLINE_MAX_PATTERNS + 1
            }
            CriterionKind::LlmSelfCheck { .. }
            | CriterionKind::ShellVerify(_)
            | CriterionKind::ScriptTool { .. } => 0,
        })
        .sum()
}

/// Returns how many ordinary patterns a pattern counts for.
fn pattern_weight(pattern: &str) -> usize {
    if is_small(pattern) {
        1
    } else {
        INLINE_MAX_PATTERNS + 1
    }
}
