//! Discovery: sources asked together, questions that are kept and asked again, and what they found.
//!
//! `search` asks sources; `question` is what is kept of a question, `schedule` when it is due,
//! `run` one run of it, `keeping` what is kept of that, `scheduler` runs those that are due while
//! the server is up.

mod keeping;
mod matching;
mod question;
mod run;
mod schedule;
mod scheduler;
pub mod search;

pub use matching::{KeptMatch, MATCH, Match, Standing};
pub use question::{QUESTION, Question, QuestionVersion, Questions, RunRecord};
pub(crate) use question::{SOURCE_USER, compared};
pub use run::{Ran, Wish, run};
pub(crate) use run::{all_failed, chosen, end_of};
pub use schedule::{Frequency, Schedule};
pub(crate) use scheduler::{NOT_RUN, keep_time};
