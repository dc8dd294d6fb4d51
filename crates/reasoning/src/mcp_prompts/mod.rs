//! A prompt for each reasoning mode, which a person picks from a client's menu.
//!
//! A prompt tells the client's model which tools to use, how to continue and how to end. The texts
//! are the Markdown files in this folder. The person's arguments are appended as data and never
//! parsed as part of the text.

mod arguments;

use deliberate_core::{Mode, PromptFence, did_you_mean};
use deliberate_toolkit::{
    ArgumentIssue, CompletionRequest, CompletionValues, PromptArgumentInfo, PromptInfo,
    PromptProvider, RenderedPrompt, ResourceContext, ToolError,
};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{modes::definition, prompt_template::FENCE_TAGS, resources::matching_sessions};

/// The prompts of the reasoning modes.
pub(crate) struct ReasoningPrompts;

/// A prompt of the client's menu.
pub(crate) struct ReasoningPrompt {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// The instructions for the client's model.
    pub(crate) text: &'static str,
    pub(crate) arguments: &'static [ReasoningPromptArgument],
}

pub(crate) struct ReasoningPromptArgument {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) required: bool,
    pub(crate) kind: ReasoningArgumentKind,
}

#[derive(Clone, Copy)]
pub(crate) enum ReasoningArgumentKind {
    Text,
    Session,
    Number { least: u8, most: u8 },
}

pub(crate) const PROBLEM: ReasoningPromptArgument = ReasoningPromptArgument {
    name: "problem",
    description: "The question or problem to think about",
    required: true,
    kind: ReasoningArgumentKind::Text,
};

pub(crate) const SESSION: ReasoningPromptArgument = ReasoningPromptArgument {
    name: "session_id",
    description: "A session to continue; omit it to begin a new one",
    required: false,
    kind: ReasoningArgumentKind::Session,
};

pub(crate) const REQUIRED_SESSION: ReasoningPromptArgument = ReasoningPromptArgument {
    name: "session_id",
    description: "The session",
    required: true,
    kind: ReasoningArgumentKind::Session,
};

pub(crate) const fn number_argument(
    name: &'static str,
    description: &'static str,
    least: u8,
    most: u8,
) -> ReasoningPromptArgument {
    ReasoningPromptArgument {
        name,
        description,
        required: false,
        kind: ReasoningArgumentKind::Number { least, most },
    }
}

/// The prompt that belongs to no mode.
static RECAP: ReasoningPrompt = ReasoningPrompt {
    name: "recap",
    title: "Sum up a session",
    description: "Read a session back and sum up what was decided, why, and what is open.",
    text: include_str!("recap.md"),
    arguments: &[REQUIRED_SESSION],
};

/// Every prompt with the tool that it uses first: those of the modes in the order of `Mode::ALL`,
/// then the recap.
fn prompts() -> impl Iterator<Item = (&'static ReasoningPrompt, &'static str)> {
    let of_mode = |mode| {
        let definition = definition(mode)?;
        Some((definition.prompt.as_ref()?, definition.tool?))
    };
    let recap = (&RECAP, "reasoning_get");
    Mode::ALL.into_iter().filter_map(of_mode).chain([recap])
}

impl PromptProvider for ReasoningPrompts {
    fn list(&self) -> BoxFuture<'_, Vec<PromptInfo>> {
        Box::pin(async {
            prompts()
                .map(|(prompt, tool)| prompt.to_info(tool))
                .collect()
        })
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<RenderedPrompt, ToolError>>> {
        let fence = context.prompt_fence(FENCE_TAGS);
        let served = ReasoningPrompt::find(name).map(|entry| entry.render(arguments, &fence));
        Box::pin(async move { served })
    }

    fn complete<'a>(
        &'a self,
        name: &'a str,
        typed: CompletionRequest<'a>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        Box::pin(async move {
            let entry = ReasoningPrompt::find(name)?;
            let takes = entry.arguments.iter().find(|it| it.name == typed.argument);
            Some(match takes.map(|it| it.kind) {
                Some(ReasoningArgumentKind::Session) => {
                    matching_sessions(typed.text, context).await
                }
                Some(ReasoningArgumentKind::Number { least, most }) => {
                    Ok(complete_number(least, most, typed.text))
                }
                Some(ReasoningArgumentKind::Text) | None => Ok(CompletionValues::default()),
            })
        })
    }
}

impl ReasoningPrompt {
    fn find(name: &str) -> Option<&'static Self> {
        let mut all = prompts().map(|(prompt, _)| prompt);
        all.find(|prompt| prompt.name == name)
    }

    fn to_info(&self, tool: &str) -> PromptInfo {
        let argument = |takes: &ReasoningPromptArgument| PromptArgumentInfo {
            name: takes.name.to_owned(),
            description: takes.description.to_owned(),
            required: takes.required,
        };
        PromptInfo {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            tool: tool.to_owned(),
            arguments: self.arguments.iter().map(argument).collect(),
        }
    }

    fn render(
        &self,
        arguments: &Map<String, Value>,
        fence: &PromptFence,
    ) -> Result<RenderedPrompt, ToolError> {
        let mut issues = Vec::new();
        let names = || self.arguments.iter().map(|takes| takes.name);
        for name in arguments.keys() {
            if !names().any(|known| known == name) {
                let meant = did_you_mean(name, names());
                let rule = match meant {
                    Some(meant) => {
                        format!("is not an argument of {}; did you mean {meant}?", self.name)
                    }
                    None => format!("is not an argument of {}", self.name),
                };
                issues.push(ArgumentIssue::new(name, rule));
            }
        }
        let mut given = Vec::new();
        for takes in self.arguments {
            match takes.check(arguments.get(takes.name)) {
                Ok(Some(value)) => given.push((takes, value)),
                Ok(None) => {}
                Err(issue) => issues.push(issue),
            }
        }
        if !issues.is_empty() {
            return Err(ToolError::Invalid(issues));
        }
        let text = arguments::render_prompt(self.text, &given, fence);
        Ok(RenderedPrompt::text(self.description, text))
    }
}

fn complete_number(least: u8, most: u8, typed: &str) -> CompletionValues {
    let all = (least..=most).map(|number| number.to_string());
    CompletionValues {
        values: all.filter(|number| number.starts_with(typed)).collect(),
        has_more: false,
    }
}
