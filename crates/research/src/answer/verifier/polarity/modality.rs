//! Modality: statements that a text calls wrong, and statements that it only supposes or makes
//! conditional.

use std::ops::Range;

use crate::answer::verifier::text::tokenizer::{LetterCase, TextToken, TextTokenKind};

/// How a text qualifies a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modality {
    /// The text calls it wrong: `Jones wrongly claimed that`.
    Refuted,
    /// The text says that it might be, would be, or was once believed.
    Hypothetical,
}

/// Adverbs that call a statement of others wrong.
const WRONGLY_ADVERBS: &[&str] = &[
    "wrongly",
    "falsely",
    "erroneously",
    "mistakenly",
    "incorrectly",
    "misleadingly",
];

/// Verbs of making a claim.
const CLAIM_VERBS: &[&str] = &[
    "claim",
    "claimed",
    "claims",
    "claiming",
    "state",
    "stated",
    "states",
    "report",
    "reported",
    "reports",
    "believed",
    "believe",
    "believes",
    "thought",
    "assumed",
    "assume",
    "assumes",
    "concluded",
    "conclude",
    "asserted",
    "asserts",
    "held",
    "suggested",
    "argued",
    "argues",
    "said",
    "says",
    "maintained",
    "inferred",
    "predicted",
    "estimated",
    "put",
];

/// Nouns for a claim.
const CLAIM_NOUNS: &[&str] = &[
    "claim",
    "claims",
    "idea",
    "notion",
    "view",
    "belief",
    "hypothesis",
    "assumption",
    "suggestion",
    "assertion",
    "theory",
    "conclusion",
    "statement",
    "finding",
    "report",
    "reports",
];

/// Verbs of rejecting a claim.
const REFUTING_VERBS: &[&str] = &[
    "refute",
    "refuted",
    "refutes",
    "refuting",
    "disproved",
    "disproven",
    "disprove",
    "disproves",
    "debunked",
    "debunk",
    "debunks",
    "discredited",
    "rejected",
    "reject",
    "rejects",
    "unfounded",
    "contradicted",
    "contradict",
    "contradicts",
    "overturned",
    "retracted",
    "withdrawn",
];

/// Adjectives for a wrong claim.
const WRONG_ADJECTIVES: &[&str] = &[
    "false",
    "wrong",
    "untrue",
    "incorrect",
    "mistaken",
    "erroneous",
    "misguided",
    "unsupported",
];

/// Nouns for something that is wrong by definition.
const MYTHS: &[&str] = &["myth", "misconception", "fallacy", "misbelief"];

/// Verbs of believing, for former beliefs.
const BELIEF_VERBS: &[&str] = &[
    "thought",
    "believed",
    "assumed",
    "supposed",
    "presumed",
    "hypothesised",
    "hypothesized",
    "held",
    "speculated",
    "postulated",
    "claimed",
    "alleged",
    "rumoured",
    "rumored",
];

/// Words with which a claim is as tentative as the passage.
const HEDGES: &str = "possible possibly potential potentially perhaps probably expected predicted \
    projected hypothetical hypothetically suggest suggests suggested propose proposed proposes \
    conditional simulated speculate speculated speculates hypothesise hypothesised hypothesize \
    hypothesized claimed allegedly apparently seems seem appears appear";

/// Further hedges, unless the passage contains them too: then they belong to its statement.
const CONTEXTUAL_HEDGES: &str = "likely unlikely able can capable when whenever once condition";

/// Determines the modality of each token.
pub(crate) fn token_modalities(tokens: &[TextToken]) -> Vec<Option<Modality>> {
    let mut all = vec![None; tokens.len()];
    let mut from = 0;
    for at in 0..=tokens.len() {
        let ends = tokens.get(at).is_none_or(|it| {
            it.kind == TextTokenKind::Break && matches!(it.text.as_str(), "." | "?" | "!" | ";")
        });
        if !ends {
            continue;
        }
        let sentence = ModalityScanner {
            tokens,
            from,
            to: at,
        };
        let mut mark = |frame: Modality, range: Range<usize>| {
            for it in all.get_mut(range).unwrap_or_default() {
                *it = Some(frame);
            }
        };
        for at in from..at {
            if let Some(range) = sentence.hypothetical_range(at) {
                mark(Modality::Hypothetical, range);
            }
        }
        for at in from..at {
            if let Some(range) = sentence.refuted_range(at) {
                mark(Modality::Refuted, range);
            }
        }
        from = at + 1;
    }
    all
}

/// Whether a claim hedges a statement that the passage hedges.
pub(crate) fn is_hedged_alike(claim: &[TextToken], passage: &[TextToken]) -> bool {
    let mut words = claim.iter().filter(|it| it.kind == TextTokenKind::Word);
    let is = |list: &str, word: &str| list.split_whitespace().any(|it| it == word);
    words.any(|it| {
        is(HEDGES, &it.text)
            || (is(CONTEXTUAL_HEDGES, &it.text)
                && !passage.iter().any(|there| there.text == it.text))
    })
}

/// Tokens of one sentence.
struct ModalityScanner<'a> {
    tokens: &'a [TextToken],
    from: usize,
    to: usize,
}

impl ModalityScanner<'_> {
    fn word_at(&self, at: usize) -> &str {
        let inside = (self.from..self.to).contains(&at);
        let token = self.tokens.get(at).filter(|_| inside);
        token.map_or("", |it| it.text.as_str())
    }

    fn word_before(&self, at: usize, by: usize) -> &str {
        at.checked_sub(by).map_or("", |it| self.word_at(it))
    }

    fn contains_any(&self, range: Range<usize>, words: &[&str]) -> bool {
        range
            .into_iter()
            .any(|it| words.contains(&self.word_at(it)))
    }

    /// The clause around a token, up to contrast words.
    fn clause(&self, at: usize) -> Range<usize> {
        let turns = |it: &usize| {
            matches!(
                self.word_at(*it),
                "but" | "however" | "whereas" | "although" | "though" | "until" | "yet" | "—"
            )
        };
        let from = (self.from..at).rev().find(turns);
        let to = (at..self.to).find(turns);
        from.map_or(self.from, |it| it + 1)..to.unwrap_or(self.to)
    }

    /// A narrower clause, up to commas and conjunctions.
    fn subclause(&self, at: usize) -> Range<usize> {
        let clause = self.clause(at);
        let breaks = |it: &usize| {
            let token = self.tokens.get(*it);
            token.is_some_and(|it| it.kind == TextTokenKind::Break && it.text != "-")
        };
        let joins = |it: &usize| {
            breaks(it)
                || matches!(
                    self.word_at(*it),
                    "and" | "which" | "that" | "who" | "because" | "since" | "so" | "while"
                )
        };
        let from = (clause.start..at).rev().find(joins);
        let to = (at..clause.end).find(breaks);
        from.map_or(clause.start, |it| it + 1)..to.unwrap_or(clause.end)
    }

    /// The tokens that the word at `at` calls wrong.
    fn refuted_range(&self, at: usize) -> Option<Range<usize>> {
        let word = self.word_at(at);
        let clause = self.clause(at);
        let near = at.saturating_sub(2)..at + 3;
        let claims = || self.contains_any(clause.clone(), CLAIM_NOUNS);
        let that = || self.contains_any(clause.clone(), &["that"]);
        let follows = |words: &[&str]| self.contains_any(at + 1..at + 3, words);
        let wrong = (WRONGLY_ADVERBS.contains(&word) && self.contains_any(near, CLAIM_VERBS))
            || (REFUTING_VERBS.contains(&word) && claims() && that())
            || (MYTHS.contains(&word) && that())
            || (WRONG_ADJECTIVES.contains(&word)
                && (self.word_at(at + 1) == "that"
                    || (follows(CLAIM_NOUNS) && that())
                    || (claims()
                        && that()
                        && self.contains_any(
                            at.saturating_sub(2)..at,
                            &["was", "is", "were", "are", "proved", "proven", "be", "been"],
                        ))));
        if wrong {
            return Some(clause);
        }
        (word == "contrary" && self.word_at(at + 1) == "to").then(|| {
            let comma = |from: usize| (from..clause.end).find(|it| self.word_at(*it) == ",");
            let first = comma(at);
            let relative = first.is_some_and(|it| matches!(self.word_at(it + 1), "who" | "which"));
            let end = match first {
                Some(first) if relative => comma(first + 1).or(Some(first)),
                first => first,
            };
            at..end.unwrap_or(clause.end)
        })
    }

    /// The tokens that the word at `at` makes hypothetical.
    fn hypothetical_range(&self, at: usize) -> Option<Range<usize>> {
        let next = self.word_at(at + 1);
        match self.word_at(at) {
            "if" if !matches!(self.word_before(at, 1), "even" | "as")
                && !matches!(next, "any" | "not") =>
            {
                Some(self.from..self.to)
            }
            "unless" => Some(self.from..self.to),
            "provided" | "assuming" | "supposing" if next == "that" => Some(self.from..self.to),
            "whether"
                if !matches!(self.word_before(at, 1), "of" | "on" | "matter") && next != "or" =>
            {
                // `Whether it rained, they burned` continues with a fact.
                let first = at == self.from;
                let part = if first {
                    self.subclause(at)
                } else {
                    self.clause(at)
                };
                Some(at..part.end)
            }
            "could" | "might" | "may" if next == "be" && self.word_at(at + 2) == "that" => {
                Some(self.clause(at))
            }
            "could" if next != "not" => Some(self.subclause(at)),
            "would" | "might" => Some(self.subclause(at)),
            "may"
                if self
                    .tokens
                    .get(at)
                    .is_some_and(|it| it.case == LetterCase::Lower) =>
            {
                Some(self.subclause(at))
            }
            word if BELIEF_VERBS.contains(&word) && matches!(next, "that" | "to") => {
                let being = ["was", "were", "been", "is", "are", "be"];
                let passive = self.contains_any(at.saturating_sub(3)..at, &being);
                passive.then(|| self.clause(at))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::verifier::text::tokenizer::tokenize;

    fn tokens_in_modality(text: &str, frame: Modality) -> String {
        let all = tokenize(text);
        let marked = token_modalities(&all);
        let words = all.iter().zip(marked);
        let words = words.filter(|(_, it)| *it == Some(frame));
        let words: Vec<&str> = words.map(|(it, _)| it.text.as_str()).collect();
        words.join(" ")
    }

    #[test]
    fn what_is_called_wrong() {
        for (text, wanted) in [
            (
                "It rained. Jones wrongly claimed that bogs burn, but they do not",
                "jones wrongly claimed that bogs burn ,",
            ),
            (
                "Contrary to Jones, who saw fire, bogs are wet",
                "contrary to jones , who saw fire",
            ),
            ("The myth that bogs burn", "the myth that bogs burn"),
            (
                "The idea that bogs burn was refuted",
                "the idea that bogs burn was refuted",
            ),
            ("It is false that bogs burn", "it is false that bogs burn"),
            ("5% were incorrectly classified", ""),
            ("It raised 2 false alarms", ""),
            ("We rejected 12 papers", ""),
        ] {
            assert_eq!(
                tokens_in_modality(text, Modality::Refuted),
                wanted,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_left_open() {
        for (text, wanted) in [
            (
                "Bogs are wet. If heated, they would burn",
                "if heated , they would burn",
            ),
            (
                "Heat dried bogs and could burn them, so we left",
                "could burn them",
            ),
            (
                "It was once thought that bogs burn",
                "it was once thought that bogs burn",
            ),
            ("We asked whether bogs burn", "whether bogs burn"),
            ("They could not burn", ""),
            ("In May bogs burn", ""),
            ("Even if wet, bogs burn", ""),
            ("Regardless of whether it rained, bogs burn", ""),
        ] {
            assert_eq!(
                tokens_in_modality(text, Modality::Hypothetical),
                wanted,
                "{text}"
            );
        }
    }
}
