//! A server for one task in one arm, with a new database. If the server has no model, the benchmark
//! plays the client: it answers every ask with the same model through the same proxy.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, bail};
use deliberate_testkit::{StdioClient, bare_command};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::proxy::RecordingProxy;

/// Time limits of the server, longer than a small model on a busy machine needs.
const TIME_LIMITS: [(&str, &str); 2] = [
    ("DELIBERATE_REQUEST_TIMEOUT_MS", "1800000"),
    ("DELIBERATE_LIMITS_CALL_TIMEOUT_MS", "3600000"),
];

/// The most times that a client answers one call. A graph's largest call has four asks.
const MAX_REPLIES: usize = 12;

/// Token limit of the benchmark's own requests, that of `reasoning_linear`.
const MAX_TOKENS: u32 = 2_000;

/// Who answers the prompts of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelSide {
    /// The server asks its provider.
    Provider,
    /// The client's model answers.
    Client,
}

/// What the sessions of a run have in common.
#[derive(Debug, Clone)]
pub(crate) struct SessionSettings {
    pub(crate) server: PathBuf,
    pub(crate) server_args: Vec<String>,
    pub(crate) model: String,
    pub(crate) temperature: f64,
    pub(crate) proxy: Arc<RecordingProxy>,
}

impl SessionSettings {
    /// Builds a chat request of the benchmark itself, in the form in which the server asks its
    /// provider: the same question then gets the same stored answer.
    pub(crate) fn chat_body(&self, messages: &[Value]) -> Value {
        json!({
            "model": self.model,
            "messages": messages,
            "stream": false,
            "max_completion_tokens": MAX_TOKENS,
            "temperature": self.temperature,
        })
    }
}

/// Returns the text of a chat completion.
pub(crate) fn completion_text(response: &Value) -> String {
    let text = response["choices"][0]["message"]["content"].as_str();
    text.unwrap_or_default().to_owned()
}

/// A running server.
pub(crate) struct ServerSession {
    client: StdioClient,
    settings: SessionSettings,
    scope: String,
    /// What the client's model was asked and has replied so far.
    conversation: Vec<Value>,
    /// Whether `reasoning_got_score` takes several nodes.
    pub(crate) scores_many: bool,
    _home: TempDir,
}

impl ServerSession {
    pub(crate) async fn start(
        settings: &SessionSettings,
        side: ModelSide,
        scope: &str,
    ) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let mut command = bare_command(&settings.server);
        command
            .arg("serve")
            .args(&settings.server_args)
            .env("HOME", home.path())
            .env("DATABASE_PATH", home.path().join("bench.db"))
            .env("LOG_LEVEL", "warn")
            .envs(TIME_LIMITS);
        match side {
            ModelSide::Client => command.env("DELIBERATE_PROVIDER", "client"),
            ModelSide::Provider => command
                .env("DELIBERATE_BASE_URL", settings.proxy.url(scope))
                .env("DELIBERATE_MODEL", &settings.model),
        };
        let mut client = StdioClient::spawn(&mut command)?;
        client.initialize().await?;
        let listed = client.request("tools/list", json!({})).await?;
        let tools = listed["result"]["tools"].as_array().into_iter().flatten();
        let mut score = tools.filter(|tool| tool["name"] == "reasoning_got_score");
        let scores_many = score
            .next()
            .is_some_and(|tool| tool["inputSchema"]["properties"]["node_ids"].is_object());
        Ok(Self {
            client,
            settings: settings.clone(),
            scope: scope.to_owned(),
            conversation: Vec::new(),
            scores_many,
            _home: home,
        })
    }

    /// Calls a tool, answers what it asks the client, waits while it runs, and returns its output.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let mut response = self.client.call(tool, arguments).await?;
        let mut replies = 0;
        loop {
            let result = &response["result"];
            let output = &result["structuredContent"];
            let resume = if output["needs_reply"].is_object() {
                replies += 1;
                anyhow::ensure!(replies <= MAX_REPLIES, "{tool} asks again and again");
                let needed = output["needs_reply"].clone();
                json!({ "id": needed["id"], "replies": self.reply(&needed).await? })
            } else if output["still_running"].is_object() {
                json!({ "id": output["still_running"]["id"] })
            } else if output.is_object() && result["isError"] != true {
                return Ok(output.clone());
            } else {
                bail!("{tool}: {}", error_text(&response));
            };
            response = self.client.call("reasoning_resume", resume).await?;
        }
    }

    /// Answers the asks of one round, each after the conversation so far, which the client's model
    /// remembers: the server does not repeat what it has sent.
    async fn reply(&mut self, needed: &Value) -> anyhow::Result<Vec<Value>> {
        let before = self.conversation.clone();
        let mut replies = Vec::new();
        for ask in needed["asks"].as_array().context("no asks")? {
            let asked = ask_messages(ask, &needed["system"], before.is_empty());
            let body = self
                .settings
                .chat_body(&[before.as_slice(), &asked].concat());
            let (response, _) = self.settings.proxy.complete(&self.scope, &body).await?;
            let reply = completion_text(&response);
            self.conversation.extend(asked);
            self.conversation
                .push(json!({ "role": "assistant", "content": reply }));
            replies.push(reply.into());
        }
        Ok(replies)
    }
}

/// The messages of one ask. Instructions of its own are the system prompt of a new conversation;
/// elsewhere they, or what the asks share, stand before its text, as a client shows them.
fn ask_messages(ask: &Value, shared: &Value, is_new: bool) -> Vec<Value> {
    let own = ask.get("system").and_then(Value::as_str);
    let mut messages: Vec<Value> = Vec::new();
    let mut before = match own {
        Some(own) if is_new => {
            messages.push(json!({ "role": "system", "content": own }));
            None
        }
        own => own.or_else(|| shared.as_str()),
    };
    for message in ask["messages"].as_array().into_iter().flatten() {
        let text = message["text"].as_str().unwrap_or_default();
        let content = match before.take_if(|_| message["role"] == "user") {
            Some(before) => format!("{before}\n\n{text}"),
            None => text.to_owned(),
        };
        messages.push(json!({ "role": message["role"], "content": content }));
    }
    messages
}

fn error_text(response: &Value) -> String {
    let text = response["result"]["content"][0]["text"].as_str();
    text.map_or_else(|| response.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_the_system_prompt_of_a_new_conversation_only() {
        let message = |role: &str, text: &str| json!({ "role": role, "text": text });
        let sent = |role: &str, text: &str| json!({ "role": role, "content": text });
        let own = json!({ "system": "Think.", "messages": [message("user", "2 + 2?")] });
        assert_eq!(
            ask_messages(&own, &Value::Null, true),
            [sent("system", "Think."), sent("user", "2 + 2?")]
        );
        assert_eq!(
            ask_messages(&own, &Value::Null, false),
            [sent("user", "Think.\n\n2 + 2?")]
        );
        let shared = json!({ "messages": [message("assistant", "4"), message("user", "Why?")] });
        assert_eq!(
            ask_messages(&shared, &json!("Think."), true),
            [sent("assistant", "4"), sent("user", "Think.\n\nWhy?")]
        );
    }
}
