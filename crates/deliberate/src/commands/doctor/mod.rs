//! `deliberate doctor`: checks this machine, or with `--url` a running server.

mod remote;

use std::{process::ExitCode, time::Duration};

use clap::Args;
use deliberate_store::{Store as _, StoreError, StoreInfo, sqlite::SqliteStore};
use serde_json::json;

use super::{
    CommandContext, prompt,
    serve::{http_exposure::plain_http_warning, http_tokens::read_tokens},
    setup::{Dirs, detect_clients},
};
use crate::{
    config::LoadedConfig,
    providers::{ProviderSelector, SelectedProvider},
    servers::ServerCatalog,
    wiring::build_sqlite_store,
};

/// Long enough for a slow network, short enough for a person.
const REACH_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Check a running server instead of this machine
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Environment variable with the token for that server
    #[arg(long, value_name = "NAME", requires = "url")]
    token_env: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Result of one check.
struct DoctorFinding {
    subject: &'static str,
    verdict: DoctorVerdict,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum DoctorVerdict {
    Pass,
    Note,
    Fail,
}

impl DoctorVerdict {
    const fn label(self) -> &'static str {
        match self {
            Self::Pass => "ok",
            Self::Note => "note",
            Self::Fail => "WRONG",
        }
    }
}

pub(crate) async fn run(
    args: &DoctorArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    if let Some(url) = &args.url {
        return remote::run(url, args.token_env.as_deref(), args.json, shell).await;
    }
    let loaded = shell.loaded;
    let mut findings = vec![check_configuration(loaded), check_database(loaded).await];
    findings.extend(check_provider(loaded).await);
    findings.push(check_prompts(loaded));
    findings.push(check_research(loaded));
    findings.extend(check_servers(loaded));
    findings.extend(check_http(loaded));
    findings.push(check_limits(loaded));
    findings.extend(check_clients(loaded));
    if args.json {
        let all: Vec<_> = findings
            .iter()
            .map(|it| json!({ "what": it.subject, "verdict": it.verdict.label(), "text": it.text }))
            .collect();
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        for it in &findings {
            writeln!(
                shell.output,
                "{:<6} {:<10} {}",
                it.verdict.label(),
                it.subject,
                it.text
            )?;
        }
    }
    let wrong = findings.iter().any(|it| it.verdict == DoctorVerdict::Fail);
    Ok(if wrong {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

fn check_configuration(loaded: &LoadedConfig) -> DoctorFinding {
    let text = match &loaded.file {
        Some(file) => format!("read from {}", file.display()),
        None => "no file; environment and defaults".to_owned(),
    };
    DoctorFinding {
        subject: "settings",
        verdict: DoctorVerdict::Pass,
        text,
    }
}

async fn check_database(loaded: &LoadedConfig) -> DoctorFinding {
    let store = build_sqlite_store(&loaded.settings);
    let state = examine_database(&store).await;
    store.close().await;
    let explain = |error: &StoreError| format!("{error}. {}", error.hint().unwrap_or_default());
    let (verdict, text) = match state {
        Ok(state) => {
            let text = format!(
                "{}: {} session(s), {} thought(s), schema {}, intact",
                state.location, state.sessions, state.thoughts, state.schema_version
            );
            match state.write_failure {
                None => (DoctorVerdict::Pass, text),
                Some(failure) => (
                    DoctorVerdict::Fail,
                    format!("{text}; {}", explain(&failure)),
                ),
            }
        }
        Err(error) => (DoctorVerdict::Fail, explain(&error)),
    };
    DoctorFinding {
        subject: "database",
        verdict,
        text,
    }
}

/// Reads all pages of the database and tries to write one.
async fn examine_database(store: &SqliteStore) -> Result<StoreInfo, StoreError> {
    store.check_integrity().await?;
    // The state says why it failed.
    drop(store.check_writable().await);
    store.info().await
}

/// Checks the settings of research. Sends no requests.
fn check_research(loaded: &LoadedConfig) -> DoctorFinding {
    let what = "research";
    let settings = &loaded.settings.research;
    if loaded.settings.tools.research.is_none() {
        return DoctorFinding {
            subject: what,
            verdict: DoctorVerdict::Note,
            text: "off; `tools.sets` does not include it".to_owned(),
        };
    }
    let (verdict, text) = match crate::wiring::research::options(loaded) {
        Err(error) => (DoctorVerdict::Fail, error.to_string()),
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
                options.papers_folder.display()
            );
            let missing = crate::wiring::research::missing_folders(settings);
            let verdict = if missing.is_empty() {
                DoctorVerdict::Pass
            } else {
                DoctorVerdict::Note
            };
            for folder in missing {
                text.push_str("; ");
                text.push_str(&folder);
            }
            (verdict, text)
        }
    };
    DoctorFinding {
        subject: what,
        verdict,
        text,
    }
}

async fn check_provider(loaded: &LoadedConfig) -> Vec<DoctorFinding> {
    let mut notes = Vec::new();
    let (verdict, text) = match ProviderSelector::new(loaded) {
        Err(error) => (DoctorVerdict::Fail, error.to_string()),
        Ok(chooser) => match chooser.own_provider().await {
            Some(selected_provider) => {
                let reached = check_reachable(&selected_provider).await;
                if reached.0 == DoctorVerdict::Pass {
                    notes = privacy_notes(&selected_provider).await;
                }
                reached
            }
            None => (
                DoctorVerdict::Note,
                "none; the client's own model is used (this works in every MCP client)".to_owned(),
            ),
        },
    };
    let finding = |verdict, text| DoctorFinding {
        subject: "provider",
        verdict,
        text,
    };
    let mut findings = vec![finding(verdict, text)];
    findings.extend(notes.into_iter().map(|it| finding(DoctorVerdict::Note, it)));
    findings
}

/// Returns what the provider shows to others or stores. That this cannot be found out is a note too.
async fn privacy_notes(provider: &SelectedProvider) -> Vec<String> {
    let deadline = tokio::time::Instant::now() + REACH_TIMEOUT;
    match provider.model.privacy_notes(deadline).await {
        Ok(notes) => notes,
        Err(error) => vec![format!("its privacy settings could not be read: {error}")],
    }
}

/// Checks that the provider answers and accepts the key, with a request that costs nothing.
async fn check_reachable(provider: &SelectedProvider) -> (DoctorVerdict, String) {
    let deadline = tokio::time::Instant::now() + REACH_TIMEOUT;
    match provider.model.check(deadline).await {
        Ok(()) => (
            DoctorVerdict::Pass,
            format!("{}, answers", provider.description),
        ),
        Err(error) => (
            DoctorVerdict::Fail,
            format!("{error}. {}", error.hint().unwrap_or_default()),
        ),
    }
}

fn check_prompts(loaded: &LoadedConfig) -> DoctorFinding {
    let what = "prompts";
    if !loaded.settings.tools.prompts {
        return DoctorFinding {
            subject: what,
            verdict: DoctorVerdict::Note,
            text: "off; `tools.sets` does not include them".to_owned(),
        };
    }
    let (verdict, text) = match crate::wiring::prompts::options(&loaded.settings.prompts) {
        Err(error) => (DoctorVerdict::Fail, error.to_string()),
        Ok(options) => match prompt::workspace_health(&options) {
            (text, true) => (DoctorVerdict::Pass, text),
            // A server with an invalid prompt still serves the others.
            (text, false) => (DoctorVerdict::Note, text),
        },
    };
    DoctorFinding {
        subject: what,
        verdict,
        text,
    }
}

/// Checks the configured servers, with a line for each that cannot be used. Connects to none.
fn check_servers(loaded: &LoadedConfig) -> Vec<DoctorFinding> {
    let what = "servers";
    let catalogue = ServerCatalog::read(loaded);
    let (all, on) = (catalogue.servers.len(), catalogue.enabled().count());
    let (verdict, text) = if !loaded.settings.tools.gateway {
        (
            DoctorVerdict::Note,
            "off; `tools.sets` does not include them".to_owned(),
        )
    } else if all == 0 {
        let text = "none configured; `deliberate servers add` adds one";
        (DoctorVerdict::Pass, text.to_owned())
    } else {
        let text = format!(
            "{on} on, {} off; `deliberate servers test` connects to them",
            all - on
        );
        (DoctorVerdict::Pass, text)
    };
    let mut findings = vec![DoctorFinding {
        subject: what,
        verdict,
        text,
    }];
    // The server works without them.
    findings.extend(catalogue.problems.iter().map(|problem| DoctorFinding {
        subject: what,
        verdict: DoctorVerdict::Note,
        text: problem.to_string(),
    }));
    findings
}

/// Checks how the configured HTTP server is reached. Starts none.
fn check_http(loaded: &LoadedConfig) -> Option<DoctorFinding> {
    let http = &loaded.settings.http;
    let finding = |verdict, text| DoctorFinding {
        subject: "http",
        verdict,
        text,
    };
    if let Err(error) = read_tokens(loaded) {
        return Some(finding(DoctorVerdict::Fail, format!("{error:#}")));
    }
    let warning = plain_http_warning(http.listen?, http)?;
    Some(finding(DoctorVerdict::Note, warning))
}

fn check_limits(loaded: &LoadedConfig) -> DoctorFinding {
    let limits = &loaded.settings.limits;
    DoctorFinding {
        subject: "limits",
        verdict: DoctorVerdict::Pass,
        text: format!(
            "{} concurrent calls, {} s per call, {} bytes per message, {} tokens of context",
            limits.concurrent_calls,
            limits.call_timeout.as_secs(),
            limits.line_bytes,
            limits.context_tokens
        ),
    }
}

fn check_clients(loaded: &LoadedConfig) -> Vec<DoctorFinding> {
    let Ok(dirs) = Dirs::detect(&loaded.environment) else {
        return Vec::new();
    };
    let found = detect_clients(&dirs);
    let findings: Vec<DoctorFinding> = found
        .iter()
        .filter(|client| client.exists)
        .map(|client| {
            let (verdict, text) = if client.configured {
                (
                    DoctorVerdict::Pass,
                    format!("{} is configured", client.title),
                )
            } else {
                let text = format!(
                    "{} is installed; `deliberate setup {}` adds deliberate to it",
                    client.title, client.name
                );
                (DoctorVerdict::Note, text)
            };
            DoctorFinding {
                subject: "client",
                verdict,
                text,
            }
        })
        .collect();
    if findings.is_empty() {
        return vec![DoctorFinding {
            subject: "client",
            verdict: DoctorVerdict::Note,
            text: "no MCP client found in its usual location".to_owned(),
        }];
    }
    findings
}
