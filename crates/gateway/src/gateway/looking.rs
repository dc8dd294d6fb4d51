//! For whoever runs the program: what a server offers, how each tool stands, and letting it
//! through.

use std::{sync::Arc, time::Duration};

use deliberate_adapter::client::Fresh;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::{Gateway, KnownTool, Served, known::KeptBack};
use crate::{
    Error,
    pins::{Offered, Pinned, difference},
    scan::{self, Finding},
};

/// What a server says of itself and offers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerLook {
    /// Its name here.
    pub server: String,
    /// The revision of the protocol.
    pub version: String,
    /// Its own name and version.
    pub info: Value,
    /// What it wants a model to know; nobody is told that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What was found in that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instruction_findings: Vec<Finding>,
    /// Its tools.
    pub tools: Vec<ToolLook>,
    /// How many more it has that the configuration leaves out.
    pub left_out: usize,
    /// What could not be taken of its list, and what else is odd.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How long it took to find out.
    #[serde(skip)]
    pub took: Duration,
}

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolLook {
    /// Its name at the server.
    pub name: String,
    /// Its name here.
    pub full: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// How it stands.
    pub standing: Standing,
    /// What was found in its definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Whether clients see it beside ours.
    pub exposed: bool,
    /// Whether it says that it changes nothing.
    pub read_only: bool,
    /// Whether it may destroy something.
    pub destructive: bool,
}

/// How a tool stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Standing {
    /// It can be used.
    Fine,
    /// It can be used, and was seen for the first time.
    New,
    /// It is kept back: it describes itself otherwise than before.
    Changed {
        /// What changed, line by line.
        diff: String,
    },
    /// It is kept back: its definition holds what it should not.
    Flagged,
    /// It is kept back: what was pinned of its server is damaged.
    Unsure,
}

impl Gateway {
    /// What a server offers now, and whether it answers. What is kept back counts as looked at: it can be approved.
    pub async fn look(&self, server: &str) -> Result<ServerLook, Error> {
        let served = self.server(server)?;
        let begun = Instant::now();
        let client = self.client(served)?;
        let side = client.server().await?;
        let known = self.refresh(served, Fresh::Anew).await?;
        let took = begun.elapsed();
        let mut warnings = known.listed.list.warnings.clone();
        if let Err(error) = client.ping().await {
            warnings.push(format!("it does not answer a ping: {error}"));
        }
        let kept_back: Vec<Offered> = known
            .tools
            .iter()
            .filter(|tool| tool.kept_back.is_some())
            .map(|tool| tool.offered())
            .collect();
        if !kept_back.is_empty() {
            served
                .pins
                .shown(&kept_back.iter().collect::<Vec<_>>())
                .await;
        }
        let mut tools = Vec::with_capacity(known.tools.len());
        for tool in &known.tools {
            tools.push(look_at(served, tool).await);
        }
        let instructions = side.instructions.as_deref();
        Ok(ServerLook {
            server: server.to_owned(),
            version: side.version.clone(),
            info: side.info.clone(),
            instructions: instructions.map(|text| scan::strip(text).into_owned()),
            instruction_findings: instructions
                .map(|text| scan::text("instructions", text).findings(|_| None))
                .unwrap_or_default(),
            left_out: known
                .listed
                .list
                .tools
                .len()
                .saturating_sub(known.tools.len()),
            warnings,
            tools,
            took,
        })
    }

    /// Lets a tool through that is kept back, or all of a server's. Says which were.
    pub async fn approve(&self, server: &str, tool: Option<&str>) -> Result<Vec<String>, Error> {
        let served = self.server(server)?;
        let known = self.refresh(served, Fresh::Anew).await?;
        let chosen: Vec<&Arc<KnownTool>> = match tool {
            Some(name) => {
                let found = known
                    .get(name)
                    .or_else(|| known.tools.iter().find(|it| &*it.full == name));
                let found = found.ok_or_else(|| {
                    let names = known.tools.iter().map(|tool| tool.def.name.as_str());
                    let near = deliberate_core::nearest(name, names).into_iter().collect();
                    Error::unknown_tool(name, near)
                })?;
                vec![found]
            }
            None => known
                .tools
                .iter()
                .filter(|tool| tool.kept_back.is_some())
                .collect(),
        };
        let all: Vec<Offered> = known.tools.iter().map(|tool| tool.offered()).collect();
        let mut approved = Vec::new();
        let mut changed = None;
        for tool in chosen {
            if served.pins.approve(&tool.offered(), &all).await? {
                approved.push(tool.def.name.clone());
            } else {
                changed = Some(Error::ChangedAgain {
                    server: server.to_owned(),
                    tool: tool.def.name.clone(),
                });
            }
        }
        // In this process it takes effect at once; in others within a second.
        self.rejudge(served).await?;
        match changed {
            Some(error) if approved.is_empty() => Err(error),
            _ => Ok(approved),
        }
    }
}

impl KnownTool {
    fn offered(&self) -> Offered {
        Offered {
            name: self.def.name.clone(),
            hash: self.hash.clone(),
            definition: self.def.raw.clone(),
        }
    }
}

async fn look_at(served: &Served, tool: &KnownTool) -> ToolLook {
    let standing = match tool.kept_back {
        Some(KeptBack::Flagged) => Standing::Flagged,
        Some(KeptBack::Unsure) => Standing::Unsure,
        Some(KeptBack::Changed) => {
            let before = served.pins.text(&tool.def.name).await;
            Standing::Changed {
                diff: difference(&before.unwrap_or_default(), &tool.def.raw),
            }
        }
        None if tool.pinned == Pinned::First => Standing::New,
        None => Standing::Fine,
    };
    ToolLook {
        name: scan::strip(&tool.def.name).into_owned(),
        full: tool.full.to_string(),
        description: tool.said(4_000),
        input_schema: scan::stripped(tool.def.input_schema()),
        standing,
        findings: tool.findings.clone(),
        exposed: tool.exposed,
        read_only: tool.def.read_only(),
        destructive: tool.def.destructive(),
    }
}
