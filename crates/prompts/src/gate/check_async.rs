//! Checks an answer from async code. A check that may take long runs on a thread of its own.

use std::{collections::BTreeMap, sync::Arc};

use deliberate_toolkit::compute;

use super::{
    CheckContext, ExternalCheckResult, GateResult, SelectedGate,
    check::{gate_results, unknown_finding},
    check_all,
};
use crate::{
    library::PromptLibrary,
    model::{CriterionKind, Methodology},
};

/// The longest answer, in bytes, and the most criteria that are checked on the async thread.
const INLINE_MAX_BYTES: usize = 16 << 10;
const INLINE_MAX_CRITERIA: usize = 100;

/// Checks an answer against all gates of a step like [`check_all`], without blocking the runtime if
/// the check may take long.
pub async fn check_all_async(
    gates: Vec<SelectedGate>,
    answer: String,
    methodology: Option<Arc<Methodology>>,
    library: Arc<PromptLibrary>,
    ran: BTreeMap<(String, usize), ExternalCheckResult>,
) -> Vec<GateResult> {
    let mut criteria = gates.iter().flat_map(|gate| &gate.gate.criteria);
    let quick = answer.len() <= INLINE_MAX_BYTES
        && criteria.clone().count() <= INLINE_MAX_CRITERIA
        && criteria.all(|criterion| is_quick(&criterion.kind));
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

/// Tells whether a criterion compiles and searches nothing. Authors decide how long that takes.
fn is_quick(criterion: &CriterionKind) -> bool {
    match criterion {
        CriterionKind::ContentCheck {
            required_patterns,
            forbidden_patterns,
            ..
        } => required_patterns.is_empty() && forbidden_patterns.is_empty(),
        CriterionKind::PatternCheck {
            regex_patterns,
            keyword_count,
        } => regex_patterns.is_empty() && keyword_count.is_empty(),
        CriterionKind::CitationCheck { .. }
        | CriterionKind::SchemaCheck { .. }
        | CriterionKind::MethodologyCompliance { .. } => false,
        CriterionKind::LlmSelfCheck { .. }
        | CriterionKind::ShellVerify(_)
        | CriterionKind::ScriptTool { .. } => true,
    }
}
