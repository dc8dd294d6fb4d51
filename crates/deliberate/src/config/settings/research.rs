//! What can be set about research.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::prompts::sibling_path;
use crate::config::resolved::ResolvedSettings;

/// Research.
#[derive(Debug, Clone)]
pub(crate) struct ResearchSettings {
    /// Where what is derived is kept; `None` in memory.
    pub(crate) folder: Option<PathBuf>,
    /// Where papers are downloaded to.
    pub(crate) papers: Option<PathBuf>,
    /// Where papers may be read from; `None` leaves it to whose machine it is.
    pub(crate) readable: Option<Vec<PathBuf>>,
    /// Folders whose files are read as they come.
    pub(crate) watch: Vec<PathBuf>,
    /// Where bibliographies are written to.
    pub(crate) exports: Option<PathBuf>,
    /// The largest file.
    pub(crate) file_bytes: u64,
    /// How sources are reached.
    pub(crate) sources: Vec<PaperSourceSettings>,
    /// Where Unpaywall is.
    pub(crate) unpaywall_url: Option<String>,
    /// An address to write to.
    pub(crate) contact: Option<String>,
    /// How long answers of sources are used again.
    pub(crate) cache: Duration,
    /// What makes vectors.
    pub(crate) embeddings: RetrievalModelSettings,
    /// What puts passages in order.
    pub(crate) rerank: RetrievalModelSettings,
    /// How much the rank by meaning counts.
    pub(crate) vector_weight: Option<f64>,
    /// How much the rank by words counts.
    pub(crate) text_weight: Option<f64>,
    /// Whether a weak side counts less.
    pub(crate) adaptive: bool,
    /// The constant of rank fusion.
    pub(crate) rank_constant: f64,
    /// Tokens of a passage.
    pub(crate) passage_tokens: usize,
    /// Tokens it shares with the one before.
    pub(crate) overlap_tokens: usize,
    /// Share of claims that must be supported.
    pub(crate) support: f64,
    /// Model calls of one question.
    pub(crate) answer_model_calls: u32,
    /// Tokens of one question.
    pub(crate) answer_tokens: u64,
    /// Time of one question.
    pub(crate) answer_time: Duration,
    /// How often it is looked what is due; `None` never.
    pub(crate) schedule_every: Option<Duration>,
}

/// How a source is reached.
#[derive(Debug, Clone)]
pub(crate) struct PaperSourceSettings {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its address.
    pub(crate) url: Option<String>,
    /// Its key.
    pub(crate) key: Option<SecretString>,
}

/// What makes vectors, or puts passages in order.
#[derive(Debug, Clone)]
pub(crate) struct RetrievalModelSettings {
    /// One of the words of the setting.
    pub(crate) which: &'static str,
    /// Of an endpoint: its address.
    pub(crate) url: Option<String>,
    /// Its model.
    pub(crate) model: Option<String>,
    /// Its key.
    pub(crate) key: Option<SecretString>,
}

impl ResearchSettings {
    pub(crate) fn from_values(values: &ResolvedSettings) -> Self {
        let number = |key: &str| values.number(key).unwrap_or_default();
        let readable = values.get("research.readable");
        let hours = values.count::<u64>("research.cache_hours");
        let every = values.milliseconds("research.schedule_every_ms");
        Self {
            folder: values
                .optional_path("research.folder")
                .or_else(|| sibling_path(&values.path("database.path"), "research")),
            papers: values.optional_path("research.papers"),
            readable: readable.map(|_| values.paths("research.readable")),
            watch: values.paths("research.watch"),
            exports: values.optional_path("research.exports"),
            file_bytes: values.count("research.file_bytes"),
            sources: read_sources(values),
            unpaywall_url: values.text("research.unpaywall_url"),
            contact: values.text("research.contact"),
            cache: Duration::from_secs(hours * 3_600),
            embeddings: RetrievalModelSettings::from_values(values, "embeddings"),
            rerank: RetrievalModelSettings::from_values(values, "rerank"),
            vector_weight: values.number("research.vector_weight"),
            text_weight: values.number("research.text_weight"),
            adaptive: values.switch("research.adaptive"),
            rank_constant: number("research.rank_constant"),
            passage_tokens: values.count("research.passage_tokens"),
            overlap_tokens: values.count("research.overlap_tokens"),
            support: number("research.support"),
            answer_model_calls: values.count("research.answer_model_calls"),
            answer_tokens: values.count("research.answer_tokens"),
            answer_time: values.milliseconds("research.answer_ms"),
            schedule_every: values.switch("research.schedule").then_some(every),
        }
    }
}

fn read_sources(values: &ResolvedSettings) -> Vec<PaperSourceSettings> {
    let named = values.choices("research.sources").into_iter();
    named
        .map(|name| PaperSourceSettings {
            name,
            url: values.text(&format!("research.{name}_url")),
            key: values.secret(&format!("research.{name}_key")),
        })
        .collect()
}

impl RetrievalModelSettings {
    fn from_values(values: &ResolvedSettings, what: &str) -> Self {
        let key = |part: &str| format!("research.{what}{part}");
        Self {
            which: values.choice(&key("")),
            url: values.text(&key("_url")),
            model: values.text(&key("_model")),
            key: values.secret(&key("_key")),
        }
    }
}
