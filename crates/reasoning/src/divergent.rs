//! The divergent mode: several perspectives that differ, and their synthesis.

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::{
    BranchId, Change, Mode, Percent, Score, Session, SessionId, Thought, ThoughtId, truncate_chars,
};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Value, json};

use super::{
    history::{SessionHistory, current_open_history},
    model_fields::{
        Confidence, ThresholdNote, is_blank, lenient_vec, non_blank, normalized, optional_text,
    },
    prompt_template::{GenerationParams, ReasoningPromptTemplate, set_list_bounds},
    text_list::check_list,
};
use crate::{
    auto::DIVERGENT_REQUESTS,
    mcp_prompts::{PROBLEM, ReasoningPrompt, SESSION, number_argument},
    modes::{ModeDefinition, ModeRouting, ModeRunner, RoutingExample, output_to_json},
    session::{ModeFilter, TargetSession, metadata_object, optional_session, require_open_branch},
};

pub(crate) static MODE: ModeDefinition = ModeDefinition {
    name: Mode::Divergent.as_str(),
    tool: Some("reasoning_divergent"),
    register: |registry| registry.with(Divergent),
    prompt: Some(ReasoningPrompt {
        name: "diverge",
        title: "Look from several sides",
        description: "Collect perspectives that disagree, then bring them together.",
        text: include_str!("mcp_prompts/diverge.md"),
        arguments: &[
            PROBLEM,
            SESSION,
            number_argument("perspectives", "How many perspectives, 2 to 10", 2, 10),
        ],
    }),
    routing: Some(&ModeRouting {
        summary: "new ideas are wanted, or the views of different people",
        examples: &[
            RoutingExample {
                problem: "What could we do with the empty hall next door?",
                reason: "It asks for new ideas for using a hall.",
            },
            RoutingExample {
                problem: "What would a cook, a doctor and a child say about sugar?",
                reason: "It asks for the views of different people.",
            },
        ],
        requests: DIVERGENT_REQUESTS,
        run: ModeRunner::Run(|content, session, call| {
            Box::pin(async move {
                let input = Input::from_content(content);
                output_to_json(diverge(input, session, call).await?)
            })
        }),
        ..ModeRouting::DEFAULT
    }),
};

/// The number of perspectives if the caller gives none.
const DEFAULT_PERSPECTIVES: u8 = 3;

/// A single perspective offers no comparison.
const MIN_PERSPECTIVES: usize = 2;

/// The longest viewpoint that is taken from the content if the model gave none.
const VIEWPOINT_CHARS: usize = 80;

/// The `reasoning_divergent` tool.
pub(crate) struct Divergent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The topic or problem to explore creatively
    #[schemars(length(min = 1))]
    content: String,
    session_id: Option<SessionId>,
    /// Default: 3
    #[schemars(range(min = 2, max = 10))]
    num_perspectives: Option<u8>,
    /// What every perspective must respect
    #[schemars(length(max = 20))]
    constraints: Option<Vec<String>>,
    /// Confidence threshold
    confidence: Option<Score>,
}

impl Input {
    /// Builds the input for `content` with the defaults of every other field.
    pub(crate) fn from_content(content: String) -> Self {
        Self {
            content,
            session_id: None,
            num_perspectives: None,
            constraints: None,
            confidence: None,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The thought that holds the synthesis
    thought_id: ThoughtId,
    /// Pass it to continue this session
    session_id: SessionId,
    /// The same text as `synthesis`
    content: String,
    /// How sure the model is of the synthesis
    confidence: Score,
    /// Perspectives that differ, each stored as a thought
    perspectives: Vec<Perspective>,
    /// What the perspectives come to together
    synthesis: String,
    /// `id` of the perspective with the highest novelty; null if none was rated
    most_novel: Option<ThoughtId>,
    /// How many of the requested perspectives are missing; omitted if none
    #[serde(skip_serializing_if = "Option::is_none")]
    perspectives_missing: Option<usize>,
    #[serde(flatten)]
    doubt: ThresholdNote,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Perspective {
    /// The thought that holds it
    id: ThoughtId,
    /// The stand it takes, in a few words
    viewpoint: String,
    /// The reasoning from it
    content: String,
    /// How far it is from what most would say; null if not rated
    novelty_score: Option<Score>,
    /// How well it holds up; null if not rated
    viability: Option<Score>,
}

/// The answer that the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
// The schema requires every field, although an answer without some of them is accepted.
#[schemars(extend("required" = ["perspectives", "synthesis", "confidence_percent", "weakest_point"]))]
struct PerspectivesReply {
    #[serde(deserialize_with = "distinct_perspectives")]
    perspectives: Vec<PerspectiveReply>,
    /// What they come to together
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "non_blank")]
    synthesis: String,
    #[serde(flatten)]
    sure: Confidence,
    /// What is most likely to be wrong with the synthesis
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(max = 300))]
    weakest_point: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = [
    "viewpoint", "content", "assumption_challenged", "novelty_percent", "viability_percent"
]))]
struct PerspectiveReply {
    /// The stand it takes, in a few words
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(min = 1))]
    viewpoint: Option<String>,
    /// The reasoning from it
    #[schemars(length(min = 1))]
    #[serde(default)]
    content: String,
    /// What it does not take for granted
    #[schemars(with = "String")]
    #[serde(default, deserialize_with = "optional_text")]
    assumption_challenged: Option<String>,
    /// How far it is from what most would say
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    novelty_percent: Option<Percent>,
    /// How well it holds up
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    viability_percent: Option<Percent>,
}

impl PerspectiveReply {
    fn viewpoint(&self) -> String {
        match &self.viewpoint {
            Some(name) if !is_blank(name) => name.trim().to_owned(),
            _ => truncate_chars(self.content.trim(), VIEWPOINT_CHARS),
        }
    }
}

/// Keeps the perspectives that differ from each other. With too few of them the answer is invalid,
/// and the model is asked again.
fn distinct_perspectives<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PerspectiveReply>, D::Error> {
    let mut views: Vec<PerspectiveReply> = lenient_vec(deserializer)?;
    let mut seen = BTreeSet::new();
    views.retain(|view| !is_blank(&view.content) && seen.insert(normalized(&view.content)));
    if views.len() < MIN_PERSPECTIVES {
        return Err(de::Error::custom(
            "fewer than two perspectives say something of their own",
        ));
    }
    Ok(views)
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct DivergentPromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    content: &'a str,
    constraints: &'a [String],
    wanted: usize,
}

/// The same limits as the pipes of the original server, which gave at most five perspectives.
const GENERATION: GenerationParams = GenerationParams {
    max_tokens: 3_000,
    temperature: 0.9,
};

/// The additional tokens for each perspective beyond five.
const TOKENS_PER_EXTRA: u32 = 500;

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    ReasoningPromptTemplate::new::<PerspectivesReply>(
        "divergent",
        include_str!("divergent.md"),
        GENERATION,
    )
});

impl Tool for Divergent {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_divergent",
            title: "Look from several sides",
            description: "Creative reasoning that generates novel perspectives and unconventional \
                          solutions, challenges assumptions and synthesizes them.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = optional_session(
            input.session_id.as_ref(),
            ModeFilter::Mode(Mode::Divergent),
            call,
        )
        .await?;
        diverge(input, session, call).await
    }
}

/// Collects perspectives on the content, in a session of any mode or in a new one.
pub(crate) async fn diverge(
    input: Input,
    session: Option<Session>,
    call: &ToolContext,
) -> Result<ToolOutput<Output>, ToolError> {
    let content = call.check_content("content", &input.content)?.to_owned();
    let constraints = check_list("constraints", input.constraints, call)?;
    let past = current_open_history(session.as_ref(), call).await?;
    let wanted = input.num_perspectives.unwrap_or(DEFAULT_PERSPECTIVES);
    call.progress(0.0, Some(1.0), "thinking");
    let ask = perspectives_request(&content, &constraints, &past, wanted)?;
    let views: PerspectivesReply = call.ask(ask, None).await?.value;
    let home = TargetSession::existing_or_new(session, Mode::Divergent, &content, call);
    let step = DivergentStep {
        content,
        constraints,
        parent: past.latest,
        branch: past.branch,
        requested: usize::from(wanted),
        threshold: input.confidence,
    };
    Ok(step.into_output(&home, views, call))
}

fn perspectives_request(
    content: &str,
    constraints: &[String],
    past: &SessionHistory,
    wanted: u8,
) -> Result<ModelRequest, ToolError> {
    let count = usize::from(wanted);
    let mut ask = ASK.render(DivergentPromptContext {
        past,
        content,
        constraints,
        wanted: count,
    })?;
    set_list_bounds(&mut ask, "perspectives", count, count);
    ask.max_tokens += u32::from(wanted.saturating_sub(5)) * TOKENS_PER_EXTRA;
    ask.variables = [("content".to_owned(), content.to_owned())].into();
    Ok(ask)
}

/// The request, from which the answer is turned into thoughts.
struct DivergentStep {
    content: String,
    constraints: Vec<String>,
    parent: Option<ThoughtId>,
    branch: Option<BranchId>,
    requested: usize,
    threshold: Option<Score>,
}

impl DivergentStep {
    /// Builds the thoughts. The perspectives come before the synthesis, because the next step
    /// builds on the last thought.
    fn into_output(
        self,
        home: &TargetSession,
        views: PerspectivesReply,
        call: &ToolContext,
    ) -> ToolOutput<Output> {
        let at = call.now();
        let thought = |input, content, confidence, metadata| Thought {
            id: call.new_id(),
            session_id: home.id(),
            input,
            content,
            confidence,
            mode: Mode::Divergent,
            parent_id: self.parent.clone(),
            branch_id: self.branch.clone(),
            set_aside: false,
            created_at: at,
            metadata,
        };
        let mut changes = home.changes();
        changes.extend(require_open_branch(self.branch.as_ref()));
        let mut perspectives = Vec::new();
        for view in views.perspectives.into_iter().take(self.requested) {
            let viewpoint = view.viewpoint();
            let novelty_score = view.novelty_percent.map(|percent| percent.0);
            let viability = view.viability_percent.map(|percent| percent.0);
            let kept = thought(
                None,
                view.content.trim().to_owned(),
                viability.unwrap_or(Score::DEFAULT_CONFIDENCE),
                metadata_object([
                    ("kind", json!("perspective")),
                    ("viewpoint", json!(viewpoint)),
                    ("novelty", json!(novelty_score)),
                    ("assumption_challenged", json!(view.assumption_challenged)),
                ]),
            );
            perspectives.push(Perspective {
                id: kept.id.clone(),
                viewpoint,
                content: kept.content.clone(),
                novelty_score,
                viability,
            });
            changes.push(Change::AddThought(kept));
        }
        let confidence = views.sure.score();
        let ids: Vec<&ThoughtId> = perspectives.iter().map(|it| &it.id).collect();
        let synthesis = thought(
            Some(self.content.clone()),
            views.synthesis,
            confidence,
            metadata_object([
                ("kind", json!("synthesis")),
                ("perspectives", json!(ids)),
                ("constraints", Value::from(self.constraints)),
                ("weakest_point", json!(views.weakest_point)),
            ]),
        );
        let missing = self.requested.saturating_sub(perspectives.len());
        let output = Output {
            thought_id: synthesis.id.clone(),
            session_id: home.id(),
            content: synthesis.content.clone(),
            confidence,
            most_novel: most_novel(&perspectives),
            perspectives,
            synthesis: synthesis.content.clone(),
            perspectives_missing: (missing > 0).then_some(missing),
            doubt: ThresholdNote::for_threshold(
                self.threshold,
                confidence,
                views.weakest_point.as_deref(),
            ),
        };
        changes.push(Change::AddThought(synthesis));
        ToolOutput {
            output,
            changes,
            session: Some(home.id()),
        }
    }
}

/// The perspective with the highest novelty; the first one of equals.
fn most_novel(perspectives: &[Perspective]) -> Option<ThoughtId> {
    let mut best: Option<(Score, &ThoughtId)> = None;
    for perspective in perspectives {
        if let Some(novelty) = perspective.novelty_score
            && best.is_none_or(|(most, _)| novelty > most)
        {
            best = Some((novelty, &perspective.id));
        }
    }
    best.map(|(_, id)| id.clone())
}
