//! Gates: the selection for a step, the check of an answer, the judgment of criteria that code
//! cannot compute, and the decision. Pure: commands run elsewhere and their results are passed in.
//! This module knows nothing of runs, tools or files.

mod check;
mod check_async;
mod check_budget;
pub(crate) mod criteria;
mod decision;
mod guidance;
mod inline_gate;
mod model_judge;
mod result;
mod selection;
mod verdict;

pub use check::{COMMANDS_NOT_ALLOWED, CheckContext, ExternalCheckResult, check_all};
pub use check_async::check_all_async;
pub use decision::{FailedCriterion, GateDecision, GateReview, ReviewAttempts, decide_review};
pub use guidance::{render_guidance, render_review};
pub use inline_gate::{GateParameter, GateParameterError, InlineGateSpec};
pub use model_judge::{CriterionJudgment, JudgeReply, JudgeVerdict, judge_request};
pub use result::{CheckOutcome, CriterionResult, GateResult, JudgedBy};
pub use selection::{
    GateLimitError, GateSelection, GateSources, SelectedGate, UnknownGate, VetoedGate, is_active,
    select_gates, source::GateSource,
};
pub use verdict::{AppliedVerdict, GateVerdict, PartialVerdict, VerdictError, apply_verdict};

pub(crate) use inline_gate::OPERATOR_FIELDS;

pub(crate) use criteria::{
    json_schema::schema_problems, pattern::compile_pattern as compiled_pattern,
    pattern::matches as pattern_matches,
};
