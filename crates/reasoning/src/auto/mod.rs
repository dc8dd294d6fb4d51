//! Choosing the mode by the problem: clear cases by rules, the others by asking.

mod mode_choice;
mod rules;

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::{Percent, Score, Session, SessionId};
use deliberate_store::Pagination;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    ask_template::{AskTemplate, GenerationParams},
    history::{SessionHistory, current_history},
    model_fields::{Confidence, is_blank, lenient_option, lenient_vec},
    text_list::check_list,
};
use crate::{
    divergent, graph, linear, reflection,
    session::{ModeFilter, optional_session},
    tree::{self, ExploreRequest},
};
use mode_choice::{ForwardChoice, ModeChoice};

/// Other ways that are answered.
const MAX_ALTERNATIVES: usize = 3;

/// What is answered when the router chose and did not say why.
const NO_REASON: &str = "The router chose it and gave no reason.";

/// `reasoning_auto`.
pub struct Auto;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Content to analyze for mode selection
    #[schemars(length(min = 1))]
    content: String,
    session_id: Option<SessionId>,
    /// Hints about the problem type
    #[schemars(length(max = 20))]
    hints: Option<Vec<String>>,
    /// Run the chosen mode, too
    run: Option<bool>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The mode to use; direct means to answer without one
    recommended_mode: ModeChoice,
    /// How sure the choice is
    confidence: Score,
    /// Why this mode
    rationale: String,
    /// How complex the problem is
    complexity: Score,
    /// Other modes that would do, 3 at the most
    alternative_modes: Vec<ModeAlternative>,
    /// rules for a clear case, router if a model was asked
    decided_by: DecidedBy,
    /// The tool of that mode; null for direct
    tool: Option<&'static str>,
    /// The answer of `tool`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    result: Option<Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ModeAlternative {
    /// The other mode
    mode: ModeChoice,
    /// How well it would do
    confidence: Score,
    /// Why it would do; may be empty
    rationale: String,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DecidedBy {
    Rules,
    Router,
}

/// What the router is asked for; `C` is what it may choose from. `recommended_mode` is what pipes
/// written for the original server answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(bound(deserialize = "C: DeserializeOwned"))]
// All is asked for, though an answer without some of it can be used.
#[schemars(extend("required" = [
    "mode", "rationale", "confidence_percent", "complexity_percent", "alternatives"
]))]
struct RouterReply<C> {
    #[serde(alias = "recommended_mode")]
    mode: C,
    /// Why, in a sentence
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "String", length(min = 1))]
    rationale: Option<String>,
    #[serde(flatten)]
    sure: Confidence,
    /// How complex the problem is
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    complexity_percent: Option<Percent>,
    #[serde(default, deserialize_with = "lenient_vec")]
    #[schemars(length(max = 3))]
    alternatives: Vec<AlternativeReply<C>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["mode", "confidence_percent", "rationale"]))]
struct AlternativeReply<C> {
    mode: C,
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "String")]
    rationale: Option<String>,
    #[serde(flatten)]
    sure: Confidence,
}

/// What the ask shows.
#[derive(Serialize)]
struct AutoAskContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    session_mode: Option<&'static str>,
    backtracking: bool,
    hints: &'a [String],
    content: &'a str,
}

/// Limits as in the pipes of the original server.
const GENERATION: GenerationParams = GenerationParams {
    max_tokens: 1_000,
    temperature: 0.5,
};

const ROUTER_TEMPLATE: &str = include_str!("router.md");

static ASK: LazyLock<AskTemplate> = LazyLock::new(|| {
    AskTemplate::new::<RouterReply<ForwardChoice>>("auto", ROUTER_TEMPLATE, GENERATION)
});

/// The ask in a session that has somewhere to return to.
static ASK_WITH_BACKTRACKING: LazyLock<AskTemplate> = LazyLock::new(|| {
    AskTemplate::new::<RouterReply<ModeChoice>>("auto", ROUTER_TEMPLATE, GENERATION)
});

impl Tool for Auto {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_auto",
            title: "Choose a way to think",
            description: "Select the most appropriate reasoning mode for the content; with run, \
                          use it at once.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let content = call.check_content("content", &input.content)?;
        let hints = check_list("hints", input.hints, call)?;
        let session = optional_session(input.session_id.as_ref(), ModeFilter::Any, call).await?;
        let mut output = choose(content, &hints, session.as_ref(), call).await?;
        if input.run != Some(true) {
            return Ok(ToolOutput {
                output,
                changes: Vec::new(),
                session: input.session_id,
            });
        }
        let ran = run_chosen(output.recommended_mode, input.content, session, call).await?;
        Ok(match ran {
            ModeRun::Executed(outcome) => {
                output.result = Some(outcome.output);
                ToolOutput {
                    output,
                    changes: outcome.changes,
                    session: outcome.session,
                }
            }
            ModeRun::Skipped(why) => {
                output.result = Some(Value::Null);
                output.rationale = format!("{} {why}", output.rationale);
                ToolOutput {
                    output,
                    changes: Vec::new(),
                    session: input.session_id,
                }
            }
        })
    }
}

async fn choose(
    content: &str,
    hints: &[String],
    session: Option<&Session>,
    call: &ToolContext,
) -> Result<Output, ToolError> {
    // Kept, because the router was offered what was there when it was asked.
    let has_way_back = call.memoize("has_way_back", has_checkpoints(session, call).await?);
    if let Some(ruling) = rules::decide(content, hints, has_way_back) {
        return Ok(Output {
            recommended_mode: ruling.choice,
            confidence: Score::clamped(ruling.confidence),
            rationale: ruling.rationale,
            complexity: Score::clamped(rules::estimate_complexity(ruling.choice, content)),
            alternative_modes: alternatives(
                ruling.choice,
                ruling
                    .alternative
                    .into_iter()
                    .map(|(mode, why)| ModeAlternative {
                        mode,
                        confidence: Score::clamped(rules::ALTERNATIVE_CONFIDENCE),
                        rationale: why,
                    }),
            ),
            decided_by: DecidedBy::Rules,
            tool: ruling.choice.tool(),
            result: None,
        });
    }
    let past = current_history(session, call).await?;
    let shown = AutoAskContext {
        past: &past,
        session_mode: session.map(|session| session.mode.as_str()),
        backtracking: has_way_back,
        hints,
        content,
    };
    call.progress(0.0, None, "choosing");
    if has_way_back {
        route::<ModeChoice>(&ASK_WITH_BACKTRACKING, shown, call).await
    } else {
        route::<ForwardChoice>(&ASK, shown, call).await
    }
}

async fn has_checkpoints(session: Option<&Session>, call: &ToolContext) -> Result<bool, ToolError> {
    let Some(session) = session else {
        return Ok(false);
    };
    let checkpoints = call
        .store()
        .checkpoints(&session.id, Pagination::limit(1))
        .await?;
    Ok(!checkpoints.is_empty())
}

async fn route<C: DeserializeOwned + Into<ModeChoice>>(
    asking: &AskTemplate,
    shown: AutoAskContext<'_>,
    call: &ToolContext,
) -> Result<Output, ToolError> {
    let content = shown.content;
    let mut ask = asking.render(shown)?;
    ask.variables = [("content".to_owned(), content.to_owned())].into();
    let route: RouterReply<C> = call.ask(ask, None).await?.value;
    let mode = route.mode.into();
    let complexity = route.complexity_percent.map(|percent| percent.0);
    let estimate = || Score::clamped(rules::estimate_complexity(mode, content));
    Ok(Output {
        recommended_mode: mode,
        confidence: route.sure.score(),
        rationale: non_blank_reason(route.rationale).unwrap_or_else(|| NO_REASON.to_owned()),
        complexity: complexity.unwrap_or_else(estimate),
        alternative_modes: alternatives(
            mode,
            route.alternatives.into_iter().map(|it| ModeAlternative {
                mode: it.mode.into(),
                confidence: it.sure.score(),
                rationale: non_blank_reason(it.rationale).unwrap_or_default(),
            }),
        ),
        decided_by: DecidedBy::Router,
        tool: mode.tool(),
        result: None,
    })
}

/// A reason, if one was given.
fn non_blank_reason(said: Option<String>) -> Option<String> {
    let said = said.filter(|text| !is_blank(text))?;
    Some(said.trim().to_owned())
}

/// Those that are others, each once.
fn alternatives(
    chosen: ModeChoice,
    others: impl Iterator<Item = ModeAlternative>,
) -> Vec<ModeAlternative> {
    let mut seen = BTreeSet::from([chosen]);
    others
        .filter(|other| seen.insert(other.mode))
        .take(MAX_ALTERNATIVES)
        .collect()
}

/// What came of running the mode that was chosen.
enum ModeRun {
    Executed(ToolOutput<Value>),
    /// Nothing was run, for this reason.
    Skipped(&'static str),
}

/// Runs a mode in the session, whatever its mode: mixing them is the point.
async fn run_chosen(
    choice: ModeChoice,
    content: String,
    session: Option<Session>,
    call: &ToolContext,
) -> Result<ModeRun, ToolError> {
    let outcome = match choice {
        ModeChoice::Linear => {
            let input = linear::Input::from_content(content);
            output_to_json(linear::think_step(input, session, call).await?)?
        }
        ModeChoice::Divergent => {
            let input = divergent::Input::from_content(content);
            output_to_json(divergent::diverge(input, session, call).await?)?
        }
        ModeChoice::Reflection => {
            output_to_json(reflection::reflect_on(content, session, call).await?)?
        }
        ModeChoice::Tree => output_to_json(
            tree::explore(ExploreRequest::from_content(content), session, call).await?,
        )?,
        ModeChoice::Got => output_to_json(graph::start_and_expand(&content, session, call).await?)?,
        ModeChoice::Backtracking => {
            return Ok(ModeRun::Skipped(
                "Nothing was run: pick a checkpoint with reasoning_checkpoint_list, then call \
                 reasoning_backtrack.",
            ));
        }
        ModeChoice::Direct => {
            return Ok(ModeRun::Skipped("Nothing was run: answer it directly."));
        }
    };
    Ok(ModeRun::Executed(outcome))
}

fn output_to_json<T: Serialize>(outcome: ToolOutput<T>) -> Result<ToolOutput<Value>, ToolError> {
    let output = serde_json::to_value(outcome.output).map_err(|error| {
        tracing::error!(%error, "a mode's answer can't be written as JSON");
        ToolError::Internal
    })?;
    Ok(ToolOutput {
        output,
        changes: outcome.changes,
        session: outcome.session,
    })
}
