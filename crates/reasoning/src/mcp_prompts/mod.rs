//! A prompt for each way of reasoning, so that a person can pick one from a client's menu.
//!
//! A prompt is a few words to the client's model: which tools to use, how to go on, how to end.
//! They stand in Markdown beside this file. What the person gave is put below them as data and
//! never read as part of them.

mod arguments;

use deliberate_core::did_you_mean;
use deliberate_toolkit::{
    ArgumentIssue, CompletionRequest, CompletionValues, PromptArgumentInfo, PromptInfo,
    PromptProvider, RenderedPrompt, ResourceContext, ToolError,
};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::resources::matching_sessions;

/// The prompts of the reasoning modes.
pub struct ReasoningPrompts;

/// A prompt.
struct ReasoningPrompt {
    name: &'static str,
    tool: &'static str,
    title: &'static str,
    description: &'static str,
    /// What the model is told.
    text: &'static str,
    arguments: &'static [ReasoningPromptArgument],
}

/// Something a prompt takes.
struct ReasoningPromptArgument {
    name: &'static str,
    description: &'static str,
    required: bool,
    kind: ReasoningArgumentKind,
}

/// What it looks like.
#[derive(Clone, Copy)]
enum ReasoningArgumentKind {
    Text,
    Session,
    Number { least: u8, most: u8 },
}

const PROBLEM: ReasoningPromptArgument = ReasoningPromptArgument {
    name: "problem",
    description: "The question or problem to think about",
    required: true,
    kind: ReasoningArgumentKind::Text,
};

const SESSION: ReasoningPromptArgument = ReasoningPromptArgument {
    name: "session_id",
    description: "A session to continue; leave it out to begin a new one",
    required: false,
    kind: ReasoningArgumentKind::Session,
};

const REQUIRED_SESSION: ReasoningPromptArgument = ReasoningPromptArgument {
    name: "session_id",
    description: "The session",
    required: true,
    kind: ReasoningArgumentKind::Session,
};

const fn number_argument(
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

const PROMPTS: &[ReasoningPrompt] = &[
    ReasoningPrompt {
        name: "think",
        tool: "reasoning_linear",
        title: "Think step by step",
        description: "Work through a problem one recorded step after another.",
        text: include_str!("think.md"),
        arguments: &[
            PROBLEM,
            SESSION,
            number_argument("steps", "How many steps at the most, 1 to 20", 1, 20),
        ],
    },
    ReasoningPrompt {
        name: "tree",
        tool: "reasoning_tree",
        title: "Explore a tree of approaches",
        description: "Lay out several approaches, follow the best, close the others.",
        text: include_str!("tree.md"),
        arguments: &[
            PROBLEM,
            SESSION,
            number_argument("branches", "How many approaches, 2 to 10", 2, 10),
        ],
    },
    ReasoningPrompt {
        name: "diverge",
        tool: "reasoning_divergent",
        title: "Look from several sides",
        description: "Collect perspectives that disagree, then bring them together.",
        text: include_str!("diverge.md"),
        arguments: &[
            PROBLEM,
            SESSION,
            number_argument("perspectives", "How many perspectives, 2 to 10", 2, 10),
        ],
    },
    ReasoningPrompt {
        name: "reflect",
        tool: "reasoning_reflection",
        title: "Reflect and improve",
        description: "Find the weak points of a text or thought and write a better version.",
        text: include_str!("reflect.md"),
        arguments: &[
            ReasoningPromptArgument {
                description: "The text, answer or plan to reflect on",
                ..PROBLEM
            },
            SESSION,
            number_argument("rounds", "How often to improve it, 1 to 5", 1, 5),
        ],
    },
    ReasoningPrompt {
        name: "backtrack",
        tool: "reasoning_backtrack",
        title: "Go back and try another way",
        description: "Review a session's checkpoints and take another way from one of them.",
        text: include_str!("backtrack.md"),
        arguments: &[
            REQUIRED_SESSION,
            ReasoningPromptArgument {
                name: "direction",
                description: "What to try instead; leave it out to be offered some",
                required: false,
                kind: ReasoningArgumentKind::Text,
            },
        ],
    },
    ReasoningPrompt {
        name: "auto",
        tool: "reasoning_auto",
        title: "Choose the way to think",
        description: "Let the server choose the way of reasoning that fits, and use it.",
        text: include_str!("auto.md"),
        arguments: &[PROBLEM, SESSION],
    },
    ReasoningPrompt {
        name: "graph",
        tool: "reasoning_got_init",
        title: "Build a graph of thoughts",
        description: "Grow, score, merge and prune partial answers until one stands out.",
        text: include_str!("graph.md"),
        arguments: &[
            PROBLEM,
            SESSION,
            number_argument(
                "ideas",
                "How many ideas to grow from a node, 1 to 10",
                1,
                10,
            ),
        ],
    },
    ReasoningPrompt {
        name: "recap",
        tool: "reasoning_get",
        title: "Sum up a session",
        description: "Read a session back and sum up what was decided, why, and what is open.",
        text: include_str!("recap.md"),
        arguments: &[REQUIRED_SESSION],
    },
];

impl PromptProvider for ReasoningPrompts {
    fn list(&self) -> BoxFuture<'_, Vec<PromptInfo>> {
        Box::pin(async { PROMPTS.iter().map(ReasoningPrompt::to_info).collect() })
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        _: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<RenderedPrompt, ToolError>>> {
        let served = ReasoningPrompt::find(name).map(|entry| entry.render(arguments));
        Box::pin(async move { served })
    }

    fn complete<'a>(
        &'a self,
        name: &'a str,
        typed: CompletionRequest<'a>,
        desk: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        Box::pin(async move {
            let entry = ReasoningPrompt::find(name)?;
            let takes = entry.arguments.iter().find(|it| it.name == typed.argument);
            Some(match takes.map(|it| it.kind) {
                // What a person reads belongs to their sessions, so their scope must allow it.
                Some(ReasoningArgumentKind::Session)
                    if desk.caller.principal.scope.allows("reasoning_get") =>
                {
                    matching_sessions(typed.text, desk).await
                }
                Some(ReasoningArgumentKind::Number { least, most }) => {
                    Ok(complete_number(least, most, typed.text))
                }
                Some(ReasoningArgumentKind::Session | ReasoningArgumentKind::Text) | None => {
                    Ok(CompletionValues::default())
                }
            })
        })
    }
}

impl ReasoningPrompt {
    fn find(name: &str) -> Option<&'static Self> {
        PROMPTS.iter().find(|entry| entry.name == name)
    }

    fn to_info(&self) -> PromptInfo {
        let argument = |takes: &ReasoningPromptArgument| PromptArgumentInfo {
            name: takes.name.to_owned(),
            description: takes.description.to_owned(),
            required: takes.required,
        };
        PromptInfo {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            tool: self.tool.to_owned(),
            arguments: self.arguments.iter().map(argument).collect(),
        }
    }

    fn render(&self, arguments: &Map<String, Value>) -> Result<RenderedPrompt, ToolError> {
        let mut issues = Vec::new();
        let names = || self.arguments.iter().map(|takes| takes.name);
        for name in arguments.keys() {
            if !names().any(|known| known == name) {
                let meant = did_you_mean(name, names());
                let rule = match meant {
                    Some(meant) => {
                        format!("is no argument of {}; did you mean {meant}?", self.name)
                    }
                    None => format!("is no argument of {}", self.name),
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
        let text = arguments::render_prompt(self.text, &given);
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
