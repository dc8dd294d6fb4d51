//! Inspection and approval of an upstream server's tools, for the operator.

use std::{sync::Arc, time::Duration};

use deliberate_mcp_client::client::CachePolicy;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::{CatalogTool, Gateway, Upstream, tool_catalog::QuarantineReason};
use crate::{
    GatewayError,
    injection_scan::{self, ScanFinding},
    pins::{OfferedDefinition, PinStatus, definition_diff},
};

/// A report on a server and its tools.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerReport {
    pub server: String,
    /// The protocol revision.
    pub version: String,
    /// The server's own name and version.
    pub info: Value,
    /// The server's instructions for a model. They are not passed on to clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The findings in the instructions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instruction_findings: Vec<ScanFinding>,
    pub tools: Vec<ToolReport>,
    /// The number of tools that the configuration excludes.
    pub left_out: usize,
    /// Tools that were left out, and other oddities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(skip)]
    pub duration: Duration,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolReport {
    /// The name at the server.
    pub name: String,
    /// The qualified name.
    pub full: String,
    pub description: String,
    pub input_schema: Value,
    pub standing: ToolStatus,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ScanFinding>,
    /// Whether clients see the tool in their tool list.
    pub exposed: bool,
    pub read_only: bool,
    pub destructive: bool,
}

/// The status of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum ToolStatus {
    Fine,
    /// Usable, and seen for the first time.
    New,
    /// Quarantined: the definition differs from the pinned one.
    Changed {
        /// The difference, line by line.
        diff: String,
    },
    /// Quarantined: the server added the tool later, and new tools need approval.
    Held,
    /// Quarantined: the scan found hidden content in the definition.
    Flagged,
    /// Quarantined: the server's pins are damaged.
    Unsure,
}

impl Gateway {
    /// Lists what a server offers now and pings it. Quarantined tools count as inspected and can
    /// then be approved.
    pub async fn inspect(&self, server: &str) -> Result<ServerReport, GatewayError> {
        let upstream = self.upstream(server)?;
        let begun = Instant::now();
        let client = upstream.clients.shared();
        let side = client.server_info().await?;
        let known = self.refresh(&upstream, CachePolicy::Refresh).await?;
        let took = begun.elapsed();
        let mut warnings = known.listing.list.warnings.clone();
        if let Err(error) = client.ping().await {
            warnings.push(format!("the server does not answer a ping: {error}"));
        }
        let kept_back: Vec<OfferedDefinition> = known
            .tools
            .iter()
            .filter(|tool| tool.quarantine.is_some())
            .map(|tool| tool.to_offered())
            .collect();
        if !kept_back.is_empty() {
            upstream
                .pins
                .mark_inspected(&kept_back.iter().collect::<Vec<_>>())
                .await;
        }
        let mut tools = Vec::with_capacity(known.tools.len());
        for tool in &known.tools {
            tools.push(report_tool(&upstream, tool).await);
        }
        let instructions = side.instructions.as_deref();
        let scanned = injection_scan::scan_instructions(instructions.unwrap_or_default()).await;
        let instruction_findings = scanned.unwrap_or_else(|error| {
            warnings.push(format!("the instructions could not be scanned: {error}"));
            Vec::new()
        });
        Ok(ServerReport {
            server: server.to_owned(),
            version: side.version.clone(),
            info: side.info.clone(),
            instructions: instructions.map(|text| injection_scan::strip_hidden(text).into_owned()),
            instruction_findings,
            left_out: known
                .listing
                .list
                .tools
                .len()
                .saturating_sub(known.tools.len()),
            warnings,
            tools,
            duration: took,
        })
    }

    /// Approves a quarantined tool, or all tools of a server. Returns the names of the approved
    /// tools.
    pub async fn approve(
        &self,
        server: &str,
        tool: Option<&str>,
    ) -> Result<Vec<String>, GatewayError> {
        let upstream = self.upstream(server)?;
        let known = self.refresh(&upstream, CachePolicy::Refresh).await?;
        let chosen: Vec<&Arc<CatalogTool>> = match tool {
            Some(name) => {
                let found = known.find(name, name);
                let found = found.ok_or_else(|| {
                    let names = known.tools.iter().map(|tool| tool.def.name.as_str());
                    let near = deliberate_core::did_you_mean(name, names)
                        .into_iter()
                        .collect();
                    GatewayError::unknown_tool(name, near)
                })?;
                vec![found]
            }
            None => known
                .tools
                .iter()
                .filter(|tool| tool.quarantine.is_some())
                .collect(),
        };
        let all: Vec<OfferedDefinition> =
            known.tools.iter().map(|tool| tool.to_offered()).collect();
        let mut approved = Vec::new();
        let mut changed = None;
        for tool in chosen {
            if upstream.pins.approve(&tool.to_offered(), &all).await? {
                approved.push(tool.def.name.clone());
            } else {
                changed = Some(GatewayError::ChangedAgain {
                    server: server.to_owned(),
                    tool: tool.def.name.clone(),
                });
            }
        }
        // The approval takes effect at once in this process, and within a second in others.
        self.reevaluate(&upstream).await?;
        match changed {
            Some(error) if approved.is_empty() => Err(error),
            _ => Ok(approved),
        }
    }
}

impl CatalogTool {
    fn to_offered(&self) -> OfferedDefinition {
        OfferedDefinition {
            name: self.def.name.clone(),
            hash: self.hash.clone(),
            definition: self.def.raw.clone(),
        }
    }
}

async fn report_tool(upstream: &Upstream, tool: &CatalogTool) -> ToolReport {
    let status = match tool.quarantine {
        Some(QuarantineReason::Held) => ToolStatus::Held,
        Some(QuarantineReason::Flagged) => ToolStatus::Flagged,
        Some(QuarantineReason::PinsUnreadable) => ToolStatus::Unsure,
        Some(QuarantineReason::Changed) => {
            let before = upstream.pins.text(&tool.def.name).await;
            ToolStatus::Changed {
                diff: definition_diff(&before.unwrap_or_default(), &tool.def.raw),
            }
        }
        None if tool.pin_status == PinStatus::New => ToolStatus::New,
        None => ToolStatus::Fine,
    };
    ToolReport {
        name: injection_scan::strip_hidden(&tool.def.name).into_owned(),
        full: tool.qualified_name.to_string(),
        description: tool.summary(4_000),
        input_schema: injection_scan::strip_definition(tool.def.input_schema()),
        standing: status,
        findings: tool.findings.clone(),
        exposed: tool.exposed,
        read_only: tool.def.read_only(),
        destructive: tool.def.destructive(),
    }
}
