//! `deliberate demo`: a client inside the program runs a short tree and a short graph on the real
//! server, over the real protocol, with built-in replies instead of a model.

mod replies;
mod screen;
mod script;
mod server;
mod summary;

use std::{ffi::OsString, path::Path, process::ExitCode, time::Instant};

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    CommandContext,
    terminal::{stop_signal, wants_color},
};
use crate::config::LoadedConfig;

use screen::DemoScreen;
use script::{DemoResult, run_script};
use server::DemoServer;
use summary::{RestartCommand, absolute_database_path};

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the sessions in your own database, to view with `deliberate sessions`
    #[arg(long)]
    keep: bool,
    /// Print only the ids and the drawings, as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(
    args: &DemoArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let loaded = shell.loaded;
    let program =
        std::env::current_exe().context("the path of this program cannot be determined")?;
    // Installed here, so that an interrupted demo also cleans up.
    let stopped = stop_signal().context("signal handlers cannot be installed")?;
    let folder = if args.keep {
        None
    } else {
        Some(create_temp_folder()?)
    };
    let database = match &folder {
        Some(folder) => folder.path().join("demo.db"),
        None => absolute_database_path(&loaded.settings.database.path),
    };
    let mut screen = if args.json {
        DemoScreen::silent()
    } else {
        DemoScreen::new(shell.output, wants_color(&loaded.environment))
    };
    screen.print_text(
        "A short demo: the real server, the real protocol, no model, no network. The replies of a \
         model are built into the program and marked “built-in”.",
    )?;
    let begun = Instant::now();
    let mut server = DemoServer::start(&program, &server_arguments(loaded, &database))?;
    let played = tokio::select! {
        played = run_script(&mut server, &mut screen) => played,
        () = stopped => Err(anyhow!("stopped before the end")),
    };
    // The process and the folder are removed in every case.
    server.shut_down().await;
    let taken = begun.elapsed();
    let kept_in = folder.is_none().then_some(database.as_path());
    if let Some(folder) = folder {
        let path = folder.path().to_owned();
        folder.close().with_context(|| {
            let path = path.display();
            format!("the demo's folder {path} cannot be deleted; delete it yourself")
        })?;
    }
    let played = played?;
    if args.json {
        let all = as_json(&played, kept_in);
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        summary::print_drawings(&played, &mut screen)?;
        let again = RestartCommand::new(loaded, program);
        summary::print_ids(&played, taken, kept_in, &again, &mut screen)?;
        summary::print_setup_hint(&again, &mut screen)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates a folder that only this user can read.
fn create_temp_folder() -> anyhow::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("deliberate-demo-").tempdir().with_context(|| {
        format!(
            "no temporary folder can be created in {}; set TMPDIR to a folder you can write to, or \
             use your own database with `deliberate demo --keep`",
            std::env::temp_dir().display()
        )
    })
}

/// Returns the command line of a server whose client must reply: no provider is asked or searched
/// for.
fn server_arguments(loaded: &LoadedConfig, database: &Path) -> Vec<OsString> {
    let serve = ["serve", "--provider", "client", "--database"];
    let mut arguments: Vec<OsString> = serve.map(OsString::from).into();
    arguments.push(database.into());
    if let Some(file) = &loaded.file {
        arguments.extend(["--config".into(), file.into()]);
    }
    if loaded.is_default("log.level") {
        arguments.extend(["--log-level", "warn"].map(OsString::from));
    }
    arguments
}

fn as_json(played: &DemoResult, kept_in: Option<&Path>) -> Value {
    let (tree, graph) = (&played.tree, &played.graph);
    json!({
        "tree": {
            "session_id": tree.session_id,
            "recommended": tree.result,
            "text": tree.text,
            "mermaid": tree.mermaid,
        },
        "graph": {
            "session_id": graph.session_id,
            "graph_id": graph.id,
            "conclusion": graph.result,
            "text": graph.text,
            "mermaid": graph.mermaid,
        },
        "kept_in": kept_in,
        "calls": played.calls,
        "replies": { "shipped": played.replies_shipped, "given": played.replies_used },
    })
}
