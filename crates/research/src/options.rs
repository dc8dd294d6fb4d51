//! What the settings say about research.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use secrecy::SecretString;
use url::Url;

use crate::sources::SourceSettings;

/// What the settings say.
#[derive(Debug, Clone)]
pub struct ResearchOptions {
    /// Where what is derived is kept: the index, answers of the net. `None` keeps it in memory.
    pub folder: Option<PathBuf>,
    /// Where papers are downloaded to, and read from.
    pub papers_folder: PathBuf,
    /// Folders, beside that of the papers, that files may be read from.
    pub readable_folders: Vec<PathBuf>,
    /// Folders whose files are read as they come.
    pub watched_folders: Vec<PathBuf>,
    /// Where bibliographies and other files for people are written.
    pub exports_folder: PathBuf,
    /// The program and its arguments that read one file in a process of its own; `None` reads it in
    /// this one.
    pub extractor_command: Option<(PathBuf, Vec<String>)>,
    /// How texts are cut and searched.
    pub retrieval: RetrievalOptions,
    /// How answers are made.
    pub answers: AnswerOptions,
    /// How sources are reached, by their names; those that are not here are not asked.
    pub sources: BTreeMap<String, SourceSettings>,
    /// Where Unpaywall is, in place of its usual address.
    pub unpaywall: Option<Url>,
    /// An address to write to, for sources that ask for one.
    pub contact: Option<String>,
    /// The largest file that is downloaded or read.
    pub max_file_bytes: u64,
    /// How often it is looked whether a question is due. `None`: never.
    pub schedule_interval: Option<Duration>,
}

/// How texts are cut and searched.
#[derive(Debug, Clone)]
pub struct RetrievalOptions {
    /// Tokens of a passage, about.
    pub passage_tokens: usize,
    /// Tokens that a passage shares with the one before.
    pub overlap_tokens: usize,
    /// The constant of reciprocal rank fusion.
    pub rank_constant: f64,
    /// How much the rank by meaning counts.
    pub vector_weight: f64,
    /// How much the rank by words counts.
    pub text_weight: f64,
    /// Whether the rank by meaning counts less where the words of a question are found.
    pub adaptive: bool,
    /// What makes vectors.
    pub embeddings: EmbeddingOptions,
    /// What puts the best passages in their final order.
    pub rerank: RerankOptions,
    /// The longest a search waits for the index to be in step.
    pub sync_timeout: Duration,
}

/// What makes vectors.
#[derive(Debug, Clone)]
pub enum EmbeddingOptions {
    /// The table that comes with the program.
    BuiltIn,
    /// Nothing: search by words alone.
    Off,
    /// An endpoint of the OpenAI kind.
    Endpoint {
        /// Its address, up to and with `/v1`.
        base_url: Url,
        /// The model.
        model: String,
        /// Its key.
        key: Option<SecretString>,
    },
}

/// What puts the best passages in their final order.
#[derive(Debug, Clone)]
pub enum RerankOptions {
    /// Nothing.
    Off,
    /// The model that thinks for the call, if one can be asked.
    Model,
    /// An endpoint of Cohere's kind.
    Endpoint {
        /// Its address.
        base_url: Url,
        /// The model.
        model: String,
        /// Its key.
        key: Option<SecretString>,
    },
}

/// How answers are made.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerOptions {
    /// The share of claims that must be supported for an answer to be given, 0 to 1.
    pub min_support: f64,
    /// The most model calls of one question.
    pub max_model_calls: u32,
    /// The most tokens of one question, those asked with and those answered.
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
            max_model_calls: 40,
            max_tokens: 120_000,
            timeout: Duration::from_mins(5),
        }
    }
}
