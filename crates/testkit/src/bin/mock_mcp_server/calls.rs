//! The tools of the mock MCP server.

use std::{fmt::Write as _, sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};

use super::{
    rpc_result::{RpcFailure, RpcResult, code, text_result},
    server::{MockMcpServer, crash},
    session::{ClientExchange, lock},
};

/// The size of an oversized answer.
const HUGE_BYTES: usize = 20 * 1024 * 1024;

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

impl MockMcpServer {
    /// Answers `tools/call`.
    pub(crate) async fn call_tool(
        &self,
        exchange: &ClientExchange,
        stateless: bool,
        params: &Value,
    ) -> RpcResult {
        let calls = self.calls.fetch_add(1, Ordering::AcqRel) + 1;
        let name = params["name"].as_str().unwrap_or_default();
        let dies = self.faults.die_on.iter().any(|tool| tool == name);
        if dies || self.faults.die_after.is_some_and(|last| calls >= last) {
            crash();
        }
        let result = self.run_tool(exchange, stateless, name, params).await;
        if self.faults.change_after.is_some_and(|last| calls >= last) {
            self.announce_change();
        }
        if self.faults.huge {
            return result.map(|_| text_result("x".repeat(HUGE_BYTES)));
        }
        result
    }

    async fn run_tool(
        &self,
        exchange: &ClientExchange,
        stateless: bool,
        name: &str,
        params: &Value,
    ) -> RpcResult {
        let arguments = &params["arguments"];
        let said = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        match name {
            "echo" => Ok(text_result(said("text"))),
            "add" => Ok(add(arguments)),
            "slow" => Ok(slow_tool(exchange, params).await),
            "fail" => {
                let mut result = text_result(said("message"));
                result["isError"] = json!(true);
                Ok(result)
            }
            "env" => Ok(environment()),
            "pid" => Ok(text_result(std::process::id().to_string())),
            "big" => {
                let bytes = arguments["bytes"].as_u64().unwrap_or_default();
                Ok(text_result("x".repeat(usize::try_from(bytes).unwrap_or(0))))
            }
            "image" => Ok(json!({
                "content": [{ "type": "image", "data": PIXEL, "mimeType": "image/png" }],
            })),
            "unknown_block" => Ok(json!({
                "content": [
                    { "zeta": 1, "type": "hologram", "data": { "b": [1], "a": null } },
                    { "type": "text", "text": "known", "annotations": { "audience": ["user"] }, "extra": true },
                ],
                "extra": { "kept": true },
                "_meta": { "example.com/kept": 1 },
            })),
            "ask" | "sample" | "roots" => Self::ask_client(exchange, stateless, name, params).await,
            "count" => Ok(self.count()),
            "die" => crash(),
            "hang" => std::future::pending().await,
            _ => Err(RpcFailure::new(
                code::INVALID_PARAMS,
                format!("Unknown tool: {name}"),
            )),
        }
    }

    /// Counts its runs; the number survives the process if a state file was given.
    fn count(&self) -> Value {
        let mut counted = lock(&self.counted);
        if let Some(file) = &self.state {
            let known = std::fs::read_to_string(file).unwrap_or_default();
            *counted = known.trim().parse().unwrap_or(0);
        }
        *counted += 1;
        if let Some(file) = &self.state {
            let _ = std::fs::write(file, counted.to_string());
        }
        text_result(counted.to_string())
    }
}

fn add(arguments: &Value) -> Value {
    let (Some(a), Some(b)) = (arguments["a"].as_f64(), arguments["b"].as_f64()) else {
        let mut result = text_result("a and b must be numbers");
        result["isError"] = json!(true);
        return result;
    };
    let structured = json!({ "sum": a + b });
    let mut result = text_result(structured.to_string());
    result["structuredContent"] = structured;
    result
}

/// Waits step by step, and reports progress if the client asked for it.
async fn slow_tool(exchange: &ClientExchange, params: &Value) -> Value {
    let milliseconds = params["arguments"]["ms"].as_u64().unwrap_or(100);
    let steps = params["arguments"]["steps"].as_u64().unwrap_or(1).max(1);
    let token = &params["_meta"]["progressToken"];
    for step in 1..=steps {
        tokio::time::sleep(Duration::from_millis(milliseconds / steps)).await;
        if !token.is_null() {
            exchange.notify(
                "notifications/progress",
                &json!({
                    "progressToken": token,
                    "progress": step,
                    "total": steps,
                    "message": format!("step {step}"),
                }),
            );
        }
    }
    text_result(format!("{steps} steps"))
}

fn environment() -> Value {
    let mut names: Vec<String> = std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    let mut shown = String::new();
    for name in &names {
        let _ = writeln!(shown, "{name}");
    }
    let mut result = text_result(shown.trim_end());
    result["structuredContent"] = json!({ "names": names });
    result
}
