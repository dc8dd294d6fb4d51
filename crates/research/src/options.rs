//! The options of research, filled in from the settings.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use secrecy::SecretString;
use url::Url;

use crate::sources::SourceSettings;

/// The options of research.
#[derive(Debug, Clone)]
pub struct ResearchOptions {
    /// The folder of derived data: index and cached responses. `None` keeps them in memory.
    pub folder: Option<PathBuf>,
    /// The folder that papers are downloaded to and read from.
    pub papers_folder: PathBuf,
    /// Further folders that files may be read from.
    pub readable_folders: Vec<PathBuf>,
    /// Folders whose new files are read automatically.
    pub watched_folders: Vec<PathBuf>,
    /// The folder for bibliographies and other exports.
    pub exports_folder: PathBuf,
    /// The program and arguments that extract one file in a separate process; `None` extracts in
    /// this process.
    pub extractor_command: Option<(PathBuf, Vec<String>)>,
    pub retrieval: RetrievalOptions,
    pub answers: AnswerOptions,
    /// The settings of the enabled sources by name.
    pub sources: BTreeMap<String, SourceSettings>,
    /// The address of Unpaywall in place of the default one.
    pub unpaywall: Option<Url>,
    /// The contact address for sources that ask for one.
    pub contact: Option<String>,
    /// The largest file that is downloaded or read.
    pub max_file_bytes: u64,
    /// The interval of checks for due questions; `None` disables them.
    pub schedule_interval: Option<Duration>,
}

/// The options of chunking and search.
#[derive(Debug, Clone)]
pub struct RetrievalOptions {
    /// The approximate number of tokens of a passage.
    pub passage_tokens: usize,
    /// The tokens that a passage shares with the previous one.
    pub overlap_tokens: usize,
    /// The constant of reciprocal rank fusion.
    pub rank_constant: f64,
    /// The weight of the ranking by meaning.
    pub vector_weight: f64,
    /// The weight of the ranking by words.
    pub text_weight: f64,
    /// Whether the ranking by meaning counts less if the words of a question are found.
    pub adaptive: bool,
    pub embeddings: EmbeddingOptions,
    pub rerank: RerankOptions,
    /// The longest a search waits for the index to be current.
    pub sync_timeout: Duration,
}

/// The embedder that computes vectors.
#[derive(Debug, Clone)]
pub enum EmbeddingOptions {
    /// The table of word vectors in the program.
    BuiltIn,
    /// No vectors: search by words alone.
    Off,
    /// An OpenAI-compatible endpoint.
    Endpoint {
        /// The address, including `/v1`.
        base_url: Url,
        model: String,
        key: Option<SecretString>,
    },
}

/// The reranker of the best passages.
#[derive(Debug, Clone)]
pub enum RerankOptions {
    Off,
    /// The model of the call, if one is available.
    Model,
    /// A Cohere-compatible endpoint.
    Endpoint {
        base_url: Url,
        model: String,
        key: Option<SecretString>,
    },
}

/// The options of answers.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerOptions {
    /// The share of claims that must be supported for an answer to be given, 0 to 1.
    pub min_support: f64,
    /// Whether the model of the call judges the sentences that code cannot check.
    pub model_judge: bool,
    /// The most model calls per question.
    pub max_model_calls: u32,
    /// The most tokens per question, input and output together.
    pub max_tokens: u64,
    /// The longest a question may take.
    pub timeout: Duration,
}

impl Default for RetrievalOptions {
    fn default() -> Self {
        Self {
            passage_tokens: 350,
            overlap_tokens: 60,
            rank_constant: 60.0,
            vector_weight: 0.3,
            text_weight: 0.7,
            adaptive: true,
            embeddings: EmbeddingOptions::BuiltIn,
            rerank: RerankOptions::Off,
            sync_timeout: Duration::from_secs(2),
        }
    }
}

impl Default for AnswerOptions {
    fn default() -> Self {
        Self {
            min_support: 0.6,
            model_judge: true,
            max_model_calls: 40,
            max_tokens: 120_000,
            timeout: Duration::from_mins(5),
        }
    }
}
