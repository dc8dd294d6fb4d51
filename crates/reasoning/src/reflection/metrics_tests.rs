//! Tests of the metrics.

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
        first_text: None,
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

fn thought_line(confidences: &[f64]) -> Vec<Thought> {
    let numbered = (1..).zip(confidences);
    numbered
        .map(|(number, it)| thought(number, (number > 1).then(|| number - 1), *it))
        .collect()
}

#[test]
fn a_clean_line_of_any_length_hangs_together() {
    for length in [1, 2, 3, 1_000] {
        let thoughts = thought_line(&vec![0.8; length]);
        let facts = SessionMetrics::compute(&SessionData {
            total_thoughts: length,
            thoughts,
            ..SessionData::default()
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
    let facts = SessionMetrics::compute(&SessionData::default());
    assert!((facts.coherence() - 1.0).abs() < f64::EPSILON);
    assert_eq!(facts.average_confidence, None);
    assert_eq!(facts.confidence_course, None);
}

#[test]
fn a_thought_that_builds_on_nothing_is_a_break() {
    let mut thoughts = thought_line(&[0.8; 5]);
    thoughts[3].parent_id = None;
    assert!((linkage(&thoughts) - 0.75).abs() < f64::EPSILON);
}

#[test]
fn what_begins_a_session_or_a_branch_is_no_break() {
    // The first call stored three perspectives and their synthesis.
    let mut thoughts: Vec<_> = (1..=4).map(|it| thought(it, None, 0.8)).collect();
    for thought in &mut thoughts {
        thought.created_at = Timestamp::from_micros(1);
    }
    assert!((linkage(&thoughts) - 1.0).abs() < f64::EPSILON);
    let mut root = thought(5, None, 0.8);
    root.branch_id = Some("b".into());
    thoughts.push(root.clone());
    assert!((linkage(&thoughts) - 1.0).abs() < f64::EPSILON);
    // The second thought on that branch has one to build on.
    root.id = "t6".into();
    thoughts.push(root);
    assert!(linkage(&thoughts) < 1.0);
}

#[test]
fn the_course_of_confidence_is_read_from_its_ends() {
    let course = |numbers: &[f64]| confidence_trend(numbers).unwrap();
    let rising = course(&[0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
    assert_eq!(rising.trend, TrendDirection::Rising);
    assert!((rising.slope - 0.1).abs() < 1e-9);
    assert_eq!(course(&[0.9, 0.5]).trend, TrendDirection::Falling);
    assert_eq!(course(&[0.8, 0.1, 0.82]).trend, TrendDirection::Steady);
    assert_eq!(
        course(&[0.8, 0.8, 0.8, 0.8]).slope.to_bits(),
        0.0_f64.to_bits()
    );
    assert_eq!(super::confidence_trend(&[0.8]), None);
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
    let record = SessionData {
        branches: vec![
            branch("a", None, BranchState::Active, 2),
            branch("b", None, BranchState::Active, 2),
        ],
        cross_refs: vec![
            refers(CrossRefKind::Supports),
            refers(CrossRefKind::Contradicts),
        ],
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
        ..SessionData::default()
    };
    let facts = SessionMetrics::compute(&record);
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
    let record = SessionData {
        nodes: vec![node("x", None, false), node("y", None, false)],
        edges: vec![edge("x", "y", EdgeKind::Contradicts); 50],
        ..SessionData::default()
    };
    let facts = SessionMetrics::compute(&record);
    assert_eq!(facts.contradictions.len(), MAX_CONTRADICTIONS);
    assert_eq!(facts.contradictions_total, 50);
    assert!(facts.coherence() >= 0.0);
}

#[test]
fn branches_are_counted_by_what_became_of_them() {
    let counted = count_branches(&[
        branch("root", None, BranchState::Active, 1),
        branch("a", Some("root"), BranchState::Active, 3),
        branch("b", Some("root"), BranchState::Active, 1),
        branch("c", Some("root"), BranchState::Completed, 1),
        branch("d", Some("root"), BranchState::Abandoned, 0),
    ]);
    assert_eq!(
        counted,
        BranchCounts {
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
        count_graphs(1, &nodes),
        GraphCounts {
            total: 1,
            nodes: 2,
            scored: 1,
            scored_share: Score::new(0.5),
            terminal: 1,
            pruned: 1,
        }
    );
}
