//! The parser: builds the tree from tokens and reports each error at its location. It continues
//! after an error where it can, so that one pass reports several errors.

mod annotations;
mod errors;
mod partial_tree;
mod stages;

use super::{
    ast::{CommandTree, StageKind, StepArgs},
    json_wrapper,
    lexer::{CommandToken, TokenKind, tokenize},
};
use crate::{
    diagnostic::{Diagnostic, DiagnosticCode},
    limits::CommandLimits,
    span::Span,
};
use partial_tree::PartialStage;

/// The maximum number of diagnostics per command: more would not help the user.
const MAX_DIAGNOSTICS: usize = 20;

/// The result of parsing: the tree and the errors found.
#[derive(Clone, Debug)]
pub struct ParsedCommand {
    /// The text that all spans refer to: the input, or the command inside a JSON wrapper.
    pub source: String,
    /// The tree, or the part of it that could be parsed.
    pub command: CommandTree,
    /// The errors; the tree may be used only if there are none.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParsedCommand {
    /// Returns whether there are no errors.
    pub fn is_valid(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// Parses a command, with or without a JSON wrapper.
pub fn parse(text: &str, limits: &CommandLimits) -> ParsedCommand {
    match json_wrapper::unwrap_command(text) {
        None => parse_unwrapped(text, limits),
        Some(Ok(wrapped)) => {
            let mut parsed = parse_unwrapped(&wrapped.command, limits);
            if let Some(args) = wrapped.args {
                set_first_step_args(&mut parsed.command, StepArgs::from_json(args));
            }
            parsed
        }
        Some(Err(fault)) => ParsedCommand {
            source: text.to_owned(),
            command: CommandTree::default(),
            diagnostics: vec![*fault],
        },
    }
}

fn set_first_step_args(command: &mut CommandTree, args: StepArgs) {
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

fn parse_unwrapped(text: &str, limits: &CommandLimits) -> ParsedCommand {
    let (mut parsed, doubtful) = parse_once(text, limits);
    // Text on both sides of an annotation is joined; the joined text must parse to the same tree.
    if let Some(span) = doubtful
        && parsed.is_valid()
    {
        let (again, _) = parse_once(&parsed.command.to_string(), limits);
        if !again.is_valid() || again.command != parsed.command {
            parsed.diagnostics.push(errors::split_text(span));
        }
    }
    parsed
}

/// Returns the tree, and the location of text that follows an annotation of its own step.
fn parse_once(text: &str, limits: &CommandLimits) -> (ParsedCommand, Option<Span>) {
    let mut parser = CommandParser::new(text, limits);
    parser.parse_stages();
    let doubtful = parser.split_text_span;
    let (command, mut faults) =
        partial_tree::build_tree(text, std::mem::take(&mut parser.partial_stages));
    let mut diagnostics = parser.diagnostics;
    faults.truncate(MAX_DIAGNOSTICS.saturating_sub(diagnostics.len()));
    diagnostics.append(&mut faults);
    let parsed = ParsedCommand {
        source: text.to_owned(),
        command,
        diagnostics,
    };
    (parsed, doubtful)
}

struct CommandParser<'a> {
    text: &'a str,
    limits: &'a CommandLimits,
    tokens: Vec<CommandToken>,
    position: usize,
    partial_stages: Vec<PartialStage>,
    step_count: usize,
    diagnostics: Vec<Diagnostic>,
    halted: bool,
    split_text_span: Option<Span>,
}

impl<'a> CommandParser<'a> {
    fn new(text: &'a str, limits: &'a CommandLimits) -> Self {
        let mut tokens = tokenize(text);
        tokens.retain(|token| token.kind != TokenKind::Blank);
        Self {
            text,
            limits,
            tokens,
            position: 0,
            partial_stages: Vec::new(),
            step_count: 0,
            diagnostics: Vec::new(),
            halted: false,
            split_text_span: None,
        }
    }

    fn peek(&self) -> Option<CommandToken> {
        if self.halted {
            return None;
        }
        self.tokens.get(self.position).copied()
    }

    fn next(&mut self) -> Option<CommandToken> {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn take(&mut self, kind: TokenKind) -> Option<CommandToken> {
        self.peek()
            .filter(|token| token.kind == kind)
            .inspect(|_| self.position += 1)
    }

    fn slice(&self, token: CommandToken) -> &'a str {
        token.span.slice(self.text)
    }

    /// Returns the end of the command, without trailing blanks.
    fn end_span(&self) -> Span {
        let end = self.text.trim_end().len();
        Span::new(end, end)
    }

    /// Adds a diagnostic, and stops parsing when there are too many.
    fn report(&mut self, fault: Diagnostic) {
        if self.halted {
            return;
        }
        self.halted = self.diagnostics.len() + 1 >= MAX_DIAGNOSTICS
            || fault.code == DiagnosticCode::TooManySteps;
        self.diagnostics.push(fault);
    }

    /// Reports an unclosed quote and stops: the tokens after it cannot be trusted.
    fn report_unclosed_quote(&mut self, token: CommandToken) {
        self.report(errors::unclosed_quote(token.span));
        self.halted = true;
    }
}
