//! The operator's allowlists of commands and scripts.

use super::{CommandLineError, ProcessError, command_line::split_command, display_command};
use crate::model::ScriptTool;

/// The last word of an entry that allows any further words.
const WILDCARD: &str = "*";

/// The commands that may be run.
#[derive(Debug)]
pub(super) struct CommandAllowlist(Vec<AllowedCommand>);

/// An allowed command, word by word.
#[derive(Debug)]
struct AllowedCommand {
    words: Vec<String>,
    /// Whether more words may follow.
    allows_more: bool,
}

impl AllowedCommand {
    /// Parses an entry. A `*` that is not a separate last word, or that has nothing before it, is
    /// rejected as in any command, because it would not mean what it seems to mean.
    fn parse(entry: &str) -> Result<Self, CommandLineError> {
        let entry = entry.trim();
        let start = entry
            .strip_suffix(WILDCARD)
            .filter(|start| start.ends_with([' ', '\t']) && !start.trim_end().ends_with('\\'));
        Ok(Self {
            words: split_command(start.unwrap_or(entry))?,
            allows_more: start.is_some(),
        })
    }

    fn matches(&self, words: &[String]) -> bool {
        if self.allows_more {
            words.starts_with(&self.words)
        } else {
            words == self.words
        }
    }
}

impl CommandAllowlist {
    pub(super) fn new(list: &[String]) -> Self {
        let read = list
            .iter()
            .filter_map(|entry| match AllowedCommand::parse(entry) {
                Ok(entry) => Some(entry),
                Err(why) => {
                    tracing::warn!(%why, "an entry in the list of allowed commands is invalid and is ignored");
                    None
                }
            });
        Self(read.collect())
    }

    /// Returns the words of a command if it equals an entry, or starts with an entry that ends in
    /// `*`.
    pub(super) fn check(&self, command: &str) -> Result<Vec<String>, ProcessError> {
        let words = split_command(command).map_err(|why| ProcessError::InvalidCommandLine {
            what: display_command(command),
            why,
        })?;
        if self.0.iter().any(|entry| entry.matches(&words)) {
            return Ok(words);
        }
        Err(ProcessError::NotAllowed {
            what: display_command(command),
            list: "`prompts.commands`, word by word; a `*` as the last word allows any further ones",
        })
    }
}

/// The scripts that may be run: names, and prefixes of names that end in `*`.
#[derive(Debug)]
pub(super) struct ScriptAllowlist(Vec<String>);

impl ScriptAllowlist {
    pub(super) fn new(list: &[String]) -> Self {
        Self(
            list.iter()
                .map(|it| it.trim().to_owned())
                .filter(|it| !it.is_empty())
                .collect(),
        )
    }

    /// Checks that a script may be run. A script that requires confirmation must be listed by its
    /// full name: no part of a call counts as confirmation.
    pub(super) fn check(&self, tool: &ScriptTool) -> Result<(), ProcessError> {
        let name = qualified_name(tool);
        if !tool.enabled {
            return Err(ProcessError::Disabled(name));
        }
        if self.0.contains(&name) {
            return Ok(());
        }
        if !self.0.iter().any(|entry| matches_prefix(entry, &name)) {
            return Err(ProcessError::NotAllowed {
                what: name,
                list: "`prompts.scripts`",
            });
        }
        if tool.execution.confirm {
            return Err(ProcessError::NeedsFullName(name));
        }
        Ok(())
    }

    /// Returns whether the list contains a script name, in full or by a `*`. Case is ignored: on
    /// some file systems two names that differ only in case are one file.
    pub(super) fn contains(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.0.iter().any(|entry| {
            let entry = entry.to_ascii_lowercase();
            entry == name || matches_prefix(&entry, &name)
        })
    }
}

fn matches_prefix(entry: &str, name: &str) -> bool {
    entry
        .strip_suffix('*')
        .is_some_and(|start| name.starts_with(start))
}

/// Returns the name of a script in the settings: `id`, or `prompt:id` if a prompt owns it.
pub(super) fn qualified_name(tool: &ScriptTool) -> String {
    match tool.owner.as_deref().filter(|owner| !owner.is_empty()) {
        Some(owner) if !tool.id.starts_with(&format!("{owner}:")) => {
            format!("{owner}:{}", tool.id)
        }
        _ => tool.id.clone(),
    }
}
