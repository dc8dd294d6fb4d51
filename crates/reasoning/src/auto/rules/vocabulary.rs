//! The words of the rules: how wishes are said, and what raises a doubt about them. Words are
//! compared, never parts of words; "trade-offs" are two words.

use crate::auto::mode_choice::ModeChoice;

/// How a wish is said.
pub(super) struct IntentPattern {
    pub(super) choice: ModeChoice,
    pub(super) verbs: &'static [&'static str],
    /// One of each of these follows, in this order, each within so many words.
    pub(super) objects: &'static [(usize, &'static [&'static str])],
    /// With one of these next, or with nothing or a pause; empty for anything.
    pub(super) followed_by: &'static [&'static str],
    /// With one of these anywhere it means something else.
    pub(super) unless: &'static [&'static [&'static str]],
    /// Whether words that make others hesitate are natural in it.
    pub(super) allows_negations: bool,
}

/// What most wishes have in common.
const DEFAULT_PATTERN: IntentPattern = IntentPattern {
    choice: ModeChoice::Linear,
    verbs: &[],
    objects: &[],
    followed_by: &[],
    unless: &[],
    allows_negations: false,
};

#[rustfmt::skip]
pub(super) const INTENT_PATTERNS: &[IntentPattern] = &[
    IntentPattern {
        choice: ModeChoice::Divergent,
        verbs: &["brainstorm"],
        objects: &[(3, &[
            "names", "ideas", "ways", "causes", "reasons", "solutions", "approaches", "uses",
            "titles", "topics", "themes", "slogans", "features", "questions",
        ])],
        unless: &[BRAINSTORM_NOUNS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Divergent,
        verbs: &[
            "brainstorm a", "brainstorm an", "brainstorm some", "brainstorm several",
            "brainstorm about", "brainstorm on", "brainstorm how", "brainstorm what",
            "brainstorm with me",
        ],
        unless: &[BRAINSTORM_NOUNS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Divergent,
        verbs: &[
            "come up with", "give me", "give us", "find", "suggest", "generate", "propose",
            "think of", "i need",
        ],
        objects: &[
            (3, &["creative", "novel", "unconventional", "unusual", "wild", "outlandish"]),
            (2, &["idea", "ideas", "way", "ways", "approaches", "solutions", "uses", "perspectives"]),
        ],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Divergent,
        verbs: &["challenge"],
        objects: &[
            (1, &["my", "our", "the", "these", "their"]),
            (2, &["assumption", "assumptions"]),
        ],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Divergent,
        verbs: &["think outside the box"],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Tree,
        verbs: &["weigh", "weigh up", "compare", "discuss", "explore", "analyze", "analyse"],
        objects: &[
            (3, &[
                "pros and cons", "trade offs", "tradeoffs", "trade off", "tradeoff",
                "advantages and disadvantages",
            ]),
            (1, &["of", "between"]),
        ],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Tree,
        verbs: &["weigh", "weigh up", "compare", "explore", "think through"],
        objects: &[(3, &[
            "my options", "our options", "these options", "several options", "different options",
            "my alternatives", "our alternatives", "several approaches", "different approaches",
        ])],
        followed_by: &["about", "for", "here", "on", "to", "regarding"],
        unless: &[CODE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Tree,
        verbs: &["compare"],
        objects: &[
            (3, &["and", "versus", "vs"]),
            (4, &["for a", "for an", "for this", "for my", "for our", "for their"]),
        ],
        unless: &[CODE_WORDS, LOOKUP_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Tree,
        verbs: &["use"],
        objects: &[(3, &["tree of thoughts"])],
        unless: &[CODE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Reflection,
        verbs: &[
            "critique", "evaluate", "review", "assess", "check", "examine", "scrutinize",
            "scrutinise", "criticize", "criticise", "reflect on",
        ],
        objects: &[(1, &["my", "our", "this", "the following"]), (2, REASONING_NOUNS)],
        followed_by: REASONING_QUALIFIERS,
        unless: &[CODE_WORDS, LANGUAGE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Reflection,
        verbs: &["find", "point out", "show me", "look for", "poke", "name"],
        objects: &[
            (3, &["flaw", "flaws", "holes", "gaps", "weaknesses", "fallacy", "fallacies"]),
            (2, &["my", "our", "this", "the following"]),
            (2, REASONING_NOUNS),
        ],
        followed_by: REASONING_QUALIFIERS,
        unless: &[CODE_WORDS, LANGUAGE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Got,
        verbs: &[
            "analyze", "analyse", "untangle", "map", "map out", "explore", "examine", "model",
            "think through",
        ],
        objects: &[
            (3, &["interconnected", "interdependent", "interacting", "interrelated", "intertwined"]),
            (2, &["factors", "causes", "effects", "forces", "drivers", "influences", "problems"]),
        ],
        unless: &[CODE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Got,
        verbs: &["use", "build", "make"],
        objects: &[(3, &["graph of thoughts"])],
        unless: &[CODE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        choice: ModeChoice::Linear,
        verbs: &["prove that", "prove by induction that", "prove by contradiction that"],
        // To prove something to someone is no proof.
        unless: &[&[
            "i", "i'm", "me", "my", "you", "you're", "your", "he", "his", "she", "her", "they",
            "them", "their", "we", "us", "our",
        ]],
        allows_negations: true,
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        verbs: &["derive"],
        objects: &[(3, &["formula", "equation", "equations", "identity", "theorem"])],
        unless: &[CODE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        verbs: &["solve for"],
        objects: &[(3, &["x", "y", "z", "n", "t"])],
        unless: &[CODE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        verbs: &["calculate", "compute"],
        objects: &[(3, &[
            "probability", "integral", "derivative", "determinant", "eigenvalues",
            "compound interest",
        ])],
        unless: &[CODE_WORDS],
        ..DEFAULT_PATTERN
    },
    IntentPattern {
        verbs: &["think", "reason", "solve", "work through"],
        objects: &[(3, &["step by step"])],
        unless: &[CODE_WORDS],
        ..DEFAULT_PATTERN
    },
];

/// Where a brainstorm is a thing.
#[rustfmt::skip]
const BRAINSTORM_NOUNS: &[&str] = &[
    "brainstorm is", "brainstorm was", "movie", "session", "sessions", "meeting", "meetings",
];

/// What is judged when reasoning is judged.
#[rustfmt::skip]
const REASONING_NOUNS: &[&str] = &[
    "reasoning", "line of reasoning", "argument", "arguments", "logic", "thinking", "conclusion",
    "conclusions", "hypothesis", "proof",
];

/// What goes on to say which reasoning; "proof of purchase" is none.
const REASONING_QUALIFIERS: &[&str] = &[
    "about", "against", "below", "for", "here", "on", "so", "that",
];

/// Where a verb is about data and programs.
#[rustfmt::skip]
const CODE_WORDS: &[&str] = &[
    "api", "array", "arrays", "bash", "branch", "circuit", "class", "code", "column", "columns",
    "csv", "excel", "file", "files", "function", "functions", "git", "grep", "java",
    "javascript", "json", "langchain", "list", "lists", "numpy", "parser", "parsing", "program",
    "python", "query", "regex", "repo", "rust", "script", "sheet", "spreadsheet", "sql", "string",
    "strings", "syntax", "table", "tar", "typescript", "utils", "variable", "variables",
];

/// Where something is only looked up or looked for.
#[rustfmt::skip]
const LOOKUP_WORDS: &[&str] = &[
    "both", "check", "find", "list", "look", "notes", "price", "prices", "return", "search", "show",
    "test", "these", "those", "two",
];

/// Where language is judged, and no reasoning.
#[rustfmt::skip]
const LANGUAGE_WORDS: &[&str] = &[
    "essay", "grammar", "paragraph", "section", "sentence", "spelling", "style", "tone", "typo",
    "typos", "wording",
];

/// What may stand before an instruction.
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

/// Work on a text or a program; what else is said is its material.
#[rustfmt::skip]
pub(super) const TEXT_TASK_VERBS: &[&str] = &[
    "code", "convert", "correct", "debug", "draft", "edit", "email", "explain", "fix", "format",
    "implement", "paraphrase", "proofread", "refactor", "rephrase", "reply", "respond", "rewrite",
    "shorten", "summarise", "summarize", "translate", "write",
];

/// What turns a wish around, or at least asks to look twice.
#[rustfmt::skip]
pub(super) const NEGATION_WORDS: &[&str] = &[
    "not", "no", "never", "nobody", "none", "nothing", "neither", "nor", "hardly", "without",
    "cannot", "cant", "dont", "avoid", "stop", "skip", "rather", "instead", "but", "however", "if",
    "unless", "waste of",
];

/// Words that point to a mode without asking for it. Beside a wish for another they make two.
#[rustfmt::skip]
pub(super) const MODE_SIGNALS: &[(ModeChoice, &[&str])] = &[
    (
        ModeChoice::Divergent,
        &["brainstorm", "brainstorming", "creative", "unconventional", "outside the box"],
    ),
    (
        ModeChoice::Tree,
        &[
            "compare", "comparing", "comparison", "pros and cons", "trade off", "trade offs",
            "tradeoff", "tradeoffs", "options", "alternatives", "versus", "vs", "weigh",
            "tree of thoughts",
        ],
    ),
    (
        ModeChoice::Reflection,
        &["critique", "critiquing", "evaluate", "flaws", "reflect on"],
    ),
    (
        ModeChoice::Got,
        &[
            "interconnected", "interdependent", "merge", "combine", "synthesize", "synthesise",
            "graph of thoughts",
        ],
    ),
    (
        ModeChoice::Linear,
        &["prove", "calculate", "compute", "derive", "solve", "step by step"],
    ),
];
