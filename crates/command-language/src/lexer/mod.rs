//! Text to tokens, in one pass and in linear time: quotes first, operators second, all else data.
//! Every byte is in exactly one token, blanks included.
//!
//! Judges nothing: what must not stand where it stands is the parser's to say.

mod annotations;
mod arguments;
mod cursor;
mod gate;
mod step_start;

pub(crate) use annotations::style_name;
pub(crate) use step_start::bad_id_offset;

use cursor::LexerCursor;

use crate::{quote::QuoteFinder, span::Span};

/// A piece of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandToken {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// White space.
    Blank,
    /// `-->`
    Chain,
    /// `==>`
    Delegate,
    /// `+` between steps.
    Plus,
    /// `?` before a condition.
    Question,
    /// The quoted text after `?`.
    Condition,
    /// `:` of a conditional.
    Colon,
    /// `>>` or `/` before a prompt's id.
    Reference,
    /// A single `>` where `>>` belongs.
    SingleAngle,
    /// A prompt's id.
    Id,
    /// Something else where an id belongs.
    BadId,
    /// `%name`
    Modifier,
    /// `@name`
    Framework,
    /// `#name`
    Style,
    /// `::`
    Gate,
    /// A quoted text after `::`.
    Criterion,
    /// `,` or `;` between criteria.
    Separator,
    /// A bare word after `::`.
    GateWord,
    /// A word and its colon after `::`, before a quoted text.
    GateName,
    /// `:fast`, `max:3` and the like after `verify:"…"`.
    VerifyOption,
    /// `* N`
    Repeat,
    /// A JSON object as arguments.
    Json,
    /// A quoted value or word.
    Quoted,
    /// The name of a pair.
    Name,
    /// `:` or `=` of a pair.
    Sign,
    /// Bare argument text.
    Text,
    /// A mark that opens a quote, never closed, where only a quote can stand.
    Unclosed,
}

impl TokenKind {
    /// Whether it is argument data.
    pub(crate) fn is_data(self) -> bool {
        matches!(
            self,
            Self::Json | Self::Quoted | Self::Name | Self::Sign | Self::Text
        )
    }
}

/// The tokens of a command. Their spans, in order, cover the text.
pub fn tokenize(text: &str) -> Vec<CommandToken> {
    let mut scanner = CommandLexer::new(text, StepPosition::Start);
    scanner.run();
    scanner.tokens
}

/// The tokens of raw argument text, where nothing is an operator.
pub(crate) fn tokenize_arguments(text: &str) -> Vec<CommandToken> {
    let mut scanner = CommandLexer::new(text, StepPosition::Args);
    scanner.arguments_only = true;
    scanner.run();
    scanner.tokens
}

/// Where in a step the scanner stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepPosition {
    /// Before the id.
    Start,
    /// After the id, before any argument.
    AfterId,
    /// In the arguments or behind them.
    Args,
}

/// Which part of a conditional the scanner stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConditionalBranch {
    None,
    Then,
    Else,
}

struct CommandLexer<'a> {
    cursor: LexerCursor<'a>,
    quotes: QuoteFinder<'a>,
    tokens: Vec<CommandToken>,
    position: StepPosition,
    branch: ConditionalBranch,
    /// Whether a `?` may open a stage here.
    stage_start: bool,
    /// Tokens that are repeats if no argument follows them, and data otherwise.
    undecided_repeats: Vec<usize>,
    arguments_only: bool,
}

impl<'a> CommandLexer<'a> {
    fn new(text: &'a str, position: StepPosition) -> Self {
        Self {
            cursor: LexerCursor::new(text),
            quotes: QuoteFinder::new(text),
            tokens: Vec::new(),
            position,
            branch: ConditionalBranch::None,
            stage_start: true,
            undecided_repeats: Vec::new(),
            arguments_only: false,
        }
    }

    fn run(&mut self) {
        loop {
            let at = self.cursor.position();
            if self.cursor.is_at_end() {
                return;
            }
            let blank = self.cursor.blank_end(at);
            if blank > at {
                self.push(TokenKind::Blank, blank);
            } else if let Some(kind) = self.current_arrow() {
                self.push(kind, at + 3);
                self.start_stage();
            } else if self.position == StepPosition::Start {
                self.scan_before_id();
            } else {
                self.scan_after_id();
            }
        }
    }

    fn current_arrow(&self) -> Option<TokenKind> {
        if self.arguments_only {
            return None;
        }
        self.cursor.arrow_at(self.cursor.position())
    }

    fn start_stage(&mut self) {
        self.position = StepPosition::Start;
        self.branch = ConditionalBranch::None;
        self.stage_start = true;
    }

    /// Adds a token up to `end` and moves there.
    fn push(&mut self, kind: TokenKind, end: usize) {
        if kind.is_data() {
            self.resolve_undecided_repeats(TokenKind::Text);
            self.position = StepPosition::Args;
        } else if kind != TokenKind::Blank {
            self.resolve_undecided_repeats(TokenKind::Repeat);
        }
        let span = Span::new(self.cursor.position(), end);
        self.tokens.push(CommandToken { kind, span });
        self.cursor.move_to(end);
    }

    fn resolve_undecided_repeats(&mut self, kind: TokenKind) {
        for at in self.undecided_repeats.drain(..) {
            if let Some(token) = self.tokens.get_mut(at) {
                token.kind = kind;
            }
        }
    }

    /// Whether what stands here is at the start of a word.
    fn is_at_word_start(&self) -> bool {
        self.tokens
            .last()
            .is_none_or(|last| last.kind == TokenKind::Blank)
    }

    /// The last token that is not blank.
    fn last_kind(&self) -> Option<TokenKind> {
        self.tokens
            .iter()
            .rev()
            .map(|token| token.kind)
            .find(|kind| *kind != TokenKind::Blank)
    }
}
