//! What can be counted of a session, so that no model has to guess it.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::{
    Branch, BranchId, BranchState, CrossRef, EdgeKind, GraphEdge, GraphNode, NodeId, RefKind,
    Score, Thought, cut_to_chars,
};
use deliberate_store::BranchEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Confidence that moves less than this stays as it is.
const STEADY: f64 = 0.05;

/// Contradictions that are named; the others are counted.
const MOST_NAMED: usize = 20;

/// What is shown of a name, and of a reason.
const NAME_CHARS: usize = 80;
const REASON_CHARS: usize = 300;

/// What was read of a session.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// How many current thoughts there are.
    pub(super) total_thoughts: usize,
    /// The newest of them, oldest first.
    pub(super) thoughts: Vec<Thought>,
    pub(super) branches: Vec<BranchEntry>,
    pub(super) cross_refs: Vec<CrossRef>,
    pub(super) graphs: usize,
    /// Pruned ones, too.
    pub(super) nodes: Vec<GraphNode>,
    pub(super) edges: Vec<GraphEdge>,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) total_thoughts: usize,
    pub(super) thoughts_examined: usize,
    pub(super) average_confidence: Option<Score>,
    pub(super) confidence_course: Option<Course>,
    pub(super) mode_distribution: BTreeMap<String, usize>,
    pub(super) linkage: Score,
    pub(super) contradictions: Vec<Contradiction>,
    pub(super) contradictions_total: usize,
    pub(super) branches: Branches,
    pub(super) graphs: Graphs,
}

/// How the confidence went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Course {
    /// The last third against the first
    pub(super) trend: Trend,
    /// By how much it rises from one thought to the next
    slope: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Trend {
    Rising,
    Steady,
    Falling,
}

/// Two things that can't both be right, as someone noted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Contradiction {
    /// A branch or node
    pub(super) from: String,
    /// The branch or node that it contradicts
    pub(super) to: String,
    /// Name of the branch, or beginning of the node
    from_name: Option<String>,
    /// The same for `to`
    to_name: Option<String>,
    /// Why they contradict each other; null if nobody said
    reason: Option<String>,
}

/// How many branches there are, of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Branches {
    /// All of them
    total: usize,
    /// Those still followed
    open: usize,
    /// Those marked as completed
    completed: usize,
    /// Those marked as abandoned
    abandoned: usize,
    /// Open ones with nothing beyond their opening
    never_continued: usize,
}

/// How much there is in graphs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Graphs {
    /// How many graphs there are
    total: usize,
    /// Nodes that were not pruned
    pub(super) nodes: usize,
    /// Of these nodes, those with a score
    scored: usize,
    /// Their share; null without nodes
    scored_share: Option<Score>,
    /// Of these nodes, those marked as conclusions
    terminal: usize,
    /// How many nodes were pruned
    pruned: usize,
}

impl Facts {
    pub(super) fn of(record: &Record) -> Self {
        let mut contradictions = contradictions(record);
        let contradictions_total = contradictions.len();
        contradictions.truncate(MOST_NAMED);
        Self {
            total_thoughts: record.total_thoughts,
            thoughts_examined: record.thoughts.len(),
            average_confidence: mean(&confidences(&record.thoughts)).map(rounded_score),
            confidence_course: course(&confidences(&record.thoughts)),
            mode_distribution: modes(&record.thoughts),
            linkage: rounded_score(linkage(&record.thoughts)),
            contradictions,
            contradictions_total,
            branches: branches(&record.branches),
            graphs: graphs(record.graphs, &record.nodes),
        }
    }

    /// How well it hangs together, as far as that can be counted: whether thoughts follow from
    /// earlier ones, and how much of it was found to contradict the rest.
    pub(super) fn coherence(&self) -> f64 {
        let parts = self.thoughts_examined + self.graphs.nodes;
        let contradicted = if parts == 0 {
            0.0
        } else {
            (self.contradictions_total as f64 / parts as f64).min(1.0)
        };
        f64::midpoint(self.linkage.get(), 1.0 - contradicted)
    }
}

fn confidences(thoughts: &[Thought]) -> Vec<f64> {
    thoughts.iter().map(|it| it.confidence.get()).collect()
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

fn rounded(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}

/// Four digits, so that 0.7 is not answered as 0.7000000000000001.
pub(super) fn rounded_score(number: f64) -> Score {
    Score::clamped(rounded(number))
}

/// The first third against the last; nothing for a single thought.
fn course(confidences: &[f64]) -> Option<Course> {
    let count = confidences.len();
    if count < 2 {
        return None;
    }
    let third = (count / 3).max(1);
    let first = mean(confidences.get(..third)?)?;
    let last = mean(confidences.get(count - third..)?)?;
    let trend = match last - first {
        change if change >= STEADY => Trend::Rising,
        change if change <= -STEADY => Trend::Falling,
        _ => Trend::Steady,
    };
    Some(Course {
        trend,
        slope: rounded(slope(confidences)),
    })
}

/// The slope of the straight line that fits best.
fn slope(numbers: &[f64]) -> f64 {
    let middle = (numbers.len() as f64 - 1.0) / 2.0;
    let average = mean(numbers).unwrap_or_default();
    let (mut together, mut spread) = (0.0, 0.0);
    for (place, number) in numbers.iter().enumerate() {
        let from_middle = place as f64 - middle;
        together += from_middle * (number - average);
        spread += from_middle * from_middle;
    }
    if spread == 0.0 {
        0.0
    } else {
        together / spread
    }
}

fn modes(thoughts: &[Thought]) -> BTreeMap<String, usize> {
    let mut modes = BTreeMap::new();
    for thought in thoughts {
        *modes.entry(thought.mode.to_string()).or_default() += 1;
    }
    modes
}

/// The share of thoughts that build on an earlier one, of those that had one to build on. The
/// thoughts of the call that began the session had none, nor has the first on a branch.
fn linkage(thoughts: &[Thought]) -> f64 {
    let begun = thoughts.first().map(|first| first.created_at);
    let mut branches: BTreeSet<&BranchId> = BTreeSet::new();
    let (mut linked, mut broken) = (0_usize, 0_usize);
    for thought in thoughts {
        let opens = thought
            .branch_id
            .as_ref()
            .is_some_and(|branch| branches.insert(branch));
        if thought.parent_id.is_some() {
            linked += 1;
        } else if !opens && Some(thought.created_at) != begun {
            broken += 1;
        }
    }
    if broken == 0 {
        return 1.0;
    }
    linked as f64 / (linked + broken) as f64
}

fn contradictions(record: &Record) -> Vec<Contradiction> {
    let names: BTreeMap<&BranchId, &Branch> = record
        .branches
        .iter()
        .map(|entry| (&entry.branch.id, &entry.branch))
        .collect();
    let name = |id: &BranchId| names.get(id).and_then(|branch| branch.name.as_deref());
    let between_branches = record
        .cross_refs
        .iter()
        .filter(|it| it.ref_type == RefKind::Contradicts)
        .map(|it| Contradiction {
            from: it.from_branch.to_string(),
            to: it.to_branch.to_string(),
            from_name: name(&it.from_branch).map(short),
            to_name: name(&it.to_branch).map(short),
            reason: it.reason.as_deref().map(reason),
        });
    let texts: BTreeMap<&NodeId, &str> = kept(&record.nodes)
        .map(|node| (&node.id, node.content.as_str()))
        .collect();
    let between_nodes = record
        .edges
        .iter()
        .filter(|it| it.edge_type == EdgeKind::Contradicts)
        .filter_map(|it| {
            let (from, to) = (texts.get(&it.from_node)?, texts.get(&it.to_node)?);
            let why = it.metadata.as_ref().and_then(|it| it.get("reason"));
            Some(Contradiction {
                from: it.from_node.to_string(),
                to: it.to_node.to_string(),
                from_name: Some(short(from)),
                to_name: Some(short(to)),
                reason: why.and_then(|why| why.as_str()).map(reason),
            })
        });
    between_branches.chain(between_nodes).collect()
}

fn short(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    cut_to_chars(&words.join(" "), NAME_CHARS)
}

fn reason(text: &str) -> String {
    cut_to_chars(text.trim(), REASON_CHARS)
}

/// The nodes that were not pruned.
pub(super) fn kept(nodes: &[GraphNode]) -> impl Iterator<Item = &GraphNode> {
    nodes.iter().filter(|node| !node.pruned)
}

fn branches(entries: &[BranchEntry]) -> Branches {
    let grown: BTreeSet<&BranchId> = entries
        .iter()
        .filter_map(|entry| entry.branch.parent_id.as_ref())
        .collect();
    let of = |state| move |entry: &&BranchEntry| entry.branch.state == state;
    let open = || entries.iter().filter(of(BranchState::Active));
    Branches {
        total: entries.len(),
        open: open().count(),
        completed: entries.iter().filter(of(BranchState::Completed)).count(),
        abandoned: entries.iter().filter(of(BranchState::Abandoned)).count(),
        never_continued: open()
            .filter(|entry| entry.thoughts <= 1 && !grown.contains(&entry.branch.id))
            .count(),
    }
}

fn graphs(total: usize, nodes: &[GraphNode]) -> Graphs {
    let count = kept(nodes).count();
    let scored = kept(nodes).filter(|node| node.score.is_some()).count();
    Graphs {
        total,
        nodes: count,
        scored,
        scored_share: (count > 0).then(|| rounded_score(scored as f64 / count as f64)),
        terminal: kept(nodes).filter(|node| node.is_terminal).count(),
        pruned: nodes.len() - count,
    }
}

#[cfg(test)]
mod tests {
    use deliberate_core::{Mode, Timestamp};
    use serde_json::json;

    use super::*;

    fn thought(number: i64, parent: Option<i64>, confidence: f64) -> Thought {
        Thought {
            id: format!("t{number}").into(),
            session_id: "s".into(),
            input: None,
            content: format!("thought {number}"),
            confidence: Score::new(confidence).unwrap(),
            mode: Mode::Linear,
            parent_id: parent.map(|it| format!("t{it}").into()),
            branch_id: None,
            set_aside: false,
            created_at: Timestamp::from_micros(number),
            metadata: None,
        }
    }

    fn branch(id: &str, parent: Option<&str>, state: BranchState, thoughts: u64) -> BranchEntry {
        BranchEntry {
            branch: Branch {
                id: id.into(),
                session_id: "s".into(),
                name: Some(format!("way {id}")),
                parent_id: parent.map(Into::into),
                state,
                confidence: Score::ONE,
                priority: 0,
                set_aside: false,
                created_at: Timestamp::from_micros(0),
                updated_at: Timestamp::from_micros(0),
                metadata: None,
            },
            thoughts,
            opening: None,
        }
    }

    fn node(id: &str, score: Option<f64>, pruned: bool) -> GraphNode {
        GraphNode {
            id: id.into(),
            graph_id: "g".into(),
            session_id: "s".into(),
            content: format!("node {id}"),
            node_type: deliberate_core::NodeKind::Thought,
            score: score.and_then(Score::new),
            depth: 0,
            is_active: true,
            is_terminal: id == "end",
            pruned,
            set_aside: false,
            created_at: Timestamp::from_micros(0),
            metadata: None,
        }
    }

    fn edge(from: &str, to: &str, kind: EdgeKind) -> GraphEdge {
        GraphEdge {
            id: format!("{from}-{to}").into(),
            graph_id: "g".into(),
            from_node: from.into(),
            to_node: to.into(),
            edge_type: kind,
            weight: Score::ONE,
            created_at: Timestamp::from_micros(0),
            metadata: Some(json!({ "reason": "they differ" })),
        }
    }

    fn line(confidences: &[f64]) -> Vec<Thought> {
        let numbered = (1..).zip(confidences);
        numbered
            .map(|(number, it)| thought(number, (number > 1).then(|| number - 1), *it))
            .collect()
    }

    #[test]
    fn a_clean_line_of_any_length_hangs_together() {
        for length in [1, 2, 3, 1_000] {
            let thoughts = line(&vec![0.8; length]);
            let facts = Facts::of(&Record {
                total_thoughts: length,
                thoughts,
                ..Record::default()
            });
            assert_eq!(facts.linkage, Score::ONE);
            assert!((facts.coherence() - 1.0).abs() < f64::EPSILON);
            assert_eq!(facts.average_confidence, Score::new(0.8));
            assert_eq!(facts.contradictions_total, 0);
            assert_eq!(facts.mode_distribution["linear"], length);
        }
    }

    #[test]
    fn nothing_is_not_incoherent() {
        let facts = Facts::of(&Record::default());
        assert!((facts.coherence() - 1.0).abs() < f64::EPSILON);
        assert_eq!(facts.average_confidence, None);
        assert_eq!(facts.confidence_course, None);
    }

    #[test]
    fn a_thought_that_builds_on_nothing_is_a_break() {
        let mut thoughts = line(&[0.8; 5]);
        thoughts[3].parent_id = None;
        assert!((linkage(&thoughts) - 0.75).abs() < f64::EPSILON);
    }

    #[test]
    fn what_begins_a_session_or_a_branch_is_no_break() {
        // Three perspectives and their synthesis, all of the first call.
        let mut thoughts: Vec<_> = (1..=4).map(|it| thought(it, None, 0.8)).collect();
        for thought in &mut thoughts {
            thought.created_at = Timestamp::from_micros(1);
        }
        assert!((linkage(&thoughts) - 1.0).abs() < f64::EPSILON);
        let mut root = thought(5, None, 0.8);
        root.branch_id = Some("b".into());
        thoughts.push(root.clone());
        assert!((linkage(&thoughts) - 1.0).abs() < f64::EPSILON);
        // The second on that branch has something to build on.
        root.id = "t6".into();
        thoughts.push(root);
        assert!(linkage(&thoughts) < 1.0);
    }

    #[test]
    fn the_course_of_confidence_is_read_from_its_ends() {
        let course = |numbers: &[f64]| course(numbers).unwrap();
        let rising = course(&[0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
        assert_eq!(rising.trend, Trend::Rising);
        assert!((rising.slope - 0.1).abs() < 1e-9);
        assert_eq!(course(&[0.9, 0.5]).trend, Trend::Falling);
        assert_eq!(course(&[0.8, 0.1, 0.82]).trend, Trend::Steady);
        assert_eq!(
            course(&[0.8, 0.8, 0.8, 0.8]).slope.to_bits(),
            0.0_f64.to_bits()
        );
        assert_eq!(super::course(&[0.8]), None);
    }

    #[test]
    fn contradictions_are_named() {
        let refers = |kind| CrossRef {
            id: "r".into(),
            from_branch: "a".into(),
            to_branch: "b".into(),
            ref_type: kind,
            reason: Some("cost".to_owned()),
            strength: Score::ONE,
            created_at: Timestamp::from_micros(0),
        };
        let record = Record {
            branches: vec![
                branch("a", None, BranchState::Active, 2),
                branch("b", None, BranchState::Active, 2),
            ],
            cross_refs: vec![refers(RefKind::Supports), refers(RefKind::Contradicts)],
            graphs: 1,
            nodes: vec![
                node("x", None, false),
                node("y", None, false),
                node("z", None, true),
            ],
            edges: vec![
                edge("x", "y", EdgeKind::Contradicts),
                edge("x", "z", EdgeKind::Contradicts),
                edge("y", "x", EdgeKind::Supports),
            ],
            ..Record::default()
        };
        let facts = Facts::of(&record);
        assert_eq!(
            json!(facts.contradictions),
            json!([
                { "from": "a", "to": "b", "from_name": "way a", "to_name": "way b",
                  "reason": "cost" },
                { "from": "x", "to": "y", "from_name": "node x", "to_name": "node y",
                  "reason": "they differ" },
            ])
        );
        assert!((facts.coherence() - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn many_contradictions_are_counted_and_the_first_named() {
        let record = Record {
            nodes: vec![node("x", None, false), node("y", None, false)],
            edges: vec![edge("x", "y", EdgeKind::Contradicts); 50],
            ..Record::default()
        };
        let facts = Facts::of(&record);
        assert_eq!(facts.contradictions.len(), MOST_NAMED);
        assert_eq!(facts.contradictions_total, 50);
        assert!(facts.coherence() >= 0.0);
    }

    #[test]
    fn branches_are_counted_by_what_became_of_them() {
        let counted = branches(&[
            branch("root", None, BranchState::Active, 1),
            branch("a", Some("root"), BranchState::Active, 3),
            branch("b", Some("root"), BranchState::Active, 1),
            branch("c", Some("root"), BranchState::Completed, 1),
            branch("d", Some("root"), BranchState::Abandoned, 0),
        ]);
        assert_eq!(
            counted,
            Branches {
                total: 5,
                open: 3,
                completed: 1,
                abandoned: 1,
                never_continued: 1,
            }
        );
    }

    #[test]
    fn pruned_nodes_are_counted_apart() {
        let nodes = [
            node("a", Some(0.5), false),
            node("end", None, false),
            node("p", Some(0.1), true),
        ];
        assert_eq!(
            graphs(1, &nodes),
            Graphs {
                total: 1,
                nodes: 2,
                scored: 1,
                scored_share: Score::new(0.5),
                terminal: 1,
                pruned: 1,
            }
        );
    }
}
