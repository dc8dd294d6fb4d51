//! Splits a command line into words by the quoting rules of shells. Shell syntax is rejected,
//! because a command that runs it as plain text would not do what its author expects.

/// The maximum bytes of a command.
const MAX_COMMAND_BYTES: usize = 4_096;

/// The maximum number of words.
const MAX_WORDS: usize = 256;

/// A command that cannot be run without a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// The command contains a character with a special meaning in shells.
    #[error("it contains shell syntax: `{}`", .0.escape_default())]
    ShellSyntax(char),
    #[error("a quote is not closed")]
    UnterminatedQuote,
    #[error("it ends with a backslash")]
    TrailingBackslash,
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {MAX_COMMAND_BYTES} bytes or {MAX_WORDS} words")]
    TooLong,
}

/// Returns whether a character has a special meaning in shells outside quotes.
fn is_shell_syntax(it: char) -> bool {
    matches!(
        it,
        '|' | '&' | ';' | '<' | '>' | '$' | '`' | '(' | ')' | '{' | '}' | '*' | '?'
    ) || is_forbidden(it)
}

/// Returns whether a character is forbidden even inside quotes.
fn is_forbidden(it: char) -> bool {
    matches!(it, '\n' | '\r' | '\0')
}

/// Splits a command into words.
pub fn split_command(command: &str) -> Result<Vec<String>, CommandLineError> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err(CommandLineError::TooLong);
    }
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command.trim().chars();
    while let Some(it) = rest.next() {
        match it {
            '\'' => {
                let open = word.get_or_insert_default();
                read_single_quoted(&mut rest, open)?;
            }
            '"' => {
                let open = word.get_or_insert_default();
                read_double_quoted(&mut rest, open)?;
            }
            '\\' => {
                let next = rest.next().ok_or(CommandLineError::TrailingBackslash)?;
                if is_forbidden(next) {
                    return Err(CommandLineError::ShellSyntax(next));
                }
                word.get_or_insert_default().push(next);
            }
            ' ' | '\t' => words.extend(word.take()),
            it if is_shell_syntax(it) => return Err(CommandLineError::ShellSyntax(it)),
            it => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    match words.len() {
        0 => Err(CommandLineError::Empty),
        many if many > MAX_WORDS => Err(CommandLineError::TooLong),
        _ => Ok(words),
    }
}

fn read_single_quoted(
    rest: &mut std::str::Chars<'_>,
    word: &mut String,
) -> Result<(), CommandLineError> {
    for it in rest {
        match it {
            '\'' => return Ok(()),
            it if is_forbidden(it) => return Err(CommandLineError::ShellSyntax(it)),
            it => word.push(it),
        }
    }
    Err(CommandLineError::UnterminatedQuote)
}

/// Reads a double-quoted text, in which a shell still expands `$` and backticks.
fn read_double_quoted(
    rest: &mut std::str::Chars<'_>,
    word: &mut String,
) -> Result<(), CommandLineError> {
    while let Some(it) = rest.next() {
        match it {
            '"' => return Ok(()),
            '\\' => match rest.next().ok_or(CommandLineError::UnterminatedQuote)? {
                kept @ ('"' | '\\' | '$' | '`') => word.push(kept),
                other if is_forbidden(other) => return Err(CommandLineError::ShellSyntax(other)),
                other => word.extend(['\\', other]),
            },
            '$' | '`' => return Err(CommandLineError::ShellSyntax(it)),
            it if is_forbidden(it) => return Err(CommandLineError::ShellSyntax(it)),
            it => word.push(it),
        }
    }
    Err(CommandLineError::UnterminatedQuote)
}
