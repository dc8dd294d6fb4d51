//! The `WordPiece` vocabulary of the built-in table: a word is split into its longest known pieces.
//! Knows nothing of vectors.

use std::collections::HashMap;

use super::pre_tokenizer::for_each_word;

/// The prefix of a piece that continues a word.
const CONTINUATION: &str = "##";

/// Longer words are noise.
const MAX_WORD_CHARS: usize = 100;

/// Word pieces and their rows in the table.
pub(super) struct WordPieceVocabulary {
    first: HashMap<&'static str, usize>,
    continuation: HashMap<&'static str, usize>,
    longest: usize,
}

impl WordPieceVocabulary {
    /// Parses a vocabulary with one piece per line.
    pub(super) fn parse(vocabulary: &'static str) -> Self {
        let mut piece_vocabulary = Self {
            first: HashMap::new(),
            continuation: HashMap::new(),
            longest: 0,
        };
        for (place, line) in vocabulary.lines().enumerate() {
            piece_vocabulary.longest = piece_vocabulary.longest.max(line.len());
            match line.strip_prefix(CONTINUATION) {
                Some(piece) if !piece.is_empty() => {
                    piece_vocabulary.continuation.insert(piece, place)
                }
                _ => piece_vocabulary.first.insert(line, place),
            };
        }
        piece_vocabulary
    }

    /// Collects the rows of all pieces of a text. Words that no pieces make up are left out.
    pub(super) fn tokenize(&self, text: &str, places: &mut Vec<usize>) {
        places.clear();
        for_each_word(text, |word| {
            let before = places.len();
            if self.tokenize_word(word, places).is_none() {
                places.truncate(before);
            }
        });
    }

    /// Collects the rows of the words of a text that are one piece: letters only, at least two.
    pub(super) fn whole_words(&self, text: &str, places: &mut Vec<usize>) {
        for_each_word(text, |word| {
            let is_word = word.chars().nth(1).is_some() && word.chars().all(char::is_alphabetic);
            places.extend(self.first.get(word).filter(|_| is_word));
        });
    }

    /// Splits a word, the longest piece first; `None` if a part of it is no piece.
    fn tokenize_word(&self, word: &str, places: &mut Vec<usize>) -> Option<()> {
        if word.len() > MAX_WORD_CHARS && word.chars().count() > MAX_WORD_CHARS {
            return None;
        }
        let mut rest = word;
        let mut known = &self.first;
        while !rest.is_empty() {
            let (place, behind) = self.longest_prefix(rest, known)?;
            places.push(place);
            rest = behind;
            known = &self.continuation;
        }
        Some(())
    }

    /// The row of the longest piece that `rest` starts with, and the remainder.
    fn longest_prefix<'w>(
        &self,
        rest: &'w str,
        known: &HashMap<&'static str, usize>,
    ) -> Option<(usize, &'w str)> {
        let most = rest.len().min(self.longest);
        (1..=most).rev().find_map(|length| {
            let (start, behind) = rest.split_at_checked(length)?;
            Some((*known.get(start)?, behind))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenize(text: &str) -> Vec<usize> {
        let vocabulary = WordPieceVocabulary::parse("un\nunder\n##stand\n##s\n##and\nst\n!\n##é");
        let mut places = Vec::new();
        vocabulary.tokenize(text, &mut places);
        places
    }

    #[test]
    fn the_longest_piece_comes_first() {
        assert_eq!(tokenize("Understands!"), [1, 2, 3, 6]);
        assert_eq!(tokenize("stand"), [5, 4]);
    }

    #[test]
    fn a_word_with_an_unknown_part_is_left_out_whole() {
        assert_eq!(tokenize("unx un"), [0]);
        assert_eq!(tokenize("日 un"), [0]);
    }

    #[test]
    fn endless_words_are_left_out() {
        let most = format!("un{}", "s".repeat(98));
        assert_eq!(tokenize(&most).len(), 99);
        assert!(tokenize(&format!("{most}s")).is_empty());
    }
}
