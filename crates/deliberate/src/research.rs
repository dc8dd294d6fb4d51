//! Settings to what research is told.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use deliberate_research::{
    AnswerOptions, Embeddings, Options, Rerank, RetrievalOptions, sources::SourceSettings,
};
use url::Url;

use crate::{
    commands::READ_FILE,
    config::{Loaded, Maker, Research},
};

/// What research is told.
pub(crate) fn options(loaded: &Loaded) -> anyhow::Result<Options> {
    let (settings, environment) = (&loaded.settings.research, &loaded.environment);
    let folder = settings.folder.clone();
    let place = |name: &str| {
        let base = folder.clone();
        base.unwrap_or_else(|| std::env::temp_dir().join("deliberate-research"))
            .join(name)
    };
    let readable = settings.readable.clone();
    Ok(Options {
        papers: settings.papers.clone().unwrap_or_else(|| place("papers")),
        exports: settings.exports.clone().unwrap_or_else(|| place("exports")),
        readable: readable.unwrap_or_else(|| environment.readable.clone()),
        watched: settings.watch.clone(),
        reader: reader(),
        retrieval: retrieval(settings)?,
        answers: AnswerOptions {
            support: settings.support,
            model_calls: settings.answer_model_calls,
            tokens: settings.answer_tokens,
            time: settings.answer_time,
        },
        sources: sources(loaded)?,
        unpaywall: set(
            loaded,
            settings.unpaywall_url.as_deref(),
            "research.unpaywall_url",
            "unpaywall",
        )?,
        contact: settings.contact.clone(),
        file_bytes: settings.file_bytes,
        schedule_every: settings.schedule_every,
        folder,
    })
}

/// Folders that the settings name and that are not there, each in a sentence. Nothing is read from
/// them, which looks like an empty folder.
pub(crate) fn folders_not_there(settings: &Research) -> Vec<String> {
    let readable = settings.readable.iter().flatten();
    let all = readable.map(|it| ("research.readable", it));
    let watched = settings.watch.iter().map(|it| ("research.watch", it));
    let missing = all.chain(watched).filter(|(_, folder)| !folder.is_dir());
    missing
        .map(|(key, folder)| not_there(key, folder))
        .collect()
}

fn not_there(key: &str, folder: &Path) -> String {
    let shown = folder.display().to_string();
    // A list of paths is often written so elsewhere.
    let hint = if shown.contains([':', ';']) {
        "; several are set apart by commas"
    } else {
        ""
    };
    format!("`{key}` names {shown}, where there is no folder{hint}")
}

/// This very program, as it reads one file. A program that was replaced while it runs reads files
/// itself.
fn reader() -> Option<(PathBuf, Vec<String>)> {
    let program = std::env::current_exe().ok()?;
    Some((program, vec![READ_FILE.to_owned()]))
}

fn retrieval(settings: &Research) -> anyhow::Result<RetrievalOptions> {
    // Vectors of a model are worth more than those of the table in the program.
    let (vector, text) = match settings.embeddings.which {
        "endpoint" => (0.7, 0.3),
        _ => (0.3, 0.7),
    };
    let vector_weight = settings.vector_weight.unwrap_or(vector);
    let text_weight = settings.text_weight.unwrap_or(text);
    if vector_weight + text_weight <= 0.0 {
        bail!(
            "`research.vector_weight` and `research.text_weight` are both 0, so that nothing would be found; \
             give one of them a weight"
        );
    }
    Ok(RetrievalOptions {
        passage_tokens: settings.passage_tokens,
        overlap_tokens: settings.overlap_tokens,
        rank_constant: settings.rank_constant,
        vector_weight,
        text_weight,
        adaptive: settings.adaptive,
        embeddings: embeddings(&settings.embeddings)?,
        rerank: rerank(&settings.rerank)?,
        ..RetrievalOptions::default()
    })
}

fn embeddings(maker: &Maker) -> anyhow::Result<Embeddings> {
    Ok(match maker.which {
        "off" => Embeddings::Off,
        "endpoint" => Embeddings::Endpoint {
            base_url: url(maker.url.as_deref(), "research.embeddings_url")?
                .map(|it| with_path(it, "embeddings"))
                .context(
                    "`research.embeddings` is `endpoint`; set `research.embeddings_url`, too",
                )?,
            model: maker.model.clone().context(
                "`research.embeddings` is `endpoint`; set `research.embeddings_model`, too",
            )?,
            key: maker.key.clone(),
        },
        _ => Embeddings::Embedded,
    })
}

fn rerank(maker: &Maker) -> anyhow::Result<Rerank> {
    Ok(match maker.which {
        "model" => Rerank::Model,
        "endpoint" => Rerank::Endpoint {
            base_url: url(maker.url.as_deref(), "research.rerank_url")?
                .map(|it| with_path(it, "rerank"))
                .context("`research.rerank` is `endpoint`; set `research.rerank_url`, too")?,
            model: maker.model.clone().unwrap_or_default(),
            key: maker.key.clone(),
        },
        _ => Rerank::Off,
    })
}

/// Only an address that somebody set is passed on: it is trusted to be where they say, on this
/// machine or in a private net.
fn sources(loaded: &Loaded) -> anyhow::Result<BTreeMap<String, SourceSettings>> {
    let settings = &loaded.settings.research;
    let all = settings.sources.iter().map(|source| {
        let key = format!("research.{}_url", source.name);
        let reached = SourceSettings {
            base_url: set(loaded, source.url.as_deref(), &key, source.name)?,
            key: source.key.clone(),
            contact: settings.contact.clone(),
            keep: settings.cache,
        };
        Ok((source.name.to_owned(), reached))
    });
    all.collect()
}

/// An address, unless it is the usual one.
fn set(
    loaded: &Loaded,
    text: Option<&str>,
    key: &str,
    source: &str,
) -> anyhow::Result<Option<Url>> {
    if loaded.is_default(key) {
        return Ok(None);
    }
    Ok(url(text, key)?.map(|it| with_path(it, source)))
}

/// An address that is only a host has the API at its usual path.
fn with_path(mut address: Url, source: &str) -> Url {
    if address.path() == "/" {
        address.set_path(match source {
            "arxiv" => "/api",
            "semantic_scholar" => "/graph/v1",
            "pubmed" => "/entrez/eutils",
            "europe_pmc" => "/europepmc/webservices/rest",
            "unpaywall" | "rerank" => "/v2",
            "embeddings" => "/v1",
            _ => "/",
        });
    }
    address
}

fn url(text: Option<&str>, key: &str) -> anyhow::Result<Option<Url>> {
    let read = |text: &str| Url::parse(text).with_context(|| format!("`{key}` is no address"));
    text.map(read).transpose()
}
