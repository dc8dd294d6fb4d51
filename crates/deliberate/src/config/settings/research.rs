//! Settings of research.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::prompts::sibling_path;
use crate::config::resolved::ResolvedSettings;

#[derive(Debug, Clone)]
pub(crate) struct ResearchSettings {
    /// Folder of derived data; `None` keeps it in memory.
    pub(crate) folder: Option<PathBuf>,
    /// Folder for downloaded papers.
    pub(crate) papers: Option<PathBuf>,
    /// Folders that papers may be read from; `None` uses the default folders.
    pub(crate) readable: Option<Vec<PathBuf>>,
    /// Folders that are watched for new files.
    pub(crate) watch: Vec<PathBuf>,
    /// Folder for exported bibliographies.
    pub(crate) exports: Option<PathBuf>,
    /// Largest file.
    pub(crate) file_bytes: u64,
    pub(crate) sources: Vec<PaperSourceSettings>,
    pub(crate) unpaywall_url: Option<String>,
    /// E-mail address for sources that ask for a contact.
    pub(crate) contact: Option<String>,
    /// Time for which responses of sources are cached.
    pub(crate) cache: Duration,
    pub(crate) embeddings: RetrievalModelSettings,
    pub(crate) rerank: RetrievalModelSettings,
    pub(crate) vector_weight: Option<f64>,
    pub(crate) text_weight: Option<f64>,
    /// Whether the vector weight is lowered if the full-text search finds the question's words.
    pub(crate) adaptive: bool,
    /// Constant of reciprocal rank fusion.
    pub(crate) rank_constant: f64,
    pub(crate) passage_tokens: usize,
    pub(crate) overlap_tokens: usize,
    /// Share of claims that must be supported.
    pub(crate) support: f64,
    /// Whether a model judges what code cannot check.
    pub(crate) model_judge: bool,
    /// Maximum model calls for one question.
    pub(crate) answer_model_calls: u32,
    /// Maximum tokens for one question.
    pub(crate) answer_tokens: u64,
    /// Time limit for one question.
    pub(crate) answer_time: Duration,
    /// Interval between checks for due questions; `None` disables them.
    pub(crate) schedule_every: Option<Duration>,
}

/// Settings of one source of papers.
#[derive(Debug, Clone)]
pub(crate) struct PaperSourceSettings {
    pub(crate) name: &'static str,
    pub(crate) url: Option<String>,
    pub(crate) key: Option<SecretString>,
}

/// Settings of the embeddings or the reranker.
#[derive(Debug, Clone)]
pub(crate) struct RetrievalModelSettings {
    /// One of the words that the setting allows.
    pub(crate) which: &'static str,
    pub(crate) url: Option<String>,
    pub(crate) model: Option<String>,
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
            model_judge: values.choice("research.judge") == "model",
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
