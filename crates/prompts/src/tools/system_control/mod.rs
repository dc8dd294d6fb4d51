//! `system_control`: how things stand, and what can be switched. Each action has a file of its
//! own; here is only which there are, and that nothing is taken that is not used.

mod analytics;
mod changes;
mod config;
mod framework;
mod gates;
mod guide;
mod health;
mod injection;
mod injection_explain;
mod input;
mod library_problems;
mod maintenance;
mod operation_result;
mod session;
mod session_inspect;
mod status;

use std::sync::Arc;

use deliberate_core::did_you_mean;
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use futures::future::BoxFuture;
use serde_json::json;

pub use input::{ControlAction, ControlInput};
pub use operation_result::ControlReply;

use crate::{
    engine::{Engine, RuntimeSettings},
    library::PromptLibrary,
};
use operation_result::OperationResult;

/// The tool.
pub struct SystemControl(pub Arc<Engine>);

/// The longest text that is taken.
const MAX_TEXT_BYTES: usize = 10_000;

/// What an operation is done with.
struct ControlContext<'a> {
    engine: &'a Engine,
    call: &'a ToolContext,
    input: &'a ControlInput,
    library: Arc<PromptLibrary>,
    settings: RuntimeSettings,
}

type OperationFuture<'a> = BoxFuture<'a, Result<OperationResult, ToolError>>;

/// Something that can be done.
struct ControlOperation {
    name: &'static str,
    /// What it can be told besides.
    accepted_fields: &'static [&'static str],
    run: for<'a> fn(&'a ControlContext<'a>) -> OperationFuture<'a>,
}

impl ControlAction {
    /// What can be done, the usual thing first.
    const fn operations(self) -> &'static [ControlOperation] {
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
    type Input = ControlInput;
    type Output = ControlReply;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "system_control",
            title: "Control the prompt engine",
            description: "Status and switches of the prompt engine: problems in files, \
                          methodology, gates, runs, usage, timing, injected guidance.",
            hints: ToolHints {
                destructive: true,
                ..ToolHints::ADDITIVE
            },
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: ControlInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<ControlReply>, ToolError> {
        let operation = find_operation(&input)?;
        let desk = ControlContext {
            engine: &self.0,
            call,
            library: self.0.live_library.library().await,
            settings: RuntimeSettings::read(call, &self.0.options).await?,
            input: &input,
        };
        let done = (operation.run)(&desk).await?;
        Ok(ToolOutput {
            output: done.reply,
            changes: done.changes,
            session: None,
        })
    }
}

/// The operation that is meant, if it takes all that was given.
fn find_operation(input: &ControlInput) -> Result<&'static ControlOperation, ToolError> {
    let all = input.action.operations();
    let action = input.action.as_str();
    let found = match input.operation.as_deref() {
        None => all.first(),
        Some(name) => all.iter().find(|it| it.name == name),
    };
    let Some(found) = found else {
        let given = input.operation.as_deref().unwrap_or_default();
        return Err(invalid_choice(
            "operation",
            given,
            all.iter().map(|it| it.name),
        ));
    };
    let given = input.given_fields();
    let long: Vec<ArgumentIssue> = given
        .iter()
        .filter(|(_, value)| {
            value
                .as_str()
                .is_some_and(|text| text.len() > MAX_TEXT_BYTES)
        })
        .map(|(name, _)| {
            ArgumentIssue::new(name, format!("must have at most {MAX_TEXT_BYTES} bytes"))
        })
        .collect();
    if !long.is_empty() {
        return Err(ToolError::Invalid(long));
    }
    let unused: Vec<ArgumentIssue> = given
        .into_iter()
        .filter(|(name, _)| !found.accepted_fields.contains(&name.as_str()))
        .map(|(name, value)| {
            let uses = match found.accepted_fields {
                [] => "no more than that".to_owned(),
                takes => takes.join(", "),
            };
            let rule = format!("is not used by {action} {}, which takes {uses}", found.name);
            ArgumentIssue::new(name, rule).with_value(&value)
        })
        .collect();
    if unused.is_empty() {
        return Ok(found);
    }
    Err(ToolError::Invalid(unused))
}

/// The error for a word that is none of those it may be.
fn invalid_choice<'a>(
    field: &str,
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> ToolError {
    let known: Vec<&str> = known.into_iter().collect();
    let meant = did_you_mean(given, known.iter().copied());
    let meant = meant.map(|it| format!("; did you mean {it}?"));
    let rule = format!(
        "must be one of {}{}",
        known.join(", "),
        meant.unwrap_or_default()
    );
    ToolError::Invalid(vec![
        ArgumentIssue::new(field, rule).with_value(&json!(given)),
    ])
}

impl ControlContext<'_> {
    /// How many are wanted, within bounds.
    fn limit(&self, usual: usize, most: usize) -> usize {
        let wanted = self
            .input
            .limit
            .map_or(usual, |it| usize::try_from(it).unwrap_or(usize::MAX));
        wanted.clamp(1, most)
    }

    /// Refuses what can't be taken back, unless it was confirmed.
    fn require_confirmation(&self, what: &str) -> Result<(), ToolError> {
        if self.input.confirm == Some(true) {
            return Ok(());
        }
        Err(crate::engine::engine_error(
            "NeedsConfirmation",
            format!("{what}; nothing was done"),
            "Send it again with confirm: true.",
        ))
    }

    /// Something the operation can't do without.
    fn require_text<'i>(
        &self,
        name: &str,
        value: Option<&'i String>,
    ) -> Result<&'i str, ToolError> {
        let value = value.map(|it| it.trim()).filter(|it| !it.is_empty());
        value.ok_or_else(|| {
            let (action, operation) = (self.input.action.as_str(), &self.input.operation);
            let operation = operation.as_deref().unwrap_or_default();
            let rule = format!("is required for {action} {operation}");
            ToolError::Invalid(vec![ArgumentIssue::new(name, rule.trim_end())])
        })
    }

    /// What is switched is kept for good; who wants it otherwise should not believe it was done.
    fn require_persist(&self) -> Result<(), ToolError> {
        if self.input.persist != Some(false) {
            return Ok(());
        }
        let rule = "must be true: what is switched is kept, and holds for every process";
        Err(ToolError::Invalid(vec![ArgumentIssue::new(
            "persist", rule,
        )]))
    }
}
