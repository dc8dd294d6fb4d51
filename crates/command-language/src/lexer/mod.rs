//! The lexer: splits the text into tokens in one pass and in linear time. Quotes are recognized
//! first, then operators; everything else is data. Every byte, blanks included, is in exactly one
//! token.
//!
//! The lexer reports no errors: the parser rejects tokens that are not allowed where they are.

mod annotations;
mod arguments;
mod cursor;
mod gate;
mod step_start;

pub(crate) use annotations::style_name;
pub(crate) use step_start::bad_id_offset;

use cursor::LexerCursor;

use crate::{quote::QuoteFinder, span::Span};

/// A token: a kind and its span in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandToken {
    pub kind: TokenKind,
    pub span: Span,
}

/// The kind of a token.
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
    /// A single `>` where `>>` is required.
    SingleAngle,
    /// The id of a prompt.
    Id,
    /// A word where an id is required that cannot be one.
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
    /// An unquoted word after `::`.
    GateWord,
    /// A word and its colon after `::`, before a quoted text.
    GateName,
    /// An option after `verify:"…"`, such as `:fast` or `max:3`.
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
    /// Unquoted argument text.
    Text,
    /// An opening quote that is never closed, where only a quoted text is allowed.
    Unclosed,
}

impl TokenKind {
    /// Returns whether the token is argument data.
    pub(crate) fn is_data(self) -> bool {
        matches!(
            self,
            Self::Json | Self::Quoted | Self::Name | Self::Sign | Self::Text
        )
    }
}

/// Splits a command into tokens whose spans, in order, cover the text.
pub fn tokenize(text: &str) -> Vec<CommandToken> {
    let mut scanner = CommandLexer::new(text, StepPosition::Start);
    scanner.run();
    scanner.tokens
}

/// Splits raw argument text into tokens; nothing in it is an operator.
pub(crate) fn tokenize_arguments(text: &str) -> Vec<CommandToken> {
    let mut scanner = CommandLexer::new(text, StepPosition::Args);
    scanner.arguments_only = true;
    scanner.run();
    scanner.tokens
}

/// The position of the lexer in a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepPosition {
    /// Before the id.
    Start,
    /// After the id, before any argument.
    AfterId,
    /// In the arguments or after them.
    Args,
}

/// The position of the lexer in a conditional.
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
    /// Whether a `?` may start a stage here.
    stage_start: bool,
    /// Indexes of tokens that are repeats if no argument follows them, and data otherwise.
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

    /// Adds a token that ends at `end` and moves the cursor there.
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

    /// Returns whether the cursor is at the start of a word.
    fn is_at_word_start(&self) -> bool {
        self.tokens
            .last()
            .is_none_or(|last| last.kind == TokenKind::Blank)
    }

    /// Returns the kind of the last token that is not blank.
    fn last_kind(&self) -> Option<TokenKind> {
        self.tokens
            .iter()
            .rev()
            .map(|token| token.kind)
            .find(|kind| *kind != TokenKind::Blank)
    }
}
