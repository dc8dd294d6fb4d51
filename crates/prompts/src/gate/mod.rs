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

pub use apart::check_all_apart;
pub use asked::{Asked, AskedError, Inline};
pub use check::{Context, NOT_ALLOWED, Ran, check, check_all};
pub use collect::{Chosen, Collected, Removed, Sources, TooMany, Unknown, collect, is_active};
pub use guidance::{guidance, review};
pub use judge::{JudgeReply, JudgeWord, Judged, judge_ask};
pub use outcome::{Attempts, Decision, Failing, Review, decide};
pub use result::{CriterionResult, GateResult, JudgedBy, Outcome};
pub use source::Source;
pub use verdict::{Applied, Part, Verdict, VerdictError, apply};

pub(crate) use pattern::compiled as compiled_pattern;
pub(crate) use schema::problems_of;
