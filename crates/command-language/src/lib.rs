//! The command language: the text of a command to a tree with every fault at its place, the tree
//! back to text, and a step's arguments to the names a prompt declares.
//!
//! Knows nothing of prompts, files or runs: whether a name exists is for the caller to say.

mod bind;
mod diagnostic;
mod expand;
mod items;
mod likeness;
mod limits;
mod parse;
mod print;
mod quote;
mod scan;
mod span;
mod tree;
mod wrapper;

pub use bind::{BoundArguments, DeclaredArgument, GivenArgument, bind};
pub use diagnostic::{Diagnostic, DiagnosticCode, unknown_name};
pub use limits::CommandLimits;
pub use parse::{ParsedCommand, parse};
pub use quote::quote;
pub use scan::{CommandToken, TokenKind, tokenize};
pub use span::{Span, Spanned};
pub use tree::{
    ArgumentItem, Arrow, CommandAnnotations, CommandModifier, CommandStage, CommandStep,
    CommandTree, GateAnnotation, ShellVerify, ShellVerifyPreset, StageKind, StepArgs,
};
