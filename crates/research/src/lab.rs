//! What every tool of research works with: the settings, the way out to the net, the sources, the
//! collection's index, and the readers of files. Opens and connects nothing by itself; what runs in
//! the background begins with [`Lab::start`].

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use deliberate_core::Clock;
use deliberate_extract::{Document, Limits, Workshop};
use deliberate_index::{
    CohereReranker, EmbedError, Embedder, IndexOptions, OpenAiEmbedder, Reranker, ServiceSettings,
    StaticEmbedder, chunk::ChunkOptions,
};
use deliberate_store::Store;
use deliberate_toolkit::{Registry, ToolError};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    Embeddings, Options, Rerank,
    collect::{Keeper, files::SafeFile, ingest::unreadable, sweep::sweep, watch},
    discover::keep_time,
    locate::{Locator, UnpaywallSettings},
    sources::{self, Source},
    web::{SystemNames, Web, WebError, WebOptions},
};

/// The most that answers of the net take on the disk.
const CACHE_BYTES: u64 = 256 * 1024 * 1024;

/// How many files are read at once: each has a process of its own.
const READERS: usize = 2;

/// The longest that reading one file takes.
const READING_TIME: Duration = Duration::from_mins(2);

/// What every tool of research works with.
pub struct Lab {
    options: Options,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    web: Web,
    sources: Vec<Arc<dyn Source>>,
    asked_anew: Vec<Arc<dyn Source>>,
    locator: Locator,
    keeper: Arc<Keeper>,
    reranker: Option<Arc<dyn Reranker>>,
    workshop: Workshop,
}

/// Why there can be no research with these settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The way out to the net can't be made so.
    #[error("the settings for the net can't be used: {0}")]
    Web(#[from] WebError),
    /// The endpoint for vectors or for the final order can't be used so.
    #[error("the settings for {what} can't be used: {error}")]
    Service {
        /// Which.
        what: &'static str,
        /// Why not.
        error: EmbedError,
    },
}

impl Lab {
    /// A lab with these settings. Opens and connects nothing.
    pub fn new(
        options: Options,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, LabError> {
        let web = Web::with(web_options(&options), clock.clone(), Arc::new(SystemNames))?;
        let sources = chosen_sources(&web, &options, false);
        let asked_anew = chosen_sources(&web, &options, true);
        let locator = locator(&web, &sources, &options);
        let index = IndexOptions {
            folder: options.folder.clone(),
            embedder: embedder(&options)?,
            ..IndexOptions::default()
        };
        let cut = ChunkOptions {
            tokens: options.retrieval.passage_tokens,
            overlap: options.retrieval.overlap_tokens,
        };
        Ok(Arc::new(Self {
            keeper: Arc::new(Keeper::new(
                store.clone(),
                index,
                cut,
                options.retrieval.patience,
            )),
            reranker: reranker(&options)?,
            workshop: workshop(&options),
            options,
            store,
            clock,
            web,
            sources,
            asked_anew,
            locator,
        }))
    }

    /// What the settings say.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The way out to the net.
    pub fn web(&self) -> &Web {
        &self.web
    }

    /// The places papers are found at, as far as the settings let them be asked.
    pub fn sources(&self) -> &[Arc<dyn Source>] {
        &self.sources
    }

    /// The same, whose answers are never those kept from before: for who asks what is new.
    pub(crate) fn asked_anew(&self) -> &[Arc<dyn Source>] {
        &self.asked_anew
    }

    /// The source of that name.
    pub fn source(&self, name: &str) -> Option<&Arc<dyn Source>> {
        self.sources.iter().find(|it| it.about().name == name)
    }

    /// What finds PDFs that everyone may read.
    pub fn locator(&self) -> &Locator {
        &self.locator
    }

    /// What is remembered, for work that is no call.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// The time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// What keeps the index in step with the store.
    pub(crate) fn keeper(&self) -> &Arc<Keeper> {
        &self.keeper
    }

    /// Reads a file in a process of its own, which ends with whoever waits for it.
    pub(crate) async fn read(&self, file: &SafeFile) -> Result<Document, ToolError> {
        let read = self.workshop.read(file.open()?, None).await;
        read.map_err(|error| unreadable(&error))
    }

    /// The endpoint that puts passages in their final order, if the settings name one.
    pub(crate) fn reranker(&self) -> Option<&Arc<dyn Reranker>> {
        self.reranker.as_ref()
    }

    /// Begins what runs in the background, until `stop`: the index follows the store, watched
    /// folders are read, questions that are due are asked. What an earlier run left half done is
    /// removed.
    pub fn start(self: &Arc<Self>, registry: &Arc<Registry>, stop: CancellationToken) {
        sweep(self.options.papers.clone(), self.options.folder.clone());
        tokio::spawn(self.keeper.clone().follow(stop.clone()));
        if let Some(every) = self.options.schedule_every {
            let clock = self.clock.clone();
            tokio::spawn(keep_time(registry.clone(), clock, every, stop.clone()));
        }
        watch::start(self, registry, stop);
    }
}

fn web_options(options: &Options) -> WebOptions {
    let contact = options.contact.as_ref().map(|it| format!(" (mailto:{it})"));
    let named = options
        .sources
        .values()
        .filter_map(|it| it.base_url.as_ref());
    let trusted: BTreeSet<String> = named
        .chain(&options.unpaywall)
        .map(|url| url.origin().ascii_serialization())
        .collect();
    WebOptions {
        agent: format!(
            "deliberate/{}{}",
            env!("CARGO_PKG_VERSION"),
            contact.unwrap_or_default()
        ),
        folder: options.folder.as_ref().map(|it| it.join("web")),
        cache_bytes: CACHE_BYTES,
        trusted: trusted.into_iter().collect(),
    }
}

fn chosen_sources(web: &Web, options: &Options, anew: bool) -> Vec<Arc<dyn Source>> {
    let settings = |name: &str| {
        let given = options.sources.get(name).cloned();
        let mut settings = given.unwrap_or_else(|| sources::SourceSettings {
            base_url: None,
            key: None,
            contact: options.contact.clone(),
            keep: Duration::ZERO,
        });
        if anew {
            settings.keep = Duration::ZERO;
        }
        settings
    };
    let mut all = sources::all(web, settings);
    all.retain(|source| options.sources.contains_key(&source.about().name));
    all
}

fn locator(web: &Web, sources: &[Arc<dyn Source>], options: &Options) -> Locator {
    let contact = options.contact.clone();
    let arxiv = options.sources.get("arxiv");
    let moved = arxiv.and_then(|it| it.base_url.as_ref()?.join("/pdf/").ok());
    Locator {
        web: web.clone(),
        sources: sources.to_vec(),
        unpaywall: contact.map(|email| UnpaywallSettings {
            base_url: options.unpaywall.clone(),
            email,
        }),
        arxiv_pdfs: moved,
    }
}

fn embedder(options: &Options) -> Result<Option<Arc<dyn Embedder>>, LabError> {
    Ok(match &options.retrieval.embeddings {
        Embeddings::Off => None,
        Embeddings::Embedded => Some(Arc::new(StaticEmbedder::new())),
        Embeddings::Endpoint {
            base_url,
            model,
            key,
        } => {
            let made = OpenAiEmbedder::new(service(base_url, model, key.as_ref()));
            Some(Arc::new(made.map_err(|error| LabError::Service {
                what: "embeddings",
                error,
            })?))
        }
    })
}

fn reranker(options: &Options) -> Result<Option<Arc<dyn Reranker>>, LabError> {
    let Rerank::Endpoint {
        base_url,
        model,
        key,
    } = &options.retrieval.rerank
    else {
        return Ok(None);
    };
    let made = CohereReranker::new(service(base_url, model, key.as_ref()));
    Ok(Some(Arc::new(made.map_err(|error| LabError::Service {
        what: "reranking",
        error,
    })?)))
}

fn service(base_url: &Url, model: &str, key: Option<&SecretString>) -> ServiceSettings {
    ServiceSettings::new(base_url.as_str(), model).with_key(key.cloned())
}

fn workshop(options: &Options) -> Workshop {
    let limits = Limits {
        bytes: options.file_bytes,
        time: READING_TIME,
        ..Limits::default()
    };
    match &options.reader {
        Some((program, arguments)) => {
            let arguments = arguments.iter().map(Into::into).collect();
            Workshop::new(program.clone(), arguments, limits, READERS)
        }
        None => Workshop::in_process(limits),
    }
}
