//! The vocabulary of the embedded table: a word is cut into the longest pieces that it holds.
//! Knows nothing of vectors.

use std::collections::HashMap;

use super::words::each_word;

/// What stands before a piece that goes on with a word.
const GOES_ON: &str = "##";

/// Words longer than this are noise: no piece of them says anything.
const LONGEST_WORD: usize = 100;

/// The pieces of words and their places in the table.
pub(super) struct Pieces {
    first: HashMap<&'static str, usize>,
    further: HashMap<&'static str, usize>,
    longest: usize,
}

impl Pieces {
    /// Reads a vocabulary of one piece a line.
    pub(super) fn read(vocabulary: &'static str) -> Self {
        let mut pieces = Self {
            first: HashMap::new(),
            further: HashMap::new(),
            longest: 0,
        };
        for (place, line) in vocabulary.lines().enumerate() {
            pieces.longest = pieces.longest.max(line.len());
            match line.strip_prefix(GOES_ON) {
                Some(piece) if !piece.is_empty() => pieces.further.insert(piece, place),
                _ => pieces.first.insert(line, place),
            };
        }
        pieces
    }

    /// The places of all pieces of a text. Words that can't be put together are left out.
    pub(super) fn of(&self, text: &str, places: &mut Vec<usize>) {
        places.clear();
        each_word(text, |word| {
            let before = places.len();
            if self.cut(word, places).is_none() {
                places.truncate(before);
            }
        });
    }

    /// Cuts a word, the longest piece first; `None` if a part of it is in no piece.
    fn cut(&self, word: &str, places: &mut Vec<usize>) -> Option<()> {
        if word.len() > LONGEST_WORD && word.chars().count() > LONGEST_WORD {
            return None;
        }
        let mut rest = word;
        let mut known = &self.first;
        while !rest.is_empty() {
            let (place, behind) = self.longest_start(rest, known)?;
            places.push(place);
            rest = behind;
            known = &self.further;
        }
        Some(())
    }

    /// The place of the longest piece that `rest` starts with, and what comes behind it.
    fn longest_start<'w>(
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

    fn pieces(text: &str) -> Vec<usize> {
        let pieces = Pieces::read("un\nunder\n##stand\n##s\n##and\nst\n!\n##é");
        let mut places = Vec::new();
        pieces.of(text, &mut places);
        places
    }

    #[test]
    fn the_longest_piece_comes_first() {
        assert_eq!(pieces("Understands!"), [1, 2, 3, 6]);
        assert_eq!(pieces("stand"), [5, 4]);
    }

    #[test]
    fn a_word_with_an_unknown_part_is_left_out_whole() {
        assert_eq!(pieces("unx un"), [0]);
        assert_eq!(pieces("日 un"), [0]);
    }

    #[test]
    fn endless_words_are_left_out() {
        let most = format!("un{}", "s".repeat(98));
        assert_eq!(pieces(&most).len(), 99);
        assert!(pieces(&format!("{most}s")).is_empty());
    }
}
