#![doc = include_str!("../README.md")]

mod random;
pub mod statistics;
mod task;
pub mod tasks;
pub mod verify;

pub use random::SplitMix64;
pub use task::{BenchTask, ExpectedAnswer, TaskFamily, TaskLevel};
pub use tasks::generate;
pub use verify::{Verdict, extract_final_answer, verify};
