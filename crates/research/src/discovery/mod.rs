//! Discovery: searching several sources together, and research questions that are stored and run
//! again.
//!
//! `search` queries the sources, `question` stores a question, `question_run` performs one run,
//! `match_recorder` records its result, and `due_questions` tells the scheduler which questions are
//! due while the server is up.

mod due_questions;
mod match_recorder;
mod question;
mod question_match;
mod question_run;
pub mod search;

pub(crate) use due_questions::{DueQuestions, NOT_RUN};
pub use question::{
    QUESTION, QuestionRepository, QuestionRunRecord, ResearchQuestion, VersionedQuestion,
};
pub(crate) use question::{SOURCE_USER, compare_dates};
pub use question_match::{MATCH, MatchSummary, QuestionMatch, StoredMatch};
pub use question_run::{QuestionRunOptions, QuestionRunResult, run_question};
pub(crate) use question_run::{all_failed_error, default_end_date, select_sources};
