//! Converts settings to the options of research.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use deliberate_research::{
    AnswerOptions, EmbeddingOptions, RerankOptions, ResearchOptions, RetrievalOptions,
    sources::{SourceSettings, find_definition},
};
use url::Url;

use crate::{
    commands::READ_FILE,
    config::{LoadedConfig, ResearchSettings, RetrievalModelSettings},
};

pub(crate) fn options(loaded: &LoadedConfig) -> anyhow::Result<ResearchOptions> {
    let (settings, environment) = (&loaded.settings.research, &loaded.environment);
    let folder = settings.folder.clone();
    let place = |name: &str| {
        let base = folder.clone();
        base.unwrap_or_else(|| std::env::temp_dir().join("deliberate-research"))
            .join(name)
    };
    let readable = settings.readable.clone();
    Ok(ResearchOptions {
        papers_folder: settings.papers.clone().unwrap_or_else(|| place("papers")),
        exports_folder: settings.exports.clone().unwrap_or_else(|| place("exports")),
        readable_folders: readable.unwrap_or_else(|| environment.readable.clone()),
        watched_folders: settings.watch.clone(),
        extractor_command: reader_command(),
        retrieval: retrieval_options(settings)?,
        answers: AnswerOptions {
            min_support: settings.support,
            model_judge: settings.model_judge,
            max_model_calls: settings.answer_model_calls,
            max_tokens: settings.answer_tokens,
            timeout: settings.answer_time,
        },
        sources: source_settings(loaded)?,
        unpaywall: explicit_url(
            loaded,
            settings.unpaywall_url.as_deref(),
            "research.unpaywall_url",
            "unpaywall",
        )?,
        contact: settings.contact.clone(),
        max_file_bytes: settings.file_bytes,
        schedule_interval: settings.schedule_every,
        folder,
    })
}

/// Returns a sentence for each folder in the settings that does not exist. Nothing is read from it,
/// which would look like an empty folder.
pub(crate) fn missing_folders(settings: &ResearchSettings) -> Vec<String> {
    let readable = settings.readable.iter().flatten();
    let all = readable.map(|it| ("research.readable", it));
    let watched = settings.watch.iter().map(|it| ("research.watch", it));
    let missing = all.chain(watched).filter(|(_, folder)| !folder.is_dir());
    missing
        .map(|(key, folder)| missing_folder_message(key, folder))
        .collect()
}

fn missing_folder_message(key: &str, folder: &Path) -> String {
    let text = folder.display().to_string();
    // Other programs often separate paths this way.
    let hint = if text.contains([':', ';']) {
        "; separate several folders by commas"
    } else {
        ""
    };
    format!("`{key}` names {text}, where there is no folder{hint}")
}

/// Returns the command with which this program reads one file. If its executable was replaced while
/// it runs, it reads files itself.
fn reader_command() -> Option<(PathBuf, Vec<String>)> {
    let program = std::env::current_exe().ok()?;
    Some((program, vec![READ_FILE.to_owned()]))
}

fn retrieval_options(settings: &ResearchSettings) -> anyhow::Result<RetrievalOptions> {
    // Vectors of a model deserve more weight than those of the built-in table.
    let (vector, text) = match settings.embeddings.which {
        "endpoint" => (0.7, 0.3),
        _ => (0.3, 0.7),
    };
    let vector_weight = settings.vector_weight.unwrap_or(vector);
    let text_weight = settings.text_weight.unwrap_or(text);
    if vector_weight + text_weight <= 0.0 {
        bail!(
            "`research.vector_weight` and `research.text_weight` are both 0, so nothing would be found; \
             set one of them higher"
        );
    }
    Ok(RetrievalOptions {
        passage_tokens: settings.passage_tokens,
        overlap_tokens: settings.overlap_tokens,
        rank_constant: settings.rank_constant,
        vector_weight,
        text_weight,
        adaptive: settings.adaptive,
        embeddings: embedding_options(&settings.embeddings)?,
        rerank: rerank_options(&settings.rerank)?,
        ..RetrievalOptions::default()
    })
}

fn embedding_options(maker: &RetrievalModelSettings) -> anyhow::Result<EmbeddingOptions> {
    Ok(match maker.which {
        "off" => EmbeddingOptions::Off,
        "endpoint" => EmbeddingOptions::Endpoint {
            base_url: parse_url(maker.url.as_deref(), "research.embeddings_url")?
                .map(|it| with_default_path(it, "embeddings"))
                .context(
                    "`research.embeddings` is `endpoint`; also set `research.embeddings_url`",
                )?,
            model: maker.model.clone().context(
                "`research.embeddings` is `endpoint`; also set `research.embeddings_model`",
            )?,
            key: maker.key.clone(),
        },
        _ => EmbeddingOptions::BuiltIn,
    })
}

fn rerank_options(maker: &RetrievalModelSettings) -> anyhow::Result<RerankOptions> {
    Ok(match maker.which {
        "model" => RerankOptions::Model,
        "endpoint" => RerankOptions::Endpoint {
            base_url: parse_url(maker.url.as_deref(), "research.rerank_url")?
                .map(|it| with_default_path(it, "rerank"))
                .context("`research.rerank` is `endpoint`; also set `research.rerank_url`")?,
            model: maker.model.clone().unwrap_or_default(),
            key: maker.key.clone(),
        },
        _ => RerankOptions::Off,
    })
}

/// Passes on only URLs that someone set: they are trusted even on this machine or in a private
/// network.
fn source_settings(loaded: &LoadedConfig) -> anyhow::Result<BTreeMap<String, SourceSettings>> {
    let settings = &loaded.settings.research;
    let all = settings.sources.iter().map(|source| {
        let key = format!("research.{}_url", source.name);
        let reached = SourceSettings {
            base_url: explicit_url(loaded, source.url.as_deref(), &key, source.name)?,
            key: source.key.clone(),
            contact: settings.contact.clone(),
            cache_ttl: settings.cache,
        };
        Ok((source.name.to_owned(), reached))
    });
    all.collect()
}

/// Returns a URL unless it is the default.
fn explicit_url(
    loaded: &LoadedConfig,
    text: Option<&str>,
    key: &str,
    source: &str,
) -> anyhow::Result<Option<Url>> {
    if loaded.is_default(key) {
        return Ok(None);
    }
    Ok(parse_url(text, key)?.map(|it| with_default_path(it, source)))
}

/// Appends the usual API path to a URL that is only a host.
fn with_default_path(mut address: Url, source: &str) -> Url {
    if address.path() == "/" {
        let path = match source {
            "unpaywall" | "rerank" => "/v2".to_owned(),
            "embeddings" => "/v1".to_owned(),
            name => default_api_path(name),
        };
        address.set_path(&path);
    }
    address
}

/// Returns the path of a source's default URL.
fn default_api_path(source: &str) -> String {
    let url = find_definition(source).and_then(|it| Url::parse(it.default_url).ok());
    url.map_or_else(|| "/".to_owned(), |it| it.path().to_owned())
}

fn parse_url(text: Option<&str>, key: &str) -> anyhow::Result<Option<Url>> {
    let read = |text: &str| Url::parse(text).with_context(|| format!("`{key}` is not a URL"));
    text.map(read).transpose()
}
