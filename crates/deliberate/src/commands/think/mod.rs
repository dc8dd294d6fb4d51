//! `deliberate think`: asks one question from the shell, in a mode of reasoning.

mod display;
mod graph;
mod manual_replies;
mod report;
mod tree_growth;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use anyhow::bail;
use clap::{Args, ValueEnum};
use deliberate_core::SessionId;
use deliberate_llm::{PROVIDERS, Provider};
use deliberate_toolkit::{CallOutcome, CallProgress, CallerContext, Registry};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::{
    CommandContext,
    text_drawing::{BranchLabel, DrawnTree, draw_tree},
};
use crate::wiring::build_app;

use display::GrowthDisplay;
use manual_replies::answer_manually;
use tree_growth::TreeGrowth;

#[derive(Debug, Args)]
pub(crate) struct ThinkArgs {
    /// The question; `-` reads it from standard input
    #[arg(required_unless_present = "session")]
    question: Option<String>,
    /// How to think; `reflect` without a question judges the session's latest thought
    #[arg(long, value_enum, default_value_t = ThinkMode::Linear)]
    mode: ThinkMode,
    /// Continue this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Answer the model's prompts yourself, in the terminal
    #[arg(long)]
    manual: bool,
}

/// A mode of reasoning at the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ThinkMode {
    Linear,
    Tree,
    Graph,
    Reflect,
    Auto,
}

pub(crate) async fn run(
    args: &ThinkArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    if args.question.is_none() && args.mode != ThinkMode::Reflect {
        bail!("give a question; only `--mode reflect` works on a session without one");
    }
    let mut loaded = shell.loaded.clone();
    if args.manual {
        "client".clone_into(&mut loaded.settings.provider);
    }
    let wired = build_app(&loaded)?;
    let provider = wired.providers.own_provider().await;
    if provider.is_none() && !args.manual {
        if args.json {
            print_model_help(&mut io::stderr())?;
        } else {
            print_model_help(shell.output)?;
        }
        return Ok(ExitCode::from(1));
    }
    let question = args.question.as_deref().map(read_question).transpose()?;
    let thinker = provider.map(|provider| format!("asking {}", provider.description));
    let mut thinking = Thinking {
        registry: &wired.registry,
        display: GrowthDisplay::new(thinker, args.json, shell.output),
        session: args.session.as_deref(),
    };
    let outcome = thinking.think(args.mode, question.as_deref()).await;
    if outcome.is_ok() {
        thinking.display.finish()?;
    }
    drop(thinking);
    wired.close().await;
    let outputs = outcome?;
    if args.json {
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&outputs)?)?;
    } else {
        report::print_outputs(args.mode, &outputs, shell.output)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The calls of one `think`, and the drawing that grows with them.
struct Thinking<'a> {
    registry: &'a Registry,
    display: GrowthDisplay<'a>,
    session: Option<&'a str>,
}

impl Thinking<'_> {
    /// Thinks in this mode and returns the outputs of the tools.
    async fn think(&mut self, mode: ThinkMode, question: Option<&str>) -> anyhow::Result<Value> {
        let Some(question) = question else {
            let reflection = self.reflect(json!({ "session_id": self.session })).await?;
            return Ok(json!({ "reflection": reflection }));
        };
        match mode {
            ThinkMode::Linear => self.think_linear(question).await,
            ThinkMode::Tree => {
                let arguments = self.question_arguments(question);
                let output = self.call("exploring", "reasoning_tree", arguments).await?;
                self.draw_tree(&output).await?;
                Ok(output)
            }
            ThinkMode::Graph => {
                let mut arguments = self.question_arguments(question);
                arguments.insert("problem".to_owned(), question.into());
                let init = self.call("beginning", "reasoning_got_init", arguments);
                let init = init.await?;
                Box::pin(graph::grow_graph(self, init)).await
            }
            ThinkMode::Reflect => {
                let thought = self.think_linear(question).await?;
                let subject = json!({ "thought_id": thought.get("thought_id") });
                let reflection = self.reflect(subject).await?;
                Ok(json!({ "thought": thought, "reflection": reflection }))
            }
            ThinkMode::Auto => Box::pin(self.think_auto(question)).await,
        }
    }

    async fn think_linear(&mut self, question: &str) -> anyhow::Result<Value> {
        let arguments = self.question_arguments(question);
        self.call("thinking", "reasoning_linear", arguments).await
    }

    async fn reflect(&mut self, subject: Value) -> anyhow::Result<Value> {
        let Value::Object(arguments) = subject else {
            bail!("the subject of a reflection is not an object; please report this");
        };
        self.call("reflecting", "reasoning_reflection", arguments)
            .await
    }

    /// Lets `reasoning_auto` choose and run a mode, and finishes what that mode only begins: a graph
    /// has its first nodes then, and a question to be answered directly has no answer.
    async fn think_auto(&mut self, question: &str) -> anyhow::Result<Value> {
        let mut arguments = self.question_arguments(question);
        arguments.insert("run".to_owned(), true.into());
        let output = self.call("choosing", "reasoning_auto", arguments).await?;
        let result = output.get("result").cloned().unwrap_or_default();
        let mut outputs = Map::from_iter([("auto".to_owned(), output)]);
        if result.get("root_node_id").is_some() {
            let graph = Box::pin(graph::grow_graph(self, result)).await?;
            outputs.insert("graph".to_owned(), graph);
        } else if result.get("branches").is_some() {
            self.draw_tree(&result).await?;
        } else if result.is_null() {
            let thought = self.think_linear(question).await?;
            outputs.insert("thought".to_owned(), thought);
        }
        Ok(Value::Object(outputs))
    }

    /// Draws the tree of a running call after a progress message.
    fn draw_growth(&mut self, growth: &mut TreeGrowth, message: &str) -> io::Result<()> {
        match growth.add(message) {
            Some(drawing) => self.display.show(drawing),
            None => Ok(()),
        }
    }

    async fn draw_tree(&mut self, output: &Value) -> anyhow::Result<()> {
        let id = SessionId::from(report::text(output, "session_id"));
        let tree = DrawnTree::load(&id, self.registry.store().as_ref()).await?;
        self.display
            .show(draw_tree(&tree, BranchLabel::NameAndThought))?;
        Ok(())
    }

    fn question_arguments(&self, question: &str) -> Map<String, Value> {
        let mut arguments = Map::from_iter([("content".to_owned(), question.into())]);
        if let Some(session) = self.session {
            arguments.insert("session_id".to_owned(), session.into());
        }
        arguments
    }

    /// Calls a tool. If it asks, the person at the terminal replies.
    async fn call(
        &mut self,
        step: &str,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> anyhow::Result<Value> {
        self.display.set_step(step);
        let mut growth = TreeGrowth::new(&report::text_of(arguments.get("content")));
        let (sender, mut messages) = mpsc::unbounded_channel();
        let caller = CallerContext {
            progress: Some(Arc::new(move |progress: CallProgress| {
                // Nobody waits for progress once the call has ended.
                drop(sender.send(progress.message));
            })),
            ..CallerContext::default()
        };
        let registry = self.registry;
        let answer = registry.call(tool, Value::Object(arguments), caller);
        tokio::pin!(answer);
        let answer = loop {
            tokio::select! {
                answer = &mut answer => break answer,
                Some(message) = messages.recv() => self.draw_growth(&mut growth, &message)?,
            }
        };
        while let Ok(message) = messages.try_recv() {
            self.draw_growth(&mut growth, &message)?;
        }
        match answer? {
            CallOutcome::Done(output) => Ok(output),
            CallOutcome::NeedsReply(needs) => answer_manually(needs, registry).await,
        }
    }
}

fn read_question(given: &str) -> anyhow::Result<String> {
    if given == "-" {
        return Ok(io::read_to_string(io::stdin().lock())?);
    }
    Ok(given.to_owned())
}

pub(super) fn print_model_help(output: &mut dyn Write) -> io::Result<()> {
    print_model_options(output)?;
    writeln!(
        output,
        "  or answer the question yourself: deliberate think --manual \"…\""
    )
}

/// Prints how to get a model; the caller adds what works without one.
pub(super) fn print_model_options(output: &mut dyn Write) -> io::Result<()> {
    let local = PROVIDERS.iter().filter(|provider| provider.is_discovered());
    let local: Vec<&str> = local.map(Provider::title).collect();
    let keys = PROVIDERS.iter().filter_map(Provider::key_env);
    let keys: Vec<&str> = keys.take(NAMED_KEYS).collect();
    writeln!(output, "No model is configured. Do one of these:")?;
    writeln!(
        output,
        "  start {} on this machine; it is found automatically",
        join_or(&local)
    )?;
    writeln!(output, "  set an API key, such as {}", join_or(&keys))
}

/// How many API keys the help names; there are more providers.
const NAMED_KEYS: usize = 4;

fn join_or(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
