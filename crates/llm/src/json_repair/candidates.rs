//! Finds the parts of a text that may be JSON: fenced blocks and bracketed spans.
//!
//! This is one pass over the bytes, and every list is bounded, so a hostile text costs no more than
//! a long one.

/// Maximum number of fenced blocks.
const MAX_FENCES: usize = 16;
/// Maximum number of unclosed brackets that are tried as the start of truncated JSON.
const MAX_OPEN: usize = 8;
/// Maximum number of inner spans tried when no outer one is JSON.
const MAX_NESTED: usize = 32;
/// Maximum number of spans collected while scanning: the longest are kept.
const MAX_PAIRS: usize = 512;

/// Whether brackets between double quotes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteHandling {
    /// Brackets in strings do not count.
    Respected,
    /// All brackets count: the quotes in this text do not pair.
    Ignored,
}

/// The spans of a text that may be JSON, each list in the order in which to try them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct JsonCandidates<'t> {
    /// Closed pairs before any unclosed bracket, longest first.
    pub(super) closed: Vec<&'t str>,
    /// From an unclosed bracket to the end, outermost first.
    pub(super) open: Vec<&'t str>,
    /// Closed pairs after an unclosed bracket: parts of truncated JSON, or JSON after a stray
    /// bracket in prose.
    pub(super) after_open: Vec<&'t str>,
    /// Pairs inside other pairs.
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

/// Returns the contents of fenced blocks, longest first; an unclosed block extends to the end of
/// the text.
pub(super) fn fenced_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("```") {
        // The info string is `json`, `JSON5` or empty; it never contains a bracket.
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

/// Returns the bracketed spans of a text.
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

/// Returns all pairs (only the longest, if there are many) and the unclosed brackets, in order.
fn scan(text: &str, quotes: QuoteHandling) -> (Vec<BracketPair>, Vec<usize>) {
    let mut pairs: Vec<BracketPair> = Vec::new();
    let mut stack: Vec<(u8, usize)> = Vec::new();
    // Number of each kind on the stack, so that a stray closing bracket starts no search.
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
            // In prose outside all brackets a quote has no meaning.
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
