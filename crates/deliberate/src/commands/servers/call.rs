//! `deliberate servers call`: calls a tool of an upstream server.

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use deliberate_json_schema::unmark_large_integers;
use deliberate_mcp_client::{
    client::{CallOptions, McpProgress},
    content::McpToolResult,
    tool_name::qualified_tool_name,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{CommandGateway, arguments, explain_error, find_server};
use crate::{
    commands::{
        CommandContext,
        table::{escape_control, one_line},
        terminal::stop_signal,
    },
    servers::ServerCatalog,
};

/// Time that a cancelled call gets to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
#[command(
    override_usage = "deliberate servers call [OPTIONS] <SERVER__TOOL> [KEY=VALUE]...\n       \
                      deliberate servers call [OPTIONS] <SERVER> <TOOL> [KEY=VALUE]...",
    after_help = "Examples:\n  \
        deliberate servers call files__read_file path=notes.txt\n  \
        deliberate servers call files read_file --args '{\"path\": \"notes.txt\"}'"
)]
pub(super) struct ServersCallArgs {
    /// The server and the tool
    #[arg(value_name = "SERVER__TOOL", required = true)]
    words: Vec<String>,
    /// The arguments as JSON; `-` reads them from standard input
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Print the whole result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    args: &ServersCallArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let catalogue = ServerCatalog::read(shell.loaded);
    let target = ServersCallTarget::parse(&args.words)?;
    let server = find_server(&catalogue, target.server)?.name();
    if args.args.is_some() && !target.pairs.is_empty() {
        bail!("give the arguments as KEY=VALUE or in `--args`, not both");
    }
    let connected = CommandGateway::new(&[server], &catalogue, shell.loaded);
    let result = call_tool(args, &target, &connected).await;
    connected.close().await;
    let result = result?;
    if args.json {
        writeln!(shell.output, "{}", to_pretty_json(&result)?)?;
    } else {
        print_result(&result, shell.output)?;
    }
    let failed = result.get("isError").and_then(Value::as_bool) == Some(true);
    Ok(if failed {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// The tool to call.
struct ServersCallTarget<'a> {
    server: &'a str,
    /// `server__tool`
    full_name: String,
    pairs: &'a [String],
}

impl<'a> ServersCallTarget<'a> {
    fn parse(words: &'a [String]) -> anyhow::Result<Self> {
        match words {
            [full, pairs @ ..] if full.contains("__") && !full.contains('=') => {
                let (server, _) = full.split_once("__").unwrap_or_default();
                let full = full.clone();
                Ok(Self {
                    server,
                    full_name: full,
                    pairs,
                })
            }
            [server, tool, pairs @ ..] if !tool.contains('=') => Ok(Self {
                server,
                full_name: qualified_tool_name(server, tool),
                pairs,
            }),
            [server, ..] => {
                bail!("name a tool of {server:?}; `deliberate servers tools {server}` lists them")
            }
            [] => bail!("name a tool: deliberate servers call SERVER__TOOL"),
        }
    }
}

async fn call_tool(
    args: &ServersCallArgs,
    target: &ServersCallTarget<'_>,
    connected: &CommandGateway,
) -> anyhow::Result<Value> {
    let arguments = match args.args.as_deref() {
        Some("-") => arguments::from_json(&io::read_to_string(io::stdin().lock())?)?,
        Some(text) => arguments::from_json(text)?,
        None if target.pairs.is_empty() => Value::Object(serde_json::Map::new()),
        None => {
            let look = connected.gateway.inspect(target.server).await;
            let tools = look.map_err(|error| explain_error(&error))?.tools;
            let found = tools.iter().find(|it| it.full == target.full_name);
            let schema = found.map_or(&Value::Null, |it| &it.input_schema);
            arguments::from_pairs(target.pairs, schema)?
        }
    };
    let cancelled = CancellationToken::new();
    let options = CallOptions {
        cancellation: cancelled.clone(),
        progress: Some(Arc::new(|progress| print_progress(&progress))),
        exact_integers: true,
        ..CallOptions::default()
    };
    let running = connected
        .gateway
        .call(&target.full_name, arguments, options);
    tokio::pin!(running);
    let enough = stop_signal()?;
    let result = tokio::select! {
        result = &mut running => result,
        () = enough => {
            cancelled.cancel();
            // The call ends once the server has been notified.
            match tokio::time::timeout(CANCEL_TIMEOUT, running).await {
                Ok(result) => result,
                Err(_) => bail!("the call was cancelled; the server has not confirmed it"),
            }
        }
    };
    result.map_err(|error| explain_error(&error))
}

/// Prints a line on standard error for each progress notification.
fn print_progress(progress: &McpProgress) {
    let total = progress
        .total
        .map_or_else(String::new, |total| format!(" of {total}"));
    let message = progress.message.as_deref().unwrap_or_default();
    let line = format!("{}{total} {}", progress.done, one_line(message, 200));
    // A reader that is gone does not matter.
    drop(writeln!(io::stderr(), "{}", line.trim_end()));
}

/// Prints the tool's result for people.
fn print_result(result: &Value, output: &mut dyn Write) -> anyhow::Result<()> {
    let result = McpToolResult::from_value(result);
    let text = match &result.structured {
        Some(structured) if result.parts.is_empty() => to_pretty_json(structured)?,
        _ => result.text(),
    };
    if !text.is_empty() {
        writeln!(output, "{}", escape_control(&text))?;
    }
    Ok(())
}

/// Returns a result as JSON with the integers beyond 64 bits as the server wrote them.
fn to_pretty_json(result: &Value) -> serde_json::Result<String> {
    serde_json::to_string_pretty(result).map(unmark_large_integers)
}
