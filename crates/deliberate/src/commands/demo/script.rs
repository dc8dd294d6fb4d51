//! Script of the demo: a short tree, a short graph from its best branch, and drawings of both.

use anyhow::{Context as _, bail};
use deliberate_core::Score;
use deliberate_toolkit::RESUME_TOOL;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{replies::DemoReplies, screen::DemoScreen, server::DemoServer};
use crate::commands::{
    table::one_line,
    text_drawing::{self, BranchLabel, DrawnGraph, DrawnTree, percent},
};

/// Longest excerpt of an ask.
const MAX_ASK_CHARS: usize = 140;

/// Result of the demo.
pub(super) struct DemoResult {
    pub(super) tree: DemoDrawing,
    pub(super) graph: DemoDrawing,
    /// Number of tool calls.
    pub(super) calls: usize,
    /// Number of built-in replies that were used.
    pub(super) replies_used: usize,
    pub(super) replies_shipped: usize,
}

/// A tree or graph with its drawings.
pub(super) struct DemoDrawing {
    pub(super) session_id: String,
    /// Id for `reasoning_get`.
    pub(super) id: String,
    /// The recommended branch, or the conclusion.
    pub(super) result: String,
    /// Drawing for a terminal.
    pub(super) text: String,
    pub(super) mermaid: String,
}

/// A branch or node with its score.
struct DemoScoredStep {
    id: String,
    text: String,
    score: Score,
}

/// Runs the script on a server that was just started.
pub(super) async fn run_script(
    server: &mut DemoServer,
    screen: &mut DemoScreen<'_>,
) -> anyhow::Result<DemoResult> {
    let mut player = DemoScriptRunner {
        server,
        screen,
        replies: DemoReplies::load()?,
        tools: Vec::new(),
        calls: 0,
        ask_count: 0,
    };
    player.connect().await?;
    let (tree, root) = player.run_tree().await?;
    let graph = player.run_graph(&root).await?;
    Ok(DemoResult {
        tree,
        graph,
        calls: player.calls,
        replies_used: player.replies.used_count(),
        replies_shipped: player.replies.count(),
    })
}

struct DemoScriptRunner<'a, 'b> {
    server: &'a mut DemoServer,
    screen: &'a mut DemoScreen<'b>,
    replies: DemoReplies,
    tools: Vec<String>,
    calls: usize,
    /// Number of asks that were answered but not yet printed.
    ask_count: usize,
}

impl DemoScriptRunner<'_, '_> {
    async fn connect(&mut self) -> anyhow::Result<()> {
        let greeting = self.server.initialize().await?;
        self.tools = self.server.list_tools().await?;
        self.screen.print_heading("1  A client connects")?;
        self.screen.print_text(&format!(
            "This program has started itself as a server, `deliberate serve`, and communicates with it \
             over MCP {}, as your client would.",
            text_at(&greeting, "/protocolVersion")?
        ))?;
        self.screen.print_text(&format!(
            "{} {} offers {} tools.",
            text_at(&greeting, "/serverInfo/title")?,
            text_at(&greeting, "/serverInfo/version")?,
            self.tools.len()
        ))?;
        Ok(())
    }

    /// Runs the tree and returns the text of its recommended branch.
    async fn run_tree(&mut self) -> anyhow::Result<(DemoDrawing, String)> {
        let question = self.replies.question.clone();
        self.screen
            .print_heading("2  A tree: several approaches side by side")?;
        self.screen
            .print_request(&format!("reasoning_tree “{question}”"))?;
        let arguments = json!({ "content": question, "max_branches": 3 });
        let explored = self.call("explore", "reasoning_tree", arguments).await?;
        let best = self.show_branches(&explored)?;
        let session_id = text_at(&explored, "/session_id")?;

        self.screen
            .print_request(&format!("reasoning_tree_focus “{}”", best.text))?;
        let arguments = json!({ "session_id": session_id, "branch_id": best.id });
        let focused = self
            .call("focus", "reasoning_tree_focus", arguments)
            .await?;
        self.screen
            .print_response("focused: the next step builds on this branch")?;

        let deeper = self.replies.deeper.clone();
        self.screen
            .print_request(&format!("reasoning_tree “{deeper}”"))?;
        let arguments = json!({ "content": deeper, "session_id": session_id, "max_branches": 2 });
        let deepened = self.call("deepen", "reasoning_tree", arguments).await?;
        self.report_asks()?;
        self.show_branches(&deepened)?;

        let shown: DrawnTree = self.read_stored(&session_id).await?;
        let drawn = DemoDrawing {
            text: text_drawing::draw_tree(&shown, BranchLabel::Name),
            mermaid: self.read_mermaid(&session_id).await?,
            id: session_id.clone(),
            session_id,
            result: best.text,
        };
        Ok((drawn, text_at(&focused, "/content")?))
    }

    /// Prints the branches and returns the recommended one.
    fn show_branches(&mut self, explored: &Value) -> anyhow::Result<DemoScoredStep> {
        let recommended = text_at(explored, "/recommended_branch")?;
        let branches = list_at(explored, "/branches")?.iter();
        let branches = branches.map(|it| DemoScoredStep::parse(it, "/id", "/name"));
        let branches = branches.collect::<anyhow::Result<Vec<DemoScoredStep>>>()?;
        self.screen.print_response(&format!(
            "{} branches with their confidence, ★ the recommended one:",
            branches.len()
        ))?;
        for branch in &branches {
            let line = format!("{}  {}", percent(branch.score), branch.text);
            self.screen.print_item(&line, branch.id == recommended)?;
        }
        let best = branches.into_iter().find(|it| it.id == recommended);
        best.context("the recommended branch is not among the branches; please report this")
    }

    /// Runs a graph with this text at its root.
    async fn run_graph(&mut self, root: &str) -> anyhow::Result<DemoDrawing> {
        self.screen
            .print_heading("3  A graph: thoughts continued, scored and merged")?;
        self.screen.print_request(
            "reasoning_got_init, with the text of the recommended branch as its root",
        )?;
        let arguments = json!({ "content": root, "problem": self.replies.question });
        let begun = self.call("begin", "reasoning_got_init", arguments).await?;
        let graph_id = text_at(&begun, "/graph_id")?;

        self.screen
            .print_request("reasoning_got_generate, 3 continuations of the root")?;
        let root = text_at(&begun, "/root_node_id")?;
        let arguments = json!({ "graph_id": graph_id, "node_id": root, "k": 3 });
        let grown = self
            .call("generate", "reasoning_got_generate", arguments)
            .await?;
        self.report_asks()?;
        let nodes = list_at(&grown, "/continuations")?.iter();
        let nodes = nodes.map(|it| DemoScoredStep::parse(it, "/node_id", "/content"));
        let nodes = self
            .score_nodes(&graph_id, nodes.collect::<Result<_, _>>()?)
            .await?;
        let merged = self.merge_best_nodes(&graph_id, &nodes).await?;

        self.screen.print_request("reasoning_got_finalize")?;
        let arguments = json!({ "graph_id": graph_id, "terminal_node_ids": [merged] });
        let ended = self
            .call("conclude", "reasoning_got_finalize", arguments)
            .await?;
        let result = text_at(&ended, "/conclusions/0/content")?;
        self.screen.print_response("the conclusion:")?;
        self.screen.print_item(&result, true)?;

        let shown: DrawnGraph = self.read_stored(&graph_id).await?;
        Ok(DemoDrawing {
            session_id: text_at(&begun, "/session_id")?,
            text: text_drawing::draw_graph(&shown),
            mermaid: self.read_mermaid(&graph_id).await?,
            id: graph_id,
            result,
        })
    }

    async fn score_nodes(
        &mut self,
        graph_id: &str,
        nodes: Vec<DemoScoredStep>,
    ) -> anyhow::Result<Vec<DemoScoredStep>> {
        self.screen
            .print_request("reasoning_got_score, all of them in one call")?;
        let ids: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
        let arguments = json!({ "graph_id": graph_id, "node_ids": ids });
        let judged = self.call("score", "reasoning_got_score", arguments).await?;
        let mut scored = Vec::new();
        for node in nodes {
            let scores = list_at(&judged, "/scores")?.iter();
            let mut own = scores.filter(|it| it["node_id"] == node.id.as_str());
            let own = own.next().with_context(|| missing_field("/scores"))?;
            let score = score_at(own, "/overall_score")?;
            scored.push(DemoScoredStep { score, ..node });
        }
        self.report_asks()?;
        self.screen
            .print_response("scores, the mean of four measures and at most the validity:")?;
        for node in &scored {
            let line = format!("{}  {}", percent(node.score), one_line(&node.text, 66));
            self.screen.print_item(&line, false)?;
        }
        Ok(scored)
    }

    /// Merges the two best nodes and returns the id of the new one.
    async fn merge_best_nodes(
        &mut self,
        graph_id: &str,
        nodes: &[DemoScoredStep],
    ) -> anyhow::Result<String> {
        let mut best: Vec<&DemoScoredStep> = nodes.iter().collect();
        best.sort_by(|a, b| b.score.get().total_cmp(&a.score.get()));
        let ids: Vec<&str> = best.iter().take(2).map(|it| it.id.as_str()).collect();
        self.screen
            .print_request("reasoning_got_aggregate, the two best")?;
        let arguments = json!({ "graph_id": graph_id, "node_ids": ids });
        let merged = self
            .call("merge", "reasoning_got_aggregate", arguments)
            .await?;
        self.report_asks()?;
        text_at(&merged, "/aggregated_node_id")
    }

    /// Reads something stored, as data.
    async fn read_stored<T: DeserializeOwned>(&mut self, id: &str) -> anyhow::Result<T> {
        let arguments = json!({ "id": id });
        let mut got = self.call("read", "reasoning_get", arguments).await?;
        let data = got.get_mut("data").map(Value::take).unwrap_or_default();
        serde_json::from_value(data).context("reasoning_get returned data that cannot be drawn")
    }

    async fn read_mermaid(&mut self, id: &str) -> anyhow::Result<String> {
        let arguments = json!({ "id": id, "format": "mermaid" });
        let got = self.call("draw", "reasoning_get", arguments).await?;
        text_at(&got, "/text")
    }

    /// Calls a tool, and replies instead of a model as long as the server asks.
    async fn call(&mut self, step: &str, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        if !self.tools.iter().any(|known| known == tool) {
            bail!("the server has no tool {tool}, which the demo needs; please report this");
        }
        self.calls += 1;
        let mut answer = self.server.call(tool, arguments).await?;
        while let Some(needs) = answer.get("needs_reply") {
            let asks = list_at(needs, "/asks")?;
            if self.replies.used_count() == 0 {
                self.explain_asks(asks)?;
            } else {
                self.ask_count += asks.len();
            }
            let mut replies = Vec::new();
            for ask in asks {
                replies.push(self.replies.reply_to(step, tool, &text_at(ask, "/key")?)?);
            }
            let arguments = json!({ "id": text_at(needs, "/id")?, "replies": replies });
            self.calls += 1;
            answer = self.server.call(RESUME_TOOL, arguments).await?;
        }
        Ok(answer)
    }

    /// Explains the first ask.
    fn explain_asks(&mut self, asks: &[Value]) -> anyhow::Result<()> {
        self.screen.print_response(
            "needs_reply: no model is configured, so the server asks its client:",
        )?;
        for ask in asks {
            let text = text_at(ask, "/messages/0/text")?;
            // The fence around the question says nothing to a person, nor does the form of the reply.
            let is_tag = |line: &&str| line.starts_with('<') && line.ends_with('>');
            let mut lines = text.lines().filter(|line| !is_tag(line));
            let first = lines.find(|line| !line.trim().is_empty());
            let first = first.unwrap_or_default();
            let sentence = first.split_inclusive(". ").next().unwrap_or(first);
            let asked = one_line(sentence.trim(), MAX_ASK_CHARS);
            self.screen.print_item(&format!("“{asked}”"), false)?;
        }
        self.screen.print_request(&format!(
            "{RESUME_TOOL} with built-in replies; in your client its model replies"
        ))?;
        Ok(())
    }

    /// Prints the number of asks since the last time.
    fn report_asks(&mut self) -> anyhow::Result<()> {
        let text = match std::mem::take(&mut self.ask_count) {
            0 => return Ok(()),
            1 => "needs_reply: 1 ask, answered with a built-in reply".to_owned(),
            asked => format!("needs_reply: {asked} asks, answered with {asked} built-in replies"),
        };
        self.screen.print_response(&text)?;
        Ok(())
    }
}

impl DemoScoredStep {
    fn parse(answer: &Value, id: &str, words: &str) -> anyhow::Result<Self> {
        Ok(Self {
            id: text_at(answer, id)?,
            text: text_at(answer, words)?,
            score: score_at(answer, "/confidence")?,
        })
    }
}

fn text_at(answer: &Value, place: &str) -> anyhow::Result<String> {
    let found = answer.pointer(place).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .with_context(|| missing_field(place))
}

fn score_at(answer: &Value, place: &str) -> anyhow::Result<Score> {
    let found = answer.pointer(place).and_then(Value::as_f64);
    found
        .and_then(Score::new)
        .with_context(|| missing_field(place))
}

fn list_at<'a>(answer: &'a Value, place: &str) -> anyhow::Result<&'a [Value]> {
    let found = answer.pointer(place).and_then(Value::as_array);
    found
        .map(Vec::as_slice)
        .with_context(|| missing_field(place))
}

fn missing_field(place: &str) -> String {
    let field = place.trim_start_matches('/').replace('/', ".");
    format!("the server's answer has no {field}, which the demo needs; please report this")
}
