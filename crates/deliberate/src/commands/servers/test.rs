//! `deliberate servers test`: connects to servers concurrently and reports the state of each.

use std::{io::Write, process::ExitCode};

use clap::Args;
use deliberate_gateway::{Gateway, GatewayError, ServerReport};
use futures::{StreamExt as _, stream::FuturesUnordered};
use serde_json::{Value, json};

use super::{CommandGateway, find_server, print_problems, stderr_excerpt, tools::needs_approval};
use crate::{
    commands::{CommandContext, shell_hint::translate_hint, table::one_line},
    servers::{ServerCatalog, ServerDefinition},
};

/// How many lines of a server's standard error are printed.
const MAX_STDERR_LINES: usize = 8;

#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// Test only these; default: all enabled ones
    names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// State of one server.
struct ServerTest<'a> {
    name: &'a str,
    report: Result<ServerReport, GatewayError>,
    ping_ms: Option<f64>,
}

pub(super) async fn run(
    args: &TestArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let catalogue = ServerCatalog::read(shell.loaded);
    print_problems(&catalogue)?;
    let names: Vec<&str> = if args.names.is_empty() {
        catalogue.enabled().map(ServerDefinition::name).collect()
    } else {
        let named = args.names.iter().map(|name| find_server(&catalogue, name));
        let named: anyhow::Result<Vec<&ServerDefinition>> = named.collect();
        named?.into_iter().map(ServerDefinition::name).collect()
    };
    let connected = CommandGateway::new(&names, &catalogue, shell.loaded);
    let gateway = &connected.gateway;
    let mut running: FuturesUnordered<_> = names
        .iter()
        .map(|name| test_server(gateway, name))
        .collect();
    let mut all = Vec::new();
    let mut fine = true;
    // In the order in which they answer, so that a slow server delays no other.
    while let Some(tested) = running.next().await {
        fine &= tested.report.is_ok();
        if args.json {
            all.push(tested.as_json());
        } else {
            tested.print(shell.output)?;
        }
    }
    drop(running);
    connected.close().await;
    if args.json {
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else if names.is_empty() {
        writeln!(
            shell.output,
            "No servers are enabled; `deliberate servers list` shows all."
        )?;
    }
    let broken = args.names.is_empty() && !catalogue.problems.is_empty();
    Ok(if fine && !broken {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

async fn test_server<'a>(gateway: &Gateway, name: &'a str) -> ServerTest<'a> {
    let found = gateway.inspect(name).await;
    let status = gateway.status();
    let ping_ms = status
        .iter()
        .find(|status| status.server == name)
        .and_then(|status| status.last_ping_ms);
    ServerTest {
        name,
        report: found,
        ping_ms,
    }
}

impl ServerTest<'_> {
    fn print(&self, output: &mut dyn Write) -> std::io::Result<()> {
        let look = match &self.report {
            Ok(look) => look,
            Err(error) => return self.print_error(error, output),
        };
        let mut parts = vec![
            server_identity(&look.info),
            format!("protocol {}", one_line(&look.version, 40)),
            tool_count(look.tools.len()),
            format!("connected in {} ms", look.duration.as_millis()),
        ];
        parts.extend(self.ping_ms.map(|ping| format!("ping {ping:.1} ms")));
        let held = look.tools.iter().filter(|it| needs_approval(&it.standing));
        let held = held.count();
        if held > 0 {
            parts.push(format!(
                "{held} quarantined: `deliberate servers approve {}` shows why",
                self.name
            ));
        }
        writeln!(output, "{:<6} {:<16} {}", "ok", self.name, parts.join(", "))
    }

    fn print_error(&self, error: &GatewayError, output: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            output,
            "{:<6} {:<16} {}",
            "WRONG",
            self.name,
            one_line(&error.to_string(), 600)
        )?;
        if let Some(hint) = error.hint() {
            writeln!(output, "       {}", translate_hint(&hint))?;
        }
        if let Some(diagnosis) = stderr_excerpt(error) {
            writeln!(output, "       Its last output:")?;
            let lines: Vec<&str> = diagnosis.lines().collect();
            for line in lines
                .iter()
                .skip(lines.len().saturating_sub(MAX_STDERR_LINES))
            {
                writeln!(output, "         {}", one_line(line, 200))?;
            }
        }
        Ok(())
    }

    fn as_json(&self) -> Value {
        match &self.report {
            Ok(look) => json!({
                "name": self.name,
                "ok": true,
                "protocol": look.version,
                "server": look.info,
                "tools": look.tools.len(),
                "held_back": look.tools.iter()
                    .filter(|it| needs_approval(&it.standing))
                    .map(|it| it.name.as_str())
                    .collect::<Vec<_>>(),
                "connect_ms": look.duration.as_secs_f64() * 1_000.0,
                "ping_ms": self.ping_ms,
            }),
            Err(error) => json!({ "name": self.name, "ok": false, "error": error.to_json() }),
        }
    }
}

/// Returns the server's own name and version.
fn server_identity(info: &Value) -> String {
    let text = |field: &str| info.get(field).and_then(Value::as_str).unwrap_or_default();
    let who = one_line(&format!("{} {}", text("name"), text("version")), 80);
    if who.is_empty() {
        "no name".to_owned()
    } else {
        who
    }
}

fn tool_count(tools: usize) -> String {
    format!("{tools} tool{}", if tools == 1 { "" } else { "s" })
}
