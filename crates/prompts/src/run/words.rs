//! A command line, cut into words by the quoting rules of shells, without any of a shell's other
//! powers. What only a shell understands is refused, because running it as plain text would do
//! something else than its author thinks.

/// The most bytes of a command.
const LONGEST: usize = 4_096;

/// The most words.
const MOST: usize = 256;

/// Why a command can't be run without a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPlain {
    /// A character that has a meaning only in a shell.
    #[error("it holds something only a shell understands: `{}`", .0.escape_default())]
    Shell(char),
    /// A quote that is not closed.
    #[error("a quote is not closed")]
    OpenQuote,
    /// A backslash at the end.
    #[error("nothing follows its last backslash")]
    OpenEscape,
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// There is too much in it.
    #[error("it is longer than {LONGEST} bytes or {MOST} words")]
    TooLong,
}

/// What only a shell understands, outside quotes.
fn is_special(it: char) -> bool {
    matches!(
        it,
        '|' | '&' | ';' | '<' | '>' | '$' | '`' | '(' | ')' | '{' | '}' | '*' | '?'
    ) || never(it)
}

/// What no word may hold, not even in quotes.
fn never(it: char) -> bool {
    matches!(it, '\n' | '\r' | '\0')
}

/// The words of a command.
pub fn split(command: &str) -> Result<Vec<String>, NotPlain> {
    if command.len() > LONGEST {
        return Err(NotPlain::TooLong);
    }
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command.trim().chars();
    while let Some(it) = rest.next() {
        match it {
            '\'' => {
                let open = word.get_or_insert_default();
                single(&mut rest, open)?;
            }
            '"' => {
                let open = word.get_or_insert_default();
                double(&mut rest, open)?;
            }
            '\\' => {
                let next = rest.next().ok_or(NotPlain::OpenEscape)?;
                if never(next) {
                    return Err(NotPlain::Shell(next));
                }
                word.get_or_insert_default().push(next);
            }
            ' ' | '\t' => words.extend(word.take()),
            it if is_special(it) => return Err(NotPlain::Shell(it)),
            it => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    match words.len() {
        0 => Err(NotPlain::Empty),
        many if many > MOST => Err(NotPlain::TooLong),
        _ => Ok(words),
    }
}

fn single(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), NotPlain> {
    for it in rest {
        match it {
            '\'' => return Ok(()),
            it if never(it) => return Err(NotPlain::Shell(it)),
            it => word.push(it),
        }
    }
    Err(NotPlain::OpenQuote)
}

/// Within double quotes a shell still replaces what begins with `$` or a backtick.
fn double(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), NotPlain> {
    while let Some(it) = rest.next() {
        match it {
            '"' => return Ok(()),
            '\\' => match rest.next().ok_or(NotPlain::OpenQuote)? {
                kept @ ('"' | '\\' | '$' | '`') => word.push(kept),
                other if never(other) => return Err(NotPlain::Shell(other)),
                other => word.extend(['\\', other]),
            },
            '$' | '`' => return Err(NotPlain::Shell(it)),
            it if never(it) => return Err(NotPlain::Shell(it)),
            it => word.push(it),
        }
    }
    Err(NotPlain::OpenQuote)
}
