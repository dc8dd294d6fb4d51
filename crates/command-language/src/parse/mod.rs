//! Tokens to a tree, with every fault at its place. Goes on after a fault where it can, so that
//! one reading shows more than one.

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

/// More faults than this help nobody.
const MAX_DIAGNOSTICS: usize = 20;

/// What was read.
#[derive(Clone, Debug)]
pub struct ParsedCommand {
    /// The text all places point into: the one given, or the one a JSON wrapper held.
    pub source: String,
    /// The tree, or as much of it as could be read.
    pub command: CommandTree,
    /// What is wrong; the tree may be used only if nothing is.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParsedCommand {
    /// Whether nothing is wrong.
    pub fn is_valid(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// Reads a command.
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
    // Text on both sides of a mark is joined; what came of it must still read as it did.
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

/// The tree, and the place of text that stands behind a mark of its own step.
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

    /// The end of what was written, blanks behind it left out.
    fn end_span(&self) -> Span {
        let end = self.text.trim_end().len();
        Span::new(end, end)
    }

    /// Notes a fault, and gives up when there are enough.
    fn report(&mut self, fault: Diagnostic) {
        if self.halted {
            return;
        }
        self.halted = self.diagnostics.len() + 1 >= MAX_DIAGNOSTICS
            || fault.code == DiagnosticCode::TooManySteps;
        self.diagnostics.push(fault);
    }

    /// After a quote that never closes, nothing is what it seems.
    fn report_unclosed_quote(&mut self, token: CommandToken) {
        self.report(errors::unclosed_quote(token.span));
        self.halted = true;
    }
}
