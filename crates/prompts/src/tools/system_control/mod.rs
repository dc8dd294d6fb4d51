//! The `system_control` tool: status and settings of the prompt engine. Each action has a file of
//! its own; this one selects the operation and rejects arguments that it does not use.

mod analytics;
mod changes;
mod config;
mod framework;
mod gates;
mod guide;
mod injection;
mod input;
mod library_problems;
mod maintenance;
mod operation_result;
mod session;
mod status;

use std::sync::Arc;

use deliberate_core::did_you_mean;
use deliberate_toolkit::{
    ArgumentIssue, ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta,
    ToolOutput,
};
use futures::future::BoxFuture;
use serde::Deserialize as _;
use serde_json::{Value, json};

pub use input::{ControlAction, ControlInput};
pub use operation_result::ControlReply;

use crate::{
    engine::{Engine, RuntimeSettings},
    library::PromptLibrary,
};
use operation_result::OperationResult;

/// The `system_control` tool.
pub struct SystemControl(pub Arc<Engine>);

/// The most bytes of a text argument.
const MAX_TEXT_BYTES: usize = 10_000;

/// The context of an operation.
struct ControlContext<'a> {
    engine: &'a Engine,
    call: &'a ToolContext,
    input: &'a ControlInput,
    library: Arc<PromptLibrary>,
    settings: RuntimeSettings,
}

type OperationFuture<'a> = BoxFuture<'a, Result<OperationResult, ToolError>>;

/// An operation of an action.
struct ControlOperation {
    name: &'static str,
    /// The fields that the operation accepts besides action and operation.
    accepted_fields: &'static [&'static str],
    run: for<'a> fn(&'a ControlContext<'a>) -> OperationFuture<'a>,
}

impl ControlAction {
    /// Returns the operations of an action, the default one first.
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

    fn is_read_call(&self, arguments: &Value) -> bool {
        let action = arguments.get("action").map(ControlAction::deserialize);
        matches!(
            action,
            Some(Ok(ControlAction::Status
                | ControlAction::Guide
                | ControlAction::Changes))
        )
    }

    async fn run(
        &self,
        input: ControlInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<ControlReply>, ToolError> {
        let operation = find_operation(&input)?;
        let context = ControlContext {
            engine: &self.0,
            call,
            library: self.0.live_library.library().await,
            settings: RuntimeSettings::read(call, &self.0.options).await?,
            input: &input,
        };
        let done = (operation.run)(&context).await?;
        Ok(ToolOutput {
            output: done.reply,
            changes: done.changes,
            session: None,
        })
    }
}

/// Returns the requested operation if it accepts all given fields.
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
                [] => "nothing else".to_owned(),
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

/// Builds the error of a value that is not one of the choices.
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
    /// Returns the requested number of entries, within bounds.
    fn limit(&self, usual: usize, most: usize) -> usize {
        let wanted = self
            .input
            .limit
            .map_or(usual, |it| usize::try_from(it).unwrap_or(usize::MAX));
        wanted.clamp(1, most)
    }

    /// Fails if an irreversible operation is not confirmed.
    fn require_confirmation(&self, what: &str) -> Result<(), ToolError> {
        if self.input.confirm == Some(true) {
            return Ok(());
        }
        Err(crate::engine::engine_error(
            ErrorCode::NeedsConfirmation,
            format!("{what}; nothing was done"),
            "Send it again with confirm: true.",
        ))
    }

    /// Returns a required text argument.
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

    /// Rejects `persist: false`. Settings are always stored, and a caller that wants otherwise must
    /// not believe that it was done.
    fn require_persist(&self) -> Result<(), ToolError> {
        if self.input.persist != Some(false) {
            return Ok(());
        }
        let rule = "must be true: settings are stored and apply to every process";
        Err(ToolError::Invalid(vec![ArgumentIssue::new(
            "persist", rule,
        )]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EngineOptions, library::LiveLibrary};

    #[tokio::test]
    async fn what_only_reads_does_not_wait_behind_work() {
        let options = EngineOptions::default();
        let library = LiveLibrary::new(&options);
        let tool = SystemControl(Arc::new(Engine::new(options, library)));
        for (action, reads) in [
            ("status", true),
            ("guide", true),
            ("changes", true),
            ("session", false),
            ("maintenance", false),
        ] {
            assert_eq!(
                tool.is_read_call(&json!({ "action": action })),
                reads,
                "{action}"
            );
        }
        assert!(!tool.is_read_call(&json!({})));
    }
}
