//! The prompt engine: prompts, chains, gates, methodologies and styles from a library of files,
//! put together by a small command language, and run as durable chains.
//!
//! `library` reads the files and keeps them current; `template` renders; `gate` checks answers;
//! `inject` decides what guidance is added; `chain` plans runs and folds their events; `engine`
//! is the way of a call through its stages; `manage` changes the files; `tools` are the three
//! tools. Chains meet the other parts of the program only through the registry.
//!
//! The crate knows nothing of MCP, SQL or HTTP.

pub mod library;
pub mod model;
mod options;

pub use options::{Judge, Limits, Options, Places};
