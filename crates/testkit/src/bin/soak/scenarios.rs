//! The tool calls of a well-behaved client and the checks of each answer: it belongs to the
//! requested session, quotes this client's text, and nothing of others.

use anyhow::{Context as _, ensure};
use deliberate_testkit::load::LoadClient;
use serde_json::{Value, json};

use super::client_tag::ClientTag;

/// The work of one client so far.
pub(crate) struct SoakScenario {
    pub(crate) tag: ClientTag,
    thoughts: usize,
    /// The current session and its newest thought.
    session: Option<(String, String)>,
    /// The texts sent in the current session.
    texts: Vec<String>,
    graph: Option<String>,
    /// All sessions that this client has opened.
    sessions: Vec<String>,
}

impl SoakScenario {
    pub(crate) fn new(tag: ClientTag) -> Self {
        Self {
            tag,
            thoughts: 0,
            session: None,
            texts: Vec::new(),
            graph: None,
            sessions: Vec::new(),
        }
    }

    /// Returns a text that no other call of any client has.
    fn content(&mut self) -> String {
        self.thoughts += 1;
        format!(
            "{} asks question {} of many",
            self.tag.word(),
            self.thoughts
        )
    }

    /// Checks that the answer quotes this client and no other.
    fn check_own(&self, answer: &Value) -> anyhow::Result<()> {
        self.tag.check_present(answer)?;
        self.tag.check_alone(answer)
    }

    /// Returns the current session, begun if there is none.
    pub(crate) async fn session(&mut self, caller: &mut LoadClient) -> anyhow::Result<String> {
        if self.session.is_none() {
            self.start_session(caller).await?;
        }
        let (session, _) = self.session.as_ref().context("a session was begun")?;
        Ok(session.clone())
    }

    pub(crate) async fn start_session(&mut self, caller: &mut LoadClient) -> anyhow::Result<()> {
        let content = self.content();
        let arguments = json!({ "content": content });
        let answer = caller.call("reasoning_linear", arguments).await?;
        self.check_own(&answer)?;
        ensure!(answer["previous_thought"].is_null(), "not new: {answer}");
        let session = text(&answer, "session_id")?;
        ensure!(
            !self.sessions.contains(&session),
            "a new session has an old id"
        );
        self.sessions.push(session.clone());
        self.session = Some((session, text(&answer, "thought_id")?));
        self.texts = vec![content];
        Ok(())
    }

    pub(crate) async fn continue_session(&mut self, caller: &mut LoadClient) -> anyhow::Result<()> {
        let session = self.session(caller).await?;
        let content = self.content();
        let arguments = json!({ "content": content, "session_id": session });
        let answer = caller.call("reasoning_linear", arguments).await?;
        self.tag.check_alone(&answer)?;
        ensure!(
            answer["session_id"] == session,
            "the wrong session: {answer}"
        );
        let previous = self.session.as_ref().map(|(_, thought)| thought.as_str());
        ensure!(
            answer["previous_thought"].as_str() == previous,
            "not the next step: {answer}"
        );
        self.session = Some((session, text(&answer, "thought_id")?));
        self.texts.push(content);
        Ok(())
    }

    pub(crate) async fn tree(&mut self, caller: &mut LoadClient) -> anyhow::Result<()> {
        let arguments = json!({ "content": self.content(), "max_branches": 2 });
        let answer = caller.call("reasoning_tree", arguments).await?;
        self.check_own(&answer)?;
        self.sessions.push(text(&answer, "session_id")?);
        let branches = answer["branches"].as_array().map_or(0, Vec::len);
        ensure!(branches == 2, "{branches} branches: {answer}");
        Ok(())
    }

    pub(crate) async fn graph(&mut self, caller: &mut LoadClient) -> anyhow::Result<()> {
        let content = self.content();
        let arguments = json!({ "content": content });
        let made = caller.call("reasoning_got_init", arguments).await?;
        ensure!(made["content"] == content, "not what was sent: {made}");
        let graph = text(&made, "graph_id")?;
        self.sessions.push(text(&made, "session_id")?);
        let arguments = json!({ "graph_id": graph, "node_id": made["root_node_id"], "k": 2 });
        let grown = caller.call("reasoning_got_generate", arguments).await?;
        self.tag.check_alone(&grown)?;
        ensure!(grown["graph_id"] == graph, "the wrong graph: {grown}");
        ensure!(grown["session_id"] == made["session_id"], "another session");
        self.graph = Some(graph);
        Ok(())
    }

    pub(crate) async fn graph_state(&mut self, caller: &mut LoadClient) -> anyhow::Result<()> {
        let graph = match &self.graph {
            Some(graph) => graph.clone(),
            None => return self.graph(caller).await,
        };
        let arguments = json!({ "graph_id": graph });
        let state = caller.call("reasoning_got_state", arguments).await?;
        ensure!(state["graph_id"] == graph, "the wrong graph: {state}");
        ensure!(
            state["node_count"].as_u64() >= Some(2),
            "lost nodes: {state}"
        );
        Ok(())
    }

    pub(crate) async fn get(&mut self, caller: &mut LoadClient) -> anyhow::Result<()> {
        let session = self.session(caller).await?;
        let arguments = json!({ "id": session });
        let whole = caller.call("reasoning_get", arguments).await?;
        ensure!(whole["session_id"] == session, "the wrong session: {whole}");
        let kept = whole.to_string();
        for said in &self.texts {
            ensure!(kept.contains(said), "“{said}” is not in {whole}");
        }
        self.check_own(&whole)
    }

    pub(crate) async fn search(&mut self, caller: &mut LoadClient) -> anyhow::Result<()> {
        self.session(caller).await?;
        // In quotes, so that nothing else is found that resembles it.
        let arguments = json!({ "query": format!("\"{}\"", self.tag.word()), "limit": 10 });
        let found = caller.call("reasoning_search", arguments).await?;
        self.check_own(&found)?;
        for result in found["results"].as_array().into_iter().flatten() {
            let session = text(result, "session_id")?;
            ensure!(
                self.sessions.contains(&session),
                "found in the session of another client: {result}"
            );
        }
        Ok(())
    }

    /// Lists the sessions. The list contains those of all clients, so only its shape is checked.
    pub(crate) async fn list(&mut self, caller: &mut LoadClient) -> anyhow::Result<()> {
        self.session(caller).await?;
        let listed = caller
            .call("reasoning_sessions", json!({ "limit": 5 }))
            .await?;
        let count = listed["sessions"].as_array().map_or(0, Vec::len);
        ensure!((1..=5).contains(&count), "{count} sessions: {listed}");
        Ok(())
    }
}

pub(crate) fn text(answer: &Value, field: &str) -> anyhow::Result<String> {
    let value = answer[field].as_str();
    Ok(value
        .with_context(|| format!("no {field} in {answer}"))?
        .to_owned())
}
