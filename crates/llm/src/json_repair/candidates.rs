//! Where in a text JSON may stand: between fences, between brackets.
//!
//! All of it is one pass over the bytes, and every list is bounded, so a hostile text costs no
//! more than a long one.

/// Most fenced blocks looked at.
const MAX_FENCES: usize = 16;
/// Most brackets without an end that are tried as a beginning of cut-off JSON.
const MAX_OPEN: usize = 8;
/// Most inner spans tried when no outer one is JSON.
const MAX_NESTED: usize = 32;
/// How many spans are kept while scanning: the longest.
const MAX_PAIRS: usize = 512;

/// Whether brackets between double quotes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteHandling {
    /// Brackets in strings do not count.
    Respected,
    /// All count: the quotes of this text do not pair.
    Ignored,
}

/// The spans of a text that may be JSON, each list in the order in which to try it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct JsonCandidates<'t> {
    /// Whole pairs before anything unclosed, longest first.
    pub(super) closed: Vec<&'t str>,
    /// From a bracket that is never closed to the end, outermost first.
    pub(super) open: Vec<&'t str>,
    /// Whole pairs behind an unclosed bracket: parts of cut-off JSON, or JSON after a stray
    /// bracket in prose.
    pub(super) after_open: Vec<&'t str>,
    /// Pairs within pairs.
    pub(super) nested: Vec<&'t str>,
}

#[derive(Debug, Clone, Copy)]
struct BracketPair {
    start: usize,
    end: usize,
}

impl BracketPair {
    fn length(self) -> usize {
        self.end - self.start
    }
}

/// The contents of fenced blocks, longest first; a block without an end goes to the end.
pub(super) fn fenced_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("```") {
        // The info string: `json`, `JSON5`, or nothing; it never holds a bracket.
        let body = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        let (block, behind) = body.split_once("```").unwrap_or((body, ""));
        blocks.push(block.trim());
        rest = behind;
        if blocks.len() == MAX_FENCES {
            break;
        }
    }
    blocks.sort_by_key(|block| std::cmp::Reverse(block.len()));
    blocks
}

/// The bracketed spans of a text.
pub(super) fn bracketed_spans(text: &str, quotes: QuoteHandling) -> JsonCandidates<'_> {
    let (mut pairs, open) = scan(text, quotes);
    let first_open = open.first().copied().unwrap_or(text.len());
    pairs.sort_by_key(|pair| (pair.start, std::cmp::Reverse(pair.end)));

    let (mut closed, mut behind_open, mut nested) = (Vec::new(), Vec::new(), Vec::new());
    let mut outer_end = 0;
    for pair in pairs {
        if pair.start < outer_end {
            nested.push(pair);
            continue;
        }
        outer_end = pair.end;
        if pair.start < first_open {
            closed.push(pair);
        } else {
            behind_open.push(pair);
        }
    }
    JsonCandidates {
        closed: longest_first(text, closed, MAX_PAIRS),
        open: open
            .into_iter()
            .take(MAX_OPEN)
            .filter_map(|start| text.get(start..))
            .collect(),
        after_open: longest_first(text, behind_open, MAX_PAIRS),
        nested: longest_first(text, nested, MAX_NESTED),
    }
}

/// All pairs (the longest of them, if there are many), and the brackets left open, in order.
fn scan(text: &str, quotes: QuoteHandling) -> (Vec<BracketPair>, Vec<usize>) {
    let mut pairs: Vec<BracketPair> = Vec::new();
    let mut stack: Vec<(u8, usize)> = Vec::new();
    // How many of each kind are on the stack, so that a stray closing bracket is not searched for.
    let (mut curly, mut square) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            // In prose outside all brackets a quote means nothing.
            b'"' => in_string = quotes == QuoteHandling::Respected && !stack.is_empty(),
            b'{' => {
                curly += 1;
                stack.push((byte, at));
            }
            b'[' => {
                square += 1;
                stack.push((byte, at));
            }
            b'}' | b']' => {
                let wanted = if byte == b'}' { b'{' } else { b'[' };
                let waiting = if byte == b'}' { curly } else { square };
                if waiting == 0 {
                    continue;
                }
                while let Some((kind, start)) = stack.pop() {
                    if kind == b'{' {
                        curly -= 1;
                    } else {
                        square -= 1;
                    }
                    if kind == wanted {
                        pairs.push(BracketPair { start, end: at + 1 });
                        break;
                    }
                }
                if pairs.len() >= 2 * MAX_PAIRS {
                    keep_longest(&mut pairs, MAX_PAIRS);
                }
            }
            _ => {}
        }
    }
    (pairs, stack.into_iter().map(|(_, at)| at).collect())
}

fn keep_longest(pairs: &mut Vec<BracketPair>, most: usize) {
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.length()));
    pairs.truncate(most);
}

fn longest_first(text: &str, mut pairs: Vec<BracketPair>, most: usize) -> Vec<&str> {
    keep_longest(&mut pairs, most);
    pairs
        .into_iter()
        .filter_map(|pair| text.get(pair.start..pair.end))
        .collect()
}
