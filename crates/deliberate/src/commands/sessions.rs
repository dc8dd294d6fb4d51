//! `deliberate sessions`.

use std::{io::Write, process::ExitCode};

use anyhow::bail;
use clap::{Args, Subcommand};
use deliberate_core::{Graph, GraphNode, SessionId, Thought};
use deliberate_store::{Finding, Page, Search, SessionEntry, Store, Which};
use deliberate_toolkit::{Answer, Caller};
use serde_json::json;

use super::{
    Shell,
    table::{harmless, one_line, table},
};
use crate::wiring::{store, wire};

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// The sessions, the last changed first (the default)
    List(ListArgs),
    /// One session, step by step
    Show(ShowArgs),
    /// Find thoughts by their words
    Search(SearchArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// How many at the most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// How many to skip
    #[arg(long, default_value_t = 0)]
    offset: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The session's id, or its beginning
    id: String,
    /// As JSON
    #[arg(long, conflicts_with = "mermaid")]
    json: bool,
    /// As a picture: a Mermaid flowchart
    #[arg(long)]
    mermaid: bool,
}

#[derive(Debug, Args)]
struct SearchArgs {
    /// Words that must all occur
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// How many at the most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &SessionsArgs, shell: &mut Shell<'_>) -> anyhow::Result<ExitCode> {
    let store = store(&shell.loaded.settings);
    let default = ListArgs {
        limit: 20,
        offset: 0,
        json: false,
    };
    match &args.command {
        None => list(&default, store.as_ref(), shell.output).await?,
        Some(SessionsCommand::List(args)) => list(args, store.as_ref(), shell.output).await?,
        Some(SessionsCommand::Show(args)) if args.mermaid => {
            picture(args, store.as_ref(), shell).await?;
        }
        Some(SessionsCommand::Show(args)) => show(args, store.as_ref(), shell.output).await?,
        Some(SessionsCommand::Search(args)) => search(args, store.as_ref(), shell.output).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn list(args: &ListArgs, store: &dyn Store, output: &mut dyn Write) -> anyhow::Result<()> {
    let page = Page {
        offset: args.offset,
        limit: args.limit,
    };
    let entries = store.sessions(page).await?;
    if args.json {
        let all: Vec<_> = entries.iter().map(as_json).collect();
        writeln!(output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    if entries.is_empty() {
        writeln!(output, "No sessions yet. Try: deliberate think \"…\"")?;
        return Ok(());
    }
    let mut rows = table(&["session", "mode", "steps", "changed", "about"]);
    for entry in &entries {
        rows.add_row([
            entry.session.id.to_string(),
            entry.session.mode.to_string(),
            entry.thoughts.to_string(),
            seconds(&entry.session.updated_at.to_string()),
            one_line(entry.session.title.as_deref().unwrap_or_default(), 60),
        ]);
    }
    writeln!(output, "{rows}")?;
    Ok(())
}

fn as_json(entry: &SessionEntry) -> serde_json::Value {
    json!({ "session": entry.session, "thoughts": entry.thoughts })
}

/// A time without its fractions of a second.
fn seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => time.to_owned(),
    }
}

async fn show(args: &ShowArgs, store: &dyn Store, output: &mut dyn Write) -> anyhow::Result<()> {
    let id = full_id(&args.id, store).await?;
    let Some(session) = store.session(&id).await? else {
        bail!(
            "there is no session {:?}; `deliberate sessions` lists them",
            args.id
        );
    };
    if args.json {
        let mut thoughts = Vec::new();
        each_thought(&id, store, |thought| {
            thoughts.push(thought);
            Ok(())
        })
        .await?;
        let graphs = graphs(&id, store).await?;
        let all = json!({ "session": session, "thoughts": thoughts, "graphs": graphs });
        writeln!(output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    let title = session.title.as_deref().unwrap_or("(untitled)");
    writeln!(output, "# {}\n", harmless(title))?;
    writeln!(
        output,
        "{} session {}, begun {}",
        session.mode,
        session.id,
        seconds(&session.created_at.to_string())
    )?;
    let mut number = 0;
    each_thought(&id, store, |thought| {
        number += 1;
        let sure = (thought.confidence.get() * 100.0).round();
        writeln!(output, "\n## Step {number} ({sure} % sure)\n")?;
        if let Some(input) = &thought.input {
            let input = harmless(input.trim()).replace('\n', "\n> ");
            writeln!(output, "> {input}\n")?;
        }
        writeln!(output, "{}", harmless(thought.content.trim()))?;
        Ok(())
    })
    .await?;
    for (graph, nodes) in graphs(&id, store).await? {
        writeln!(output, "\n## Graph {}", graph.id)?;
        for node in nodes {
            let score = node.score.map(|score| (score.get() * 100.0).round());
            let score = score.map_or_else(String::new, |score| format!(" ({score} %)"));
            let pruned = if node.pruned { ", pruned" } else { "" };
            writeln!(output, "\n### {}{score}{pruned}\n", node.node_type.as_str())?;
            writeln!(output, "{}", harmless(node.content.trim()))?;
        }
    }
    Ok(())
}

/// A session's graphs and their nodes.
async fn graphs(
    session: &SessionId,
    store: &dyn Store,
) -> anyhow::Result<Vec<(Graph, Vec<GraphNode>)>> {
    let all = Page::first(Page::MOST);
    let mut found = Vec::new();
    for graph in store.graphs(session, Which::Current, all).await? {
        let nodes = store.nodes(&graph.id, Which::Current, all).await?;
        found.push((graph, nodes));
    }
    Ok(found)
}

/// The picture that `reasoning_get` gives.
async fn picture(args: &ShowArgs, store: &dyn Store, shell: &mut Shell<'_>) -> anyhow::Result<()> {
    let id = full_id(&args.id, store).await?;
    let wired = wire(shell.loaded)?;
    let arguments = json!({ "id": id, "format": "mermaid", "limit": 200 });
    let answer = wired
        .registry
        .call("reasoning_get", arguments, Caller::default())
        .await?;
    if let Answer::Done(answer) = answer {
        let text = answer.get("text").and_then(serde_json::Value::as_str);
        writeln!(
            shell.output,
            "{}",
            harmless(text.unwrap_or_default().trim_end())
        )?;
    }
    wired.registry.store().close().await;
    Ok(())
}

async fn search(
    args: &SearchArgs,
    store: &dyn Store,
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    let session = match &args.session {
        Some(id) => Some(full_id(id, store).await?),
        None => None,
    };
    let search = Search {
        words: args.words.join(" "),
        session,
        limit: args.limit,
        ..Search::default()
    };
    let found = store.search(&search).await?;
    if args.json {
        let all: Vec<_> = found.iter().map(|found| thing_json(&found.what)).collect();
        writeln!(output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    if found.is_empty() {
        writeln!(output, "Nothing has all these words.")?;
        return Ok(());
    }
    let mut rows = table(&["session", "when", "passage"]);
    for found in &found {
        let (session, time) = match &found.what {
            Finding::Thought(thought) => (&thought.session_id, thought.created_at),
            Finding::Node(node) => (&node.session_id, node.created_at),
        };
        rows.add_row([
            session.to_string(),
            seconds(&time.to_string()),
            one_line(&found.excerpt, 100),
        ]);
    }
    writeln!(output, "{rows}")?;
    Ok(())
}

fn thing_json(what: &Finding) -> serde_json::Value {
    match what {
        Finding::Thought(thought) => json!(thought),
        Finding::Node(node) => json!(node),
    }
}

/// The id that begins like this, so that the first characters suffice at a terminal.
async fn full_id(beginning: &str, store: &dyn Store) -> anyhow::Result<SessionId> {
    let given = SessionId::from(beginning);
    if store.session(&given).await?.is_some() {
        return Ok(given);
    }
    let entries = store.sessions(Page::first(Page::MOST)).await?;
    let mut alike = entries
        .into_iter()
        .map(|entry| entry.session.id)
        .filter(|id| id.as_str().starts_with(beginning));
    match (alike.next(), alike.next()) {
        (Some(id), None) if !beginning.is_empty() => Ok(id),
        (Some(_), Some(_)) => {
            bail!("several sessions begin with {beginning:?}; give more of the id")
        }
        _ => Ok(given),
    }
}

async fn each_thought(
    session: &SessionId,
    store: &dyn Store,
    mut tell: impl FnMut(Thought) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut page = Page::first(200);
    loop {
        let thoughts = store.thoughts(session, Which::Current, page).await?;
        let count = u32::try_from(thoughts.len())?;
        thoughts.into_iter().try_for_each(&mut tell)?;
        if count < page.limit {
            return Ok(());
        }
        page.offset += count;
    }
}
