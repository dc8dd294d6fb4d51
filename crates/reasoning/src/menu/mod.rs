//! A prompt for each way of reasoning, so that a person can pick one from a client's menu.
//!
//! A prompt is a few words to the client's model: which tools to use, how to go on, how to end.
//! They stand in Markdown beside this file. What the person gave is put below them as data and
//! never read as part of them.

mod filled;

use deliberate_core::nearest;
use deliberate_toolkit::{Argument, Choices, Desk, Dish, Issue, Menu, Served, ToolError, Typed};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::resources::matching_sessions;

/// The prompts of the reasoning modes.
pub struct Modes;

/// A prompt.
struct Entry {
    name: &'static str,
    tool: &'static str,
    title: &'static str,
    description: &'static str,
    /// What the model is told.
    text: &'static str,
    takes: &'static [Takes],
}

/// Something a prompt takes.
struct Takes {
    name: &'static str,
    description: &'static str,
    required: bool,
    shape: Shape,
}

/// What it looks like.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Session,
    Number { least: u8, most: u8 },
}

const PROBLEM: Takes = Takes {
    name: "problem",
    description: "The question or problem to think about",
    required: true,
    shape: Shape::Text,
};

const SESSION: Takes = Takes {
    name: "session_id",
    description: "A session to continue; leave it out to begin a new one",
    required: false,
    shape: Shape::Session,
};

const WHICH_SESSION: Takes = Takes {
    name: "session_id",
    description: "The session",
    required: true,
    shape: Shape::Session,
};

const fn number(name: &'static str, description: &'static str, least: u8, most: u8) -> Takes {
    Takes {
        name,
        description,
        required: false,
        shape: Shape::Number { least, most },
    }
}

const ENTRIES: &[Entry] = &[
    Entry {
        name: "think",
        tool: "reasoning_linear",
        title: "Think step by step",
        description: "Work through a problem one recorded step after another.",
        text: include_str!("think.md"),
        takes: &[
            PROBLEM,
            SESSION,
            number("steps", "How many steps at the most, 1 to 20", 1, 20),
        ],
    },
    Entry {
        name: "tree",
        tool: "reasoning_tree",
        title: "Explore a tree of approaches",
        description: "Lay out several approaches, follow the best, close the others.",
        text: include_str!("tree.md"),
        takes: &[
            PROBLEM,
            SESSION,
            number("branches", "How many approaches, 2 to 10", 2, 10),
        ],
    },
    Entry {
        name: "diverge",
        tool: "reasoning_divergent",
        title: "Look from several sides",
        description: "Collect perspectives that disagree, then bring them together.",
        text: include_str!("diverge.md"),
        takes: &[
            PROBLEM,
            SESSION,
            number("perspectives", "How many perspectives, 2 to 10", 2, 10),
        ],
    },
    Entry {
        name: "reflect",
        tool: "reasoning_reflection",
        title: "Reflect and improve",
        description: "Find the weak points of a text or thought and write a better version.",
        text: include_str!("reflect.md"),
        takes: &[
            Takes {
                description: "The text, answer or plan to reflect on",
                ..PROBLEM
            },
            SESSION,
            number("rounds", "How often to improve it, 1 to 5", 1, 5),
        ],
    },
    Entry {
        name: "backtrack",
        tool: "reasoning_backtrack",
        title: "Go back and try another way",
        description: "Review a session's checkpoints and take another way from one of them.",
        text: include_str!("backtrack.md"),
        takes: &[
            WHICH_SESSION,
            Takes {
                name: "direction",
                description: "What to try instead; leave it out to be offered some",
                required: false,
                shape: Shape::Text,
            },
        ],
    },
    Entry {
        name: "auto",
        tool: "reasoning_auto",
        title: "Choose the way to think",
        description: "Let the server choose the way of reasoning that fits, and use it.",
        text: include_str!("auto.md"),
        takes: &[PROBLEM, SESSION],
    },
    Entry {
        name: "graph",
        tool: "reasoning_got_init",
        title: "Build a graph of thoughts",
        description: "Grow, score, merge and prune partial answers until one stands out.",
        text: include_str!("graph.md"),
        takes: &[
            PROBLEM,
            SESSION,
            number(
                "ideas",
                "How many ideas to grow from a node, 1 to 10",
                1,
                10,
            ),
        ],
    },
    Entry {
        name: "recap",
        tool: "reasoning_get",
        title: "Sum up a session",
        description: "Read a session back and sum up what was decided, why, and what is open.",
        text: include_str!("recap.md"),
        takes: &[WHICH_SESSION],
    },
];

impl Menu for Modes {
    fn list(&self) -> BoxFuture<'_, Vec<Dish>> {
        Box::pin(async { ENTRIES.iter().map(Entry::dish).collect() })
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Served, ToolError>>> {
        let served = Entry::named(name).map(|entry| entry.served(arguments));
        Box::pin(async move { served })
    }

    fn complete<'a>(
        &'a self,
        name: &'a str,
        typed: Typed<'a>,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Choices, ToolError>>> {
        Box::pin(async move {
            let entry = Entry::named(name)?;
            let takes = entry.takes.iter().find(|it| it.name == typed.argument);
            Some(match takes.map(|it| it.shape) {
                // What a person reads belongs to their sessions, so their scope must allow it.
                Some(Shape::Session) if desk.caller.principal.scope.allows("reasoning_get") => {
                    matching_sessions(typed.text, desk).await
                }
                Some(Shape::Number { least, most }) => Ok(numbers(least, most, typed.text)),
                Some(Shape::Session | Shape::Text) | None => Ok(Choices::default()),
            })
        })
    }
}

impl Entry {
    fn named(name: &str) -> Option<&'static Self> {
        ENTRIES.iter().find(|entry| entry.name == name)
    }

    fn dish(&self) -> Dish {
        let argument = |takes: &Takes| Argument {
            name: takes.name.to_owned(),
            description: takes.description.to_owned(),
            required: takes.required,
        };
        Dish {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            leads_to: self.tool.to_owned(),
            arguments: self.takes.iter().map(argument).collect(),
        }
    }

    fn served(&self, arguments: &Map<String, Value>) -> Result<Served, ToolError> {
        let mut issues = Vec::new();
        let names = || self.takes.iter().map(|takes| takes.name);
        for name in arguments.keys() {
            if !names().any(|known| known == name) {
                let meant = nearest(name, names());
                let rule = match meant {
                    Some(meant) => {
                        format!("is no argument of {}; did you mean {meant}?", self.name)
                    }
                    None => format!("is no argument of {}", self.name),
                };
                issues.push(Issue::new(name, rule));
            }
        }
        let mut given = Vec::new();
        for takes in self.takes {
            match takes.checked(arguments.get(takes.name)) {
                Ok(Some(value)) => given.push((takes, value)),
                Ok(None) => {}
                Err(issue) => issues.push(issue),
            }
        }
        if !issues.is_empty() {
            return Err(ToolError::Invalid(issues));
        }
        let text = filled::text(self.text, &given);
        Ok(Served::text(self.description, text))
    }
}

fn numbers(least: u8, most: u8, typed: &str) -> Choices {
    let all = (least..=most).map(|number| number.to_string());
    Choices {
        values: all.filter(|number| number.starts_with(typed)).collect(),
        more: false,
    }
}
