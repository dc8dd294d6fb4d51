//! `deliberate doctor`: how things stand on this machine, or, with `--url`, how a server is.

mod remote;

use std::{process::ExitCode, time::Duration};

use clap::Args;
use serde_json::json;

use super::{
    Shell, prompt,
    setup::{Dirs, found_clients},
};
use crate::{
    config::Loaded,
    minds::{Chooser, Mind},
    servers::Catalogue,
    wiring::store,
};

/// Long enough for a slow network, short enough for a person.
const REACH_TIME: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Ask a server that runs, instead of looking at this machine
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The environment variable that holds the token for that server
    #[arg(long, value_name = "NAME", requires = "url")]
    token_env: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What was found on one point.
struct Finding {
    what: &'static str,
    verdict: Verdict,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Fine,
    Note,
    Wrong,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Wrong => "WRONG",
        }
    }
}

pub(crate) async fn run(args: &DoctorArgs, shell: &mut Shell<'_>) -> anyhow::Result<ExitCode> {
    if let Some(url) = &args.url {
        return remote::run(url, args.token_env.as_deref(), args.json, shell).await;
    }
    let loaded = shell.loaded;
    let mut findings = vec![configuration(loaded), database(loaded).await];
    findings.push(provider(loaded).await);
    findings.push(prompts(loaded));
    findings.push(research(loaded));
    findings.extend(servers(loaded));
    findings.push(limits(loaded));
    findings.extend(clients(loaded));
    if args.json {
        let all: Vec<_> = findings
            .iter()
            .map(|it| json!({ "what": it.what, "verdict": it.verdict.word(), "text": it.text }))
            .collect();
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        for it in &findings {
            writeln!(
                shell.output,
                "{:<6} {:<10} {}",
                it.verdict.word(),
                it.what,
                it.text
            )?;
        }
    }
    let wrong = findings.iter().any(|it| it.verdict == Verdict::Wrong);
    Ok(if wrong {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

fn configuration(loaded: &Loaded) -> Finding {
    let text = match &loaded.file {
        Some(file) => format!("read from {}", file.display()),
        None => "no file; environment and defaults".to_owned(),
    };
    Finding {
        what: "settings",
        verdict: Verdict::Fine,
        text,
    }
}

async fn database(loaded: &Loaded) -> Finding {
    let store = store(&loaded.settings);
    let state = store.state().await;
    store.close().await;
    let (verdict, text) = match state {
        Ok(state) => (
            Verdict::Fine,
            format!(
                "{}: {} session(s), {} thought(s), schema {}",
                state.location, state.sessions, state.thoughts, state.schema_version
            ),
        ),
        Err(error) => (
            Verdict::Wrong,
            format!("{error}. {}", error.hint().unwrap_or_default()),
        ),
    };
    Finding {
        what: "database",
        verdict,
        text,
    }
}

/// What research has to work with. Asks nobody.
fn research(loaded: &Loaded) -> Finding {
    let what = "research";
    let settings = &loaded.settings.research;
    if loaded.settings.tools.research.is_none() {
        return Finding {
            what,
            verdict: Verdict::Note,
            text: "off; `tools.sets` leaves it out".to_owned(),
        };
    }
    let (verdict, text) = match crate::research::options(loaded) {
        Err(error) => (Verdict::Wrong, error.to_string()),
        Ok(options) => {
            let keys = settings
                .sources
                .iter()
                .filter(|it| it.key.is_some())
                .count();
            let contact = match options.contact {
                Some(_) => "a contact address",
                None => "no contact address (`research.contact`, which Unpaywall needs)",
            };
            let mut text = format!(
                "{} sources, {keys} with a key, {contact}; papers in {}",
                settings.sources.len(),
                options.papers.display()
            );
            let missing = crate::research::folders_not_there(settings);
            let verdict = if missing.is_empty() {
                Verdict::Fine
            } else {
                Verdict::Note
            };
            for folder in missing {
                text.push_str("; ");
                text.push_str(&folder);
            }
            (verdict, text)
        }
    };
    Finding {
        what,
        verdict,
        text,
    }
}

async fn provider(loaded: &Loaded) -> Finding {
    let (verdict, text) = match Chooser::new(loaded) {
        Err(error) => (Verdict::Wrong, error.to_string()),
        Ok(chooser) => match chooser.own().await {
            Some(mind) => reach(&mind).await,
            None => (
                Verdict::Note,
                "none; the client's own model thinks (fine in any MCP client)".to_owned(),
            ),
        },
    };
    Finding {
        what: "provider",
        verdict,
        text,
    }
}

/// Whether the provider answers and takes the key. Asks for nothing that costs.
async fn reach(mind: &Mind) -> (Verdict, String) {
    let deadline = tokio::time::Instant::now() + REACH_TIME;
    match mind.thinker.check(deadline).await {
        Ok(()) => (Verdict::Fine, format!("{}, answers", mind.description)),
        Err(error) => (
            Verdict::Wrong,
            format!("{error}. {}", error.hint().unwrap_or_default()),
        ),
    }
}

fn prompts(loaded: &Loaded) -> Finding {
    let what = "prompts";
    if !loaded.settings.tools.prompts {
        return Finding {
            what,
            verdict: Verdict::Note,
            text: "off; `tools.sets` leaves them out".to_owned(),
        };
    }
    let (verdict, text) = match crate::prompts::options(&loaded.settings.prompts) {
        Err(error) => (Verdict::Wrong, error.to_string()),
        Ok(options) => match prompt::health(&options) {
            (text, true) => (Verdict::Fine, text),
            // A server with a broken prompt still serves the others.
            (text, false) => (Verdict::Note, text),
        },
    };
    Finding {
        what,
        verdict,
        text,
    }
}

/// The servers that are written down, and a line for each that can't be used. Connects to none.
fn servers(loaded: &Loaded) -> Vec<Finding> {
    let what = "servers";
    let catalogue = Catalogue::read(loaded);
    let (all, on) = (catalogue.known.len(), catalogue.on().count());
    let (verdict, text) = if !loaded.settings.tools.gateway {
        (
            Verdict::Note,
            "off; `tools.sets` leaves them out".to_owned(),
        )
    } else if all == 0 {
        let text = "no others; `deliberate servers add` adds one";
        (Verdict::Fine, text.to_owned())
    } else {
        let text = format!(
            "{on} on, {} off; `deliberate servers test` connects to them",
            all - on
        );
        (Verdict::Fine, text)
    };
    let mut findings = vec![Finding {
        what,
        verdict,
        text,
    }];
    // A server without them still serves.
    findings.extend(catalogue.problems.iter().map(|problem| Finding {
        what,
        verdict: Verdict::Note,
        text: problem.to_string(),
    }));
    findings
}

fn limits(loaded: &Loaded) -> Finding {
    let limits = &loaded.settings.limits;
    Finding {
        what: "limits",
        verdict: Verdict::Fine,
        text: format!(
            "{} calls at once, {} s a call, {} bytes a message, {} tokens of context",
            limits.concurrent_calls,
            limits.call_timeout.as_secs(),
            limits.line_bytes,
            limits.context_tokens
        ),
    }
}

fn clients(loaded: &Loaded) -> Vec<Finding> {
    let Ok(dirs) = Dirs::detect(&loaded.environment) else {
        return Vec::new();
    };
    let found = found_clients(&dirs);
    let findings: Vec<Finding> = found
        .iter()
        .filter(|client| client.exists)
        .map(|client| {
            let (verdict, text) = if client.configured {
                (Verdict::Fine, format!("{} is set up", client.title))
            } else {
                let text = format!(
                    "{} is here; `deliberate setup {}` adds deliberate to it",
                    client.title, client.name
                );
                (Verdict::Note, text)
            };
            Finding {
                what: "client",
                verdict,
                text,
            }
        })
        .collect();
    if findings.is_empty() {
        return vec![Finding {
            what: "client",
            verdict: Verdict::Note,
            text: "no MCP client found in its usual place".to_owned(),
        }];
    }
    findings
}
