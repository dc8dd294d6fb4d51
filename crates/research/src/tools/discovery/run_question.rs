//! The `run_discovery_for_question` tool: runs a saved question now.

use std::{fmt::Write as _, sync::Arc};

use deliberate_core::Timestamp;
use deliberate_toolkit::{
    STEP_STATE, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{default_user, get_research_question::render_matches};
use crate::{
    ResearchServices,
    discovery::{
        NOT_RUN, QuestionMatch, QuestionRepository, QuestionRunOptions, QuestionRunRecord,
        ResearchQuestion, run_question, search::SourceReport,
    },
    tools::rendering::{escape_markdown, tool_meta},
};

/// The `run_discovery_for_question` tool.
pub(crate) struct RunDiscoveryForQuestion(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    question_id: String,
    #[serde(default = "default_user")]
    user_id: String,
    #[schemars(range(min = 1, max = 500))]
    max_articles: Option<u32>,
    /// Run even if inactive or just run; ask for all papers, not only new ones
    #[serde(default)]
    force_run: bool,
    /// Progress of the downloads.
    #[serde(default, rename = "_leg")]
    #[schemars(skip)]
    leg: Option<FetchState>,
}

/// Progress of the downloads.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FetchState {
    /// Articles still to download.
    left: Vec<String>,
    /// Results of earlier downloads.
    downloads: Vec<String>,
    sources: Vec<SourceReport>,
    /// Articles that match.
    fitting: Vec<String>,
    record: QuestionRunRecord,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    question_id: String,
    run: QuestionRunRecord,
    /// Answer of each source
    sources: Vec<SourceReport>,
    /// Matching papers, most relevant first
    matches: Vec<QuestionMatch>,
    /// Results of the PDF downloads
    downloads: Vec<String>,
    #[serde(skip)]
    next: Option<Value>,
}

/// Within this time a second run needs `force_run`.
const MIN_RERUN_MICROS: i64 = 10 * 60 * 1_000_000;

impl Tool for RunDiscoveryForQuestion {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            asks_model: true,
            ..tool_meta(
                "run_discovery_for_question",
                "Run discovery for question",
                "Run a saved question now: ask its sources, score new papers, store those \
                 that match",
                ToolHints {
                    open_world: true,
                    ..ToolHints::ADDITIVE
                },
            )
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let version = QuestionRepository(call.store())
            .get(&input.question_id, &input.user_id)
            .await?;
        if let Some(leg) = input.leg {
            return fetch_next_pdf(call, &version.question, leg).await;
        }
        if !input.force_run {
            check_may_run(&version.question, call.now())?;
        }
        let wish = QuestionRunOptions {
            max_articles: input.max_articles,
            include_old: input.force_run,
        };
        let ran = run_question(&self.0, call, &version, wish).await?;
        let next = (!ran.to_fetch.is_empty()).then(|| {
            let leg = FetchState {
                left: ran.to_fetch,
                downloads: Vec::new(),
                sources: ran.reports.clone(),
                fitting: ran.matches.iter().map(|it| it.article_id.clone()).collect(),
                record: ran.record.clone(),
            };
            next_arguments(&version.question, &leg)
        });
        let output = Output {
            said: String::new(),
            question_id: version.question.id.clone(),
            run: ran.record,
            sources: ran.reports,
            matches: ran.matches,
            downloads: Vec::new(),
            next,
        };
        Ok(ToolOutput {
            output: output.with_text(&version.question),
            changes: ran.changes,
            session: None,
        })
    }

    fn next_step(&self, output: &Output) -> Option<Value> {
        output.next.clone()
    }
}

fn check_may_run(question: &ResearchQuestion, now: Timestamp) -> Result<(), ToolError> {
    let told = |message: String| ToolError::Custom {
        code: NOT_RUN,
        message,
        hint: Some("Call again with force_run to run it anyway.".to_owned()),
    };
    if !question.active {
        return Err(told(format!(
            "the question {:?} is not active",
            question.name
        )));
    }
    let last = question
        .last_run
        .as_ref()
        .and_then(|it| Timestamp::parse(&it.at));
    // A last run in the future comes from a wrong clock.
    let ago = last.map(|at| now.as_micros().saturating_sub(at.as_micros()));
    if ago.is_some_and(|ago| (0..MIN_RERUN_MICROS).contains(&ago)) {
        return Err(told(format!(
            "the question {:?} ran less than ten minutes ago",
            question.name
        )));
    }
    Ok(())
}

fn next_arguments(question: &ResearchQuestion, state: &FetchState) -> Value {
    json!({ "question_id": question.id, "user_id": question.user, STEP_STATE: state })
}

impl Output {
    /// Adds the readable text.
    fn with_text(self, question: &ResearchQuestion) -> Self {
        let sources: Vec<String> = self.sources.iter().map(SourceReport::describe).collect();
        let mut said = format!(
            "# {}\n\n{}\n\nSources: {}\n{}",
            question.name,
            self.run.render_text(),
            sources.join("; "),
            render_matches(&self.matches, u64::from(self.run.matched))
        );
        if !self.downloads.is_empty() {
            said.push_str("\n### Open PDFs\n\n");
            for line in &self.downloads {
                let _ = writeln!(said, "- {}", escape_markdown(line));
            }
        }
        Self { said, ..self }
    }
}

/// Downloads the PDF of the next article. The matches are already committed.
async fn fetch_next_pdf(
    call: &ToolContext,
    question: &ResearchQuestion,
    mut state: FetchState,
) -> Result<ToolOutput<Output>, ToolError> {
    let mut changes = Vec::new();
    if !state.left.is_empty() {
        let id = state.left.remove(0);
        let (done, all) = (
            state.downloads.len(),
            state.downloads.len() + state.left.len() + 1,
        );
        let what = format!("downloading PDF {} of {all}", done + 1);
        call.progress(2.0 + done as f64 / all as f64, Some(3.0), &what);
        let arguments = json!({ "identifiers": [id], "download": true });
        match call.run_tool("fetch", "add_article", arguments).await {
            Ok(outcome) => {
                changes = outcome.changes;
                state.downloads.push(download_line(&id, &outcome.output));
            }
            Err(error @ (ToolError::Cancelled | ToolError::Store(_))) => return Err(error),
            Err(error) => state.downloads.push(format!("{id}: {error}")),
        }
    }
    let next = (!state.left.is_empty()).then(|| next_arguments(question, &state));
    let mut matches = Vec::new();
    if next.is_none() {
        for article in &state.fitting {
            let kept = QuestionMatch::load(call.store(), &question.id, article).await?;
            matches.extend(kept.map(|it| it.question_match));
        }
    }
    let output = Output {
        said: String::new(),
        question_id: question.id.clone(),
        run: state.record,
        sources: state.sources,
        matches,
        downloads: state.downloads,
        next,
    };
    Ok(ToolOutput {
        output: output.with_text(question),
        changes,
        session: None,
    })
}

/// Renders the result of a download: read, or why not.
fn download_line(id: &str, output: &Value) -> String {
    let result = output.pointer("/results/0");
    let text = |name: &str| result?.get(name)?.as_str();
    let notes = result.and_then(|it| it.get("notes")?.as_array());
    let notes = notes.into_iter().flatten().filter_map(Value::as_str);
    let why = notes
        .filter(|it| it.starts_with("Added without its text"))
        .chain(text("outcome").filter(|it| *it == "failed"))
        .next();
    let name = text("title").unwrap_or(id);
    format!("{name}: {}", why.unwrap_or("read"))
}
