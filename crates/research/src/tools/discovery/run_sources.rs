//! The `run_discovery` tool: runs saved sources, one per step, so that a failure affects no other.

use std::{cmp::Reverse, sync::Arc};

use deliberate_core::Timestamp;
use deliberate_toolkit::{
    STEP_STATE, Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::saved_sources::match_line;
use crate::{
    ResearchServices,
    discovery::{
        QuestionMatch, QuestionRepository, QuestionRunOptions, QuestionRunRecord, SOURCE_USER,
        run_question,
    },
    tools::rendering::tool_meta,
};

/// The `run_discovery` tool.
pub(crate) struct RunDiscovery(pub(super) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunSourcesInput {
    /// Default: all
    source_name: Option<String>,
    #[schemars(range(min = 1, max = 500))]
    max_articles: Option<u32>,
    /// No effect: a manual run always runs and asks for everything
    #[serde(default)]
    #[expect(
        dead_code,
        reason = "accepted because callers know it from other tools"
    )]
    force_run: bool,
    /// Progress of the run.
    #[serde(default, rename = "_leg")]
    #[schemars(skip)]
    leg: SourceRunState,
}

/// Progress of a run of several sources.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct SourceRunState {
    /// Sources still to run.
    left: Vec<String>,
    /// Results of earlier sources.
    done: Vec<SourceRun>,
}

/// Result of one source.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SourceRun {
    name: String,
    /// Absent if it failed
    run: Option<QuestionRunRecord>,
    problem: Option<String>,
    /// Papers found, newest first; `get_discovery_source` shows more
    matches: Vec<QuestionMatch>,
}

/// Papers in the output, of one source and of all.
const MAX_MATCHES_PER_SOURCE: usize = 20;
const MAX_MATCHES: usize = 100;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunSourcesOutput {
    said: String,
    runs: Vec<SourceRun>,
    #[serde(skip)]
    next: Option<Value>,
}

impl Tool for RunDiscovery {
    type Input = RunSourcesInput;
    type Output = RunSourcesOutput;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            asks_model: true,
            ..tool_meta(
                "run_discovery",
                "Run discovery",
                "Run one saved source or all of them now, and list the papers found",
                ToolHints {
                    open_world: true,
                    ..ToolHints::ADDITIVE
                },
            )
        }
    }

    async fn run(
        &self,
        input: RunSourcesInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<RunSourcesOutput>, ToolError> {
        let questions = QuestionRepository(call.store());
        let alone = input.source_name.is_some();
        let mut left = match (input.leg.left.is_empty(), &input.source_name) {
            (false, _) => input.leg.left.clone(),
            (true, Some(name)) => vec![name.clone()],
            (true, None) => {
                let all = questions.list_for_user(SOURCE_USER, true, true).await?;
                all.into_iter().map(|it| it.question.name).collect()
            }
        };
        let mut runs = input.leg.done.clone();
        let mut changes = Vec::new();
        if !left.is_empty() {
            let name = left.remove(0);
            let wish = QuestionRunOptions {
                max_articles: input.max_articles,
                include_old: true,
            };
            let outcome = async {
                let version = questions.find_source(&name).await?;
                run_question(&self.0, call, &version, wish).await
            };
            match outcome.await {
                Ok(ran) => {
                    changes = ran.changes;
                    let shown: usize = runs.iter().map(|it| it.matches.len()).sum();
                    runs.push(SourceRun {
                        name,
                        run: Some(ran.record),
                        problem: None,
                        matches: newest_matches(ran.matches, MAX_MATCHES.saturating_sub(shown)),
                    });
                }
                Err(error) if alone => return Err(error),
                Err(error @ (ToolError::Cancelled | ToolError::Model(_) | ToolError::Store(_))) => {
                    return Err(error);
                }
                Err(error) => runs.push(SourceRun {
                    name,
                    run: None,
                    problem: Some(error.to_string()),
                    matches: Vec::new(),
                }),
            }
        }
        let next = (!left.is_empty()).then(|| {
            let leg = SourceRunState {
                left,
                done: runs.clone(),
            };
            match input.max_articles {
                Some(most) => json!({ "max_articles": most, STEP_STATE: leg }),
                None => json!({ STEP_STATE: leg }),
            }
        });
        Ok(ToolOutput {
            output: RunSourcesOutput {
                said: render_runs(&runs),
                runs,
                next,
            },
            changes,
            session: None,
        })
    }

    fn next_step(&self, output: &RunSourcesOutput) -> Option<Value> {
        output.next.clone()
    }
}

fn render_runs(runs: &[SourceRun]) -> String {
    if runs.is_empty() {
        return "There is no active saved source. create_arxiv_source and similar tools save one."
            .to_owned();
    }
    runs.iter().map(SourceRun::render_text).collect()
}

/// The last `most` matches, newest first.
fn newest_matches(mut matches: Vec<QuestionMatch>, most: usize) -> Vec<QuestionMatch> {
    matches.sort_by_key(|it| Reverse(Timestamp::parse(&it.first_found).map(Timestamp::as_micros)));
    matches.truncate(MAX_MATCHES_PER_SOURCE.min(most));
    matches
}

impl SourceRun {
    fn render_text(&self) -> String {
        let name = &self.name;
        let Some(run) = &self.run else {
            let problem = self.problem.as_deref().unwrap_or("");
            return format!("- **{name}**: failed: {problem}\n");
        };
        let papers = self
            .matches
            .iter()
            .map(|it| format!("  {}", match_line(it)));
        let papers: Vec<String> = papers.collect();
        let shown = u32::try_from(papers.len()).unwrap_or(u32::MAX);
        let more = match run.matched.saturating_sub(shown) {
            0 => String::new(),
            more => format!("  - and {more} more; get_discovery_source shows them\n"),
        };
        format!(
            "- **{name}**: {}\n{}{more}",
            run.render_text(),
            papers.concat()
        )
    }
}
