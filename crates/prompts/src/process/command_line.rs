//! A command line, cut into words by the quoting rules of shells, without any of a shell's other
//! powers. What only a shell understands is refused, because running it as plain text would do
//! something else than its author thinks.

/// The most bytes of a command.
const MAX_COMMAND_BYTES: usize = 4_096;

/// The most words.
const MAX_WORDS: usize = 256;

/// Why a command can't be run without a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// A character that has a meaning only in a shell.
    #[error("it holds something only a shell understands: `{}`", .0.escape_default())]
    ShellSyntax(char),
    /// A quote that is not closed.
    #[error("a quote is not closed")]
    UnterminatedQuote,
    /// A backslash at the end.
    #[error("nothing follows its last backslash")]
    TrailingBackslash,
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// There is too much in it.
    #[error("it is longer than {MAX_COMMAND_BYTES} bytes or {MAX_WORDS} words")]
    TooLong,
}

/// What only a shell understands, outside quotes.
fn is_shell_syntax(it: char) -> bool {
    matches!(
        it,
        '|' | '&' | ';' | '<' | '>' | '$' | '`' | '(' | ')' | '{' | '}' | '*' | '?'
    ) || is_forbidden(it)
}

/// What no word may hold, not even in quotes.
fn is_forbidden(it: char) -> bool {
    matches!(it, '\n' | '\r' | '\0')
}

/// The words of a command.
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

/// Within double quotes a shell still replaces what begins with `$` or a backtick.
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
