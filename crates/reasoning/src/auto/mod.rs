//! Choosing the mode by the problem: clear cases by rules, the others by asking.

mod choice;
mod rules;

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::{Percent, Score, Session, SessionId};
use deliberate_store::Page;
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    context::{Past, standing},
    divergent,
    given::listed,
    graph, linear,
    prompt::{Asking, Freedom},
    reflection,
    said::{Sure, fitting, or_none, says_nothing},
    session::{WorksOn, known_if_named},
    tree::{self, Explore},
};
use choice::{Choice, Forward};

/// Other ways that are answered.
const MOST_ALTERNATIVES: usize = 3;

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
    recommended_mode: Choice,
    /// How sure the choice is
    confidence: Score,
    /// Why this mode
    rationale: String,
    /// How complex the problem is
    complexity: Score,
    /// Other modes that would do, 3 at the most
    alternative_modes: Vec<Alternative>,
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
struct Alternative {
    /// The other mode
    mode: Choice,
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
struct Route<C> {
    #[serde(alias = "recommended_mode")]
    mode: C,
    /// Why, in a sentence
    #[serde(default, deserialize_with = "or_none")]
    #[schemars(with = "String", length(min = 1))]
    rationale: Option<String>,
    #[serde(flatten)]
    sure: Sure,
    /// How complex the problem is
    #[serde(default, deserialize_with = "Percent::or_none")]
    #[schemars(with = "Percent")]
    complexity_percent: Option<Percent>,
    #[serde(default, deserialize_with = "fitting")]
    #[schemars(length(max = 3))]
    alternatives: Vec<OtherRoute<C>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["mode", "confidence_percent", "rationale"]))]
struct OtherRoute<C> {
    mode: C,
    #[serde(default, deserialize_with = "or_none")]
    #[schemars(with = "String")]
    rationale: Option<String>,
    #[serde(flatten)]
    sure: Sure,
}

/// What the ask shows.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    past: &'a Past,
    session_mode: Option<&'static str>,
    backtracking: bool,
    hints: &'a [String],
    content: &'a str,
}

/// Limits as in the pipes of the original server.
const FREEDOM: Freedom = Freedom {
    max_tokens: 1_000,
    temperature: 0.5,
};

const TEXT: &str = include_str!("router.md");

static ASK: LazyLock<Asking> =
    LazyLock::new(|| Asking::new::<Route<Forward>>("auto", TEXT, FREEDOM));

/// The ask in a session that has somewhere to return to.
static ASK_WITH_WAY_BACK: LazyLock<Asking> =
    LazyLock::new(|| Asking::new::<Route<Choice>>("auto", TEXT, FREEDOM));

impl Tool for Auto {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_auto",
            title: "Choose a way to think",
            description: "Select the most appropriate reasoning mode for the content; with run, \
                          use it at once.",
            annotations: Annotations::THINKS,
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let content = call.checked_content("content", &input.content)?;
        let hints = listed("hints", input.hints, call)?;
        let session = known_if_named(input.session_id.as_ref(), WorksOn::Any, call).await?;
        let mut output = choose(content, &hints, session.as_ref(), call).await?;
        if input.run != Some(true) {
            return Ok(Outcome {
                output,
                changes: Vec::new(),
                session: input.session_id,
            });
        }
        let ran = run_chosen(output.recommended_mode, input.content, session, call).await?;
        Ok(match ran {
            Ran::Tool(outcome) => {
                output.result = Some(outcome.output);
                Outcome {
                    output,
                    changes: outcome.changes,
                    session: outcome.session,
                }
            }
            Ran::Nothing(why) => {
                output.result = Some(Value::Null);
                output.rationale = format!("{} {why}", output.rationale);
                Outcome {
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
    call: &Call,
) -> Result<Output, ToolError> {
    // Kept, because the router was offered what was there when it was asked.
    let has_way_back = call.keep("has_way_back", has_way_back(session, call).await?);
    if let Some(ruling) = rules::decide(content, hints, has_way_back) {
        return Ok(Output {
            recommended_mode: ruling.choice,
            confidence: Score::clamped(ruling.confidence),
            rationale: ruling.rationale,
            complexity: Score::clamped(rules::complexity(ruling.choice, content)),
            alternative_modes: alternatives(
                ruling.choice,
                ruling.other.into_iter().map(|(mode, why)| Alternative {
                    mode,
                    confidence: Score::clamped(rules::OF_OTHERS),
                    rationale: why,
                }),
            ),
            decided_by: DecidedBy::Rules,
            tool: ruling.choice.tool(),
            result: None,
        });
    }
    let past = standing(session, call).await?;
    let shown = Shown {
        past: &past,
        session_mode: session.map(|session| session.mode.as_str()),
        backtracking: has_way_back,
        hints,
        content,
    };
    call.progress(0.0, None, "choosing");
    if has_way_back {
        route::<Choice>(&ASK_WITH_WAY_BACK, shown, call).await
    } else {
        route::<Forward>(&ASK, shown, call).await
    }
}

async fn has_way_back(session: Option<&Session>, call: &Call) -> Result<bool, ToolError> {
    let Some(session) = session else {
        return Ok(false);
    };
    let checkpoints = call
        .store()
        .checkpoints(&session.id, Page::first(1))
        .await?;
    Ok(!checkpoints.is_empty())
}

async fn route<C: DeserializeOwned + Into<Choice>>(
    asking: &Asking,
    shown: Shown<'_>,
    call: &Call,
) -> Result<Output, ToolError> {
    let content = shown.content;
    let mut ask = asking.ask(shown)?;
    ask.variables = [("content".to_owned(), content.to_owned())].into();
    let route: Route<C> = call.think(ask, None).await?.value;
    let mode = route.mode.into();
    let complexity = route.complexity_percent.map(|percent| percent.0);
    let estimate = || Score::clamped(rules::complexity(mode, content));
    Ok(Output {
        recommended_mode: mode,
        confidence: route.sure.score(),
        rationale: reason(route.rationale).unwrap_or_else(|| NO_REASON.to_owned()),
        complexity: complexity.unwrap_or_else(estimate),
        alternative_modes: alternatives(
            mode,
            route.alternatives.into_iter().map(|it| Alternative {
                mode: it.mode.into(),
                confidence: it.sure.score(),
                rationale: reason(it.rationale).unwrap_or_default(),
            }),
        ),
        decided_by: DecidedBy::Router,
        tool: mode.tool(),
        result: None,
    })
}

/// A reason, if one was given.
fn reason(said: Option<String>) -> Option<String> {
    let said = said.filter(|text| !says_nothing(text))?;
    Some(said.trim().to_owned())
}

/// Those that are others, each once.
fn alternatives(chosen: Choice, others: impl Iterator<Item = Alternative>) -> Vec<Alternative> {
    let mut seen = BTreeSet::from([chosen]);
    others
        .filter(|other| seen.insert(other.mode))
        .take(MOST_ALTERNATIVES)
        .collect()
}

/// What came of running the mode that was chosen.
enum Ran {
    Tool(Outcome<Value>),
    /// Nothing was run, for this reason.
    Nothing(&'static str),
}

/// Runs a mode in the session, whatever its mode: mixing them is the point.
async fn run_chosen(
    choice: Choice,
    content: String,
    session: Option<Session>,
    call: &Call,
) -> Result<Ran, ToolError> {
    let outcome = match choice {
        Choice::Linear => {
            let input = linear::Input::about(content);
            as_value(linear::step(input, session, call).await?)?
        }
        Choice::Divergent => {
            let input = divergent::Input::about(content);
            as_value(divergent::look(input, session, call).await?)?
        }
        Choice::Reflection => as_value(reflection::reflect_on(content, session, call).await?)?,
        Choice::Tree => as_value(tree::explore(Explore::of(content), session, call).await?)?,
        Choice::Got => as_value(graph::start_and_grow(&content, session, call).await?)?,
        Choice::Backtracking => {
            return Ok(Ran::Nothing(
                "Nothing was run: pick a checkpoint with reasoning_checkpoint_list, then call \
                 reasoning_backtrack.",
            ));
        }
        Choice::Direct => {
            return Ok(Ran::Nothing("Nothing was run: answer it directly."));
        }
    };
    Ok(Ran::Tool(outcome))
}

fn as_value<T: Serialize>(outcome: Outcome<T>) -> Result<Outcome<Value>, ToolError> {
    let output = serde_json::to_value(outcome.output).map_err(|error| {
        tracing::error!(%error, "a mode's answer can't be written as JSON");
        ToolError::Internal
    })?;
    Ok(Outcome {
        output,
        changes: outcome.changes,
        session: outcome.session,
    })
}
