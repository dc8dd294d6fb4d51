//! Text to tokens, in one pass and in linear time: quotes first, operators second, all else data.
//! Every byte is in exactly one token, blanks included.
//!
//! Judges nothing: what must not stand where it stands is the parser's to say.

mod cursor;
mod data;
mod gate;
mod marks;
mod start;

pub(crate) use marks::style_name;
pub(crate) use start::bad_id_offset;

use cursor::Cursor;

use crate::{quote::Quotes, span::Span};

/// A piece of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
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
pub fn tokens(text: &str) -> Vec<Token> {
    let mut scanner = Scanner::new(text, Place::Start);
    scanner.run();
    scanner.tokens
}

/// The tokens of raw argument text, where nothing is an operator.
pub(crate) fn data_tokens(text: &str) -> Vec<Token> {
    let mut scanner = Scanner::new(text, Place::Args);
    scanner.plain = true;
    scanner.run();
    scanner.tokens
}

/// Where in a step the scanner stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the id.
    Start,
    /// After the id, before any argument.
    AfterId,
    /// In the arguments or behind them.
    Args,
}

/// Which part of a conditional the scanner stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Branch {
    None,
    Then,
    Else,
}

struct Scanner<'a> {
    text: Cursor<'a>,
    quotes: Quotes<'a>,
    tokens: Vec<Token>,
    place: Place,
    branch: Branch,
    /// Whether a `?` may open a stage here.
    stage_start: bool,
    /// Tokens that are repeats if no argument follows them, and data otherwise.
    undecided: Vec<usize>,
    plain: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, place: Place) -> Self {
        Self {
            text: Cursor::new(text),
            quotes: Quotes::new(text),
            tokens: Vec::new(),
            place,
            branch: Branch::None,
            stage_start: true,
            undecided: Vec::new(),
            plain: false,
        }
    }

    fn run(&mut self) {
        loop {
            let at = self.text.at();
            if self.text.is_done() {
                return;
            }
            let blank = self.text.blank_end(at);
            if blank > at {
                self.push(TokenKind::Blank, blank);
            } else if let Some(kind) = self.arrow() {
                self.push(kind, at + 3);
                self.open_stage();
            } else if self.place == Place::Start {
                self.before_id();
            } else {
                self.after_id();
            }
        }
    }

    fn arrow(&self) -> Option<TokenKind> {
        if self.plain {
            return None;
        }
        self.text.arrow(self.text.at())
    }

    fn open_stage(&mut self) {
        self.place = Place::Start;
        self.branch = Branch::None;
        self.stage_start = true;
    }

    /// Adds a token up to `end` and moves there.
    fn push(&mut self, kind: TokenKind, end: usize) {
        if kind.is_data() {
            self.settle(TokenKind::Text);
            self.place = Place::Args;
        } else if kind != TokenKind::Blank {
            self.settle(TokenKind::Repeat);
        }
        let span = Span::new(self.text.at(), end);
        self.tokens.push(Token { kind, span });
        self.text.go(end);
    }

    fn settle(&mut self, kind: TokenKind) {
        for at in self.undecided.drain(..) {
            if let Some(token) = self.tokens.get_mut(at) {
                token.kind = kind;
            }
        }
    }

    /// Whether what stands here is at the start of a word.
    fn at_word_start(&self) -> bool {
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
