//! Renders an entity as Markdown for a person.

use std::{collections::HashMap, fmt::Write};

use deliberate_core::{Branch, BranchId, GraphNode, Score, Thought, ThoughtId, truncate_chars};
use serde_json::Value;

use super::{
    branch_tree::branch_tree,
    load::{BranchDetail, GraphDetail, NodeDetail, ReasoningEntity, SessionDetail},
    sanitize::{to_blockquote, to_markdown_block, to_single_line},
    short_ids::ShortIds,
    size_budget::PageInfo,
};

/// Renders the page. Thoughts, branches and nodes are named by short ids.
pub(super) fn render_markdown(thing: &ReasoningEntity, short_ids: &ShortIds) -> String {
    let mut page = MarkdownPage {
        text: String::new(),
        short_ids,
    };
    match thing {
        ReasoningEntity::Session(session) => page.session(session),
        ReasoningEntity::Branch(branch) => page.branch(branch),
        ReasoningEntity::Graph(graph) => page.standalone_graph(graph),
        ReasoningEntity::Thought(thought) => {
            let heading = format!("# Thought {}", page.id(&thought.id));
            page.thought(&heading, thought, None);
        }
        ReasoningEntity::Node(node) => page.node(node),
    }
    page.text.trim_end().to_owned() + "\n"
}

/// The characters of a tool's answer that are shown.
const EVIDENCE_CHARS: usize = 300;

/// The characters of a conclusion without a result that are shown above the nodes.
const CONCLUSION_CHARS: usize = 200;

struct MarkdownPage<'s> {
    text: String,
    short_ids: &'s ShortIds,
}

/// Adds a line. Writing to a string cannot fail.
macro_rules! line {
    ($page:expr, $($text:tt)*) => {
        if writeln!($page.text, $($text)*).is_err() {
            return;
        }
    };
}

impl MarkdownPage<'_> {
    /// The short id of an entity, or its id if it was deleted meanwhile.
    fn id(&self, id: &impl AsRef<str>) -> String {
        format!("`{}`", self.short_ids.get(id).unwrap_or(id.as_ref()))
    }

    fn session(&mut self, detail: &SessionDetail) {
        let session = &detail.session;
        let title = session.title.as_deref().unwrap_or("Untitled session");
        line!(self, "# {}\n", to_single_line(title));
        line!(
            self,
            "{} session `{}`, begun {}, last changed {}\n",
            session.mode,
            session.id,
            session.created_at,
            session.updated_at
        );
        if !detail.branches.is_empty() {
            self.branches(detail);
        }
        let names: HashMap<&BranchId, &Branch> =
            detail.branches.iter().map(|it| (&it.id, it)).collect();
        self.steps(&detail.thoughts, detail.part, |thought| {
            let branch = names.get(thought.branch_id.as_ref()?)?;
            Some(format!(" · {}", branch_name(branch)))
        });
        self.more_steps_note(detail.part);
        for listed in &detail.graphs {
            self.graph(&listed.whole);
            if let Some(next) = listed.whole.part.next {
                let id = &listed.whole.graph.id;
                line!(
                    self,
                    "*More nodes follow in graph `{id}` from offset {next}.*\n"
                );
            }
        }
        if detail.graphs_left_out {
            line!(self, "*There are more graphs.*\n");
        }
    }

    /// Adds the thoughts of a page, each with a suffix of its heading.
    fn steps(
        &mut self,
        thoughts: &[Thought],
        part: PageInfo,
        suffix: impl Fn(&Thought) -> Option<String>,
    ) {
        let mut previous = None;
        for (number, thought) in with_numbers(thoughts, part) {
            let suffix = suffix(thought).unwrap_or_default();
            let heading = format!("## Step {number} {}{suffix}", self.id(&thought.id));
            self.thought(&heading, thought, previous);
            previous = Some(&thought.id);
        }
    }

    fn more_steps_note(&mut self, part: PageInfo) {
        if let Some(next) = part.next {
            line!(self, "*More steps follow from offset {next}.*\n");
        }
    }

    fn branches(&mut self, detail: &SessionDetail) {
        line!(self, "## Branches\n");
        for (depth, branch) in branch_tree(&detail.branches) {
            let active = detail.session.active_branch_id.as_ref() == Some(&branch.id);
            line!(
                self,
                "{}- **{}** {}: {}, {}{}{}",
                "  ".repeat(depth),
                branch_name(branch),
                self.id(&branch.id),
                branch.state.as_str(),
                percent(branch.confidence),
                if active { ", followed" } else { "" },
                set_aside_suffix(branch.set_aside)
            );
        }
        if detail.branches_left_out {
            line!(self, "- and more");
        }
        line!(self, "");
        for reference in &detail.cross_references {
            let named = |id: &BranchId| {
                let branch = detail.branches.iter().find(|branch| branch.id == *id);
                branch.map_or_else(|| id.to_string(), branch_name)
            };
            line!(
                self,
                "*{}* {} *{}*{}",
                named(&reference.from_branch),
                reference.ref_type.as_str(),
                named(&reference.to_branch),
                reason_suffix(reference.reason.as_deref())
            );
        }
        if !detail.cross_references.is_empty() {
            line!(self, "");
        }
    }

    fn branch(&mut self, detail: &BranchDetail) {
        let branch = &detail.branch;
        line!(self, "# {}\n", branch_name(branch));
        line!(
            self,
            "Branch {}: {}, {}{}\n",
            self.id(&branch.id),
            branch.state.as_str(),
            percent(branch.confidence),
            set_aside_suffix(branch.set_aside)
        );
        if let Some(rationale) = metadata_text(branch.metadata.as_ref(), "rationale") {
            line!(self, "{}\n", to_markdown_block(rationale));
        }
        self.steps(&detail.thoughts, detail.part, |_| None);
        self.more_steps_note(detail.part);
    }

    /// Adds a thought below a heading, which names the thought that it builds on unless that is the
    /// previous one.
    fn thought(&mut self, heading: &str, thought: &Thought, previous: Option<&ThoughtId>) {
        let parent = thought.parent_id.as_ref();
        let parent = parent.filter(|parent| Some(*parent) != previous);
        let after = parent.map(|parent| format!(", after {}", self.id(parent)));
        line!(
            self,
            "{heading} ({}){}{}\n",
            percent(thought.confidence),
            after.unwrap_or_default(),
            set_aside_suffix(thought.set_aside)
        );
        if let Some(input) = &thought.input {
            line!(self, "{}\n", to_blockquote(input));
        }
        if let Some(viewpoint) = metadata_text(thought.metadata.as_ref(), "viewpoint") {
            line!(self, "**{}**\n", to_single_line(viewpoint));
        }
        line!(self, "{}\n", to_markdown_block(&thought.content));
        self.answer(thought.metadata.as_ref());
        self.evidence(thought.metadata.as_ref());
    }

    /// Adds the result of a thought or a node and its weakest point, if it has them.
    fn answer(&mut self, metadata: Option<&Value>) {
        if let Some(answer) = metadata_text(metadata, "answer") {
            line!(self, "**Answer:** {}\n", to_single_line(answer));
        }
        if let Some(weakest) = metadata_text(metadata, "weakest_point") {
            line!(self, "*Weakest point: {}*\n", to_single_line(weakest));
        }
    }

    /// Adds the evidence, one line per tool use.
    fn evidence(&mut self, metadata: Option<&Value>) {
        let kept = metadata.and_then(|it| it.get("evidence")?.as_array());
        let Some(kept) = kept.filter(|kept| !kept.is_empty()) else {
            return;
        };
        line!(self, "Evidence:\n");
        for one in kept {
            let text = |field: &str| one.get(field).and_then(Value::as_str).unwrap_or_default();
            let failed = one.get("failed") == Some(&Value::Bool(true));
            let answer = truncate_chars(text("result"), EVIDENCE_CHARS);
            line!(
                self,
                "- `{}`{}: {}",
                to_single_line(text("tool")).replace('`', ""),
                if failed { " failed" } else { "" },
                to_single_line(&answer)
            );
        }
        line!(self, "");
    }

    fn standalone_graph(&mut self, detail: &GraphDetail) {
        self.graph(detail);
        if let Some(next) = detail.part.next {
            line!(self, "*More nodes follow from offset {next}.*\n");
        }
    }

    fn graph(&mut self, detail: &GraphDetail) {
        let graph = &detail.graph;
        line!(
            self,
            "## Graph `{}`{}\n",
            graph.id,
            set_aside_suffix(graph.set_aside)
        );
        if let Some(problem) = &graph.problem {
            line!(self, "{}\n", to_blockquote(problem));
        }
        self.conclusions(&detail.nodes);
        for node in &detail.nodes {
            let edges = detail.edges.iter().filter(|edge| edge.to_node == node.id);
            let from: Vec<String> = edges
                .map(|edge| format!("{} {}", self.id(&edge.from_node), edge.edge_type.as_str()))
                .collect();
            let from = match from.as_slice() {
                [] => String::new(),
                from => format!(" ← {}", from.join(", ")),
            };
            let id = self.id(&node.id);
            line!(self, "### {id} {}{from}\n", describe_node(node));
            line!(self, "{}\n", to_markdown_block(&node.content));
            self.answer(node.metadata.as_ref());
        }
    }

    /// Adds the results of the conclusions, above all nodes.
    fn conclusions(&mut self, nodes: &[GraphNode]) {
        let conclusions = nodes.iter().filter(|node| node.is_terminal && !node.pruned);
        for node in conclusions {
            let beginning = truncate_chars(&node.content, CONCLUSION_CHARS);
            let result = metadata_text(node.metadata.as_ref(), "answer").unwrap_or(&beginning);
            let id = self.id(&node.id);
            line!(self, "**Conclusion {id}:** {}\n", to_single_line(result));
        }
    }

    fn node(&mut self, detail: &NodeDetail) {
        line!(
            self,
            "# {} {}\n",
            describe_node(&detail.node),
            self.id(&detail.node.id)
        );
        line!(self, "{}\n", to_markdown_block(&detail.node.content));
        self.answer(detail.node.metadata.as_ref());
        self.evidence(detail.node.metadata.as_ref());
        for edge in &detail.edges {
            line!(
                self,
                "- {} {} {}",
                self.id(&edge.from_node),
                edge.edge_type.as_str(),
                self.id(&edge.to_node)
            );
        }
    }
}

/// Describes the kind and the quality of a node.
fn describe_node(node: &GraphNode) -> String {
    let score = node.score.map(|score| format!(" ({})", percent(score)));
    let mut text = node.node_type.as_str().to_owned() + &score.unwrap_or_default();
    if node.is_terminal {
        text += ", conclusion";
    }
    if node.pruned {
        text += ", pruned";
    }
    text + set_aside_suffix(node.set_aside)
}

fn branch_name(branch: &Branch) -> String {
    branch
        .name
        .as_deref()
        .map_or_else(|| branch.id.to_string(), to_single_line)
}

/// Adds to each item its number in the whole list.
fn with_numbers<T>(things: &[T], part: PageInfo) -> impl Iterator<Item = (u32, &T)> {
    (part.offset.saturating_add(1)..).zip(things)
}

fn metadata_text<'a>(metadata: Option<&'a Value>, field: &str) -> Option<&'a str> {
    let text = metadata?.get(field)?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

fn reason_suffix(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| {
        format!(": {}", to_single_line(reason))
    })
}

fn set_aside_suffix(set_aside: bool) -> &'static str {
    if set_aside { ", set aside" } else { "" }
}

fn percent(score: Score) -> String {
    format!("{} %", (score.get() * 100.0).round())
}
