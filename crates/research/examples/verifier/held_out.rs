//! Sets of passages with handwritten claims and changed claims: a held-out set that is never
//! inspected, so that nothing is fitted to it, and a set of free paraphrases that the verifier was
//! tuned on, whose errors can be shown.

use super::{FAITHFUL, VerdictCounts, dataset, is_flagged};
use deliberate_research::answer::verifier::{Claim, EvidencePassage, HeuristicSet, Verifier};
use std::collections::BTreeMap;

/// Topics and words that the lexicon was not made from.
pub(crate) const HELD_OUT: &str = include_str!("held_out.txt");

/// Free paraphrases for tuning.
pub(crate) const FREE_PARAPHRASES: &str = include_str!("free_paraphrases.txt");

/// Paraphrases and subtle errors of many fields.
pub(crate) const UNTUNED: &str = include_str!("untuned.txt");

/// A passage with claims that it supports and claims that it does not.
struct HeldOutRecord {
    source: EvidencePassage,
    /// Kind of change, or `faithful`, with the claim.
    claims: Vec<(&'static str, String)>,
}

/// Kinds of change in the files.
const CHANGE_KINDS: &[&str] = &[
    "number",
    "name",
    "negation",
    "direction",
    "unsaid",
    "swap",
    "scope",
    "causal",
    "generalization",
    "attribution",
    "time",
    "hedge",
    "quantifier",
];

/// Result of a set.
#[derive(Default)]
pub(crate) struct SetResult {
    pub(crate) counts: VerdictCounts,
    /// Reasons why faithful claims were flagged.
    pub(crate) reasons: BTreeMap<String, u32>,
}

/// Checks each claim of a set against its passage and nine others.
pub(crate) fn check_set(written: &str, heuristics: HeuristicSet, show: bool) -> SetResult {
    let all = parse_held_out(written);
    let sources: Vec<EvidencePassage> = all.iter().map(|it| it.source.clone()).collect();
    let mut outcome = SetResult::default();
    for (at, one) in all.iter().enumerate() {
        let around = sources.iter().cycle().skip(at).take(10);
        let around: Vec<EvidencePassage> = around.cloned().collect();
        let verifier = Verifier::with_heuristics(&around, heuristics);
        for (kind, text) in &one.claims {
            let checked = verifier.check(&Claim {
                text: text.clone(),
                cited: vec![one.source.id.clone()],
                quote: None,
            });
            let flagged = is_flagged(checked.verdict);
            outcome.counts.entry(kind).or_default().add(checked.verdict);
            if flagged && *kind == FAITHFUL {
                let reason = checked.problems.first().map(|it| it.kind);
                let reason = format!("{:?}: {reason:?}", checked.verdict);
                *outcome.reasons.entry(reason).or_default() += 1;
            }
            if show && flagged == (*kind == FAITHFUL) {
                println!("{kind:9} {text}");
                println!(
                    "          {:?} {:.2} {:?}",
                    checked.verdict, checked.overlap, checked.problems
                );
                for it in &checked.evidence {
                    println!("          {} {}", it.passage, it.quote);
                }
            }
        }
    }
    outcome
}

fn parse_held_out(written: &str) -> Vec<HeldOutRecord> {
    let records = dataset::parse_records(written);
    let records = records.into_iter().map(|(record, lines)| {
        let faithful = record.claims.iter();
        let faithful = faithful.map(|it| (FAITHFUL, it.text.clone()));
        let changed = lines.into_iter().filter_map(|line| {
            let (kind, text) = line.strip_prefix("- ")?.split_once(" | ")?;
            let kind = CHANGE_KINDS.iter().find(|it| **it == kind)?;
            Some((*kind, text.to_owned()))
        });
        HeldOutRecord {
            source: record.evidence_passage(),
            claims: faithful.chain(changed).collect(),
        }
    });
    records.collect()
}
