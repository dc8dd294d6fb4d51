//! The word lists of the rules: patterns of instructions, and words that raise a doubt. The rules
//! compare whole words, never parts of words; "trade-offs" are two words.

/// The pattern of an instruction that asks for a mode.
pub(crate) struct IntentPattern {
    pub(crate) verbs: &'static [&'static str],
    /// Groups of which one phrase each must follow, in this order, each within so many words.
    pub(crate) objects: &'static [(usize, &'static [&'static str])],
    /// The next word must be one of these, or a pause or the end; empty if any word may follow.
    pub(crate) followed_by: &'static [&'static str],
    /// If one of these occurs anywhere in the text, the instruction means something else.
    pub(crate) unless: &'static [&'static [&'static str]],
    /// Whether the pattern applies despite the `NEGATION_WORDS`.
    pub(crate) allows_negations: bool,
}

impl IntentPattern {
    /// The values that most patterns share; the base of struct updates.
    pub(crate) const DEFAULT: Self = Self {
        verbs: &[],
        objects: &[],
        followed_by: &[],
        unless: &[],
        allows_negations: false,
    };
}

/// Words that show that a verb is about data or programs.
#[rustfmt::skip]
pub(crate) const CODE_WORDS: &[&str] = &[
    "api", "array", "arrays", "bash", "branch", "circuit", "class", "code", "column", "columns",
    "csv", "excel", "file", "files", "function", "functions", "git", "grep", "java",
    "javascript", "json", "langchain", "list", "lists", "numpy", "parser", "parsing", "program",
    "python", "query", "regex", "repo", "rust", "script", "sheet", "spreadsheet", "sql", "string",
    "strings", "syntax", "table", "tar", "typescript", "utils", "variable", "variables",
];

/// Phrases that may precede an instruction.
pub(super) const INSTRUCTION_OPENERS: &[&str] = &[
    "please",
    "can you",
    "could you",
    "would you",
    "will you",
    "can we",
    "could we",
    "let's",
    "let us",
    "help me",
    "help us",
    "i want to",
    "i want you to",
    "i'd like to",
    "i'd like you to",
    "i would like to",
    "i would like you to",
    "we want to",
];

/// Verbs of work on a text or a program; the rest of such a content is its material.
#[rustfmt::skip]
pub(super) const TEXT_TASK_VERBS: &[&str] = &[
    "code", "convert", "correct", "debug", "draft", "edit", "email", "explain", "fix", "format",
    "implement", "paraphrase", "proofread", "refactor", "rephrase", "reply", "respond", "rewrite",
    "shorten", "summarise", "summarize", "translate", "write",
];

/// Words that reverse an instruction or at least make it doubtful.
#[rustfmt::skip]
pub(super) const NEGATION_WORDS: &[&str] = &[
    "not", "no", "never", "nobody", "none", "nothing", "neither", "nor", "hardly", "without",
    "cannot", "cant", "dont", "avoid", "stop", "skip", "rather", "instead", "but", "however", "if",
    "unless", "waste of",
];
