//! `locate_pdf`: where a paper's PDF may be read by everyone.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        asked_line,
        shown::{about, only_read, plain, with_notes},
    },
    download::{Fetched, fetched},
    paper,
};
use crate::{
    Lab,
    collect::{
        Library,
        files::papers_folder,
        job::Share,
        obtain::{Obtaining, What, place_for},
    },
    locate::Asked,
    sources::PdfPlace,
};

/// `locate_pdf`.
pub(crate) struct LocatePdf(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 1000))]
    article_identifier: String,
    #[serde(default = "yes")]
    search_multiple_sources: bool,
    #[serde(default)]
    auto_download: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    title: String,
    /// Where everyone may read it, best first
    places: Vec<PdfPlace>,
    /// Perhaps behind a paywall
    doubtful: Vec<PdfPlace>,
    /// Where nothing is open: pages for a person to look at, no PDFs
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pages: Vec<String>,
    asked: Vec<Asked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    downloaded: Option<Fetched>,
    notes: Vec<String>,
}

impl Tool for LocatePdf {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            "locate_pdf",
            "Locate a PDF",
            "Find open PDFs of a paper by DOI, arXiv id or article.",
            Annotations {
                read_only: false,
                open_world: true,
                ..Annotations::READS
            },
        )
    }

    fn takes_long(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let name = &input.article_identifier;
        let (article, _, mut notes) = paper(&self.0, call, name).await?;
        Share::WHOLE.tell(call, 0.2, "asking where it is open");
        let locator = self.0.locator();
        let located = if input.search_multiple_sources {
            locator.locate(&article).await
        } else {
            locator.nearest(&article)
        };
        let mut downloaded = None;
        if input.auto_download && !located.places.is_empty() {
            let folder = papers_folder(self.0.options(), None).await?;
            let obtaining = Obtaining {
                lab: &self.0,
                call,
                overwrite: false,
                time: Duration::from_mins(2),
                share: Share::WHOLE.part(0.5, 1.0),
            };
            let to = place_for(Library(call.store()), &folder, &article).await?;
            match obtaining.fetch(What::Paper(&article), to).await {
                Ok(here) => downloaded = Some(fetched(&here)),
                Err(error @ ToolError::Cancelled) => return Err(error),
                Err(error) => notes.push(format!("Not downloaded: {error}.")),
            }
        }
        let pages = if located.places.is_empty() {
            locator.pages(&article)
        } else {
            Vec::new()
        };
        let mut output = Output {
            said: String::new(),
            title: article.title,
            places: located.places,
            doubtful: located.doubtful,
            pages,
            asked: located.asked,
            downloaded,
            notes,
        };
        output.said = with_notes(said(name, &output), &output.notes);
        Ok(only_read(output))
    }
}

fn said(name: &str, output: &Output) -> String {
    let title = if output.title.is_empty() {
        name
    } else {
        &output.title
    };
    let mut said = match output.places.len() {
        0 => format!("No open PDF of **{}** was found.\n", plain(title)),
        1 => format!("One open PDF of **{}**:\n", plain(title)),
        many => format!("{many} open PDFs of **{}**:\n", plain(title)),
    };
    let mut list = |places: &[PdfPlace], doubt: &str| {
        for place in places {
            let version = place
                .version
                .as_deref()
                .map(|it| format!(", {}", plain(it)));
            let _ = write!(
                said,
                "\n- {} ({}{}){doubt}",
                plain(&place.url),
                plain(&place.source),
                version.unwrap_or_default()
            );
        }
    };
    list(&output.places, "");
    list(&output.doubtful, ": perhaps behind a paywall");
    if !output.pages.is_empty() {
        said.push_str("\n\nPages for a person to look at, which may want money or a login:\n");
        for page in &output.pages {
            let _ = write!(said, "\n- {}", plain(page));
        }
    }
    if let Some(file) = &output.downloaded {
        let _ = write!(
            said,
            "\n\nDownloaded to {}. process_pdf reads it.",
            file.path
        );
    }
    let asked: Vec<String> = output.asked.iter().map(asked_line).collect();
    if !asked.is_empty() {
        let _ = write!(said, "\n\nAsked: {}", asked.join(" "));
    }
    said
}
