//! `deliberate servers test`: connects to servers, all at once, and tells how each is.

use std::{io::Write, process::ExitCode};

use clap::Args;
use deliberate_gateway::{Error, Gateway, ServerLook};
use futures::{StreamExt as _, stream::FuturesUnordered};
use serde_json::{Value, json};

use super::{Connected, diagnosis, find, tell_problems, tools::needs_approval};
use crate::{
    commands::{Shell, table::one_line},
    servers::{Catalogue, Known},
};

/// How much of what a server wrote to its standard error is shown.
const STDERR_LINES: usize = 8;

#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// Only these; all that are switched on unless given
    names: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// How one server is.
struct Tested<'a> {
    name: &'a str,
    found: Result<ServerLook, Error>,
    ping_ms: Option<f64>,
}

pub(super) async fn run(args: &TestArgs, shell: &mut Shell<'_>) -> anyhow::Result<ExitCode> {
    let catalogue = Catalogue::read(shell.loaded);
    tell_problems(&catalogue)?;
    let names: Vec<&str> = if args.names.is_empty() {
        catalogue.on().map(Known::name).collect()
    } else {
        let named = args.names.iter().map(|name| find(&catalogue, name));
        let named: anyhow::Result<Vec<&Known>> = named.collect();
        named?.into_iter().map(Known::name).collect()
    };
    let connected = Connected::to(&names, &catalogue, shell.loaded);
    let gateway = &connected.gateway;
    let mut running: FuturesUnordered<_> = names.iter().map(|name| test(gateway, name)).collect();
    let mut all = Vec::new();
    let mut fine = true;
    // In the order in which they answer: a slow one holds nobody up.
    while let Some(tested) = running.next().await {
        fine &= tested.found.is_ok();
        if args.json {
            all.push(tested.as_json());
        } else {
            tested.show(shell.output)?;
        }
    }
    drop(running);
    connected.close().await;
    if args.json {
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else if names.is_empty() {
        writeln!(
            shell.output,
            "No servers are switched on; `deliberate servers list` shows all."
        )?;
    }
    let broken = args.names.is_empty() && !catalogue.problems.is_empty();
    Ok(if fine && !broken {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

async fn test<'a>(gateway: &Gateway, name: &'a str) -> Tested<'a> {
    let found = gateway.look(name).await;
    let status = gateway.status();
    let ping_ms = status
        .iter()
        .find(|status| status.server == name)
        .and_then(|status| status.last_ping_ms);
    Tested {
        name,
        found,
        ping_ms,
    }
}

impl Tested<'_> {
    fn show(&self, output: &mut dyn Write) -> std::io::Result<()> {
        let look = match &self.found {
            Ok(look) => look,
            Err(error) => return self.show_error(error, output),
        };
        let mut parts = vec![
            who(&look.info),
            format!("protocol {}", one_line(&look.version, 40)),
            counted(look.tools.len()),
            format!("connected in {} ms", look.took.as_millis()),
        ];
        parts.extend(self.ping_ms.map(|ping| format!("ping {ping:.1} ms")));
        let held = look.tools.iter().filter(|it| needs_approval(&it.standing));
        let held = held.count();
        if held > 0 {
            parts.push(format!(
                "{held} held back: `deliberate servers approve {}` shows why",
                self.name
            ));
        }
        writeln!(output, "{:<6} {:<16} {}", "ok", self.name, parts.join(", "))
    }

    fn show_error(&self, error: &Error, output: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            output,
            "{:<6} {:<16} {}",
            "WRONG",
            self.name,
            one_line(&error.to_string(), 600)
        )?;
        if let Some(hint) = error.hint() {
            writeln!(output, "       {hint}")?;
        }
        if let Some(diagnosis) = diagnosis(error) {
            writeln!(output, "       It last wrote:")?;
            let lines: Vec<&str> = diagnosis.lines().collect();
            for line in lines.iter().skip(lines.len().saturating_sub(STDERR_LINES)) {
                writeln!(output, "         {}", one_line(line, 200))?;
            }
        }
        Ok(())
    }

    fn as_json(&self) -> Value {
        match &self.found {
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
                "connect_ms": look.took.as_secs_f64() * 1_000.0,
                "ping_ms": self.ping_ms,
            }),
            Err(error) => json!({ "name": self.name, "ok": false, "error": error.to_json() }),
        }
    }
}

/// What a server calls itself.
fn who(info: &Value) -> String {
    let text = |field: &str| info.get(field).and_then(Value::as_str).unwrap_or_default();
    let who = one_line(&format!("{} {}", text("name"), text("version")), 80);
    if who.is_empty() {
        "no name".to_owned()
    } else {
        who
    }
}

fn counted(tools: usize) -> String {
    format!("{tools} tool{}", if tools == 1 { "" } else { "s" })
}
