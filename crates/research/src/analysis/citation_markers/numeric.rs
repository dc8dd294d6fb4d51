//! Numeric citations: `[12]`, `[3, 10–14, p. 5]`, and in a text without such brackets `(12)` and
//! superscript `¹²`.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::LazyLock};

use deliberate_extract::DocumentReference;
use regex::Regex;

/// Number style of a text with a numbered bibliography.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumericMarker {
    reference_numbers: BTreeSet<u32>,
    /// Whether the text uses square brackets: then parentheses and superscripts are no citations.
    uses_square_brackets: bool,
}

static SQUARE_BRACKETS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[([^\[\]]{1,200})\]").ok());
static PARENTHESES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\(([^()]{1,100})\)").ok());

/// Superscript numbers in all forms in which texts preserve them: `fact.¹`, `fact^1`,
/// `fact<sup>1</sup>`, and `fact.1`, where the superscript was lost.
static SUPERSCRIPTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let before = r#"(\p{L}{3,}|[.,;:!?”’"])"#;
    let forms = [
        format!("{before}([⁰¹²³⁴-⁹]+(?:[,˒⁻–—-][⁰¹²³⁴-⁹]+)*)"),
        format!(r"{before}(?:\^\{{?|<sup>)\s*(\d{{1,3}}(?:\s*[,–—-]\s*\d{{1,3}})*)"),
        r#"(\p{L}{3,}|\bal)[.,;][”"]?(\d{1,3}(?:[,–—-]\d{1,3})*)(?:\s|$)"#.to_owned(),
    ];
    forms.iter().filter_map(|it| Regex::new(it).ok()).collect()
});

/// Phrases before the numbers in a bracket, longest first.
const LEAD_INS: &[&str] = &[
    "reviewed in",
    "references",
    "reference",
    "see also",
    "refs.",
    "refs",
    "ref.",
    "ref",
    "e.g.",
    "see",
    "cf.",
];

/// Words whose number is not a citation: numbered items, and bases of a power.
const NON_CITATION_WORDS: &[&str] = &[
    "app",
    "appendix",
    "art",
    "case",
    "cases",
    "chap",
    "class",
    "condition",
    "conditions",
    "cos",
    "eq",
    "eqn",
    "eqs",
    "equation",
    "equations",
    "exp",
    "expression",
    "fig",
    "figs",
    "figure",
    "figures",
    "formula",
    "item",
    "lemma",
    "line",
    "lines",
    "log",
    "model",
    "models",
    "mol",
    "part",
    "phase",
    "rad",
    "sec",
    "section",
    "sections",
    "sin",
    "stage",
    "step",
    "steps",
    "tab",
    "table",
    "tables",
    "tan",
    "theorem",
    "type",
    "vol",
];

/// Parses the number of an entry from its label.
pub(crate) fn reference_number(entry: &DocumentReference) -> Option<u32> {
    let label = entry.label.as_deref()?.trim();
    label.trim_matches(['[', ']', '(', ')', '.']).parse().ok()
}

impl NumericMarker {
    /// Determines the number style from a bibliography and the sentences of its text.
    pub(crate) fn from_text<'a>(
        entries: &[DocumentReference],
        body: impl Iterator<Item = &'a str>,
    ) -> Self {
        let known: BTreeSet<u32> = entries.iter().filter_map(reference_number).collect();
        let mut found = Self {
            reference_numbers: known,
            uses_square_brackets: false,
        };
        let mut groups = body.flat_map(|it| bracket_contents(SQUARE_BRACKETS.as_ref(), it));
        found.uses_square_brackets = groups.any(|group| {
            let all = parse_ranges(&group);
            !all.is_empty() && found.are_references(&all)
        });
        found
    }

    /// The forms that cite an entry, as readable text.
    pub(crate) fn forms(&self, number: u32) -> Vec<String> {
        let mut forms = vec![format!("“[{number}]”")];
        if !self.uses_square_brackets {
            forms.push(format!("“({number})”"));
            forms.push(format!("a raised “{number}”"));
        }
        forms
    }

    /// Whether a sentence cites the entry with this number.
    pub(crate) fn cites(&self, sentence: &str, wanted: u32) -> bool {
        let has = |all: &[RangeInclusive<u32>]| all.iter().any(|it| it.contains(&wanted));
        // `[1]–[3]` means `[1–3]`.
        let sentence = ["–", "—", "-"]
            .iter()
            .fold(sentence.to_owned(), |text, dash| {
                text.replace(&format!("]{dash}["), dash)
            });
        let mut square = bracket_contents(SQUARE_BRACKETS.as_ref(), &sentence).into_iter();
        if square.any(|it| has(&parse_ranges(&it))) {
            return true;
        }
        let mut others = self
            .in_parentheses(&sentence)
            .chain(self.superscripts(&sentence));
        !self.uses_square_brackets && others.any(|it| has(&it))
    }

    fn are_references(&self, all: &[RangeInclusive<u32>]) -> bool {
        let known = |it: &u32| self.reference_numbers.contains(it);
        all.iter().all(|it| known(it.start()) && known(it.end()))
    }

    /// Numbers in parentheses that are entries, not list items or equations.
    fn in_parentheses(&self, sentence: &str) -> impl Iterator<Item = Vec<RangeInclusive<u32>>> {
        let found = PARENTHESES.as_ref().into_iter();
        let found = found.flat_map(move |form| form.captures_iter(sentence));
        found.filter_map(move |found| {
            let all = parse_ranges(found.get(1)?.as_str());
            let whole = found.get(0)?;
            let before = sentence.get(..whole.start())?.trim_end();
            let after = sentence.get(whole.end()..)?;
            let counts = is_enumeration(before, after, sentence);
            (self.are_references(&all) && !counts).then_some(all)
        })
    }

    fn superscripts(&self, sentence: &str) -> impl Iterator<Item = Vec<RangeInclusive<u32>>> {
        let found = SUPERSCRIPTS.iter();
        let found = found.flat_map(move |form| form.captures_iter(sentence));
        found.filter_map(move |found| {
            let before = found.get(1)?.as_str().to_lowercase();
            let all = parse_ranges(&superscript_to_digits(found.get(2)?.as_str()));
            let other = NON_CITATION_WORDS.contains(&before.as_str());
            (self.are_references(&all) && !other).then_some(all)
        })
    }
}

/// The contents of the brackets in a text.
fn bracket_contents(form: Option<&Regex>, text: &str) -> Vec<String> {
    let found = form.into_iter().flat_map(|it| it.captures_iter(text));
    found
        .filter_map(|it| Some(it.get(1)?.as_str().to_owned()))
        .collect()
}

/// Whether a number in parentheses belongs to a list in the sentence (`(1) this and (2) that`) or
/// to something that is not a work.
fn is_enumeration(before: &str, after: &str, sentence: &str) -> bool {
    let mut words = before.rsplit(|it: char| !it.is_alphanumeric() && it != '.');
    let word = words.next().unwrap_or_default().to_lowercase();
    let other = NON_CITATION_WORDS.contains(&word.trim_end_matches('.'));
    let heads = |text: &str| {
        let rest = text.trim_start();
        rest.len() < text.len() && rest.starts_with(char::is_alphabetic)
    };
    let counted = |number: &str| {
        let mut places = sentence.match_indices(number);
        places.any(|(at, it)| sentence.get(at + it.len()..).is_some_and(heads))
    };
    let opens = before.is_empty() || before.ends_with([':', ';', ',']);
    other || (heads(after) && (opens || (counted("(1)") && counted("(2)"))))
}

/// Converts superscript digits to plain ones.
fn superscript_to_digits(figures: &str) -> String {
    const SUPERSCRIPT_DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let lower = |it: char| match SUPERSCRIPT_DIGITS
        .iter()
        .zip('0'..='9')
        .find(|(raised, _)| **raised == it)
    {
        Some((_, figure)) => figure,
        None if it == '⁻' => '-',
        None if it == '˒' => ',',
        None => it,
    };
    figures.chars().map(lower).collect()
}

/// Parses the numbers of a bracket up to a note, `3, 10–14, p. 5`, and again after a semicolon.
fn parse_ranges(inside: &str) -> Vec<RangeInclusive<u32>> {
    let lower = inside.trim().to_lowercase();
    let lead = LEAD_INS.iter().find_map(|it| lower.strip_prefix(it));
    let numbers = lead.unwrap_or(&lower).trim_start_matches([',', ' ']);
    let groups = numbers.split(';');
    groups
        .flat_map(|group| group.split(',').map_while(parse_range))
        .collect()
}

/// Parses `12` or `10–14`.
fn parse_range(part: &str) -> Option<RangeInclusive<u32>> {
    let mut ends = part.split(['–', '—', '-']).map(|it| {
        let figures = it.trim();
        figures.parse::<u32>().ok().filter(|_| figures.len() <= 4)
    });
    match (ends.next(), ends.next(), ends.next()) {
        (Some(Some(one)), None, _) => Some(one..=one),
        (Some(Some(from)), Some(Some(to)), None) => Some(from..=to),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<DocumentReference> {
        let entry = |number: u32| DocumentReference {
            label: Some(number.to_string()),
            ..DocumentReference::default()
        };
        (1..=14).map(entry).collect()
    }

    fn cites(body: &str, sentence: &str, wanted: u32) -> bool {
        NumericMarker::from_text(&entries(), [body].into_iter()).cites(sentence, wanted)
    }

    #[test]
    fn square_brackets_have_numbers_ranges_and_notes() {
        for sentence in [
            "As in [12].",
            "As in [ 12 ].",
            "see [3, 12]",
            "[10–14] say so",
            "[10-12]",
            "[10]–[14]",
            "see [3, 12, p. 44]",
            "see [12, Theorem 3]",
            "[see 12, pp. 3–9; 13]",
        ] {
            assert!(cites(sentence, sentence, 12), "{sentence}");
        }
        for sentence in [
            "[112]",
            "[1, 2]",
            "[13-20]",
            "12 mice",
            "[3, p. 12]",
            "[Smith, 12]",
        ] {
            assert!(!cites("[1]", sentence, 12), "{sentence}");
        }
    }

    #[test]
    fn round_brackets_and_raised_figures_count_where_there_are_no_square_ones() {
        for sentence in [
            "Others found the same (1).",
            "Moisture matters most (1,2).",
            "It is known (refs. 1–3) since long.",
            "Peat burns below 118 percent.¹",
            "Peat burns¹,² and smoulders.",
            "Peat burns¹⁻³ and smoulders.",
            "Peat burns.1,2 ",
            "As Smith et al.1 found",
            "Peat burns^1 and smoulders.",
            "Peat burns.<sup>1</sup>",
        ] {
            assert!(cites(sentence, sentence, 1), "{sentence}");
            assert!(!cites("It burns [3].", sentence, 1), "{sentence}");
            assert!(!cites(sentence, sentence, 14), "{sentence}");
        }
    }

    #[test]
    fn what_else_is_numbered_is_no_citation() {
        for sentence in [
            "By equation (2) it grows.",
            "As in Fig. (2), it grows.",
            "We measured (1) height and (2) weight.",
            "(2) It grows.",
            "An area of 20 cm² and 3 m².",
            "It follows that sin² x is small.",
            "About 10² of them.",
            "Fig.2 shows it.",
            "In (2019) it grew.",
            "In (2, 99) it grew.",
        ] {
            assert!(!cites("", sentence, 2), "{sentence}");
        }
    }
}
