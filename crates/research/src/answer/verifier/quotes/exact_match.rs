//! Comparison of numbers and units in texts with the same words: the word comparison ignores signs
//! that distinguish them.

use crate::answer::verifier::{
    numbers::units::{self, MeasurementUnit},
    text::char_folding::{is_group_separator, superscript_digit},
};

/// Whether two texts with the same words have the same numbers and units.
pub(crate) fn same_numbers(one: &str, other: &str) -> bool {
    extract_numbers(one) == extract_numbers(other)
}

/// Whether a text has all numbers of a quote that omits parts of it, with their units.
pub(crate) fn contains_numbers(text: &str, quote: &str) -> bool {
    let there = extract_numbers(text);
    extract_numbers(quote)
        .iter()
        .all(|number| there.contains(number))
}

/// The numbers of a text as they are written, without digit grouping.
fn extract_numbers(text: &str) -> Vec<(String, Option<MeasurementUnit>)> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = chars.get(at) {
        if letter.is_ascii_digit() {
            let (figure, end) = scan_number(&chars, at);
            found.push((figure, unit_at(&chars, end)));
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

fn scan_number(chars: &[char], from: usize) -> (String, usize) {
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let mut figure = String::new();
    let mut raised = false;
    let mut at = from;
    while let Some(&letter) = chars.get(at) {
        if letter.is_ascii_digit() {
            figure.push(letter);
        } else if let Some(power) = superscript_digit(letter) {
            if !raised {
                figure.push('^');
            }
            raised = true;
            figure.push(power);
        } else if is_group_separator(letter)
            && digit(at + 1)
            && digit(at + 2)
            && digit(at + 3)
            && !digit(at + 4)
        {
            // The comma groups thousands.
        } else if matches!(letter, '.' | ',' | ':' | '/') && digit(at + 1) {
            figure.push(letter);
        } else {
            break;
        }
        at += 1;
    }
    (figure, at)
}

/// The unit after a number, if there is one.
fn unit_at(chars: &[char], from: usize) -> Option<MeasurementUnit> {
    let rest = chars.iter().skip(from);
    let rest = rest.skip_while(|it| it.is_whitespace());
    let word: String = rest.take_while(|it| it.is_alphabetic()).collect();
    units::parse_unit(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_look_alike_are_told_apart() {
        for (one, other) in [
            ("It draws 0.8 mW.", "It draws 0.8 MW."),
            ("At 350 MPa it broke.", "At 350 mPa it broke."),
            ("A file of 5 MB.", "A file of 5 Mb."),
            ("We counted 10⁴ cells.", "We counted 104 cells."),
            ("Um 3,2 Prozent.", "Um 32 Prozent."),
            ("Diluted 1:100.", "Diluted 1 100."),
        ] {
            assert!(!same_numbers(one, other), "{one}");
            assert!(!contains_numbers(one, other), "{one}");
        }
        for (one, other) in [
            ("1,200 m and 5%", "1200 m and 5 %"),
            ("In 12\nmonths", "in 12 Months"),
            ("No number", "no number at all"),
        ] {
            assert!(same_numbers(one, other), "{one}");
        }
        assert!(contains_numbers("It drew 3 W, then 5 W.", "It drew … 5 W"));
    }
}
