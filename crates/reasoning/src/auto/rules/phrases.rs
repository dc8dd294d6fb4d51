//! The words of the rules in eight languages, from `phrases.json`. Phrases are separated by commas; a
//! word that ends with `*` stands for all words that begin so, and a phrase that begins with `^`
//! counts only where an instruction begins.

use std::sync::LazyLock;

use serde::Deserialize;

use super::text::{Phrase, strip_longest};
use crate::auto::mode_choice::ModeChoice;

/// The words that show what the words around them mean, and the requests of one language.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleLanguage {
    /// Its English name.
    #[cfg_attr(not(test), expect(dead_code, reason = "it makes the data readable"))]
    pub(super) language: String,
    is_latin: bool,
    /// Words that reverse a request in the same clause.
    pub(super) negations: PhraseList,
    /// Words that, before a way to think, show that it is asked about or told about.
    pub(super) questions: PhraseList,
    /// Words for work on a text; what follows them is the text.
    pub(super) text_tasks: PhraseList,
    /// Words that may precede an instruction.
    openers: PhraseList,
    pub(super) greetings: PhraseList,
    /// Words around a bare sum.
    pub(super) sum_words: PhraseList,
    /// Verbs that go with the name of a way to think: "use a tree of thoughts".
    #[serde(rename = "use")]
    use_verbs: PhraseList,
    pub(super) requests: Vec<ModeRequest>,
}

/// Phrases that ask for a mode. Words that only occur in a problem, such as "compare" or "tree", are
/// none.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ModeRequest {
    pub(super) mode: String,
    /// Words of which one must stand near a phrase; empty if a phrase is enough. A text of a phrase
    /// alone needs none either.
    near: PhraseList,
    /// Whether the verbs of use are the words that must stand near a phrase.
    uses: bool,
    /// Phrases that name the way to think.
    pub(super) phrases: PhraseList,
    /// Words of which one must follow a phrase; empty if any word may.
    pub(super) next: PhraseList,
    /// Words that, after a phrase, show that it means something else.
    pub(super) unless_next: PhraseList,
}

/// Phrases that mean the same to the rules.
#[derive(Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct PhraseList(pub(super) Vec<Phrase>);

/// All languages, English first.
pub(super) static LANGUAGES: LazyLock<Vec<RuleLanguage>> = LazyLock::new(|| {
    let languages = serde_json::from_str(include_str!("phrases.json"));
    let mut languages: Vec<RuleLanguage> = languages.unwrap_or_default();
    if let Some(english) = languages.first_mut() {
        english
            .requests
            .extend(ModeChoice::all().map(ModeRequest::by_name));
    }
    languages
});

impl ModeRequest {
    /// A request with the name of a mode or of its tool.
    fn by_name(choice: ModeChoice) -> Self {
        let name = choice.as_str();
        let by_tool = choice.tool().map(|tool| format!(", {tool}"));
        let by_tool = by_tool.unwrap_or_default();
        Self {
            mode: name.to_owned(),
            phrases: format!("{name} mode, mode {name}{by_tool}").into(),
            ..Self::default()
        }
    }

    /// Words of which one must stand near a phrase; none if a phrase is enough.
    pub(super) fn near_words<'a>(&'a self, language: &'a RuleLanguage) -> &'a PhraseList {
        if self.uses {
            &language.use_verbs
        } else {
            &self.near
        }
    }
}

impl RuleLanguage {
    /// The language itself, or all that share the Latin script: English names of ways to think occur
    /// in each of them.
    pub(super) fn related(&self) -> impl Iterator<Item = &Self> {
        let others = LANGUAGES.iter().filter(|it| self.is_latin && it.is_latin);
        others.chain(Some(self).filter(|it| !it.is_latin))
    }

    /// The words after phrases such as "please" and "can you".
    pub(super) fn strip_openers<'a>(&self, words: &'a [String]) -> &'a [String] {
        let mut rest = words;
        while let Some(left) = self.openers.strip(rest) {
            rest = left;
        }
        rest
    }
}

impl From<String> for PhraseList {
    fn from(text: String) -> Self {
        let items = text.split(',').map(str::trim);
        Self(items.filter(|it| !it.is_empty()).map(Phrase::new).collect())
    }
}

impl PhraseList {
    /// Tells whether one of the phrases stands anywhere among the words.
    pub(super) fn occurs_in(&self, words: &[String]) -> bool {
        self.0
            .iter()
            .any(|phrase| phrase.positions(words).next().is_some())
    }

    /// Tells whether the words begin with one of the phrases.
    pub(super) fn starts(&self, words: &[String]) -> bool {
        self.0.iter().any(|phrase| phrase.starts(words))
    }

    /// The words after the longest of the phrases that begins them.
    pub(super) fn strip<'a>(&self, words: &'a [String]) -> Option<&'a [String]> {
        strip_longest(words, self.0.iter())
    }
}
