//! Renders an entity as Markdown for a person.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use deliberate_core::{Branch, BranchId, GraphNode, NodeId, Score, Thought};
use serde_json::Value;

use super::{
    load::{BranchDetail, GraphDetail, NodeDetail, ReasoningEntity, SessionDetail},
    sanitize::{to_blockquote, to_markdown_block, to_single_line},
    size_budget::PageInfo,
};

pub(super) fn render_markdown(thing: &ReasoningEntity) -> String {
    let mut page = MarkdownPage::default();
    match thing {
        ReasoningEntity::Session(session) => page.session(session),
        ReasoningEntity::Branch(branch) => page.branch(branch),
        ReasoningEntity::Graph(graph) => page.standalone_graph(graph),
        ReasoningEntity::Thought(thought) => page.thought("# Thought", thought),
        ReasoningEntity::Node(node) => page.node(node),
    }
    page.0.trim_end().to_owned() + "\n"
}

/// The characters of a tool's answer that are shown.
const EVIDENCE_CHARS: usize = 300;

#[derive(Default)]
struct MarkdownPage(String);

/// Adds a line. Writing to a string cannot fail.
macro_rules! line {
    ($page:expr, $($text:tt)*) => {
        if writeln!($page.0, $($text)*).is_err() {
            return;
        }
    };
}

impl MarkdownPage {
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
        for (number, thought) in with_numbers(&detail.thoughts, detail.part) {
            let branch = thought.branch_id.as_ref().and_then(|id| names.get(id));
            let branch = branch.map(|branch| format!(" · {}", branch_name(branch)));
            let heading = format!("## Step {number}{}", branch.unwrap_or_default());
            self.thought(&heading, thought);
        }
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
                "{}- **{}** `{}`: {}, {}{}{}",
                "  ".repeat(depth),
                branch_name(branch),
                branch.id,
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
            "Branch `{}`: {}, {}{}\n",
            branch.id,
            branch.state.as_str(),
            percent(branch.confidence),
            set_aside_suffix(branch.set_aside)
        );
        if let Some(rationale) = metadata_text(branch.metadata.as_ref(), "rationale") {
            line!(self, "{}\n", to_markdown_block(rationale));
        }
        for (number, thought) in with_numbers(&detail.thoughts, detail.part) {
            self.thought(&format!("## Step {number}"), thought);
        }
        self.more_steps_note(detail.part);
    }

    fn thought(&mut self, heading: &str, thought: &Thought) {
        line!(
            self,
            "{heading} ({}){}\n",
            percent(thought.confidence),
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
        if let Some(weakest) = metadata_text(thought.metadata.as_ref(), "weakest_point") {
            line!(self, "*Weakest point: {}*\n", to_single_line(weakest));
        }
        self.evidence(thought.metadata.as_ref());
    }

    /// Adds the result of a thought or a node, if it has one.
    fn answer(&mut self, metadata: Option<&Value>) {
        if let Some(answer) = metadata_text(metadata, "answer") {
            line!(self, "**Answer:** {}\n", to_single_line(answer));
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
            let answer = deliberate_core::truncate_chars(text("result"), EVIDENCE_CHARS);
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
        let numbers: HashMap<&NodeId, u32> = with_numbers(&detail.nodes, detail.part)
            .map(|(number, node)| (&node.id, number))
            .collect();
        for (number, node) in with_numbers(&detail.nodes, detail.part) {
            let from: Vec<String> = detail
                .edges
                .iter()
                .filter(|edge| edge.to_node == node.id)
                .map(|edge| {
                    // Only the id of a node on another page is known.
                    let from = numbers
                        .get(&edge.from_node)
                        .map_or_else(|| format!("`{}`", edge.from_node), ToString::to_string);
                    format!("{from} {}", edge.edge_type.as_str())
                })
                .collect();
            let from = match from.as_slice() {
                [] => String::new(),
                from => format!(" ← {}", from.join(", ")),
            };
            line!(self, "### {number}. {}{from}\n", describe_node(node));
            line!(self, "{}\n", to_markdown_block(&node.content));
            self.answer(node.metadata.as_ref());
        }
    }

    fn node(&mut self, detail: &NodeDetail) {
        line!(
            self,
            "# {} `{}`\n",
            describe_node(&detail.node),
            detail.node.id
        );
        line!(self, "{}\n", to_markdown_block(&detail.node.content));
        self.answer(detail.node.metadata.as_ref());
        self.evidence(detail.node.metadata.as_ref());
        for edge in &detail.edges {
            line!(
                self,
                "- `{}` {} `{}`",
                edge.from_node,
                edge.edge_type.as_str(),
                edge.to_node
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

/// Orders the branches so that each follows its parent, with its depth; siblings keep the order in
/// which they were opened. A branch whose parent is not on the page has depth 0, and so has one
/// branch of a cycle.
fn branch_tree(branches: &[Branch]) -> Vec<(usize, &Branch)> {
    let known: HashSet<&BranchId> = branches.iter().map(|branch| &branch.id).collect();
    let mut children: HashMap<&BranchId, Vec<&Branch>> = HashMap::new();
    let mut roots = Vec::new();
    for branch in branches {
        match branch.parent_id.as_ref().filter(|id| known.contains(id)) {
            Some(parent) => children.entry(parent).or_default().push(branch),
            None => roots.push(branch),
        }
    }
    let mut ordered = Vec::with_capacity(branches.len());
    let mut seen = HashSet::new();
    for start in roots.into_iter().chain(branches) {
        let mut waiting = vec![(0, start)];
        while let Some((depth, branch)) = waiting.pop() {
            if !seen.insert(&branch.id) {
                continue;
            }
            ordered.push((depth, branch));
            let below = children.get(&branch.id).into_iter().flatten().rev();
            waiting.extend(below.map(|child| (depth + 1, *child)));
        }
    }
    ordered
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

#[cfg(test)]
mod tests {
    use deliberate_core::{BranchState, Timestamp};

    use super::*;

    fn branch(id: &str, parent: &str) -> Branch {
        Branch {
            id: id.into(),
            session_id: "s".into(),
            name: None,
            parent_id: (!parent.is_empty()).then(|| parent.into()),
            state: BranchState::Active,
            confidence: Score::ONE,
            priority: 1,
            set_aside: false,
            created_at: Timestamp::from_micros(0),
            updated_at: Timestamp::from_micros(0),
            metadata: None,
        }
    }

    #[test]
    fn every_branch_is_listed_once_whatever_its_parent() {
        let branches = [
            branch("self", "self"),
            branch("b", "a"),
            branch("root", ""),
            branch("a", "b"),
            branch("lost", "gone"),
            branch("child", "lost"),
        ];
        let listed: Vec<_> = branch_tree(&branches)
            .into_iter()
            .map(|(depth, branch)| format!("{depth} {}", branch.id))
            .collect();
        assert_eq!(
            listed,
            ["0 root", "0 lost", "1 child", "0 self", "0 b", "1 a"]
        );
    }
}
