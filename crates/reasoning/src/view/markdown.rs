//! What was thought, as a person reads it.

use std::{collections::HashMap, fmt::Write};

use deliberate_core::{Branch, BranchId, GraphNode, NodeId, Score, Thought};
use serde_json::Value;

use super::gather::{Thing, WholeBranch, WholeGraph, WholeNode, WholeSession};

/// The thing as Markdown.
pub(super) fn of(thing: &Thing) -> String {
    let mut page = Page::default();
    match thing {
        Thing::Session(session) => page.session(session),
        Thing::Branch(branch) => page.branch(branch),
        Thing::Graph(graph) => page.graph(graph),
        Thing::Thought(thought) => page.thought("# Thought", thought),
        Thing::Node(node) => page.node(node),
    }
    page.0.trim_end().to_owned() + "\n"
}

#[derive(Default)]
struct Page(String);

/// Adds a line; writing to text can't fail.
macro_rules! line {
    ($page:expr, $($text:tt)*) => {
        if writeln!($page.0, $($text)*).is_err() {
            return;
        }
    };
}

impl Page {
    fn session(&mut self, whole: &WholeSession) {
        let session = &whole.session;
        let title = session.title.as_deref().unwrap_or("Untitled session");
        line!(self, "# {}\n", one_line(title));
        line!(
            self,
            "{} session `{}`, begun {}, last changed {}\n",
            session.mode,
            session.id,
            session.created_at,
            session.updated_at
        );
        if !whole.branches.is_empty() {
            self.branches(whole);
        }
        let names: HashMap<&BranchId, &Branch> =
            whole.branches.iter().map(|it| (&it.id, it)).collect();
        for (index, thought) in whole.thoughts.iter().enumerate() {
            let number = usize::try_from(whole.part.offset).unwrap_or(0) + index + 1;
            let branch = thought.branch_id.as_ref().and_then(|id| names.get(id));
            let branch = branch.map(|branch| format!(" · {}", name(branch)));
            let heading = format!("## Step {number}{}", branch.unwrap_or_default());
            self.thought(&heading, thought);
        }
        if let Some(next) = whole.part.next {
            line!(self, "*More steps follow from offset {next}.*\n");
        }
        for graph in &whole.graphs {
            self.graph(graph);
        }
    }

    fn branches(&mut self, whole: &WholeSession) {
        line!(self, "## Branches\n");
        for branch in &whole.branches {
            let depth = depth(branch, &whole.branches);
            let active = whole.session.active_branch_id.as_ref() == Some(&branch.id);
            line!(
                self,
                "{}- **{}** `{}`: {}, {}{}{}",
                "  ".repeat(depth),
                name(branch),
                branch.id,
                branch.state.as_str(),
                percent(branch.confidence),
                if active { ", followed" } else { "" },
                aside(branch.set_aside)
            );
        }
        line!(self, "");
        for reference in &whole.cross_references {
            let named = |id: &BranchId| {
                let branch = whole.branches.iter().find(|branch| branch.id == *id);
                branch.map_or_else(|| id.to_string(), name)
            };
            line!(
                self,
                "*{}* {} *{}*{}",
                named(&reference.from_branch),
                reference.ref_type.as_str(),
                named(&reference.to_branch),
                reason(reference.reason.as_deref())
            );
        }
        if !whole.cross_references.is_empty() {
            line!(self, "");
        }
    }

    fn branch(&mut self, whole: &WholeBranch) {
        let branch = &whole.branch;
        line!(self, "# {}\n", name(branch));
        line!(
            self,
            "Branch `{}`: {}, {}{}\n",
            branch.id,
            branch.state.as_str(),
            percent(branch.confidence),
            aside(branch.set_aside)
        );
        if let Some(rationale) = said(branch.metadata.as_ref(), "rationale") {
            line!(self, "{rationale}\n");
        }
        for (index, thought) in whole.thoughts.iter().enumerate() {
            self.thought(&format!("## Step {}", index + 1), thought);
        }
    }

    fn thought(&mut self, heading: &str, thought: &Thought) {
        line!(
            self,
            "{heading} ({}){}\n",
            percent(thought.confidence),
            aside(thought.set_aside)
        );
        if let Some(input) = &thought.input {
            line!(self, "> {}\n", input.trim().replace('\n', "\n> "));
        }
        if let Some(viewpoint) = said(thought.metadata.as_ref(), "viewpoint") {
            line!(self, "**{viewpoint}**\n");
        }
        line!(self, "{}\n", thought.content.trim());
        if let Some(weakest) = said(thought.metadata.as_ref(), "weakest_point") {
            line!(self, "*Weakest point: {}*\n", one_line(weakest));
        }
    }

    fn graph(&mut self, whole: &WholeGraph) {
        let graph = &whole.graph;
        line!(self, "## Graph `{}`\n", graph.id);
        if let Some(problem) = &graph.problem {
            line!(self, "> {}\n", problem.trim().replace('\n', "\n> "));
        }
        let numbers: HashMap<&NodeId, usize> = (1..)
            .zip(&whole.nodes)
            .map(|(number, node)| (&node.id, number))
            .collect();
        for (number, node) in (1..).zip(&whole.nodes) {
            let from: Vec<String> = whole
                .edges
                .iter()
                .filter(|edge| edge.to_node == node.id)
                .filter_map(|edge| {
                    let from = numbers.get(&edge.from_node)?;
                    Some(format!("{from} {}", edge.edge_type.as_str()))
                })
                .collect();
            let from = match from.as_slice() {
                [] => String::new(),
                from => format!(" ← {}", from.join(", ")),
            };
            line!(self, "### {number}. {}{from}\n", about(node));
            line!(self, "{}\n", node.content.trim());
        }
    }

    fn node(&mut self, whole: &WholeNode) {
        line!(self, "# {} `{}`\n", about(&whole.node), whole.node.id);
        line!(self, "{}\n", whole.node.content.trim());
        for edge in &whole.edges {
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

/// What kind of node it is and how good, in a few words.
fn about(node: &GraphNode) -> String {
    let score = node.score.map(|score| format!(" ({})", percent(score)));
    let mut text = node.node_type.as_str().to_owned() + &score.unwrap_or_default();
    if node.is_terminal {
        text += ", conclusion";
    }
    if node.pruned {
        text += ", pruned";
    }
    text + aside(node.set_aside)
}

fn name(branch: &Branch) -> String {
    branch
        .name
        .as_deref()
        .map_or_else(|| branch.id.to_string(), one_line)
}

/// Steps from a branch without a parent. Bounded, should parents ever go in a circle.
fn depth(branch: &Branch, all: &[Branch]) -> usize {
    let mut depth = 0;
    let mut parent = branch.parent_id.as_ref();
    while let Some(id) = parent
        && depth < all.len()
    {
        depth += 1;
        let found = all.iter().find(|branch| branch.id == *id);
        parent = found.and_then(|branch| branch.parent_id.as_ref());
    }
    depth
}

fn said<'a>(metadata: Option<&'a Value>, field: &str) -> Option<&'a str> {
    let text = metadata?.get(field)?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

fn reason(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {}", one_line(reason)))
}

fn aside(set_aside: bool) -> &'static str {
    if set_aside { ", set aside" } else { "" }
}

fn percent(score: Score) -> String {
    format!("{} %", (score.get() * 100.0).round())
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
