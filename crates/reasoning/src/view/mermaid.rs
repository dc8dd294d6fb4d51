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
    short_ids::ShortIds,
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

/// Renders the diagram. The boxes are named and labeled by short ids.
pub(super) fn render_mermaid(thing: &ReasoningEntity, short_ids: &ShortIds) -> String {
    let mut picture = MermaidDiagram {
        text: String::new(),
        boxes: 0,
        short_ids,
    };
    match thing {
        ReasoningEntity::Session(session) => picture.session(session),
        ReasoningEntity::Graph(graph) => picture.graph(graph),
        ReasoningEntity::Branch(branch) => {
            let mine = HashMap::from([(&branch.branch.id, &branch.branch)]);
            picture.thoughts(&branch.thoughts, branch.part, &mine);
        }
        ReasoningEntity::Thought(thought) => {
            let one = std::slice::from_ref(thought.as_ref());
            picture.thoughts(one, PageInfo::default(), &HashMap::new());
        }
        ReasoningEntity::Node(node) => {
            picture.node(&node.node);
        }
    }
    format!("flowchart TD\n{}{CLASSES}", picture.text)
}

struct MermaidDiagram<'s> {
    text: String,
    /// How many thoughts and nodes were added.
    boxes: usize,
    short_ids: &'s ShortIds,
}

impl MermaidDiagram<'_> {
    fn add_line(&mut self, line: &str) {
        self.text.extend(["  ", line, "\n"]);
    }

    /// Adds the box of a thought or node and returns its name, which is the short id.
    fn add_box(
        &mut self,
        id: &impl AsRef<str>,
        words: &str,
        score: Option<Score>,
        class: &str,
    ) -> String {
        self.boxes += 1;
        let short = self.short_ids.get(id);
        // An entity that was deleted meanwhile has no short id.
        let name = short.map_or_else(|| format!("x{}", self.boxes), str::to_owned);
        let figures: Vec<String> = short
            .map(str::to_owned)
            .into_iter()
            .chain(score.map(percent))
            .collect();
        let text = label(words, &figures.join(" · "));
        self.add_line(&format!("{name}[\"{text}\"]:::{class}"));
        name
    }

    fn session(&mut self, detail: &SessionDetail) {
        let branches = detail.branches.iter().map(|it| (&it.id, it)).collect();
        let numbers = self.thoughts(&detail.thoughts, detail.part, &branches);
        self.references(detail, &numbers);
        for listed in &detail.graphs {
            self.graph(&listed.whole);
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
        for thought in thoughts {
            let branch = thought.branch_id.as_ref().and_then(|id| branches.get(id));
            let opens = branch.filter(|branch| !opened.contains(&&branch.id));
            opened.extend(opens.map(|branch| &branch.id));
            let class = thought_class(thought, branch.copied(), &best);
            let words = thought_words(thought, opens.copied());
            let name = self.add_box(&thought.id, words, Some(thought.confidence), class);
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

    fn graph(&mut self, detail: &GraphDetail) {
        let mut names: HashMap<&NodeId, String> = HashMap::new();
        for node in &detail.nodes {
            names.insert(&node.id, self.node(node));
        }
        if detail.part.next.is_some() {
            let after = self.boxes;
            self.add_line(&format!("more{after}[\"more nodes\"]:::gone"));
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

    /// Adds the box of a node and returns its name.
    fn node(&mut self, node: &GraphNode) -> String {
        let class = match node {
            node if node.pruned || node.set_aside => "gone",
            node if node.is_terminal => "best",
            node if node.node_type == NodeKind::Root => "root",
            node if node.is_active => "open",
            _ => "done",
        };
        self.add_box(&node.id, &node.content, node.score, class)
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

/// The words of a thought's box: the name of the branch that it opens, its viewpoint, or its text.
fn thought_words<'a>(thought: &'a Thought, opens: Option<&'a Branch>) -> &'a str {
    let said = |field: &str| thought.metadata.as_ref()?.get(field)?.as_str();
    let of_branch =
        opens.filter(|branch| branch.parent_id.is_some() || thought.mode == Mode::Backtracking);
    of_branch
        .and_then(|branch| branch.name.as_deref())
        .or_else(|| said("viewpoint"))
        .or(thought
            .input
            .as_deref()
            .filter(|_| thought.parent_id.is_none() || thought.mode == Mode::Tree))
        .unwrap_or(&thought.content)
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
