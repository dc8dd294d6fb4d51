//! A task: what the model is asked and what it should answer.

use std::str::FromStr;

use serde::Serialize;

/// A family of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskFamily {
    Arithmetic,
    DatesTimes,
    Logic,
    Counting,
    Planning,
    Code,
}

impl TaskFamily {
    pub const ALL: [Self; 6] = [
        Self::Arithmetic,
        Self::DatesTimes,
        Self::Logic,
        Self::Counting,
        Self::Planning,
        Self::Code,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Arithmetic => "arithmetic",
            Self::DatesTimes => "dates_times",
            Self::Logic => "logic",
            Self::Counting => "counting",
            Self::Planning => "planning",
            Self::Code => "code",
        }
    }
}

/// How hard the tasks are. Easy ones have short questions and few steps, for small models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskLevel {
    #[default]
    Easy,
    Hard,
}

impl FromStr for TaskLevel {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match name {
            "easy" => Ok(Self::Easy),
            "hard" => Ok(Self::Hard),
            _ => anyhow::bail!("the level is easy or hard, not {name:?}"),
        }
    }
}

/// The right answer, and by its variant the form that an answer must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedAnswer {
    /// A whole number.
    Integer(i64),
    /// A time of day, in minutes since midnight.
    TimeOfDay(i64),
    /// A date.
    Date { year: i64, month: i64, day: i64 },
    /// One word out of several.
    Choice { right: String, options: Vec<String> },
    /// Names in the right order.
    Sequence {
        right: Vec<String>,
        names: Vec<String>,
    },
    /// Python source of tests that a function must pass.
    PythonTests(String),
}

/// A question with an exact answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchTask {
    pub id: String,
    pub family: TaskFamily,
    pub prompt: String,
    pub expected: ExpectedAnswer,
}

impl ExpectedAnswer {
    /// Returns the right answer in the form that answers are compared in; for code the tests.
    pub fn canonical(&self) -> String {
        match self {
            Self::Integer(number) => number.to_string(),
            Self::TimeOfDay(minutes) => format!("{:02}:{:02}", minutes / 60, minutes % 60),
            Self::Date { year, month, day } => format!("{year:04}-{month:02}-{day:02}"),
            Self::Choice { right, .. } => right.to_lowercase(),
            Self::Sequence { right, .. } => right.join(", ").to_lowercase(),
            Self::PythonTests(tests) => tests.clone(),
        }
    }
}
