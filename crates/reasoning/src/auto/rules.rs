//! The clear cases, decided without asking anyone. Words are compared, never parts of words, and
//! whatever is not clear is left to the router.

use std::collections::BTreeMap;

use deliberate_core::cut_to_chars;

use super::choice::Choice;

/// What a wish that was said in words is worth, and a mode that was named.
const OF_A_WISH: f64 = 0.85;
const OF_A_NAME: f64 = 0.95;
const OF_PLAIN_THINGS: f64 = 0.9;
/// What the content points to besides.
pub(super) const OF_OTHERS: f64 = 0.5;

/// What is longer than this is never plain.
const PLAIN_CHARS: usize = 60;

/// A negation this many words before a wish turns it around.
const NEGATION_REACH: usize = 4;

/// A verb and what it is done to stand no farther apart than this.
const OBJECT_REACH: usize = 5;

/// What the rules say.
#[derive(Debug, PartialEq)]
pub(super) struct Ruling {
    pub(super) choice: Choice,
    pub(super) confidence: f64,
    pub(super) rationale: String,
    /// What the content points to besides, and by what.
    pub(super) others: Vec<(Choice, String)>,
}

/// How a wish is said.
enum Pattern {
    /// These words, one after the other.
    Words(&'static str),
    /// One of the first words, and one of the second soon after it.
    Near(&'static [&'static str], &'static [&'static str]),
}
use Pattern::{Near, Words};

/// What is judged when reasoning is judged.
const REASONING: &[&str] = &[
    "reasoning",
    "argument",
    "arguments",
    "logic",
    "thinking",
    "conclusion",
    "conclusions",
    "rationale",
    "proof",
    "hypothesis",
    "analysis",
];

const WISHES: &[(Choice, &[Pattern])] = &[
    (
        Choice::Divergent,
        &[
            Words("brainstorm"),
            Words("brainstorming"),
            Words("unconventional"),
            Words("outside the box"),
            Words("be creative"),
            Words("think creatively"),
            Near(
                &[
                    "creative", "novel", "original", "wild", "fresh", "new", "crazy",
                ],
                &["ideas", "perspectives", "angles"],
            ),
            Near(
                &["creative", "novel"],
                &["solutions", "approaches", "ways", "uses"],
            ),
            Words("different perspectives"),
            Words("challenge assumptions"),
            Words("challenge the assumptions"),
            Words("challenge my assumptions"),
        ],
    ),
    (
        Choice::Tree,
        &[
            Words("compare"),
            Words("comparing"),
            Words("pros and cons"),
            Words("trade offs"),
            Words("trade off"),
            Words("tradeoffs"),
            Words("tradeoff"),
            Words("alternatives"),
            Words("which option"),
            Words("best option"),
            Words("options are"),
            Words("weigh options"),
            Words("my options"),
            Words("our options"),
            Words("these options"),
            Words("several options"),
            Words("different options"),
            Words("possible options"),
            Words("what options"),
        ],
    ),
    (
        Choice::Reflection,
        &[
            Near(
                &[
                    "evaluate",
                    "review",
                    "critique",
                    "assess",
                    "check",
                    "examine",
                    "scrutinize",
                    "scrutinise",
                    "criticize",
                    "criticise",
                ],
                REASONING,
            ),
            Near(&["flaws", "holes", "gaps", "weaknesses"], REASONING),
            Words("critique my"),
            Words("critique this"),
            Words("critique the following"),
            Words("reflect on my"),
            Words("reflect on this"),
            Words("is my reasoning"),
        ],
    ),
    (
        Choice::Got,
        &[
            Words("interconnected"),
            Words("interdependent"),
            Words("interacting factors"),
            Words("complex system"),
            Words("complex systems"),
            Words("graph of thoughts"),
            Near(
                &[
                    "combine",
                    "combining",
                    "merge",
                    "merging",
                    "integrate",
                    "synthesize",
                    "synthesise",
                ],
                &["insights", "ideas", "findings", "perspectives", "thoughts"],
            ),
        ],
    ),
    (
        Choice::Linear,
        &[
            Words("step by step"),
            Words("prove that"),
            Words("prove the"),
            Words("prove it"),
            Words("prove by"),
            Words("derive the"),
            Words("derive a"),
            Words("derive an"),
            Words("calculate"),
            Words("solve for"),
        ],
    ),
];

/// What turns a wish around.
const NEGATIONS: &[&str] = &[
    "not", "no", "don't", "dont", "never", "without", "avoid", "stop", "rather", "instead",
    "isn't", "doesn't", "won't", "needn't",
];

/// What may stand around the name of a mode in a hint.
const FILLERS: &[&str] = &[
    "use",
    "try",
    "prefer",
    "the",
    "a",
    "mode",
    "reasoning",
    "please",
    "with",
    "in",
    "tool",
    "do",
];

/// Decides, if it is clear. `may_return` says whether there is a checkpoint to return to.
pub(super) fn decide(content: &str, hints: &[String], may_return: bool) -> Option<Ruling> {
    let wishes = wishes(content);
    let mut named = BTreeMap::new();
    let mut unclear = false;
    let mut hinted = BTreeMap::new();
    for hint in hints {
        match named_by(hint) {
            Some(Choice::Backtracking) if !may_return => unclear = true,
            Some(choice) => {
                named.insert(choice, hint);
            }
            None => match self::wishes(hint) {
                Wishes::Said(said) if !said.is_empty() => hinted.extend(said),
                _ => unclear = true,
            },
        }
    }
    let others = |but: Choice| match &wishes {
        Wishes::Said(said) => said
            .iter()
            .filter(|(choice, _)| **choice != but)
            .map(|(choice, words)| (*choice, asks_for(words)))
            .collect(),
        Wishes::Unclear => Vec::new(),
    };
    // Who names a mode has decided; two names are no decision.
    if let (1, Some((choice, hint))) = (named.len(), named.first_key_value()) {
        return Some(Ruling {
            choice: *choice,
            confidence: OF_A_NAME,
            rationale: format!("The hint \"{}\" names it.", cut_to_chars(hint.trim(), 60)),
            others: others(*choice),
        });
    }
    if unclear || !named.is_empty() {
        return None;
    }
    let plain = hints.is_empty().then(|| plain(content)).flatten();
    if let Some(why) = plain {
        return Some(Ruling {
            choice: Choice::Direct,
            confidence: OF_PLAIN_THINGS,
            rationale: format!("{why}; no reasoning tool is needed."),
            others: Vec::new(),
        });
    }
    let Wishes::Said(mut said) = wishes else {
        return None;
    };
    said.extend(hinted);
    // A question for what something is may hold any word.
    if asks_what_it_is(content) {
        return None;
    }
    match (said.len(), said.first_key_value()) {
        (1, Some((choice, words))) => Some(Ruling {
            choice: *choice,
            confidence: OF_A_WISH,
            rationale: asks_for(words),
            others: Vec::new(),
        }),
        _ => None,
    }
}

fn asks_for(words: &str) -> String {
    format!("The content asks for it: \"{words}\".")
}

/// The wishes a text says.
enum Wishes {
    /// Each with the words that say it.
    Said(BTreeMap<Choice, String>),
    /// One is turned around, so there is more to it than words.
    Unclear,
}

fn wishes(text: &str) -> Wishes {
    let words = words(text);
    let mut said = BTreeMap::new();
    for (choice, patterns) in WISHES {
        for pattern in *patterns {
            for (at, matched) in pattern.found(&words) {
                let before = words.get(at.saturating_sub(NEGATION_REACH)..at);
                let negated = before
                    .unwrap_or_default()
                    .iter()
                    .any(|word| NEGATIONS.contains(&word.as_str()));
                if negated {
                    return Wishes::Unclear;
                }
                said.entry(*choice).or_insert(matched);
            }
        }
    }
    Wishes::Said(said)
}

impl Pattern {
    /// Where it is found, and as which words.
    fn found(&self, words: &[String]) -> Vec<(usize, String)> {
        match self {
            Words(phrase) => {
                let phrase: Vec<&str> = phrase.split(' ').collect();
                let windows = words.windows(phrase.len()).enumerate();
                windows
                    .filter(|(_, window)| *window == phrase.as_slice())
                    .map(|(at, window)| (at, window.join(" ")))
                    .collect()
            }
            Near(firsts, seconds) => {
                let starts = words.iter().enumerate();
                starts
                    .filter(|(_, word)| firsts.contains(&word.as_str()))
                    .filter_map(|(at, first)| {
                        let after = words.iter().skip(at + 1).take(OBJECT_REACH);
                        let mut seconds_there =
                            after.filter(|word| seconds.contains(&word.as_str()));
                        Some((at, format!("{first} … {}", seconds_there.next()?)))
                    })
                    .collect()
            }
        }
    }
}

/// The words of a text: letters, digits and apostrophes, in lower case.
fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '’'))
        .map(|word| word.replace('’', "'").trim_matches('\'').to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The mode a hint names: its name, with nothing around it but fillers.
fn named_by(hint: &str) -> Option<Choice> {
    let words = words(hint);
    let told: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !FILLERS.contains(word))
        .collect();
    match told.as_slice() {
        ["graph", "of", "thoughts"] | ["graph"] => Some(Choice::Got),
        ["backtrack"] => Some(Choice::Backtracking),
        ["reflect"] => Some(Choice::Reflection),
        [name] => Choice::ALL.into_iter().find(|it| it.as_str() == *name),
        _ => None,
    }
}

/// Why something needs no reasoning, if it clearly needs none.
fn plain(content: &str) -> Option<&'static str> {
    let content = content.trim();
    if content.chars().count() > PLAIN_CHARS || content.contains('\n') {
        return None;
    }
    let words = words(content);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if is_greeting(&words) {
        Some("A greeting")
    } else if is_arithmetic(content) {
        Some("Simple arithmetic")
    } else if is_fact(&words) {
        Some("A plain question for a fact")
    } else {
        None
    }
}

fn is_greeting(words: &[&str]) -> bool {
    const GREETS: &[&str] = &[
        "hi",
        "hello",
        "hey",
        "thanks",
        "thank",
        "bye",
        "goodbye",
        "morning",
        "evening",
        "afternoon",
        "night",
    ];
    const ALONG: &[&str] = &[
        "good", "there", "you", "all", "everyone", "again", "so", "much", "very", "and",
    ];
    words.iter().any(|word| GREETS.contains(word))
        && words
            .iter()
            .all(|word| GREETS.contains(word) || ALONG.contains(word))
}

/// A few numbers with signs between them, and nothing else but the usual words before.
fn is_arithmetic(content: &str) -> bool {
    const MOST_SIGNS: usize = 4;
    let text = content.to_lowercase();
    let mut rest = text.trim();
    for opening in ["what is", "what's", "how much is", "calculate", "compute"] {
        if let Some(after) = rest.strip_prefix(opening) {
            rest = after;
            break;
        }
    }
    let rest = rest.trim().trim_end_matches(['?', '=', '.', '!', ' ']);
    let is_sign = |letter: char| matches!(letter, '+' | '-' | '−' | '*' | '×' | '/' | '÷' | '^');
    let signs = rest
        .trim_start_matches(['-', '−'])
        .chars()
        .filter(|it| is_sign(*it))
        .count();
    let is_date_or_phone = !rest.contains(' ')
        && !rest.contains(['+', '*', '×', '÷', '^', '(', '−'])
        && (signs > 1 || rest.chars().filter(char::is_ascii_digit).count() > 6);
    let allowed = |letter: char| {
        letter.is_ascii_digit() || is_sign(letter) || matches!(letter, ' ' | '.' | ',' | '(' | ')')
    };
    rest.starts_with(|it: char| it.is_ascii_digit() || matches!(it, '(' | '-' | '−'))
        && rest.ends_with(|it: char| it.is_ascii_digit() || it == ')')
        && rest.chars().all(allowed)
        && (1..=MOST_SIGNS).contains(&signs)
        && !is_date_or_phone
}

/// Questions that a look into a book answers, and only in forms that can't be much else.
fn is_fact(words: &[&str]) -> bool {
    /// Words that ask for thought, however short the question.
    const THOUGHTFUL: &[&str] = &[
        "why", "should", "would", "could", "best", "better", "if", "or", "explain", "because",
        "ideal", "optimal", "right", "wrong",
    ];
    const OF: &[&str] = &[
        "capital",
        "population",
        "currency",
        "area",
        "height",
        "length",
        "plural",
        "opposite",
        "synonym",
        "definition",
        "meaning",
        "symbol",
        "abbreviation",
    ];
    const DID: &[&str] = &[
        "wrote",
        "invented",
        "painted",
        "discovered",
        "composed",
        "directed",
        "founded",
    ];
    if words.iter().any(|word| THOUGHTFUL.contains(word)) {
        return false;
    }
    match words {
        ["what", "is", "the", what, "of", _, ..] | ["what's", "the", what, "of", _, ..] => {
            OF.contains(what)
        }
        ["who", did, _, ..] => DID.contains(did),
        ["when", "was", .., end] => matches!(*end, "born" | "founded" | "built" | "invented"),
        ["how", "do", "you", "spell", _] => true,
        _ => false,
    }
}

/// Whether a short text only asks what something is.
fn asks_what_it_is(content: &str) -> bool {
    let words = words(content);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["what", "is" | "are", "my" | "our" | "these", ..] => false,
        ["what", "is" | "are", ..] | ["what's", ..] => words.len() <= 5,
        ["what", "does", .., "mean"] | ["define", ..] => words.len() <= 8,
        _ => false,
    }
}

/// How complex a text looks: its length, its questions, its sentences and clauses, from 0 to 1.
pub(super) fn complexity(content: &str) -> f64 {
    const MANY_WORDS: f64 = 250.0;
    const MANY_PARTS: f64 = 20.0;
    const MANY_QUESTIONS: f64 = 4.0;
    let count = |marks: &[char]| content.chars().filter(|it| marks.contains(it)).count() as f64;
    let length = (words(content).len() as f64 / MANY_WORDS).min(1.0);
    let parts = (count(&[',', ';', ':', '.', '\n', '，', '。', '；', '、']) / MANY_PARTS).min(1.0);
    let questions = (count(&['?', '？', '؟']) / MANY_QUESTIONS).min(1.0);
    let sum = 0.5 * length + 0.3 * parts + 0.2 * questions;
    (sum * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(content: &str) -> Option<&'static str> {
        decide(content, &[], false).map(|ruling| ruling.choice.as_str())
    }

    fn hinted(content: &str, hints: &[&str], may_return: bool) -> Option<&'static str> {
        let hints: Vec<String> = hints.iter().map(|hint| (*hint).to_owned()).collect();
        decide(content, &hints, may_return).map(|ruling| ruling.choice.as_str())
    }

    #[test]
    fn clear_cases_are_decided() {
        for (content, expected) in [
            ("Hello!", "direct"),
            ("good morning everyone", "direct"),
            ("Thank you so much", "direct"),
            ("2+2", "direct"),
            ("What is 17 * 23?", "direct"),
            ("how much is (3 + 4) / 2 =", "direct"),
            ("-5 - 3", "direct"),
            ("7/2", "direct"),
            ("What is the capital of France?", "direct"),
            ("Who wrote Middlemarch?", "direct"),
            ("When was Ada Lovelace born?", "direct"),
            ("Brainstorm names for a cat café", "divergent"),
            (
                "I need some really creative ideas for a birthday",
                "divergent",
            ),
            (
                "Give me novel approaches to teaching fractions",
                "divergent",
            ),
            (
                "Find an UNCONVENTIONAL way to cool a server room",
                "divergent",
            ),
            ("Compare PostgreSQL and SQLite for a small shop", "tree"),
            (
                "What are the pros and cons of moving abroad for my family?",
                "tree",
            ),
            (
                "Discuss the trade-offs between speed and safety here",
                "tree",
            ),
            ("Tell me about alternatives to plastic packaging", "tree"),
            (
                "Review my reasoning: all swans I saw were white, so all are",
                "reflection",
            ),
            (
                "Assess this argument: it rained, hence the street is wet",
                "reflection",
            ),
            (
                "Please critique the following: we should ship on Friday",
                "reflection",
            ),
            (
                "Find the flaws in my argument about rent control",
                "reflection",
            ),
            (
                "There are many interconnected factors behind the decline",
                "got",
            ),
            ("Combine the insights of these three reports", "got"),
            ("Model the city's traffic as a complex system", "got"),
            ("Prove that the square root of 2 is irrational", "linear"),
            ("Derive the formula for compound interest", "linear"),
            (
                "Solve this puzzle step by step: three doors, one prize",
                "linear",
            ),
            (
                "Calculate the monthly rate of a loan of 20000 over 5 years",
                "linear",
            ),
        ] {
            assert_eq!(choice(content), Some(expected), "{content}");
        }
    }

    #[test]
    fn what_is_not_clear_is_left_to_the_router() {
        for content in [
            // Parts of words, and words that mean something else.
            "Rewrite this paragraph about photography",
            "I am reading a novel set in Lisbon, and it puzzles me",
            "Evaluate the integral of x squared from 0 to 1",
            "Kant's Critique of Pure Reason and its reception",
            "How does pricing of stock options work?",
            "This may prove useful later on, who knows",
            "An incomparable evening in the gothic quarter",
            // Two wishes.
            "Brainstorm ideas and compare them",
            "Prove that these options are equivalent",
            // Turned around.
            "Do not compare the two, just tell me what happened",
            "No brainstorming please, one plan is enough",
            "Don’t prove that it works",
            // A question for what something is.
            "What is a complex system?",
            "Define brainstorming",
            // Short, and not plain.
            "Why?",
            "Should I quit my job?",
            "Is P equal to NP?",
            "Who is right?",
            "What is the best capital of a fund?",
            "hi, my server is down",
            "fix it",
            "1-1-1-1-1-1-1",
            "2024-01-15",
            "1/2/2024",
            "555-1234567",
            "x + 1",
            "…",
            "🙂",
            // Other languages.
            "为什么天空是蓝色的？",
            "Vergleiche die beiden Ansätze",
            "Почему?",
        ] {
            assert_eq!(choice(content), None, "{content}");
        }
    }

    #[test]
    fn a_plain_question_is_short() {
        let long = format!("What is the capital of {}?", "far away ".repeat(10));
        assert_eq!(choice(&long), None);
        assert_eq!(choice("hello\nhello"), None);
    }

    #[test]
    fn a_hint_that_names_a_mode_decides() {
        for (hint, expected) in [
            ("tree", "tree"),
            ("Use divergent reasoning", "divergent"),
            ("reasoning_linear", "linear"),
            ("graph of thoughts", "got"),
            ("GoT", "got"),
            ("please reflect", "reflection"),
            ("direct", "direct"),
        ] {
            assert_eq!(
                hinted("Brainstorm names", &[hint], false),
                Some(expected),
                "{hint}"
            );
        }
    }

    #[test]
    fn what_the_content_wishes_beside_a_named_mode_is_an_alternative() {
        let ruling = decide("Brainstorm names", &["tree".to_owned()], false).unwrap();
        assert_eq!(ruling.choice, Choice::Tree);
        let others: Vec<_> = ruling.others.iter().map(|(choice, _)| *choice).collect();
        assert_eq!(others, [Choice::Divergent]);
    }

    #[test]
    fn a_hint_that_is_not_understood_leaves_it_to_the_router() {
        for hints in [
            &["I've got a deadline"][..],
            &["decision tree"],
            &["not tree"],
            &["keep it short"],
            &["tree", "divergent"],
            &["compare them"],
        ] {
            assert_eq!(hinted("Brainstorm names", hints, false), None, "{hints:?}");
        }
        assert_eq!(
            hinted("Brainstorm names", &["creative ideas"], false),
            Some("divergent")
        );
        assert_eq!(hinted("2+2", &["show your work"], false), None);
    }

    #[test]
    fn backtracking_needs_somewhere_to_return_to() {
        assert_eq!(hinted("go on", &["backtracking"], false), None);
        assert_eq!(
            hinted("go on", &["backtracking"], true),
            Some("backtracking")
        );
    }

    #[test]
    fn complexity_grows_with_the_text_and_stays_in_range() {
        let short = complexity("Why?");
        let middle = complexity(&"First this, then that; what follows? ".repeat(4));
        let long = complexity(&"First this, then that; what follows? ".repeat(400));
        assert!(short < middle && middle < long, "{short} {middle} {long}");
        assert!((0.0..=1.0).contains(&short) && (long - 1.0).abs() < f64::EPSILON);
        assert!(complexity("").abs() < f64::EPSILON);
    }
}
