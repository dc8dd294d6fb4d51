//! Whether a claim states as a fact what the sentences call wrong, or leave open. To repeat it as
//! they put it, with the condition or with the judgement, is no fault.

use super::{
    Problem, ProblemKind,
    analysis::Analysis,
    compare::{Findings, Sides},
    equal::{Match, compare as same},
    frames::{Frame, hedges},
};

/// How much of a claim must stand in such a place alone for it to rest on it.
const RESTS: f64 = 0.2;

/// How much of a claim must be called wrong by it for that to be what it says.
const MOSTLY: f64 = 0.5;

pub(super) fn compare(sides: &Sides<'_>, findings: &mut Findings) {
    let problem = |kind| Problem::new(kind, sides.text, Some(sides.said.to_owned()));
    let refuted = sides.claim.has_frame(Frame::Refuted);
    if !refuted && rests_on(sides, Frame::Refuted) {
        findings.conflicts.push(problem(ProblemKind::Refuted));
    }
    let open = refuted
        || sides.claim.has_frame(Frame::Supposed)
        || hedges(&sides.claim.tokens, &sides.window.tokens);
    if !open && rests_on(sides, Frame::Supposed) {
        findings.lacks.push(problem(ProblemKind::Condition));
    }
    let denied = sides.window.has_frame(Frame::Refuted) || !sides.window.denials.is_empty();
    if refuted && !denied && held_alone(sides, sides.claim, Frame::Refuted) >= MOSTLY {
        findings.conflicts.push(problem(ProblemKind::Refuted));
    }
}

/// Whether the sentences say what is claimed only in such a frame.
fn rests_on(sides: &Sides<'_>, frame: Frame) -> bool {
    let window = sides.window;
    if !window.has_frame(frame) {
        return false;
    }
    let number = sides.claim.numbers.iter().any(|mine| {
        let there = window.numbers.iter();
        let mut there = there.filter(|it| same(mine, it) == Match::Same).peekable();
        there.peek().is_some() && there.all(|it| window.frame(it.from) == Some(frame))
    });
    number || held_alone(sides, window, frame) >= RESTS
}

/// The share of what is claimed that a text has in such a frame and nowhere else.
fn held_alone(sides: &Sides<'_>, text: &Analysis, frame: Frame) -> f64 {
    let (mut all, mut alone) = (0.0, 0.0);
    for key in sides.claim.key_set() {
        let weight = sides.corpus.weight(key);
        all += weight;
        let places = text.keys.iter().enumerate();
        let mut places = places
            .filter(|(_, it)| it.as_deref() == Some(key))
            .map(|(at, _)| text.frame(at) == Some(frame))
            .peekable();
        if places.peek().is_some() && places.all(|it| it) {
            alone += weight;
        }
    }
    if all > 0.0 { alone / all } else { 0.0 }
}
