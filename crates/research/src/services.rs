//! The shared services of all research tools: options, HTTP client, sources, index and extractors.
//! Creating them opens and connects nothing; background work begins with
//! [`ResearchServices::start`].

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use deliberate_core::Clock;
use deliberate_extract::{ExtractLimits, ExtractedDocument, ExtractorPool};
use deliberate_index::{
    CohereReranker, EmbedError, Embedder, IndexOptions, OpenAiEmbedder, Reranker, ServiceSettings,
    StaticEmbedder, chunk::ChunkOptions,
};
use deliberate_store::Store;
use deliberate_toolkit::{Registry, ToolError, run_scheduler};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    discovery::DueQuestions,
    http::{HttpClient, HttpClientError, HttpClientOptions, SystemHostResolver},
    index_sync::IndexSynchronizer,
    ingest::{
        extraction_error, partial_file_cleanup::remove_partial_files, path_policy::VerifiedFile,
    },
    pdf_locator::{PdfLocator, UnpaywallSettings},
    watch_folder,
};
use crate::{
    EmbeddingOptions, RerankOptions, ResearchOptions,
    sources::{self, PaperSource},
};

/// The most bytes of cached responses on disk.
const HTTP_CACHE_BYTES: u64 = 256 * 1024 * 1024;

/// The number of files extracted concurrently, each in its own process.
const MAX_EXTRACTORS: usize = 2;

/// The timeout of extracting one file.
const EXTRACTION_TIMEOUT: Duration = Duration::from_mins(2);

/// The shared services of all research tools.
pub struct ResearchServices {
    options: ResearchOptions,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    http_client: HttpClient,
    sources: Vec<Arc<dyn PaperSource>>,
    uncached_sources: Vec<Arc<dyn PaperSource>>,
    locator: PdfLocator,
    index_sync: Arc<IndexSynchronizer>,
    reranker: Option<Arc<dyn Reranker>>,
    extractor_pool: ExtractorPool,
}

/// The error for options that can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResearchSetupError {
    /// The HTTP client can't be created.
    #[error("the HTTP settings can't be used: {0}")]
    Http(#[from] HttpClientError),
    /// The embedding or reranking service can't be used.
    #[error("the settings for {what} can't be used: {error}")]
    Service {
        what: &'static str,
        error: EmbedError,
    },
}

impl ResearchServices {
    /// Creates the services. Opens and connects nothing.
    pub fn new(
        options: ResearchOptions,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, ResearchSetupError> {
        let web = HttpClient::with_clock_and_resolver(
            http_client_options(&options),
            clock.clone(),
            Arc::new(SystemHostResolver),
        )?;
        let sources = enabled_sources(&web, &options, false);
        let asked_anew = enabled_sources(&web, &options, true);
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
            index_sync: Arc::new(IndexSynchronizer::new(
                store.clone(),
                index,
                cut,
                options.retrieval.sync_timeout,
            )),
            reranker: reranker(&options)?,
            extractor_pool: extractor_pool(&options),
            options,
            store,
            clock,
            http_client: web,
            sources,
            uncached_sources: asked_anew,
            locator,
        }))
    }

    pub fn options(&self) -> &ResearchOptions {
        &self.options
    }

    pub fn http_client(&self) -> &HttpClient {
        &self.http_client
    }

    /// The enabled sources.
    pub fn sources(&self) -> &[Arc<dyn PaperSource>] {
        &self.sources
    }

    /// The enabled sources without the response cache, for searches for new papers.
    pub(crate) fn uncached_sources(&self) -> &[Arc<dyn PaperSource>] {
        &self.uncached_sources
    }

    /// The enabled source with this name.
    pub fn source(&self, name: &str) -> Option<&Arc<dyn PaperSource>> {
        self.sources.iter().find(|it| it.info().name == name)
    }

    /// The locator of open PDFs.
    pub fn locator(&self) -> &PdfLocator {
        &self.locator
    }

    /// The store, for work outside of calls.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The synchronizer of the index.
    pub(crate) fn index_sync(&self) -> &Arc<IndexSynchronizer> {
        &self.index_sync
    }

    /// Extracts a file in a separate process, which ends when the future is dropped.
    pub(crate) async fn extract_document(
        &self,
        file: &VerifiedFile,
    ) -> Result<ExtractedDocument, ToolError> {
        let read = self.extractor_pool.read(file.open()?, None).await;
        read.map_err(|error| extraction_error(&error))
    }

    /// The reranking service, if the settings name one.
    pub(crate) fn reranker(&self) -> Option<&Arc<dyn Reranker>> {
        self.reranker.as_ref()
    }

    /// Starts the background work until `stop`: index sync, watched folders, due questions.
    /// Incomplete files of an earlier run are removed.
    pub fn start(self: &Arc<Self>, registry: &Arc<Registry>, stop: CancellationToken) {
        remove_partial_files(
            self.options.papers_folder.clone(),
            self.options.folder.clone(),
        );
        tokio::spawn(self.index_sync.clone().run(stop.clone()));
        if let Some(every) = self.options.schedule_interval {
            let clock = self.clock.clone();
            let (registry, stop) = (registry.clone(), stop.clone());
            tokio::spawn(run_scheduler(DueQuestions, registry, clock, every, stop));
        }
        watch_folder::start(self, registry, stop);
    }
}

fn http_client_options(options: &ResearchOptions) -> HttpClientOptions {
    let contact = options.contact.as_ref().map(|it| format!(" (mailto:{it})"));
    let named = options
        .sources
        .values()
        .filter_map(|it| it.base_url.as_ref());
    let trusted: BTreeSet<String> = named
        .chain(&options.unpaywall)
        .map(|url| url.origin().ascii_serialization())
        .collect();
    HttpClientOptions {
        user_agent: format!(
            "deliberate/{}{}",
            env!("CARGO_PKG_VERSION"),
            contact.unwrap_or_default()
        ),
        folder: options.folder.as_ref().map(|it| it.join("web")),
        cache_bytes: HTTP_CACHE_BYTES,
        trusted_origins: trusted.into_iter().collect(),
        clean_message: crate::prompt_fence::strip_markup_chars,
    }
}

fn enabled_sources(
    web: &HttpClient,
    options: &ResearchOptions,
    anew: bool,
) -> Vec<Arc<dyn PaperSource>> {
    let settings = |name: &str| {
        let given = options.sources.get(name).cloned();
        let mut settings = given.unwrap_or_else(|| sources::SourceSettings {
            base_url: None,
            key: None,
            contact: options.contact.clone(),
            cache_ttl: Duration::ZERO,
        });
        if anew {
            settings.cache_ttl = Duration::ZERO;
        }
        settings
    };
    let mut all = sources::all_sources(web, settings);
    all.retain(|source| options.sources.contains_key(&source.info().name));
    all
}

fn locator(
    web: &HttpClient,
    sources: &[Arc<dyn PaperSource>],
    options: &ResearchOptions,
) -> PdfLocator {
    let contact = options.contact.clone();
    let arxiv = options.sources.get(sources::arxiv::DEFINITION.name);
    let moved = arxiv.and_then(|it| it.base_url.as_ref()?.join("/pdf/").ok());
    PdfLocator {
        http_client: web.clone(),
        sources: sources.to_vec(),
        unpaywall: contact.map(|email| UnpaywallSettings {
            base_url: options.unpaywall.clone(),
            email,
        }),
        arxiv_pdf_base: moved,
    }
}

fn embedder(options: &ResearchOptions) -> Result<Option<Arc<dyn Embedder>>, ResearchSetupError> {
    Ok(match &options.retrieval.embeddings {
        EmbeddingOptions::Off => None,
        EmbeddingOptions::BuiltIn => Some(Arc::new(StaticEmbedder::new())),
        EmbeddingOptions::Endpoint {
            base_url,
            model,
            key,
        } => {
            let made = OpenAiEmbedder::new(service_settings(base_url, model, key.as_ref()));
            Some(Arc::new(made.map_err(|error| {
                ResearchSetupError::Service {
                    what: "embeddings",
                    error,
                }
            })?))
        }
    })
}

fn reranker(options: &ResearchOptions) -> Result<Option<Arc<dyn Reranker>>, ResearchSetupError> {
    let RerankOptions::Endpoint {
        base_url,
        model,
        key,
    } = &options.retrieval.rerank
    else {
        return Ok(None);
    };
    let made = CohereReranker::new(service_settings(base_url, model, key.as_ref()));
    Ok(Some(Arc::new(made.map_err(|error| {
        ResearchSetupError::Service {
            what: "reranking",
            error,
        }
    })?)))
}

fn service_settings(base_url: &Url, model: &str, key: Option<&SecretString>) -> ServiceSettings {
    ServiceSettings::new(base_url.as_str(), model).with_key(key.cloned())
}

fn extractor_pool(options: &ResearchOptions) -> ExtractorPool {
    let limits = ExtractLimits {
        bytes: options.max_file_bytes,
        time: EXTRACTION_TIMEOUT,
        ..ExtractLimits::default()
    };
    match &options.extractor_command {
        Some((program, arguments)) => {
            let arguments = arguments.iter().map(Into::into).collect();
            ExtractorPool::new(program.clone(), arguments, limits, MAX_EXTRACTORS)
        }
        None => ExtractorPool::in_process(limits),
    }
}
