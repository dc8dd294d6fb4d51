//! Finds tools by words: those whose rare words are asked for come first, and names count more
//! than descriptions.

mod words;

use std::collections::HashMap;

pub(crate) use words::words;

/// How much a word counts, by where it stands.
const IN_NAME: f32 = 4.0;
const IN_TITLE: f32 = 2.5;
const IN_SERVER: f32 = 1.5;
const IN_DESCRIPTION: f32 = 1.0;
const IN_PARAMETERS: f32 = 0.8;
/// How fast more of the same word stops to count, and how much length is held against a text.
const SATURATION: f32 = 1.2;
const BY_LENGTH: f32 = 0.5;
/// How much more a tool counts whose whole name is asked for.
const BY_WHOLE_NAME: f32 = 0.5;
/// What a word counts that only begins like the one that is asked for.
const BEGINS_ALIKE: f32 = 0.5;

/// A tool as the search sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Entry {
    weights: HashMap<String, f32>,
    length: f32,
    name: Vec<String>,
}

/// What an entry is made of.
pub(crate) struct Parts<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    pub(crate) parameters: Vec<&'a str>,
    pub(crate) server: &'a str,
}

impl Entry {
    pub(crate) fn new(parts: &Parts<'_>) -> Self {
        let mut entry = Self {
            name: words(parts.name),
            ..Self::default()
        };
        entry.add(parts.name, IN_NAME);
        entry.add(parts.title, IN_TITLE);
        entry.add(parts.server, IN_SERVER);
        entry.add(parts.description, IN_DESCRIPTION);
        for parameter in &parts.parameters {
            entry.add(parameter, IN_PARAMETERS);
        }
        entry
    }

    fn add(&mut self, text: &str, weight: f32) {
        for word in words(text) {
            self.length += 1.0;
            *self.weights.entry(word).or_default() += weight;
        }
    }

    /// The share of its name's words that are asked for.
    fn named_by(&self, asked: &[String]) -> f32 {
        let named = self.name.iter().filter(|word| asked.contains(word)).count();
        named as f32 / self.name.len().max(1) as f32
    }

    /// How much of a word there is.
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
            begins.then_some(weight * BEGINS_ALIKE)
        };
        self.weights.iter().filter_map(alike).fold(0.0, f32::max)
    }
}

/// The places of the entries that hold any of the words, the best first, with how well they fit.
pub(crate) fn rank(query: &str, entries: &[&Entry]) -> Vec<(usize, f32)> {
    const MOST_WORDS: usize = 32;
    let mut asked = words(query);
    asked.sort_unstable();
    asked.dedup();
    asked.truncate(MOST_WORDS);
    if asked.is_empty() || entries.is_empty() {
        return Vec::new();
    }
    let count = entries.len() as f32;
    let mean = entries.iter().map(|entry| entry.length).sum::<f32>() / count;
    let mut scores = vec![0.0_f32; entries.len()];
    for word in &asked {
        let weights: Vec<f32> = entries.iter().map(|entry| entry.weight(word)).collect();
        let holding = weights.iter().filter(|weight| **weight > 0.0).count() as f32;
        let rare = (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln();
        for ((score, weight), entry) in scores.iter_mut().zip(&weights).zip(entries) {
            let length = 1.0 - BY_LENGTH + BY_LENGTH * entry.length / mean.max(1.0);
            *score += rare * weight * (SATURATION + 1.0) / (weight + SATURATION * length);
        }
    }
    for (score, entry) in scores.iter_mut().zip(entries) {
        *score *= 1.0 + BY_WHOLE_NAME * entry.named_by(&asked);
    }
    let mut ranked: Vec<(usize, f32)> = scores
        .into_iter()
        .enumerate()
        .filter(|(_, score)| *score > 0.0)
        .collect();
    // In their own order where they fit alike.
    ranked.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
    ranked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str, description: &str) -> Entry {
        Entry::new(&Parts {
            name,
            title: "",
            description,
            parameters: Vec::new(),
            server: "server",
        })
    }

    fn first(query: &str, tools: &[(&str, &str)]) -> Option<String> {
        let entries: Vec<Entry> = tools.iter().map(|(name, text)| entry(name, text)).collect();
        let entries: Vec<&Entry> = entries.iter().collect();
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
            assert_eq!(first(query, &tools).as_deref(), Some(name), "{query}");
        }
        assert_eq!(first("weather in Paris", &tools[..1]), None);
        assert_eq!(first("  ", &tools), None);
    }

    proptest! {
        #[test]
        fn ranks_fall_and_hold_each_entry_once(
            query in "[a-z ]{0,40}",
            texts in proptest::collection::vec("[a-z_ ]{0,40}", 0..12),
        ) {
            let entries: Vec<Entry> = texts.iter().map(|text| entry(text, text)).collect();
            let entries: Vec<&Entry> = entries.iter().collect();
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
            let entries: Vec<Entry> = names.iter().map(|name| entry(name, "")).collect();
            let entries: Vec<&Entry> = entries.iter().collect();
            for (at, name) in names.iter().enumerate() {
                let ranked = rank(name, &entries);
                prop_assert!(ranked.iter().any(|(found, score)| *found == at && *score >= ranked[0].1 * 0.99));
            }
        }
    }
}
