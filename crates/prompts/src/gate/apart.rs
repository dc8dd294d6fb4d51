//! Looks at an answer from async code: what may take long is done where nobody waits for the
//! thread.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Chosen, Context, GateResult, Ran,
    check::{results, unknown},
    check_all,
};
use crate::{
    library::Library,
    model::{CriterionKind, Methodology},
};

/// The longest answer, in bytes, and the most patterns that are looked at right away.
const QUICK_BYTES: usize = 16 << 10;
const QUICK_PATTERNS: usize = 20;

/// Looks at an answer with all gates of a step, as [`check_all`] does, without holding up the
/// runtime if it may take long.
pub async fn check_all_apart(
    gates: Vec<Chosen>,
    answer: String,
    methodology: Option<Arc<Methodology>>,
    library: Arc<Library>,
    ran: BTreeMap<(String, usize), Ran>,
) -> Vec<GateResult> {
    let quick = answer.len() <= QUICK_BYTES && patterns(&gates) <= QUICK_PATTERNS;
    let gates = Arc::new(gates);
    let look = {
        let gates = Arc::clone(&gates);
        move || {
            let with = Context {
                methodology: methodology.as_deref(),
                library: Some(&library),
                ran: Some(&ran),
            };
            check_all(&gates, &answer, &with)
        }
    };
    if quick {
        return look();
    }
    tokio::task::spawn_blocking(look)
        .await
        .unwrap_or_else(|error| {
            tracing::error!(%error, "checking an answer broke off");
            results(&gates, |_, _| {
                unknown("checking broke off; send the answer again".to_owned())
            })
        })
}

/// How many patterns and words the gates look for. What is not listed in a criterion counts as
/// many.
fn patterns(gates: &[Chosen]) -> usize {
    let criteria = gates.iter().flat_map(|chosen| &chosen.gate.criteria);
    criteria
        .map(|criterion| match &criterion.kind {
            CriterionKind::ContentCheck {
                required_patterns,
                forbidden_patterns,
                ..
            } => required_patterns.len() + forbidden_patterns.len(),
            CriterionKind::PatternCheck {
                regex_patterns,
                keyword_count,
            } => regex_patterns.len() + keyword_count.len(),
            CriterionKind::SchemaCheck { .. } | CriterionKind::CitationCheck { .. } => 5,
            CriterionKind::MethodologyCompliance { .. } => QUICK_PATTERNS + 1,
            CriterionKind::LlmSelfCheck { .. }
            | CriterionKind::ShellVerify(_)
            | CriterionKind::ScriptTool { .. } => 0,
        })
        .sum()
}
