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

pub use bind::{Bound, Declared, Given, bind};
pub use diagnostic::{Code, Diagnostic, unknown_name};
pub use limits::Limits;
pub use parse::{Parsed, parse};
pub use quote::quote;
pub use scan::{Token, TokenKind, tokens};
pub use span::{Span, Spanned};
pub use tree::{
    Args, Arrow, Command, GateMark, Item, Marks, Modifier, Preset, Stage, StageKind, Step, Verify,
};
