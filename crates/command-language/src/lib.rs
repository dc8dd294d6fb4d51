#![doc = include_str!("../README.md")]

pub mod argument_binding;
mod argument_items;
mod ast;
mod diagnostic;
mod json_wrapper;
mod lexer;
mod limits;
mod parse;
mod print;
mod quote;
mod repeat_expansion;
mod span;

pub use argument_binding::{BoundArguments, DeclaredArgument, GivenArgument, bind};
pub use ast::{
    ArgumentItem, Arrow, CommandAnnotations, CommandModifier, CommandStage, CommandStep,
    CommandTree, GateAnnotation, ShellVerify, ShellVerifyPreset, StageKind, StepArgs,
};
pub use diagnostic::{Diagnostic, DiagnosticCode, unknown_name};
pub use lexer::{CommandToken, TokenKind, tokenize};
pub use limits::CommandLimits;
pub use parse::{ParsedCommand, parse};
pub use quote::quote;
pub use span::{Span, Spanned};
