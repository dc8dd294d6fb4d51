//! The syntax of BibTeX: entries, fields, strings joined with `#`. Does not interpret values.

use std::collections::HashMap;

use super::{MAX_PROBLEMS, MAX_VALUE_BYTES, RecordCollector, truncate_bytes};

/// More fields than any real entry has.
const MAX_FIELDS: usize = 500;
/// Limit for the text that the abbreviations of one bibliography expand to.
const MAX_EXPANDED_BYTES: usize = 32_000_000;
/// Programs store long data in comments.
const MAX_COMMENT_BYTES: usize = 2_000_000;

/// An entry with its abbreviations expanded.
pub(super) struct BibtexEntry {
    pub(super) line: usize,
    pub(super) kind: String,
    pub(super) key: String,
    /// Lower-case names and LaTeX values.
    pub(super) fields: HashMap<String, String>,
}

/// Whether the text contains something like an entry.
pub(super) fn has_entry(text: &str) -> bool {
    text.match_indices('@').take(1_000).any(|(at, _)| {
        let rest = truncate_bytes(text.get(at + 1..).unwrap_or_default(), 100);
        let name = rest.trim_start_matches(|it: char| it.is_ascii_alphabetic());
        name.len() < rest.len() && name.trim_start().starts_with(['{', '('])
    })
}

/// Parses every entry in order and reports problems to `gathered`.
pub(super) fn parse_entries(text: &str, gathered: &mut RecordCollector) -> Vec<BibtexEntry> {
    let mut scanner = BibtexScanner {
        rest: text,
        line: 1,
        strings: HashMap::new(),
        budget: MAX_EXPANDED_BYTES,
    };
    let mut entries = Vec::new();
    let mut faults = 0;
    while scanner.skip_to('@') {
        let start = scanner.line;
        let before = scanner.rest;
        match scanner.block() {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => {}
            Err(fault) => {
                let (what, entry) = *fault;
                gathered.add_problem(scanner.line.max(start), what);
                entries.extend(entry);
                scanner.recover(before, start);
                faults += 1;
            }
        }
        // Recovery searches the text again after each fault; a text of faults only would take long.
        if faults == MAX_PROBLEMS {
            gathered.add_problem(
                scanner.line,
                "there are too many problems; the rest is left out",
            );
            break;
        }
        if entries.len() > super::MAX_RECORDS {
            break;
        }
    }
    entries
}

/// The problem, and the part of the entry that was parsed before it.
type BibtexFault = Box<(String, Option<BibtexEntry>)>;

struct BibtexScanner<'a> {
    rest: &'a str,
    line: usize,
    strings: HashMap<String, String>,
    /// The bytes that abbreviations may still expand to: a few that refer to one another would fill
    /// any memory.
    budget: usize,
}

impl<'a> BibtexScanner<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Consumes bytes and counts their lines.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|it| !fits(it)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.take(wanted.len_utf8());
        }
        found
    }

    fn skip_to(&mut self, wanted: char) -> bool {
        self.take_while(|it| it != wanted);
        self.peek().is_some()
    }

    /// Skips to the next line that starts with `@` after a problem.
    fn recover(&mut self, before: &'a str, line: usize) {
        let next = before.match_indices('\n').find(|(at, _)| {
            let rest = before.get(at + 1..).unwrap_or_default();
            rest.trim_start_matches([' ', '\t']).starts_with('@')
        });
        self.rest = before;
        self.line = line;
        self.take(next.map_or(before.len(), |it| it.0 + 1));
    }

    /// Parses from an `@` to the end of its block; `None` for a comment, a preamble or a string.
    fn block(&mut self) -> Result<Option<BibtexEntry>, BibtexFault> {
        let line = self.line;
        self.eat('@');
        let kind = self
            .take_while(|it| it.is_ascii_alphanumeric())
            .to_lowercase();
        self.space();
        let close = match self.peek() {
            Some('{') if !kind.is_empty() => '}',
            Some('(') if !kind.is_empty() => ')',
            // For example an email address in a comment.
            _ => return Ok(None),
        };
        if matches!(kind.as_str(), "comment" | "preamble") {
            if close == '}' {
                self.braced(MAX_COMMENT_BYTES)
                    .map_err(|what| Box::new((what, None)))?;
            }
            return Ok(None);
        }
        self.take(1);
        self.space();
        if kind == "string" {
            let (name, value) = self.field().map_err(|what| Box::new((what, None)))?;
            self.strings.insert(name, value);
            return Ok(None);
        }
        let key = self
            .take_while(|it| !matches!(it, ',' | '}' | '{' | '"' | '=' | '\n'))
            .trim()
            .to_owned();
        let mut entry = BibtexEntry {
            line,
            kind,
            key,
            fields: HashMap::new(),
        };
        match self.fields(close, &mut entry.fields) {
            Ok(()) => Ok(Some(entry)),
            Err(what) => {
                let key = deliberate_core::truncate_chars(&entry.key, 60);
                let what = format!("{what}, in the entry {key:?}");
                let partly = Some(entry).filter(|it| !it.fields.is_empty());
                Err(Box::new((what, partly)))
            }
        }
    }

    fn fields(&mut self, close: char, fields: &mut HashMap<String, String>) -> Result<(), String> {
        loop {
            self.take_while(|it| it.is_whitespace() || it == ',');
            if self.eat(close) {
                return Ok(());
            }
            if self.rest.is_empty() {
                return Err("the text ends within an entry".to_owned());
            }
            let (name, value) = self.field()?;
            if fields.len() >= MAX_FIELDS {
                return Err(format!("there are more than {MAX_FIELDS} fields"));
            }
            // BibTeX takes the first of two equal fields.
            fields.entry(name).or_insert(value);
        }
    }

    /// `name = value # value`.
    fn field(&mut self) -> Result<(String, String), String> {
        let name = self.take_while(|it| {
            it.is_alphanumeric() || matches!(it, '-' | '_' | ':' | '.' | '+' | '/')
        });
        if name.is_empty() {
            let found = self
                .peek()
                .map_or_else(|| "the end".to_owned(), |it| format!("{it:?}"));
            return Err(format!("a field is expected here, but {found} was found"));
        }
        self.space();
        if !self.eat('=') {
            return Err(format!(
                "`=` is missing after the field {:?}",
                deliberate_core::truncate_chars(name, 60)
            ));
        }
        let mut value = String::new();
        loop {
            self.space();
            value.push_str(&self.value()?);
            if value.len() > MAX_VALUE_BYTES {
                return Err(format!(
                    "the field {:?} is longer than {MAX_VALUE_BYTES} bytes",
                    deliberate_core::truncate_chars(name, 60)
                ));
            }
            self.space();
            if !self.eat('#') {
                return Ok((name.to_lowercase(), value));
            }
        }
    }

    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Some('{') => self.braced(MAX_VALUE_BYTES).map(str::to_owned),
            Some('"') => self.quoted().map(str::to_owned),
            _ => {
                let word = self.take_while(|it| {
                    it.is_alphanumeric() || matches!(it, '-' | '_' | ':' | '.' | '+' | '/')
                });
                if word.is_empty() {
                    return Err("a value is missing after `=` or `#`".to_owned());
                }
                // An undefined name stands for itself: months, numbers, typing errors.
                let Some(meant) = self.strings.get(&word.to_lowercase()) else {
                    return Ok(word.to_owned());
                };
                self.budget = self
                    .budget
                    .checked_sub(meant.len())
                    .ok_or("the abbreviations expand to too much text")?;
                Ok(meant.clone())
            }
        }
    }

    /// Reads the text up to the matching closing brace.
    fn braced(&mut self, longest: usize) -> Result<&'a str, String> {
        let mut depth = 0_usize;
        let end = truncate_bytes(self.rest, longest)
            .char_indices()
            .find(|(_, it)| {
                match it {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
        let (end, _) = end.ok_or("a brace is not closed, or closed too late")?;
        let inner = self.take(end + 1);
        Ok(inner.get(1..end).unwrap_or_default())
    }

    /// Reads the text between two quotes that are not inside braces.
    fn quoted(&mut self) -> Result<&'a str, String> {
        let mut depth = 0_usize;
        let end = truncate_bytes(self.rest, MAX_VALUE_BYTES)
            .char_indices()
            .skip(1)
            .find(|(_, it)| {
                match it {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0 && *it == '"'
            });
        let (end, _) = end.ok_or("a quote is not closed, or closed too late")?;
        let inner = self.take(end + 1);
        Ok(inner.get(1..end).unwrap_or_default())
    }
}
