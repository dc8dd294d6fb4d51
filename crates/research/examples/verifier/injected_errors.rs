//! Injects one error into a claim, so that its passage no longer supports it.

/// Number words with replacements.
const NUMBER_WORDS: &[(&str, &str)] = &[
    ("Seventeen", "Nineteen"),
    ("Four ", "Six "),
    (" three ", " five "),
    ("two years", "four years"),
    ("six months", "nine months"),
    ("Ten ", "Twelve "),
    ("one to four", "one to seven"),
    ("two times", "three times"),
    ("halved", "doubled"),
    (" half of ", " a third of "),
    (" eight ", " eleven "),
];

/// Negated phrases with their positive forms.
const NEGATIONS: &[(&str, &str)] = &[
    ("did not ", "did "),
    ("was not ", "was "),
    ("were not ", "were "),
    ("is not ", "is "),
    ("no effect", "an effect"),
    ("no difference", "a difference"),
    ("no association", "an association"),
    ("of no help", "of help"),
    ("no faster", "faster"),
    ("failed to ", "managed to "),
];

/// Verbs with their negated forms.
const NEGATABLE_VERBS: &[(&str, &str)] = &[
    (" was ", " was not "),
    (" were ", " were not "),
    (" is ", " is not "),
    (" reduced ", " did not reduce "),
    (" increased ", " did not increase "),
    (" lowered ", " did not lower "),
    (" improved ", " did not improve "),
    (" raised ", " did not raise "),
    (" gained ", " did not gain "),
    (" agreed ", " did not agree "),
    (" recalled ", " did not recall "),
    (" rose ", " did not rise "),
    (" fell ", " did not fall "),
    (" dropped ", " did not drop "),
    (" kept ", " did not keep "),
    (" retained ", " did not retain "),
    (" stored ", " did not store "),
    (" had ", " did not have "),
    (" led to ", " did not lead to "),
    (" produced ", " did not produce "),
    (" reached ", " did not reach "),
    (" processed ", " did not process "),
    (" lost ", " did not lose "),
    (" emitted ", " did not emit "),
    (" removed ", " never removed "),
    (" excludes ", " does not exclude "),
    (" retreated ", " did not retreat "),
    (" saved ", " did not save "),
    (" became ", " never became "),
    (" observed ", " never observed "),
    (" declined ", " did not decline "),
    (" decreased ", " did not decrease "),
    (" lasted ", " did not last "),
    (" benefited ", " did not benefit "),
];

/// Pairs of opposites.
const ANTONYMS: &[(&str, &str)] = &[
    ("increased", "decreased"),
    ("raised", "lowered"),
    ("rose", "fell"),
    ("higher", "lower"),
    ("more", "less"),
    ("fewer", "more"),
    ("faster", "slower"),
    ("greater", "smaller"),
    ("larger", "smaller"),
    ("improved", "worsened"),
    ("better", "worse"),
    ("stronger", "weaker"),
    ("positively", "negatively"),
    ("before", "after"),
    ("above", "below"),
    ("reduced", "increased"),
    ("gained", "lost"),
    ("longer", "shorter"),
    ("accelerated", "slowed"),
    ("cooler", "warmer"),
    ("dropped", "climbed"),
    ("promoted it", "suppressed it"),
    ("unlikely", "likely"),
    ("lowest", "highest"),
    ("declined", "grew"),
];

/// Claims with a changed number.
pub(crate) fn change_numbers(claim: &str) -> Vec<String> {
    let mut all = Vec::new();
    let spans = number_spans(claim);
    for (at, (start, end)) in spans.iter().enumerate() {
        let Some(number) = claim.get(*start..*end) else {
            continue;
        };
        let with = |other: &str| replace_span(claim, *start, *end, other);
        all.push(with(&change_digit(number, at)));
        all.push(with(&format!("{number}7")));
    }
    for pair in spans.windows(2) {
        if let [(one, one_end), (two, two_end)] = pair
            && let (Some(first), Some(second)) =
                (claim.get(*one..*one_end), claim.get(*two..*two_end))
            && same_kind(claim, *one_end, *two_end)
            && first != second
        {
            let exchanged = replace_span(claim, *two, *two_end, first);
            all.push(replace_span(&exchanged, *one, *one_end, second));
        }
    }
    all.extend(swap_phrases(claim, NUMBER_WORDS));
    all
}

/// Whether two numbers can be swapped: they are of the same kind and not the ends of a range.
fn same_kind(claim: &str, one: usize, two: usize) -> bool {
    let percent = |at: usize| claim.get(at..).is_some_and(|it| it.starts_with('%'));
    let between = claim.get(one..two).unwrap_or_default();
    percent(one)
        && percent(two)
        && (between.contains("with")
            || between.contains("against")
            || between.contains("versus")
            || between.contains("from"))
}

/// Spans of numbers that are not part of a name.
pub(crate) fn number_spans(claim: &str) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let letters: Vec<(usize, char)> = claim.char_indices().collect();
    let mut at = 0;
    while let Some(&(start, letter)) = letters.get(at) {
        let before = at
            .checked_sub(1)
            .and_then(|it| letters.get(it))
            .map(|it| it.1);
        if !letter.is_ascii_digit() {
            at += 1;
            continue;
        }
        let mut last = at;
        while let Some((_, next)) = letters.get(last + 1) {
            let after = letters
                .get(last + 2)
                .is_some_and(|it| it.1.is_ascii_digit());
            if next.is_ascii_digit() || (matches!(next, '.' | ',') && after) {
                last += 1;
            } else {
                break;
            }
        }
        let end = letters.get(last + 1).map_or(claim.len(), |it| it.0);
        let after = letters.get(last + 1).map(|it| it.1);
        let in_name = before.is_some_and(|it| it.is_alphanumeric() || it == '-')
            || after.is_some_and(char::is_alphabetic);
        if !in_name {
            all.push((start, end));
        }
        at = last + 1;
    }
    all
}

fn change_digit(number: &str, seed: usize) -> String {
    let digits = number.chars().filter(char::is_ascii_digit).count();
    let which = (seed + number.len()) % digits.max(1);
    let mut at = 0;
    let change = |letter: char| {
        let Some(digit) = letter.to_digit(10) else {
            return letter;
        };
        at += 1;
        if at - 1 == which {
            return char::from_digit((digit + 3) % 9 + 1, 10)
                .filter(|it| *it != letter)
                .unwrap_or('7');
        }
        letter
    };
    number.chars().map(change).collect()
}

fn replace_span(claim: &str, start: usize, end: usize, other: &str) -> String {
    let before = claim.get(..start).unwrap_or_default();
    let after = claim.get(end..).unwrap_or_default();
    format!("{before}{other}{after}")
}

/// Claims with a negation added or removed.
pub(crate) fn change_negations(claim: &str) -> Vec<String> {
    let taken = swap_phrases(claim, NEGATIONS);
    if taken.is_empty() {
        return swap_phrases(claim, NEGATABLE_VERBS)
            .into_iter()
            .take(1)
            .collect();
    }
    taken
}

/// Claims with the opposite direction.
pub(crate) fn change_directions(claim: &str) -> Vec<String> {
    let back: Vec<(&str, &str)> = ANTONYMS.iter().map(|(one, other)| (*other, *one)).collect();
    let mut all = swap_words(claim, ANTONYMS);
    all.extend(swap_words(claim, &back));
    all.dedup();
    // A claim that is both negated and reversed may be true again.
    all.retain(|_| !claim.contains(" not ") && !claim.contains(" no "));
    all.truncate(2);
    all
}

fn swap_phrases(claim: &str, words: &[(&str, &str)]) -> Vec<String> {
    let fitting = words.iter().filter(|(word, _)| claim.contains(word));
    fitting
        .map(|(word, other)| claim.replacen(word, other, 1))
        .collect()
}

/// Replaces whole words.
fn swap_words(claim: &str, words: &[(&str, &str)]) -> Vec<String> {
    let mut all = Vec::new();
    for (word, other) in words {
        let marked = format!(" {word} ");
        if claim.contains(&marked) {
            all.push(claim.replacen(&marked, &format!(" {other} "), 1));
        }
    }
    all
}

/// Quotes of a passage, unchanged and changed.
pub(crate) fn change_quotes(text: &str) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for (at, sentence) in text.split(". ").enumerate() {
        let words: Vec<&str> = sentence.trim_end_matches('.').split(' ').collect();
        if words.len() < 7 {
            continue;
        }
        let from = at % 3;
        let take = (6 + at % 4).min(words.len() - from);
        let quote: Vec<&str> = words.iter().skip(from).take(take).copied().collect();
        let said = |words: &[&str]| format!("The authors write that “{}”.", words.join(" "));
        // A quote that is cut off from a bound or inside a range is not faithful.
        let before = from.checked_sub(1).and_then(|it| words.get(it));
        let before = before.map(|it| it.to_lowercase()).unwrap_or_default();
        let bounded = ["below", "above", "than", "over", "under", "least", "most"];
        if bounded.contains(&before.as_str()) || quote.ends_with(&["to"]) {
            continue;
        }
        all.push((super::FAITHFUL, said(&quote)));
        let mut dotted = quote.clone();
        if let Some(word) = dotted.get_mut(3) {
            *word = "…";
        }
        all.push((super::FAITHFUL, said(&dotted)));
        let mut other = quote.clone();
        let others = ["sometimes", "seven", "strongly", "apparent", "metal"];
        if let (Some(word), Some(instead)) = (other.get_mut(2 + at % 3), others.get(at % 5)) {
            *word = instead;
        }
        all.push(("quote", said(&other)));
        let mut fewer = quote.clone();
        fewer.remove((2 + at % 2).min(fewer.len() - 1));
        all.push(("quote", said(&fewer)));
        let mut exchanged = quote.clone();
        exchanged.swap(1, 3);
        if exchanged != quote {
            all.push(("quote", said(&exchanged)));
        }
    }
    all
}
