//! Renders an entity as a Mermaid flowchart.
//!
//! Foreign text appears in quoted labels only, with every character that has a meaning in Mermaid
//! written as an entity.

use std::{collections::HashMap, fmt::Write};

use deliberate_core::{
    Branch, BranchId, CrossRefKind, EdgeKind, GraphNode, Mode, NodeId, NodeKind, Score, Thought,
    ThoughtId, truncate_chars,
};

use super::{
    load::{GraphDetail, ReasoningEntity, SessionDetail},
    sanitize::strip_invisible,
    size_budget::PageInfo,
};

/// The largest number of boxes in a readable diagram.
pub(super) const MAX_BOXES: u32 = 150;

/// The longest label, in characters.
const LABEL_CHARS: usize = 60;

/// Colors that are readable on light and dark backgrounds.
const CLASSES: &str = "  classDef root fill:#dbeafe,stroke:#1d4ed8,color:#111\n  \
     classDef best fill:#dcfce7,stroke:#15803d,stroke-width:3px,color:#111\n  \
     classDef open fill:#f8fafc,stroke:#64748b,color:#111\n  \
     classDef done fill:#e2e8f0,stroke:#475569,color:#111\n  \
     classDef gone fill:#f1f5f9,stroke:#cbd5e1,stroke-dasharray:4,color:#64748b\n";

pub(super) fn render_mermaid(thing: &ReasoningEntity) -> String {
    let mut picture = MermaidDiagram::default();
    match thing {
        ReasoningEntity::Session(session) => picture.session(session),
        ReasoningEntity::Graph(graph) => picture.graph(graph, ""),
        ReasoningEntity::Branch(branch) => {
            let mine = HashMap::from([(&branch.branch.id, &branch.branch)]);
            picture.thoughts(&branch.thoughts, branch.part, &mine);
        }
        ReasoningEntity::Thought(thought) => {
            let one = std::slice::from_ref(thought.as_ref());
            picture.thoughts(one, PageInfo::default(), &HashMap::new());
        }
        ReasoningEntity::Node(node) => picture.node("n1", &node.node),
    }
    format!("flowchart TD\n{}{CLASSES}", picture.0)
}

#[derive(Default)]
struct MermaidDiagram(String);

impl MermaidDiagram {
    fn add_line(&mut self, line: &str) {
        self.0.extend(["  ", line, "\n"]);
    }

    fn session(&mut self, detail: &SessionDetail) {
        let branches = detail.branches.iter().map(|it| (&it.id, it)).collect();
        let numbers = self.thoughts(&detail.thoughts, detail.part, &branches);
        self.references(detail, &numbers);
        for (index, listed) in detail.graphs.iter().enumerate() {
            self.graph(&listed.whole, &format!("g{}", index + 1));
        }
        if detail.graphs_left_out {
            self.add_line("moregraphs[\"more graphs\"]:::gone");
        }
        if detail.thoughts.is_empty() && detail.graphs.is_empty() {
            let said = match detail.part.offset {
                0 => "nothing yet",
                _ => "no more steps",
            };
            self.add_line(&format!("empty[\"{said}\"]:::open"));
        }
    }

    /// Adds a box for each thought below its parent. Returns the names of the boxes.
    fn thoughts<'a>(
        &mut self,
        thoughts: &'a [Thought],
        part: PageInfo,
        branches: &HashMap<&BranchId, &Branch>,
    ) -> HashMap<&'a ThoughtId, String> {
        let best = recommended_branches(branches);
        let mut names: HashMap<&ThoughtId, String> = HashMap::new();
        let mut opened: Vec<&BranchId> = Vec::new();
        for (number, thought) in (part.offset.saturating_add(1)..).zip(thoughts) {
            let name = format!("t{number}");
            let branch = thought.branch_id.as_ref().and_then(|id| branches.get(id));
            let opens = branch.filter(|branch| !opened.contains(&&branch.id));
            opened.extend(opens.map(|branch| &branch.id));
            let class = thought_class(thought, branch.copied(), &best);
            let text = thought_label(thought, opens.copied());
            self.add_line(&format!("{name}[\"{text}\"]:::{class}"));
            let parent = thought.parent_id.as_ref().and_then(|id| names.get(id));
            if let Some(parent) = parent {
                self.add_line(&format!("{parent} --> {name}"));
            } else if names.is_empty() && part.offset > 0 {
                let earlier = part.offset;
                self.add_line(&format!(
                    "earlier[\"{earlier} earlier steps\"]:::gone -.-> {name}"
                ));
            }
            names.insert(&thought.id, name);
        }
        if part.next.is_some() {
            self.add_line("later[\"more steps\"]:::gone");
        }
        names
    }

    /// Adds the cross-references of branches as arrows between their first thoughts.
    fn references(&mut self, detail: &SessionDetail, names: &HashMap<&ThoughtId, String>) {
        let opening = |branch: &BranchId| {
            let thought = detail
                .thoughts
                .iter()
                .find(|thought| thought.branch_id.as_ref() == Some(branch));
            thought.and_then(|thought| names.get(&thought.id))
        };
        for reference in &detail.cross_references {
            let ends = (
                opening(&reference.from_branch),
                opening(&reference.to_branch),
            );
            if let (Some(from), Some(to)) = ends {
                let arrow = match reference.ref_type {
                    CrossRefKind::Contradicts => "-. contradicts .-x",
                    CrossRefKind::Supports => "-. supports .->",
                    CrossRefKind::Extends => "-. extends .->",
                    CrossRefKind::Alternative => "-. alternative .-",
                    CrossRefKind::Depends => "-. depends on .->",
                };
                self.add_line(&format!("{from} {arrow} {to}"));
            }
        }
    }

    fn graph(&mut self, detail: &GraphDetail, prefix: &str) {
        let mut names: HashMap<&NodeId, String> = HashMap::new();
        for (number, node) in (detail.part.offset.saturating_add(1)..).zip(&detail.nodes) {
            let name = format!("{prefix}n{number}");
            self.node(&name, node);
            names.insert(&node.id, name);
        }
        if detail.part.next.is_some() {
            self.add_line(&format!("{prefix}more[\"more nodes\"]:::gone"));
        }
        for edge in &detail.edges {
            if let (Some(from), Some(to)) = (names.get(&edge.from_node), names.get(&edge.to_node)) {
                let arrow = match edge.edge_type {
                    EdgeKind::Generates => "-->",
                    EdgeKind::Refines => "-- refines -->",
                    EdgeKind::Aggregates => "==>",
                    EdgeKind::Supports => "-. supports .->",
                    EdgeKind::Contradicts => "-. contradicts .-x",
                };
                self.add_line(&format!("{from} {arrow} {to}"));
            }
        }
    }

    fn node(&mut self, name: &str, node: &GraphNode) {
        let class = match node {
            node if node.pruned || node.set_aside => "gone",
            node if node.is_terminal => "best",
            node if node.node_type == NodeKind::Root => "root",
            node if node.is_active => "open",
            _ => "done",
        };
        let score = node.score.map(percent).unwrap_or_default();
        let text = label(&node.content, &score);
        self.add_line(&format!("{name}[\"{text}\"]:::{class}"));
    }
}

/// The branches that are recommended over their siblings.
fn recommended_branches<'a>(branches: &HashMap<&BranchId, &'a Branch>) -> Vec<&'a BranchId> {
    let preferred = branches.values().filter(|branch| branch.priority > 1);
    preferred.map(|branch| &branch.id).collect()
}

fn thought_class(thought: &Thought, branch: Option<&Branch>, best: &[&BranchId]) -> &'static str {
    if thought.set_aside {
        return "gone";
    }
    match branch {
        Some(branch) if best.contains(&&branch.id) => "best",
        Some(branch) if branch.state != deliberate_core::BranchState::Active => "done",
        _ if thought.parent_id.is_none() => "root",
        _ => "open",
    }
}

/// The label of a thought: the name of the branch that it opens, its viewpoint, or its text.
fn thought_label(thought: &Thought, opens: Option<&Branch>) -> String {
    let said = |field: &str| thought.metadata.as_ref()?.get(field)?.as_str();
    let of_branch =
        opens.filter(|branch| branch.parent_id.is_some() || thought.mode == Mode::Backtracking);
    let words = of_branch
        .and_then(|branch| branch.name.as_deref())
        .or_else(|| said("viewpoint"))
        .or(thought
            .input
            .as_deref()
            .filter(|_| thought.parent_id.is_none() || thought.mode == Mode::Tree))
        .unwrap_or(&thought.content);
    label(words, &percent(thought.confidence))
}

fn percent(score: Score) -> String {
    format!("{} %", (score.get() * 100.0).round())
}

/// A label of escaped text and a number, safe inside quotes.
fn label(words: &str, figure: &str) -> String {
    let words = strip_invisible(words);
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = escape_mermaid(&truncate_chars(&words.join(" "), LABEL_CHARS));
    let words = escape_list_marker(&words);
    match figure {
        // Mermaid rejects an empty box.
        "" if words.is_empty() => "…".to_owned(),
        "" => words,
        figure => format!("{words}<br/>{figure}"),
    }
}

/// Escapes a list marker at the start of a text, because Mermaid rejects it.
fn escape_list_marker(text: &str) -> String {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    match text.chars().nth(digits) {
        Some(mark @ ('.' | ')')) if digits > 0 => {
            let (number, rest) = text.split_at(digits);
            format!(
                "{number}#{};{}",
                u32::from(mark),
                rest.get(1..).unwrap_or_default()
            )
        }
        Some(mark @ ('-' | '+')) if digits == 0 => {
            format!("#{};{}", u32::from(mark), text.get(1..).unwrap_or_default())
        }
        _ => text.to_owned(),
    }
}

/// Escapes everything that has a meaning in Mermaid: quotes, tags, directives, Markdown and
/// entities.
fn escape_mermaid(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '#' | '$' | '%' | '&' | '<' | '>' | '`' | '\\' | '{' | '}' | '[' | ']' | '*'
            | '_' | '|' | ';' => {
                if write!(safe, "#{};", u32::from(letter)).is_err() {
                    return safe;
                }
            }
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_label_begins_a_list() {
        assert_eq!(label("1. First, we", ""), "1#46; First, we");
        assert_eq!(label("- one", ""), "#45; one");
        assert_eq!(label("\u{200f}- one", ""), "#45; one");
        assert_eq!(label("2026 was", ""), "2026 was");
    }

    #[test]
    fn no_label_is_empty() {
        for text in ["", " \n", "\u{202e}"] {
            assert_eq!(label(text, ""), "…");
        }
    }

    #[test]
    fn nothing_in_a_label_is_mermaid() {
        let hostile =
            "\"]:::x\n%%{init: {}}%% <script>`**b**` click t1 \"javascript:x\" | a_b #35;";
        let safe = label(hostile, "70 %");
        let (words, figure) = safe.split_once("<br/>").unwrap();
        for forbidden in ["\"", "%", "<", ">", "`", "{", "*", "|", "\n"] {
            assert!(!words.contains(forbidden), "{forbidden} in {words}");
        }
        assert_eq!(figure, "70 %");
    }
}
