//! Gates: which ones apply to a step, what an answer is found to be like, who judges what can't
//! be computed, and what follows from it. Pure: commands are run elsewhere and their results
//! handed in. Knows nothing of runs, tools or files.

mod apart;
mod asked;
mod budget;
mod check;
mod citation;
mod collect;
mod compliance;
mod guidance;
mod judge;
mod outcome;
mod pattern;
mod pile;
mod result;
mod schema;
mod source;
mod verdict;
mod wording;

pub use apart::check_all_async;
pub use asked::{GateParameter, GateParameterError, InlineGateSpec};
pub use check::{COMMANDS_NOT_ALLOWED, CheckContext, ExternalCheckResult, check_all, check_gate};
pub use collect::{
    GateLimitError, GateSelection, GateSources, SelectedGate, UnknownGate, VetoedGate, is_active,
    select_gates,
};
pub use guidance::{render_guidance, render_review};
pub use judge::{CriterionJudgment, JudgeReply, JudgeVerdict, judge_request};
pub use outcome::{FailedCriterion, GateDecision, GateReview, ReviewAttempts, decide_review};
pub use result::{CheckOutcome, CriterionResult, GateResult, JudgedBy};
pub use source::GateSource;
pub use verdict::{AppliedVerdict, GateVerdict, PartialVerdict, VerdictError, apply_verdict};

pub(crate) use pattern::compile_pattern as compiled_pattern;
pub(crate) use schema::schema_problems;
