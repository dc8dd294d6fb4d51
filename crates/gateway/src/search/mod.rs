//! Ranks tools by words and by meaning. Rare words count more, and names count more than
//! descriptions; the vectors of the built-in table find what the words leave open.

mod tokenizer;

use std::collections::HashMap;

use deliberate_core::is_stop_word;
use deliberate_index::{ScoredRanking, StaticEmbedder, fuse_adaptive};

pub(crate) use tokenizer::tokenize;

/// The weights of a word, by the field it is in.
const NAME_WEIGHT: f32 = 4.0;
const TITLE_WEIGHT: f32 = 2.5;
const SERVER_WEIGHT: f32 = 1.5;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const PARAMETERS_WEIGHT: f32 = 0.8;
/// The BM25 parameters: saturation of repeated words, and normalization by text length.
const SATURATION: f32 = 1.2;
const LENGTH_NORM: f32 = 0.5;
/// The boost of a tool whose whole name is in the query.
const NAME_BOOST: f32 = 0.5;
/// The weight of a word that only starts like the query word.
const PREFIX_MATCH_WEIGHT: f32 = 0.5;

/// The weight of a word of the query that says nothing about its subject.
const STOP_WORD_WEIGHT: f32 = 0.3;
/// The weights of the two rankings, and the constant of their fusion.
const WORDS_WEIGHT: f32 = 0.5;
const VECTORS_WEIGHT: f32 = 0.5;
const RANK_CONSTANT: f32 = 60.0;
/// Less similar tools have nothing to do with a query: half of all tools of 14 servers reach 0.18,
/// nine of ten wanted tools 0.23.
const MIN_SIMILARITY: f32 = 0.25;

/// A tool in the form that the search uses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolSearchEntry {
    weights: HashMap<String, f32>,
    length: f32,
    name: Vec<String>,
    /// The mean of the meanings of its words, of length 1.
    vector: Vec<f32>,
}

/// The fields of an entry.
pub(crate) struct ToolSearchFields<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    pub(crate) parameters: Vec<&'a str>,
    pub(crate) server: &'a str,
}

impl ToolSearchEntry {
    pub(crate) fn new(parts: &ToolSearchFields<'_>) -> Self {
        let mut entry = Self {
            name: tokenize(parts.name),
            vector: embed(&format!(
                "{} {} {} {}",
                parts.server, parts.name, parts.title, parts.description
            )),
            ..Self::default()
        };
        entry.add(parts.name, NAME_WEIGHT);
        entry.add(parts.title, TITLE_WEIGHT);
        entry.add(parts.server, SERVER_WEIGHT);
        entry.add(parts.description, DESCRIPTION_WEIGHT);
        for parameter in &parts.parameters {
            entry.add(parameter, PARAMETERS_WEIGHT);
        }
        entry
    }

    fn add(&mut self, text: &str, weight: f32) {
        for word in tokenize(text) {
            self.length += 1.0;
            *self.weights.entry(word).or_default() += weight;
        }
    }

    /// Returns the share of the name's words that are in the query.
    fn name_overlap(&self, asked: &[(String, f32)]) -> f32 {
        let is_asked = |word: &&String| asked.iter().any(|(other, _)| other == *word);
        let named = self.name.iter().filter(is_asked).count();
        named as f32 / self.name.len().max(1) as f32
    }

    /// Returns the weight of a word in the entry.
    fn weight(&self, word: &str) -> f32 {
        if let Some(weight) = self.weights.get(word) {
            return *weight;
        }
        if word.chars().count() < 3 {
            return 0.0;
        }
        let alike = |(other, weight): (&String, &f32)| {
            let begins =
                other.starts_with(word) || (other.len() > 3 && word.starts_with(other.as_str()));
            begins.then_some(weight * PREFIX_MATCH_WEIGHT)
        };
        self.weights.iter().filter_map(alike).fold(0.0, f32::max)
    }
}

/// Returns the indexes and scores of the entries that match any word or have a similar meaning, the
/// best first.
pub(crate) fn rank(query: &str, entries: &[&ToolSearchEntry]) -> Vec<(usize, f32)> {
    let (words, covered) = rank_by_words(query, entries);
    let vectors = rank_by_meaning(query, entries);
    let fused = fuse_adaptive(
        &ScoredRanking {
            weight: WORDS_WEIGHT,
            items: &words,
        },
        &ScoredRanking {
            weight: VECTORS_WEIGHT,
            items: &vectors,
        },
        covered,
        RANK_CONSTANT,
    );
    fused
        .into_iter()
        .map(|found| (found.item, found.score))
        .collect()
}

fn rank_by_meaning(query: &str, entries: &[&ToolSearchEntry]) -> Vec<(usize, f32)> {
    let asked = embed(query);
    let mut ranked: Vec<(usize, f32)> = entries
        .iter()
        .map(|entry| entry.vector.iter().zip(&asked).map(|(a, b)| a * b).sum())
        .enumerate()
        .filter(|(_, similarity)| *similarity >= MIN_SIMILARITY)
        .collect();
    sort_best_first(&mut ranked);
    ranked
}

/// Returns the vector of the words of a text that say something about its subject.
fn embed(text: &str) -> Vec<f32> {
    let words = tokenizer::split_words(text);
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !is_stop_word(word) && !word.chars().all(char::is_numeric))
        .collect();
    StaticEmbedder::new().vector(&words.join(" "))
}

/// Ranks the entries that match any word. Also returns the share of the query, by the rarity of its
/// words, that the best of them has.
fn rank_by_words(query: &str, entries: &[&ToolSearchEntry]) -> (Vec<(usize, f32)>, f32) {
    let asked = query_terms(query);
    if asked.is_empty() || entries.is_empty() {
        return (Vec::new(), 0.0);
    }
    let mut rarity = Vec::with_capacity(asked.len());
    let count = entries.len() as f32;
    let mean = entries.iter().map(|entry| entry.length).sum::<f32>() / count;
    let mut scores = vec![0.0_f32; entries.len()];
    for (word, query_weight) in &asked {
        let weights: Vec<f32> = entries.iter().map(|entry| entry.weight(word)).collect();
        let holding = weights.iter().filter(|weight| **weight > 0.0).count() as f32;
        let rare = query_weight * (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln();
        rarity.push(rare);
        for ((score, weight), entry) in scores.iter_mut().zip(&weights).zip(entries) {
            let length = 1.0 - LENGTH_NORM + LENGTH_NORM * entry.length / mean.max(1.0);
            *score += rare * weight * (SATURATION + 1.0) / (weight + SATURATION * length);
        }
    }
    for (score, entry) in scores.iter_mut().zip(entries) {
        *score *= 1.0 + NAME_BOOST * entry.name_overlap(&asked);
    }
    let mut ranked: Vec<(usize, f32)> = scores
        .into_iter()
        .enumerate()
        .filter(|(_, score)| *score > 0.0)
        .collect();
    sort_best_first(&mut ranked);
    let best = ranked.first().and_then(|(at, _)| entries.get(*at));
    let has = |word: &str| best.is_some_and(|entry| entry.weight(word) > 0.0);
    let found: f32 = asked
        .iter()
        .zip(&rarity)
        .filter(|((word, _), _)| has(word))
        .map(|(_, rare)| rare)
        .sum();
    (ranked, found / rarity.iter().sum::<f32>().max(f32::EPSILON))
}

/// Returns the words to look for, with their weights: words such as "the" and "how" find any tool.
fn query_terms(query: &str) -> Vec<(String, f32)> {
    const MAX_QUERY_TERMS: usize = 32;
    let weigh = |word: &String| {
        let weight = if is_stop_word(word) {
            STOP_WORD_WEIGHT
        } else {
            1.0
        };
        (tokenizer::stem(word), weight)
    };
    let mut asked: Vec<(String, f32)> = tokenizer::split_words(query).iter().map(weigh).collect();
    asked.sort_by(|(one, a), (other, b)| one.cmp(other).then(b.total_cmp(a)));
    asked.dedup_by(|(one, _), (other, _)| one == other);
    asked.truncate(MAX_QUERY_TERMS);
    asked
}

/// Equal scores keep the original order.
fn sort_best_first(ranked: &mut [(usize, f32)]) {
    ranked.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn search_entry(name: &str, description: &str) -> ToolSearchEntry {
        ToolSearchEntry::new(&ToolSearchFields {
            name,
            title: "",
            description,
            parameters: Vec::new(),
            server: "server",
        })
    }

    fn top_tool(query: &str, tools: &[(&str, &str)]) -> Option<String> {
        let entries: Vec<ToolSearchEntry> = tools
            .iter()
            .map(|(name, text)| search_entry(name, text))
            .collect();
        let entries: Vec<&ToolSearchEntry> = entries.iter().collect();
        let (at, _) = rank(query, &entries).into_iter().next()?;
        Some(tools[at].0.to_owned())
    }

    #[test]
    fn the_tool_that_is_meant_comes_first() {
        let tools = [
            ("read_file", "Read the contents of a file"),
            (
                "write_file",
                "Create a file or overwrite it with new content",
            ),
            ("list_directory", "List the files and directories at a path"),
            ("createIssue", "Open a new issue in a repository"),
            ("get_current_time", "Get the time in a timezone"),
            ("fetch", "Fetches a URL from the internet as markdown"),
        ];
        for (query, name) in [
            ("read a file", "read_file"),
            ("creating issues", "createIssue"),
            ("what time is it", "get_current_time"),
            ("download web page url", "fetch"),
            ("directories", "list_directory"),
            ("repo", "createIssue"),
            ("overwrite", "write_file"),
        ] {
            assert_eq!(top_tool(query, &tools).as_deref(), Some(name), "{query}");
        }
        assert_eq!(top_tool("weather in Paris", &tools[..1]), None);
        assert_eq!(top_tool("  ", &tools), None);
    }

    proptest! {
        #[test]
        fn ranks_fall_and_hold_each_entry_once(
            query in "[a-z ]{0,40}",
            texts in proptest::collection::vec("[a-z_ ]{0,40}", 0..12),
        ) {
            let entries: Vec<ToolSearchEntry> = texts.iter().map(|text| search_entry(text, text)).collect();
            let entries: Vec<&ToolSearchEntry> = entries.iter().collect();
            let ranked = rank(&query, &entries);
            prop_assert!(ranked.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            let mut places: Vec<_> = ranked.iter().map(|(at, _)| *at).collect();
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len(), ranked.len());
        }

        #[test]
        fn a_tool_is_found_by_its_name(names in proptest::collection::btree_set("[a-z]{4,8}_[a-z]{4,8}", 1..10)) {
            let names: Vec<String> = names.into_iter().collect();
            let entries: Vec<ToolSearchEntry> = names.iter().map(|name| search_entry(name, "")).collect();
            let entries: Vec<&ToolSearchEntry> = entries.iter().collect();
            for (at, name) in names.iter().enumerate() {
                let ranked = rank(name, &entries);
                prop_assert!(ranked.iter().any(|(found, score)| *found == at && *score >= ranked[0].1 * 0.99));
            }
        }
    }
}
