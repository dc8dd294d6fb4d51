//! `deliberate sessions`: lists, shows and searches reasoning sessions.

mod show;

use std::{io::Write, process::ExitCode, sync::Arc};

use anyhow::bail;
use clap::{Args, Subcommand};
use deliberate_core::SessionId;
use deliberate_reasoning::{MatchKind, ThoughtMatch, ThoughtSearch};
use deliberate_store::{Pagination, ReferenceKind, SearchEntity, SearchQuery, SessionEntry, Store};
use serde_json::{Value, json};

use super::{
    CommandContext,
    table::{one_line, table},
    usage,
};
use crate::wiring::{build_app, build_store, table_embedder::TableEmbedder};

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List sessions, most recently changed first (default)
    List(SessionsListArgs),
    /// Show one session, step by step
    Show(SessionsShowArgs),
    /// Search thoughts by words and meaning
    Search(SessionsSearchArgs),
}

#[derive(Debug, Args)]
struct SessionsListArgs {
    /// Maximum number of sessions
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Number of sessions to skip
    #[arg(long, default_value_t = 0)]
    offset: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct SessionsShowArgs {
    /// The session's id, or the start of it
    id: String,
    /// Print JSON
    #[arg(long, conflicts_with = "mermaid")]
    json: bool,
    /// Print a Mermaid flowchart
    #[arg(long)]
    mermaid: bool,
}

#[derive(Debug, Args)]
struct SessionsSearchArgs {
    /// Words; thoughts with all of them come first, and "quoted phrases" must occur
    #[arg(required = true)]
    words: Vec<String>,
    /// Search only this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Maximum number of results
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(
    args: &SessionsArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let store = build_store(&shell.loaded.settings);
    let default = SessionsListArgs {
        limit: 20,
        offset: 0,
        json: false,
    };
    match &args.command {
        None => list(&default, store.as_ref(), shell.output).await?,
        Some(SessionsCommand::List(args)) => list(args, store.as_ref(), shell.output).await?,
        Some(SessionsCommand::Show(args)) => show(args, store.as_ref(), shell).await?,
        Some(SessionsCommand::Search(args)) => search(args, store.as_ref(), shell.output).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn list(
    args: &SessionsListArgs,
    store: &dyn Store,
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    let page = Pagination {
        offset: args.offset,
        limit: args.limit,
    };
    let entries = store.sessions(page).await?;
    if args.json {
        let all: Vec<_> = entries.into_iter().map(as_json).collect();
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
            step_count(entry),
            truncate_to_seconds(&entry.session.updated_at.to_string()),
            one_line(entry.session.title.as_deref().unwrap_or_default(), 60),
        ]);
    }
    writeln!(output, "{rows}")?;
    Ok(())
}

/// Returns the number of steps, of graph nodes, or both.
fn step_count(entry: &SessionEntry) -> String {
    let nodes = match entry.nodes {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    };
    match (entry.thoughts, entry.nodes) {
        (steps, 0) => steps.to_string(),
        (0, _) => nodes,
        (steps, _) => format!("{steps} + {nodes}"),
    }
}

fn as_json(entry: SessionEntry) -> Value {
    let mut session = entry.session;
    // The provider's conversation that a session continues is internal.
    if let Some(fields) = session.metadata.as_mut().and_then(Value::as_object_mut) {
        fields.shift_remove("thread");
        if fields.is_empty() {
            session.metadata = None;
        }
    }
    json!({ "session": session, "thoughts": entry.thoughts, "nodes": entry.nodes })
}

/// Returns a time without fractions of a second.
fn truncate_to_seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => time.to_owned(),
    }
}

async fn show(
    args: &SessionsShowArgs,
    store: &dyn Store,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<()> {
    let id = resolve_id(&args.id, store).await?;
    if store.session(&id).await?.is_none() {
        bail!(
            "there is no session {:?}; `deliberate sessions` lists them",
            args.id
        );
    }
    // Before the session is read, because reading it is a call, too.
    let cost = usage::session_usage(&id, store).await?;
    let registry = build_app(shell.loaded)?.registry;
    if args.json {
        let mut data = show::load_json(&id, &registry).await?;
        if let Some(fields) = data.as_object_mut() {
            fields.insert("usage".to_owned(), usage::session_json(&cost));
        }
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&data)?)?;
    } else if args.mermaid {
        let picture = show::load_mermaid(&id, &registry).await?;
        writeln!(shell.output, "{picture}")?;
    } else {
        show::print_markdown(&id, &registry, shell.output).await?;
        writeln!(shell.output, "\n{}", usage::session_summary(&cost))?;
    }
    registry.close().await;
    Ok(())
}

async fn search(
    args: &SessionsSearchArgs,
    store: &dyn Store,
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    let session = match &args.session {
        Some(id) => Some(resolve_id(id, store).await?),
        None => None,
    };
    let search = SearchQuery {
        text: args.words.join(" "),
        session,
        limit: args.limit,
        ..SearchQuery::default()
    };
    let engine = ThoughtSearch::new(Some(Arc::new(TableEmbedder)));
    let page = engine.find(&search, store).await?;
    if args.json {
        let all: Vec<_> = page.hits.iter().map(hit_json).collect();
        writeln!(output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    if let Some(note) = &page.note {
        writeln!(output, "{}", one_line(note, 300))?;
    }
    if page.hits.is_empty() {
        return Ok(());
    }
    let mut rows = table(&["session", "when", "match", "passage"]);
    for found in &page.hits {
        let session = match &found.entity {
            SearchEntity::Thought(thought) => &thought.session_id,
            SearchEntity::Node(node) => &node.session_id,
        };
        let time = found.entity.created_at();
        rows.add_row([
            session.to_string(),
            truncate_to_seconds(&time.to_string()),
            one_line(&describe_match(found), 40),
            one_line(&found.excerpt, 100),
        ]);
    }
    writeln!(output, "{rows}")?;
    Ok(())
}

fn describe_match(found: &ThoughtMatch) -> String {
    match found.kind {
        MatchKind::AllWords => "all words".to_owned(),
        MatchKind::SomeWords => found.words.join(", "),
        MatchKind::Meaning => "meaning".to_owned(),
    }
}

/// Returns the thought or node, and how it was found.
fn hit_json(found: &ThoughtMatch) -> Value {
    let mut fields = match &found.entity {
        SearchEntity::Thought(thought) => json!(thought),
        SearchEntity::Node(node) => json!(node),
    };
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("matched".to_owned(), json!(found.kind));
        if !found.words.is_empty() {
            fields.insert("words".to_owned(), json!(found.words));
        }
    }
    fields
}

/// Finds the id that starts like this, so that four characters or more are enough in a terminal.
pub(super) async fn resolve_id(beginning: &str, store: &dyn Store) -> anyhow::Result<SessionId> {
    let given = SessionId::from(beginning);
    if store.session(&given).await?.is_some() {
        return Ok(given);
    }
    let alike = store
        .resolve_reference(ReferenceKind::Session, None, beginning)
        .await?;
    match alike.as_slice() {
        [id] => Ok(SessionId::from(id.as_str())),
        [] => Ok(given),
        _ => bail!("several sessions start with {beginning:?}; give more of the id"),
    }
}
