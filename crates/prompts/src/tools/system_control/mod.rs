//! `system_control`: how things stand, and what can be switched. Each action has a file of its
//! own; here is only which there are, and that nothing is taken that is not used.

mod analytics;
mod changes;
mod config;
mod done;
mod explain;
mod framework;
mod gates;
mod guide;
mod health;
mod injection;
mod input;
mod inspect;
mod maintenance;
mod problems;
mod session;
mod status;

use std::sync::Arc;

use deliberate_core::nearest;
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use futures::future::BoxFuture;
use serde_json::json;

pub use done::Told;
pub use input::{Action, Control};

use crate::{
    engine::{Engine, Settings},
    library::Library,
};
use done::Done;

/// The tool.
pub struct SystemControl(pub Arc<Engine>);

/// The longest text that is taken.
const LONGEST: usize = 10_000;

/// What an operation is done with.
struct Desk<'a> {
    engine: &'a Engine,
    call: &'a Call,
    input: &'a Control,
    library: Arc<Library>,
    settings: Settings,
}

type Doing<'a> = BoxFuture<'a, Result<Done, ToolError>>;

/// Something that can be done.
struct Operation {
    name: &'static str,
    /// What it can be told besides.
    takes: &'static [&'static str],
    run: for<'a> fn(&'a Desk<'a>) -> Doing<'a>,
}

impl Action {
    /// What can be done, the usual thing first.
    const fn operations(self) -> &'static [Operation] {
        match self {
            Self::Status => status::OPERATIONS,
            Self::Framework => framework::OPERATIONS,
            Self::Gates => gates::OPERATIONS,
            Self::Analytics => analytics::OPERATIONS,
            Self::Config => config::OPERATIONS,
            Self::Maintenance => maintenance::OPERATIONS,
            Self::Guide => guide::OPERATIONS,
            Self::Injection => injection::OPERATIONS,
            Self::Session => session::OPERATIONS,
            Self::Changes => changes::OPERATIONS,
        }
    }
}

impl Tool for SystemControl {
    type Input = Control;
    type Output = Told;

    fn about(&self) -> About {
        About {
            name: "system_control",
            title: "Control the prompt engine",
            description: "Status and switches of the prompt engine: problems in files, \
                          methodology, gates, runs, usage, timing, injected guidance.",
            annotations: Annotations {
                destructive: true,
                ..Annotations::ADDS
            },
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Control, call: &Call) -> Result<Outcome<Told>, ToolError> {
        let operation = wanted(&input)?;
        let desk = Desk {
            engine: &self.0,
            call,
            library: self.0.shelf.library().await,
            settings: Settings::read(call, &self.0.options).await?,
            input: &input,
        };
        let done = (operation.run)(&desk).await?;
        Ok(Outcome {
            output: done.told,
            changes: done.changes,
            session: None,
        })
    }
}

/// The operation that is meant, if it takes all that was given.
fn wanted(input: &Control) -> Result<&'static Operation, ToolError> {
    let all = input.action.operations();
    let action = input.action.as_str();
    let found = match input.operation.as_deref() {
        None => all.first(),
        Some(name) => all.iter().find(|it| it.name == name),
    };
    let Some(found) = found else {
        let given = input.operation.as_deref().unwrap_or_default();
        return Err(one_of("operation", given, all.iter().map(|it| it.name)));
    };
    let given = input.given();
    let long: Vec<Issue> = given
        .iter()
        .filter(|(_, value)| value.as_str().is_some_and(|text| text.len() > LONGEST))
        .map(|(name, _)| Issue::new(name, format!("must have at most {LONGEST} bytes")))
        .collect();
    if !long.is_empty() {
        return Err(ToolError::Invalid(long));
    }
    let unused: Vec<Issue> = given
        .into_iter()
        .filter(|(name, _)| !found.takes.contains(&name.as_str()))
        .map(|(name, value)| {
            let uses = match found.takes {
                [] => "no more than that".to_owned(),
                takes => takes.join(", "),
            };
            let rule = format!("is not used by {action} {}, which takes {uses}", found.name);
            Issue::new(name, rule).given(&value)
        })
        .collect();
    if unused.is_empty() {
        return Ok(found);
    }
    Err(ToolError::Invalid(unused))
}

/// The error for a word that is none of those it may be.
fn one_of<'a>(field: &str, given: &str, known: impl IntoIterator<Item = &'a str>) -> ToolError {
    let known: Vec<&str> = known.into_iter().collect();
    let meant = nearest(given, known.iter().copied());
    let meant = meant.map(|it| format!("; did you mean {it}?"));
    let rule = format!(
        "must be one of {}{}",
        known.join(", "),
        meant.unwrap_or_default()
    );
    ToolError::Invalid(vec![Issue::new(field, rule).given(&json!(given))])
}

impl Desk<'_> {
    /// How many are wanted, within bounds.
    fn limit(&self, usual: usize, most: usize) -> usize {
        let wanted = self
            .input
            .limit
            .map_or(usual, |it| usize::try_from(it).unwrap_or(usize::MAX));
        wanted.clamp(1, most)
    }

    /// Refuses what can't be taken back, unless it was confirmed.
    fn confirmed(&self, what: &str) -> Result<(), ToolError> {
        if self.input.confirm == Some(true) {
            return Ok(());
        }
        Err(crate::engine::failure(
            "NeedsConfirmation",
            format!("{what}; nothing was done"),
            "Send it again with confirm: true.",
        ))
    }

    /// Something the operation can't do without.
    fn needed<'i>(&self, name: &str, value: Option<&'i String>) -> Result<&'i str, ToolError> {
        let value = value.map(|it| it.trim()).filter(|it| !it.is_empty());
        value.ok_or_else(|| {
            let (action, operation) = (self.input.action.as_str(), &self.input.operation);
            let operation = operation.as_deref().unwrap_or_default();
            let rule = format!("is required for {action} {operation}");
            ToolError::Invalid(vec![Issue::new(name, rule.trim_end())])
        })
    }

    /// What is switched is kept for good; who wants it otherwise should not believe it was done.
    fn kept_for_good(&self) -> Result<(), ToolError> {
        if self.input.persist != Some(false) {
            return Ok(());
        }
        let rule = "must be true: what is switched is kept, and holds for every process";
        Err(ToolError::Invalid(vec![Issue::new("persist", rule)]))
    }
}
