//! Character folding: which characters are equal, and which are significant.

/// Appends the folded form of a character and returns whether it is a digit.
pub(crate) fn fold_char(letter: char, into: &mut String) -> bool {
    match letter {
        'ﬁ' => into.push_str("fi"),
        'ﬂ' => into.push_str("fl"),
        'ﬀ' => into.push_str("ff"),
        'ﬃ' => into.push_str("ffi"),
        'ﬄ' => into.push_str("ffl"),
        'ﬅ' | 'ﬆ' => into.push_str("st"),
        // The micro sign and the Greek letter look alike and mean the same.
        '\u{b5}' => into.push('μ'),
        _ => {
            if let Some(digit) = superscript_digit(letter).filter(char::is_ascii_digit) {
                into.push(digit);
                return true;
            }
            into.extend(letter.to_lowercase());
            return letter.is_ascii_digit();
        }
    }
    false
}

/// The folded form of a character.
pub(crate) fn fold_to_string(letter: char) -> String {
    let mut text = String::new();
    fold_char(letter, &mut text);
    text
}

pub(crate) fn is_word_char(letter: char) -> bool {
    letter == '_' || superscript_digit(letter).is_some_and(|it| it.is_ascii_digit())
}

/// The plain digit of a superscript or subscript.
pub(crate) fn superscript_digit(letter: char) -> Option<char> {
    let digit = match letter {
        '²' => 2,
        '³' => 3,
        '¹' => 1,
        '⁰' | '⁴'..='⁹' => u32::from(letter) - 0x2070,
        '₀'..='₉' => u32::from(letter) - 0x2080,
        '⁻' => return Some('-'),
        _ => return None,
    };
    char::from_digit(digit, 10)
}

pub(crate) fn is_minus(letter: char) -> bool {
    matches!(letter, '-' | '−' | '‐' | '‑')
}

pub(crate) fn is_hyphen(letter: char) -> bool {
    matches!(letter, '-' | '‐' | '‑' | '–' | '−')
}

pub(crate) fn is_apostrophe(letter: char) -> bool {
    matches!(letter, '\'' | '’' | '‘' | 'ʼ')
}

pub(crate) fn is_group_separator(letter: char) -> bool {
    matches!(letter, ',' | '\u{a0}' | '\u{2009}' | '\u{202f}')
}

pub(crate) fn is_break(letter: char) -> bool {
    matches!(
        letter,
        ',' | ';' | ':' | '(' | ')' | '.' | '—' | '!' | '?' | '[' | ']' | '/' | '–' | '-' | '…'
    )
}

pub(crate) fn normalize_sign(letter: char) -> Option<&'static str> {
    Some(match letter {
        '%' | '％' => "%",
        '‰' => "‰",
        '<' => "<",
        '>' => ">",
        '=' => "=",
        '≤' | '⩽' => "≤",
        '≥' | '⩾' => "≥",
        '±' => "±",
        '×' => "×",
        '~' | '∼' | '≈' | '≃' => "~",
        '°' => "°",
        '$' => "$",
        '€' => "€",
        '£' => "£",
        _ => return None,
    })
}
