//! Test harness: research services on a real store in a temporary folder, with mock sources.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use deliberate_core::{Clock, IdSource, SystemClock, SystemIds};
use deliberate_research::{
    AnswerOptions, EmbeddingOptions, ResearchOptions, ResearchServices, RetrievalOptions,
    ToolListingMode, register, sources::SourceSettings,
};
use deliberate_testkit::fixtures::{RegistryBuilder, RegistryFixture};
use deliberate_toolkit::{CallOutcome, ToolError};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

/// Research services with their registry.
pub(crate) struct ResearchHarness {
    pub(crate) services: Arc<ResearchServices>,
    fixture: RegistryFixture,
}

impl Deref for ResearchHarness {
    type Target = RegistryFixture;

    fn deref(&self) -> &RegistryFixture {
        &self.fixture
    }
}

impl ResearchHarness {
    /// A harness without sources.
    pub(crate) fn new() -> Self {
        Self::with_options(|_| {})
    }

    /// A harness with changed options.
    pub(crate) fn with_options(change: impl FnOnce(&mut ResearchOptions)) -> Self {
        Self::in_folder_with_options(Arc::new(tempfile::tempdir().unwrap()), change)
    }

    /// Another harness in the same folder, like a second process.
    pub(crate) fn reopen(&self) -> Self {
        Self::in_folder(self.folder.clone())
    }

    /// A harness in a folder that was used before.
    pub(crate) fn in_folder(folder: Arc<TempDir>) -> Self {
        Self::in_folder_with_options(folder, |_| {})
    }

    /// A harness whose sources are all at this address.
    pub(crate) fn with_sources(base: &str, names: &[&str]) -> Self {
        Self::with_options(|options| set_sources(options, base, names))
    }

    /// A harness in a folder with changed options.
    pub(crate) fn in_folder_with_options(
        folder: Arc<TempDir>,
        change: impl FnOnce(&mut ResearchOptions),
    ) -> Self {
        Self::with_clock(folder, Arc::new(SystemClock), change)
    }

    /// Like `in_folder_with_options`, with another clock.
    pub(crate) fn with_clock(
        folder: Arc<TempDir>,
        clock: Arc<dyn Clock>,
        change: impl FnOnce(&mut ResearchOptions),
    ) -> Self {
        Self::with_clock_and_ids(folder, clock, Arc::new(SystemIds), change)
    }

    /// Like `with_clock`, with another id generator.
    pub(crate) fn with_clock_and_ids(
        folder: Arc<TempDir>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        change: impl FnOnce(&mut ResearchOptions),
    ) -> Self {
        let parts = RegistryBuilder::in_folder(folder)
            .clock(clock.clone())
            .ids(ids);
        let root = parts.folder();
        let mut options = ResearchOptions {
            folder: Some(root.join("derived")),
            papers_folder: root.join("papers"),
            readable_folders: vec![root.join("readable")],
            watched_folders: Vec::new(),
            exports_folder: root.join("exports"),
            extractor_command: None,
            retrieval: RetrievalOptions {
                embeddings: EmbeddingOptions::BuiltIn,
                // A new article must be found however busy the machine is.
                sync_timeout: Duration::from_mins(1),
                ..RetrievalOptions::default()
            },
            answers: AnswerOptions::default(),
            sources: BTreeMap::new(),
            unpaywall: None,
            contact: None,
            max_file_bytes: 20_000_000,
            schedule_interval: None,
        };
        for it in [&options.papers_folder, &root.join("readable")] {
            std::fs::create_dir_all(it).unwrap();
        }
        change(&mut options);
        let services = ResearchServices::new(options, parts.store(), clock).unwrap();
        let fixture =
            parts.build(|registry| register(registry, &services, ToolListingMode::Common));
        Self { services, fixture }
    }

    pub(crate) fn papers_folder(&self) -> PathBuf {
        self.folder.path().join("papers")
    }

    /// Writes a file into the papers folder.
    pub(crate) fn write_paper(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.papers_folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// Writes a file and reads it into the collection; returns the article id.
    pub(crate) async fn ingest(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.write_paper(name, bytes);
        let output = self
            .call_ok("process_pdf", json!({ "pdf_path": path }))
            .await;
        output["article_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ToolError> {
        match self.fixture.call(tool, arguments).await? {
            CallOutcome::Done(output) => Ok(output),
            CallOutcome::NeedsReply(needs) => Ok(json!({ "needs_reply": needs })),
        }
    }

    /// Calls a tool that must succeed.
    pub(crate) async fn call_ok(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments)
            .await
            .unwrap_or_else(|error| panic!("{tool}: {error} {}", error.hint().unwrap_or_default()))
    }

    /// Calls a tool that must fail and returns the code, the message, and the hint.
    pub(crate) async fn call_error(&self, tool: &str, arguments: Value) -> String {
        let error = self.call(tool, arguments).await.unwrap_err();
        format!(
            "{}: {error} {}",
            error.code(),
            error.hint().unwrap_or_default()
        )
    }
}

/// Points these sources to an address.
pub(crate) fn set_sources(options: &mut ResearchOptions, base: &str, names: &[&str]) {
    for name in names {
        options.sources.insert(
            (*name).to_owned(),
            SourceSettings {
                base_url: Some(Url::parse(base).unwrap()),
                key: None,
                contact: None,
                cache_ttl: Duration::ZERO,
            },
        );
    }
}

pub(crate) fn said_text(output: &Value) -> &str {
    output["said"].as_str().unwrap()
}

/// A small PDF: pages of lines, each with its font size. The first line of 14 or more is a heading.
pub(crate) fn make_pdf(title: Option<&str>, pages: &[&[(u32, &str)]]) -> Vec<u8> {
    let mut objects: Vec<String> = Vec::new();
    let kids: Vec<String> = (0..pages.len())
        .map(|it| format!("{} 0 R", 5 + it * 2))
        .collect();
    objects.push("<< /Type /Catalog /Pages 2 0 R >>".to_owned());
    objects.push(format!(
        "<< /Type /Pages /Kids [{}] /Count {} >>",
        kids.join(" "),
        pages.len()
    ));
    objects.push("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned());
    let title = title.map(|it| format!("/Title ({it})")).unwrap_or_default();
    objects.push(format!("<< {title} /Producer (kit) >>"));
    for (at, lines) in pages.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            6 + at * 2
        ));
        let mut content = String::from("BT\n");
        let mut y = 740;
        for (size, line) in *lines {
            let line = line.replace('(', "\\(").replace(')', "\\)");
            let _ = writeln!(content, "/F1 {size} Tf 1 0 0 1 72 {y} Tm ({line}) Tj");
            y -= if *size > 11 { 34 } else { 14 };
        }
        content.push_str("ET\n");
        objects.push(format!(
            "<< /Length {} >>\nstream\n{content}endstream",
            content.len()
        ));
    }
    let mut out = String::from("%PDF-1.4\n");
    let mut offsets = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        let _ = writeln!(out, "{} 0 obj\n{object}\nendobj", at + 1);
    }
    let xref = out.len();
    let _ = writeln!(out, "xref\n0 {}\n0000000000 65535 f ", objects.len() + 1);
    for offset in offsets {
        let _ = writeln!(out, "{offset:010} 00000 n ");
    }
    let _ = write!(
        out,
        "trailer\n<< /Size {} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{xref}\n%%EOF\n",
        objects.len() + 1
    );
    out.into_bytes()
}

/// A paper of two pages about one topic.
pub(crate) fn paper_pdf(title: &str, about: &str) -> Vec<u8> {
    let first = format!("We study {about} and show what it does in practice.");
    let second = format!("The method builds on {about} with a careful set of rules.");
    let third = format!("Measurements of {about} were taken over ninety days.");
    make_pdf(
        Some(title),
        &[
            &[
                (20, title),
                (10, "Ada Lovelace"),
                (14, "1 Introduction"),
                (10, &first),
                (
                    10,
                    "Others have looked at the same question with other means.",
                ),
            ],
            &[
                (14, "2 Method"),
                (10, &second),
                (10, "Nothing else was changed between the runs."),
                (14, "3 Results"),
                (10, &third),
                (10, "The effect was 42 percent."),
            ],
        ],
    )
}

/// Names of all files below a folder.
pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
