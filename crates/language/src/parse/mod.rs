//! Tokens to a tree, with every fault at its place. Goes on after a fault where it can, so that
//! one reading shows more than one.

mod draft;
mod faults;
mod marks;
mod stages;

use draft::DraftStage;

use crate::{
    diagnostic::{Code, Diagnostic},
    limits::Limits,
    scan::{Token, TokenKind, tokens},
    span::Span,
    tree::{Args, Command, StageKind},
    wrapper,
};

/// More faults than this help nobody.
const MOST_FAULTS: usize = 20;

/// What was read.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The text all places point into: the one given, or the one a JSON wrapper held.
    pub source: String,
    /// The tree, or as much of it as could be read.
    pub command: Command,
    /// What is wrong; the tree may be used only if nothing is.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// Reads a command.
pub fn parse(text: &str, limits: &Limits) -> Parsed {
    match wrapper::open(text) {
        None => read(text, limits),
        Some(Ok(wrapped)) => {
            let mut parsed = read(&wrapped.command, limits);
            if let Some(args) = wrapped.args {
                give_first(&mut parsed.command, Args::json(args));
            }
            parsed
        }
        Some(Err(fault)) => Parsed {
            source: text.to_owned(),
            command: Command::default(),
            diagnostics: vec![*fault],
        },
    }
}

fn give_first(command: &mut Command, args: Args) {
    let Some(stage) = command.stages.first_mut() else {
        return;
    };
    let steps = match &mut stage.kind {
        StageKind::Group(steps) => steps,
        StageKind::Conditional { then, .. } => then,
    };
    if let Some(step) = steps.first_mut() {
        step.args = args;
    }
}

fn read(text: &str, limits: &Limits) -> Parsed {
    let (mut parsed, doubtful) = read_once(text, limits);
    // Text on both sides of a mark is joined; what came of it must still read as it did.
    if let Some(span) = doubtful
        && parsed.is_sound()
    {
        let (again, _) = read_once(&parsed.command.to_string(), limits);
        if !again.is_sound() || again.command != parsed.command {
            parsed.diagnostics.push(faults::split_text(span));
        }
    }
    parsed
}

/// The tree, and the place of text that stands behind a mark of its own step.
fn read_once(text: &str, limits: &Limits) -> (Parsed, Option<Span>) {
    let mut parser = Parser::new(text, limits);
    parser.stages();
    let doubtful = parser.doubtful;
    let (command, mut faults) = draft::finish(text, std::mem::take(&mut parser.drafts));
    let mut diagnostics = parser.faults;
    faults.truncate(MOST_FAULTS.saturating_sub(diagnostics.len()));
    diagnostics.append(&mut faults);
    let parsed = Parsed {
        source: text.to_owned(),
        command,
        diagnostics,
    };
    (parsed, doubtful)
}

struct Parser<'a> {
    text: &'a str,
    limits: &'a Limits,
    tokens: Vec<Token>,
    at: usize,
    drafts: Vec<DraftStage>,
    steps: usize,
    faults: Vec<Diagnostic>,
    halted: bool,
    doubtful: Option<Span>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, limits: &'a Limits) -> Self {
        let mut tokens = tokens(text);
        tokens.retain(|token| token.kind != TokenKind::Blank);
        Self {
            text,
            limits,
            tokens,
            at: 0,
            drafts: Vec::new(),
            steps: 0,
            faults: Vec::new(),
            halted: false,
            doubtful: None,
        }
    }

    fn peek(&self) -> Option<Token> {
        if self.halted {
            return None;
        }
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn take(&mut self, kind: TokenKind) -> Option<Token> {
        self.peek()
            .filter(|token| token.kind == kind)
            .inspect(|_| self.at += 1)
    }

    fn slice(&self, token: Token) -> &'a str {
        token.span.of(self.text)
    }

    /// The end of what was written, blanks behind it left out.
    fn end(&self) -> Span {
        let end = self.text.trim_end().len();
        Span::new(end, end)
    }

    /// Notes a fault, and gives up when there are enough.
    fn fault(&mut self, fault: Diagnostic) {
        if self.halted {
            return;
        }
        self.halted = self.faults.len() + 1 >= MOST_FAULTS || fault.code == Code::TooManySteps;
        self.faults.push(fault);
    }

    /// After a quote that never closes, nothing is what it seems.
    fn unclosed(&mut self, token: Token) {
        self.fault(faults::unclosed_quote(token.span));
        self.halted = true;
    }
}
