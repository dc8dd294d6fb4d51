//! The auto mode: recommends a mode for a problem, by rules in clear cases, else by asking a model.
//! Without a model it answers at once with the default, and the caller decides.

mod direct;
mod mode_choice;
mod rules;

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::{Mode, Percent, Score, Session, SessionId, shorten_tokens};
use deliberate_llm::ModelError;
use deliberate_store::Pagination;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    history::{SessionHistory, current_history},
    model_fields::{Confidence, is_blank, lenient_option, lenient_vec},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    text_list::check_list,
};
use crate::{
    mcp_prompts::{PROBLEM, ReasoningPrompt, SESSION},
    modes::{ModeDefinition, ModeRunner, RoutingExample},
    session::optional_session,
};
pub(crate) use direct::DIRECT_MODE;
use mode_choice::{ForwardChoice, ModeChoice};

pub(crate) static MODE: ModeDefinition = ModeDefinition {
    name: Mode::Auto.as_str(),
    tool: Some("reasoning_auto"),
    register: |registry| registry.with(Auto),
    prompt: Some(ReasoningPrompt {
        name: "auto",
        title: "Choose the way to think",
        description: "Let the server choose the way of reasoning that fits, and use it.",
        text: include_str!("../mcp_prompts/auto.md"),
        arguments: &[PROBLEM, SESSION],
    }),
    routing: None,
};

/// The largest number of alternatives in an answer.
const MAX_ALTERNATIVES: usize = 3;

/// The longest rationale that is taken from the router. The schema has no limit: a server that
/// enforces it stops in the middle of a sentence.
const MAX_REASON_TOKENS: usize = 150;

/// The rationale if the router gave none.
const NO_REASON: &str = "The router chose it and gave no reason.";

/// The rationale and the confidence of the default.
const DEFAULT_REASON: &str = "This is the default, since no model is there to choose: if `modes` \
    shows one that fits better, call its tool instead.";
const DEFAULT_CONFIDENCE: f64 = 0.5;

/// The `reasoning_auto` tool.
pub(crate) struct Auto;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1))]
    content: String,
    session_id: Option<SessionId>,
    /// Hints about the problem type
    #[schemars(length(max = 20))]
    hints: Option<Vec<String>>,
    /// Also run the chosen mode
    run: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The mode to use; direct: answer without one
    recommended_mode: ModeChoice,
    /// Confidence in the choice
    confidence: Score,
    /// Why this mode
    rationale: String,
    /// How complex the problem is
    complexity: Score,
    /// Other suitable modes, at most 3
    alternative_modes: Vec<ModeAlternative>,
    /// rules for a clear case, router if a model was asked, default if there is none: you decide
    decided_by: DecidedBy,
    /// The tool of that mode; null for direct
    tool: Option<&'static str>,
    /// Only with default: the modes to choose from
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ModeSummary>")]
    modes: Option<Vec<ModeSummary>>,
    /// The answer of `tool`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    result: Option<Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ModeAlternative {
    /// The other mode
    mode: ModeChoice,
    /// How suitable it is
    confidence: Score,
    /// Why it is suitable; may be empty
    rationale: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ModeSummary {
    mode: ModeChoice,
    /// Its tool; null for direct
    tool: Option<&'static str>,
    /// When it helps
    helps_if: &'static str,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DecidedBy {
    Rules,
    Router,
    Default,
}

/// The answer that the router is asked for; `C` is the type of the choices. The reason comes first, so
/// that the choice follows from it. Pipes written for the original server answer `recommended_mode`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(bound(deserialize = "C: DeserializeOwned"))]
// The schema requires every field, although an answer without some of them is accepted.
#[schemars(extend("required" = [
    "rationale", "mode", "confidence_percent", "complexity_percent", "alternatives"
]))]
struct RouterReply<C> {
    /// What kind of answer is wanted
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "String", length(min = 1))]
    rationale: Option<String>,
    #[serde(alias = "recommended_mode")]
    mode: C,
    #[serde(flatten)]
    sure: Confidence,
    /// How complex the problem is
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    complexity_percent: Option<Percent>,
    /// Other modes that would do
    #[serde(default, deserialize_with = "lenient_vec")]
    #[schemars(with = "Vec<C>", length(max = 2))]
    alternatives: Vec<AlternativeReply<C>>,
}

/// The name of another mode. Pipes written for the original server also say why.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum AlternativeReply<C> {
    Name(C),
    Described {
        mode: C,
        #[serde(default, deserialize_with = "lenient_option")]
        rationale: Option<String>,
        #[serde(flatten)]
        sure: Confidence,
    },
}

impl<C: Into<ModeChoice>> From<AlternativeReply<C>> for ModeAlternative {
    fn from(reply: AlternativeReply<C>) -> Self {
        match reply {
            AlternativeReply::Name(mode) => Self {
                mode: mode.into(),
                confidence: Score::clamped(rules::ALTERNATIVE_CONFIDENCE),
                rationale: String::new(),
            },
            AlternativeReply::Described {
                mode,
                rationale,
                sure,
            } => Self {
                mode: mode.into(),
                confidence: sure.score(),
                rationale: non_blank_reason(rationale).unwrap_or_default(),
            },
        }
    }
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct RouterPromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    session_mode: Option<&'static str>,
    choices: Vec<ChoiceInPrompt>,
    hints: &'a [String],
    content: &'a str,
}

/// One line of the list that the router chooses from.
#[derive(Serialize)]
struct ChoiceInPrompt {
    name: &'static str,
    summary: &'static str,
    examples: &'static [RoutingExample],
}

/// The answer is short, but a model may think before it. The same problem gets the same choice.
const GENERATION: GenerationParams = GenerationParams {
    max_tokens: 1_000,
    temperature: 0.0,
};

/// The key of the request to the router.
const REQUEST_KEY: &str = "auto";

const ROUTER_TEMPLATE: &str = include_str!("router.md");

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    ReasoningPromptTemplate::new::<RouterReply<ForwardChoice>>(
        REQUEST_KEY,
        ROUTER_TEMPLATE,
        GENERATION,
    )
});

/// The template for a session that has a checkpoint.
static ASK_WITH_BACKTRACKING: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    ReasoningPromptTemplate::new::<RouterReply<ModeChoice>>(
        REQUEST_KEY,
        ROUTER_TEMPLATE,
        GENERATION,
    )
});

impl Tool for Auto {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_auto",
            title: "Choose a way to think",
            description: "Select the most appropriate reasoning mode for the content.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let content = call.check_content("content", &input.content)?;
        let hints = check_list("hints", input.hints, call)?;
        let session = optional_session(input.session_id.as_ref(), call).await?;
        let mut output = choose(content, &hints, session.as_ref(), call).await?;
        if input.run != Some(true) {
            return Ok(ToolOutput {
                output,
                changes: Vec::new(),
                session: input.session_id,
            });
        }
        Ok(match output.recommended_mode.routing.run {
            ModeRunner::Run(run) => {
                let ran = run(input.content, session, call).await?;
                output.result = Some(ran.output);
                ToolOutput {
                    output,
                    changes: ran.changes,
                    session: ran.session,
                }
            }
            ModeRunner::Skip(why) => {
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
    // Memoized, so that a replayed call offers the router the same choices.
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
            modes: None,
            result: None,
        });
    }
    // The caller can choose as well as its own model can, and without another round trip.
    if !call.has_model().await {
        return Ok(default_choice(content, has_way_back));
    }
    let past = current_history(session, call).await?.for_judge();
    let shown = RouterPromptContext {
        past: &past,
        session_mode: session.map(|session| session.mode.as_str()),
        choices: choices_in_prompt(has_way_back),
        hints,
        content,
    };
    call.progress(0.0, None, "choosing");
    let routed = if has_way_back {
        route::<ModeChoice>(&ASK_WITH_BACKTRACKING, shown, call).await
    } else {
        route::<ForwardChoice>(&ASK, shown, call).await
    };
    match routed {
        // The client has declined to sample, so that its model would have to reply.
        Err(ToolError::Model(ModelError::Pending)) => {
            call.withdraw_request(REQUEST_KEY);
            Ok(default_choice(content, has_way_back))
        }
        routed => routed,
    }
}

fn default_choice(content: &str, has_way_back: bool) -> Output {
    let mode = ModeChoice::linear();
    let summary = |choice: ModeChoice| ModeSummary {
        mode: choice,
        tool: choice.tool(),
        helps_if: choice.routing.summary,
    };
    Output {
        recommended_mode: mode,
        confidence: Score::clamped(DEFAULT_CONFIDENCE),
        rationale: DEFAULT_REASON.to_owned(),
        complexity: Score::clamped(rules::estimate_complexity(mode, content)),
        alternative_modes: Vec::new(),
        decided_by: DecidedBy::Default,
        tool: mode.tool(),
        modes: Some(ModeChoice::possible(has_way_back).map(summary).collect()),
        result: None,
    }
}

fn choices_in_prompt(has_way_back: bool) -> Vec<ChoiceInPrompt> {
    ModeChoice::possible(has_way_back)
        .map(|choice| ChoiceInPrompt {
            name: choice.as_str(),
            summary: choice.routing.summary,
            examples: choice.routing.examples,
        })
        .collect()
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
    asking: &ReasoningPromptTemplate,
    context: RouterPromptContext<'_>,
    call: &ToolContext,
) -> Result<Output, ToolError> {
    let content = context.content;
    let mut ask = asking.render(context, call)?;
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
        alternative_modes: alternatives(mode, route.alternatives.into_iter().map(Into::into)),
        decided_by: DecidedBy::Router,
        tool: mode.tool(),
        modes: None,
        result: None,
    })
}

/// The trimmed reason; `None` if it is blank.
fn non_blank_reason(said: Option<String>) -> Option<String> {
    let said = said.filter(|text| !is_blank(text))?;
    Some(shorten_tokens(said.trim(), MAX_REASON_TOKENS))
}

/// Drops the chosen mode and duplicates.
fn alternatives(
    choice: ModeChoice,
    others: impl Iterator<Item = ModeAlternative>,
) -> Vec<ModeAlternative> {
    let mut seen = BTreeSet::from([choice]);
    others
        .filter(|other| seen.insert(other.mode))
        .take(MAX_ALTERNATIVES)
        .collect()
}
