//! Stages that validate the request and answer built-in commands.

mod builtin_commands;
mod normalize_request;
mod read_settings;

pub(super) use builtin_commands::BuiltinCommands;
pub(super) use normalize_request::NormalizeRequest;
pub(super) use read_settings::ReadSettings;
