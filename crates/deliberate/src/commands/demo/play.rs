//! The play: a short tree, a short graph made of its best branch, and the pictures of both.

use anyhow::{Context as _, bail};
use deliberate_core::Score;
use deliberate_toolkit::RESUME;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    picture::{self, TreeSession, WholeGraph, percent},
    replies::Replies,
    screen::Screen,
    server::Server,
};
use crate::commands::table::one_line;

/// What is shown of an ask.
const ASK_CHARS: usize = 140;

/// What the play came to.
pub(super) struct Played {
    pub(super) tree: Drawn,
    pub(super) graph: Drawn,
    /// Tool calls the server answered.
    pub(super) calls: usize,
    /// Replies that were given, of those that are shipped.
    pub(super) given: usize,
    pub(super) shipped: usize,
}

/// Something that was reasoned, with its pictures.
pub(super) struct Drawn {
    pub(super) session_id: String,
    /// What `reasoning_get` takes to draw it again.
    pub(super) id: String,
    /// The recommended branch, or the conclusion.
    pub(super) result: String,
    /// For a terminal.
    pub(super) text: String,
    pub(super) mermaid: String,
}

/// A branch or a node, and how good it is.
struct Step {
    id: String,
    text: String,
    score: Score,
}

/// Plays it all on a server that was just started.
pub(super) async fn play(server: &mut Server, screen: &mut Screen<'_>) -> anyhow::Result<Played> {
    let mut player = Player {
        server,
        screen,
        replies: Replies::shipped()?,
        tools: Vec::new(),
        calls: 0,
        asked: 0,
    };
    player.connect().await?;
    let (tree, root) = player.tree().await?;
    let graph = player.graph(&root).await?;
    Ok(Played {
        tree,
        graph,
        calls: player.calls,
        given: player.replies.given(),
        shipped: player.replies.count(),
    })
}

struct Player<'a, 'b> {
    server: &'a mut Server,
    screen: &'a mut Screen<'b>,
    replies: Replies,
    tools: Vec<String>,
    calls: usize,
    /// Asks that were replied to and not told of yet.
    asked: usize,
}

impl Player<'_, '_> {
    async fn connect(&mut self) -> anyhow::Result<()> {
        let greeting = self.server.initialize().await?;
        self.tools = self.server.tools().await?;
        self.screen.heading("1  A client connects")?;
        self.screen.say(&format!(
            "This program has started itself as a server, `deliberate serve`, and speaks MCP {} \
             with it, as your client would.",
            text(&greeting, "/protocolVersion")?
        ))?;
        self.screen.say(&format!(
            "{} {} offers {} tools.",
            text(&greeting, "/serverInfo/title")?,
            text(&greeting, "/serverInfo/version")?,
            self.tools.len()
        ))?;
        Ok(())
    }

    /// The tree, and what its recommended branch says.
    async fn tree(&mut self) -> anyhow::Result<(Drawn, String)> {
        let question = self.replies.question.clone();
        self.screen
            .heading("2  A tree: several approaches side by side")?;
        self.screen.sent(&format!("reasoning_tree “{question}”"))?;
        let arguments = json!({ "content": question, "max_branches": 3 });
        let explored = self.call("explore", "reasoning_tree", arguments).await?;
        let best = self.branches(&explored)?;
        let session_id = text(&explored, "/session_id")?;

        self.screen
            .sent(&format!("reasoning_tree_focus “{}”", best.text))?;
        let arguments = json!({ "session_id": session_id, "branch_id": best.id });
        let focused = self
            .call("focus", "reasoning_tree_focus", arguments)
            .await?;
        self.screen
            .answered("followed: the next step builds on this branch")?;

        let deeper = self.replies.deeper.clone();
        self.screen.sent(&format!("reasoning_tree “{deeper}”"))?;
        let arguments = json!({ "content": deeper, "session_id": session_id, "max_branches": 2 });
        let deepened = self.call("deepen", "reasoning_tree", arguments).await?;
        self.told()?;
        self.branches(&deepened)?;

        let shown: TreeSession = self.read(&session_id).await?;
        let drawn = Drawn {
            text: picture::of_tree(&shown),
            mermaid: self.mermaid(&session_id).await?,
            id: session_id.clone(),
            session_id,
            result: best.text,
        };
        Ok((drawn, text(&focused, "/content")?))
    }

    /// Shows the branches that were opened and gives the recommended one.
    fn branches(&mut self, explored: &Value) -> anyhow::Result<Step> {
        let recommended = text(explored, "/recommended_branch")?;
        let branches = list(explored, "/branches")?.iter();
        let branches = branches.map(|it| Step::read(it, "/id", "/name"));
        let branches = branches.collect::<anyhow::Result<Vec<Step>>>()?;
        self.screen.answered(&format!(
            "{} branches with how promising each is, ★ the recommended one:",
            branches.len()
        ))?;
        for branch in &branches {
            let line = format!("{}  {}", percent(branch.score), branch.text);
            self.screen.item(&line, branch.id == recommended)?;
        }
        let best = branches.into_iter().find(|it| it.id == recommended);
        best.context("the recommended branch is not among those that were opened")
    }

    /// A graph with this at its root.
    async fn graph(&mut self, root: &str) -> anyhow::Result<Drawn> {
        self.screen
            .heading("3  A graph: thoughts continued, scored and merged")?;
        self.screen
            .sent("reasoning_got_init, its root what the recommended branch says")?;
        let arguments = json!({ "content": root, "problem": self.replies.question });
        let begun = self.call("begin", "reasoning_got_init", arguments).await?;
        let graph_id = text(&begun, "/graph_id")?;

        self.screen
            .sent("reasoning_got_generate, 3 continuations of the root")?;
        let root = text(&begun, "/root_node_id")?;
        let arguments = json!({ "graph_id": graph_id, "node_id": root, "k": 3 });
        let grown = self
            .call("generate", "reasoning_got_generate", arguments)
            .await?;
        self.told()?;
        let nodes = list(&grown, "/continuations")?.iter();
        let nodes = nodes.map(|it| Step::read(it, "/node_id", "/content"));
        let nodes = self
            .score(&graph_id, nodes.collect::<Result<_, _>>()?)
            .await?;
        let merged = self.merge(&graph_id, &nodes).await?;

        self.screen.sent("reasoning_got_finalize")?;
        let arguments = json!({ "graph_id": graph_id, "terminal_node_ids": [merged] });
        let ended = self
            .call("conclude", "reasoning_got_finalize", arguments)
            .await?;
        let result = text(&ended, "/conclusions/0/content")?;
        self.screen.answered("the conclusion:")?;
        self.screen.item(&result, true)?;

        let shown: WholeGraph = self.read(&graph_id).await?;
        Ok(Drawn {
            session_id: text(&begun, "/session_id")?,
            text: picture::of_graph(&shown),
            mermaid: self.mermaid(&graph_id).await?,
            id: graph_id,
            result,
        })
    }

    /// Scores each node.
    async fn score(&mut self, graph_id: &str, nodes: Vec<Step>) -> anyhow::Result<Vec<Step>> {
        self.screen
            .sent(&format!("reasoning_got_score, {} times", nodes.len()))?;
        let mut scored = Vec::new();
        for (number, node) in (1..).zip(nodes) {
            let arguments = json!({ "graph_id": graph_id, "node_id": node.id });
            let step = format!("score {number}");
            let judged = self.call(&step, "reasoning_got_score", arguments).await?;
            let score = score(&judged, "/overall_score")?;
            scored.push(Step { score, ..node });
        }
        self.told()?;
        self.screen
            .answered("scores, the mean of relevance, validity, depth and novelty:")?;
        for node in &scored {
            let line = format!("{}  {}", percent(node.score), one_line(&node.text, 66));
            self.screen.item(&line, false)?;
        }
        Ok(scored)
    }

    /// Merges the two best nodes, and gives the new one's id.
    async fn merge(&mut self, graph_id: &str, nodes: &[Step]) -> anyhow::Result<String> {
        let mut best: Vec<&Step> = nodes.iter().collect();
        best.sort_by(|a, b| b.score.get().total_cmp(&a.score.get()));
        let ids: Vec<&str> = best.iter().take(2).map(|it| it.id.as_str()).collect();
        self.screen.sent("reasoning_got_aggregate, the two best")?;
        let arguments = json!({ "graph_id": graph_id, "node_ids": ids });
        let merged = self
            .call("merge", "reasoning_got_aggregate", arguments)
            .await?;
        self.told()?;
        text(&merged, "/aggregated_node_id")
    }

    /// Something that was stored, as data.
    async fn read<T: DeserializeOwned>(&mut self, id: &str) -> anyhow::Result<T> {
        let arguments = json!({ "id": id });
        let mut got = self.call("read", "reasoning_get", arguments).await?;
        let data = got.get_mut("data").map(Value::take).unwrap_or_default();
        serde_json::from_value(data).context("reasoning_get gave data that can't be drawn")
    }

    async fn mermaid(&mut self, id: &str) -> anyhow::Result<String> {
        let arguments = json!({ "id": id, "format": "mermaid" });
        let got = self.call("draw", "reasoning_get", arguments).await?;
        text(&got, "/text")
    }

    /// Calls a tool, and replies in place of a model for as long as the server asks.
    async fn call(&mut self, step: &str, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        if !self.tools.iter().any(|known| known == tool) {
            bail!("the server has no tool {tool}, which the demo needs; please report it");
        }
        self.calls += 1;
        let mut answer = self.server.call(tool, arguments).await?;
        while let Some(needs) = answer.get("needs_reply") {
            let asks = list(needs, "/asks")?;
            if self.replies.given() == 0 {
                self.explain(asks)?;
            } else {
                self.asked += asks.len();
            }
            let mut replies = Vec::new();
            for ask in asks {
                replies.push(self.replies.to(step, tool, &text(ask, "/key")?)?);
            }
            let arguments = json!({ "id": text(needs, "/id")?, "replies": replies });
            self.calls += 1;
            answer = self.server.call(RESUME, arguments).await?;
        }
        Ok(answer)
    }

    /// Says the first time what it means that the server asks.
    fn explain(&mut self, asks: &[Value]) -> anyhow::Result<()> {
        self.screen
            .answered("needs_reply: no model is set up, so the server asks its client to think:")?;
        for ask in asks {
            let asked = one_line(&text(ask, "/messages/0/text")?, ASK_CHARS);
            self.screen.item(&format!("“{asked}”"), false)?;
        }
        self.screen.sent(&format!(
            "{RESUME} with a shipped reply; here your client's model would think"
        ))?;
        Ok(())
    }

    /// Tells in short of the asks since the last time.
    fn told(&mut self) -> anyhow::Result<()> {
        let told = match std::mem::take(&mut self.asked) {
            0 => return Ok(()),
            1 => "needs_reply: 1 ask, answered with a shipped reply".to_owned(),
            asked => format!("needs_reply: {asked} asks, answered with {asked} shipped replies"),
        };
        self.screen.answered(&told)?;
        Ok(())
    }
}

impl Step {
    fn read(answer: &Value, id: &str, words: &str) -> anyhow::Result<Self> {
        Ok(Self {
            id: text(answer, id)?,
            text: text(answer, words)?,
            score: score(answer, "/confidence")?,
        })
    }
}

fn text(answer: &Value, place: &str) -> anyhow::Result<String> {
    let found = answer.pointer(place).and_then(Value::as_str);
    found.map(str::to_owned).with_context(|| missing(place))
}

fn score(answer: &Value, place: &str) -> anyhow::Result<Score> {
    let found = answer.pointer(place).and_then(Value::as_f64);
    found.and_then(Score::new).with_context(|| missing(place))
}

fn list<'a>(answer: &'a Value, place: &str) -> anyhow::Result<&'a [Value]> {
    let found = answer.pointer(place).and_then(Value::as_array);
    found.map(Vec::as_slice).with_context(|| missing(place))
}

fn missing(place: &str) -> String {
    let field = place.trim_start_matches('/').replace('/', ".");
    format!("the server's answer has no {field}, which the demo needs; please report it")
}
