//! Detects texts in languages without a lexicon of synonyms and opposites. Evidence for a claim in
//! such a language must contain all of its words.

use std::collections::HashSet;

use super::{
    lexicon,
    tokenizer::{TextToken, TextTokenKind},
};

/// Function words of several languages, without those that are also English words.
const FUNCTION_WORDS: &str = "der das und ist war wurde wurden ein eine einen einem mit von zu im den dem auf \
    für bei nach nicht kein keine le la les des une est dans pour avec sur que qui par du aux ne pas \
    était el los las una es en con por para del fue fueron il gli che di della nel è da em foi um uma \
    não het een van op voor werd niet geen och som inte på av med til ikke og w z się nie jest na do";

/// Distinct function words that identify such a language.
const MIN_FUNCTION_WORDS: usize = 2;

/// Whether a text is in a language without a lexicon.
pub(crate) fn is_unsupported_language(tokens: &[TextToken]) -> bool {
    let words: Vec<&str> = tokens
        .iter()
        .filter(|it| it.kind == TextTokenKind::Word)
        .map(|it| it.text.as_str())
        .collect();
    let other_script = words.iter().filter(|it| it.chars().all(is_other_script));
    if !words.is_empty() && other_script.count() * 2 > words.len() {
        return true;
    }
    let english = words.iter().filter(|it| lexicon::is_stop_word(it)).count();
    let known = |it: &&&str| {
        !lexicon::is_stop_word(it) && FUNCTION_WORDS.split_whitespace().any(|own| own == **it)
    };
    let foreign: Vec<&&str> = words.iter().filter(known).collect();
    let distinct: HashSet<&&str> = foreign.iter().copied().collect();
    distinct.len() >= MIN_FUNCTION_WORDS && foreign.len() > english
}

/// Whether a letter is beyond Latin and Greek, which also occur in English texts.
fn is_other_script(letter: char) -> bool {
    letter.is_alphabetic() && letter > '\u{3ff}'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::verifier::text::tokenizer::tokenize;

    #[test]
    fn languages_are_told_by_their_words_of_grammar() {
        for text in [
            "Das Mittel senkte den Blutdruck in der Studie.",
            "Le médicament a réduit la tension.",
            "El fármaco redujo la presión en los pacientes.",
            "Препарат снизил давление.",
            "睡眠有益",
        ] {
            assert!(is_unsupported_language(&tokenize(text)), "{text}");
        }
        for text in [
            "The drug lowered pressure in the trial of van der Berg.",
            "TNF-α rose and cells die.",
            "BERT outperforms ELMo.",
            "E. coli was grown de novo in La Paz.",
        ] {
            assert!(!is_unsupported_language(&tokenize(text)), "{text}");
        }
    }
}
