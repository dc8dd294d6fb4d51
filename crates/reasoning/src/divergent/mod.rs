//! The divergent mode: several perspectives that differ, and their synthesis.

mod model_output;

use std::sync::LazyLock;

use deliberate_core::{
    BranchId, Change, Mode, Score, Session, SessionId, Thought, ThoughtId, approximate_tokens,
    equal_shares, shorten_tokens,
};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput, answer_schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    history::{SessionHistory, current_open_history, thought_history},
    mcp_prompts::{PROBLEM, ReasoningPrompt, SESSION, number_argument},
    model_fields::{StepFields, below_threshold},
    modes::{ModeDefinition, ModeRouting, ModeRunner, RoutingExample, output_to_json},
    parallel_requests::{AllOrEach, ask_all_or_each, ask_parallel},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    session::{TargetSession, metadata_object, optional_session, require_open_branch},
    text_list::check_list,
};
use model_output::{
    MIN_PERSPECTIVES, PerspectiveReply, PerspectivesReply, SynthesisReply, distinct_answers,
};

pub(crate) static MODE: ModeDefinition = ModeDefinition {
    name: Mode::Divergent.as_str(),
    tool: Some("reasoning_divergent"),
    register: |registry| registry.with(Divergent),
    prompt: Some(ReasoningPrompt {
        name: "diverge",
        title: "Look from several sides",
        description: "Collect perspectives that disagree, then bring them together.",
        text: include_str!("../mcp_prompts/diverge.md"),
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

/// The `reasoning_divergent` tool.
pub(crate) struct Divergent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The topic or problem to explore creatively
    #[schemars(length(min = 1))]
    content: String,
    session_id: Option<SessionId>,
    /// Grow from this thought
    thought_id: Option<ThoughtId>,
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
            thought_id: None,
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
    /// What the synthesis concludes; null if nothing yet
    answer: Option<String>,
    /// How sure the model is of the synthesis
    confidence: Score,
    /// What is most likely to be wrong with it
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
    /// Perspectives that differ, each stored as a thought
    perspectives: Vec<Perspective>,
    /// What the perspectives come to together
    synthesis: String,
    /// `id` of the perspective with the highest novelty; null if none was rated
    most_novel: Option<ThoughtId>,
    /// How many of the requested perspectives are missing; omitted if none
    #[serde(skip_serializing_if = "Option::is_none")]
    perspectives_missing: Option<usize>,
    /// true if `confidence` is below the given threshold, else omitted
    #[serde(skip_serializing_if = "Option::is_none")]
    below_threshold: Option<bool>,
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

/// The values that the prompt template of a perspective shows.
#[derive(Serialize)]
struct PerspectivePromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    content: &'a str,
    constraints: &'a [String],
    number: usize,
    count: usize,
    angle: &'a str,
}

/// The values that the prompt template of the synthesis shows.
#[derive(Serialize)]
struct SynthesisPromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    content: &'a str,
    constraints: &'a [String],
    /// Empty if the model that replies has written them in the same round.
    perspectives: Vec<String>,
}

static PERSPECTIVE: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let params = GenerationParams {
        max_tokens: 1_500,
        temperature: 0.9,
    };
    ReasoningPromptTemplate::free_text::<PerspectiveReply>(
        "divergent",
        include_str!("perspective.md"),
        "content",
        params,
    )
});

static SYNTHESIS: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let params = GenerationParams {
        max_tokens: 2_000,
        temperature: 0.5,
    };
    ReasoningPromptTemplate::free_text::<SynthesisReply>(
        "divergent_synthesis",
        include_str!("synthesis.md"),
        "synthesis",
        params,
    )
});

/// The stands to take. Requests are independent, so they need different instructions to give
/// different perspectives.
const ANGLES: [&str; 10] = [
    "that of the people it touches most.",
    "the opposite of what seems obvious.",
    "the method of another field, carried over.",
    "another scale: a hundred times larger or smaller, or another time.",
    "what happens if nothing is done.",
    "the constraint that everyone accepts is dropped.",
    "that of someone who wants it to fail.",
    "that of a child or a newcomer who sees it for the first time.",
    "the cheapest test that could prove everyone wrong.",
    "what nobody has combined so far.",
];

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

    fn takes_reply(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = match &input.thought_id {
            Some(id) => {
                let thought = crate::lookup::current_thought(call, id, input.session_id.as_ref());
                Some(crate::lookup::session(call, &thought.await?.session_id).await?)
            }
            None => optional_session(input.session_id.as_ref(), call).await?,
        };
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
    let past = match &input.thought_id {
        Some(id) => {
            let past = thought_history(id, call).await?.for_model(call).await;
            call.memoize("past", past)
        }
        None => current_open_history(session.as_ref(), call).await?,
    };
    let wanted = input.num_perspectives.unwrap_or(DEFAULT_PERSPECTIVES);
    let (views, most) = if let Some(reply) = call.take_reply() {
        // The caller's perspectives are all kept, unless it says how many.
        let most = input.num_perspectives.map_or(ANGLES.len(), usize::from);
        (read_perspectives(reply, call).await?, most)
    } else {
        let views = request_perspectives(&content, &constraints, &past, wanted, call).await?;
        (views, usize::from(wanted))
    };
    let home = TargetSession::existing_or_new(session, Mode::Divergent, &content, call);
    let step = DivergentStep {
        content,
        constraints,
        parent: past.latest,
        branch: past.branch,
        requested: usize::from(wanted),
        most,
        threshold: input.confidence,
    };
    Ok(step.into_output(&home, views, call))
}

/// Reads the perspectives that the caller brought.
async fn read_perspectives(
    reply: Value,
    call: &ToolContext,
) -> Result<PerspectivesReply, ToolError> {
    let ask = ModelRequest {
        key: "divergent".to_owned(),
        schema: answer_schema::<PerspectivesReply>(),
        text_field: Some("synthesis".into()),
        ..ModelRequest::default()
    };
    let reply = match &reply {
        Value::String(text) => PerspectivesReply::from_list(text).unwrap_or(reply),
        _ => reply,
    };
    Ok(call.read_reply(ask, reply, None).await?.value)
}

/// Asks for each perspective in a request of its own, then for the synthesis. The client's own model
/// is asked for all of them in one round.
async fn request_perspectives(
    content: &str,
    constraints: &[String],
    past: &SessionHistory,
    wanted: u8,
    call: &ToolContext,
) -> Result<PerspectivesReply, ToolError> {
    call.progress(0.0, Some(1.0), "thinking");
    let count = usize::from(wanted);
    let asks = (1..=count)
        .zip(ANGLES.iter().cycle())
        .map(|(number, angle)| {
            let context = PerspectivePromptContext {
                past,
                content,
                constraints,
                number,
                count,
                angle,
            };
            let ask = PERSPECTIVE.render(context, call)?;
            Ok(ModelRequest {
                key: format!("divergent_{number}"),
                variables: [("content".to_owned(), content.to_owned())].into(),
                ..ask
            })
        })
        .collect::<Result<Vec<ModelRequest>, ToolError>>()?;
    let synthesis = |perspectives: Vec<String>| {
        let context = SynthesisPromptContext {
            past,
            content,
            constraints,
            perspectives,
        };
        SYNTHESIS.render(context, call)
    };
    if call.model_remembers().await {
        let perspectives = ask_parallel::<PerspectiveReply>(asks, MIN_PERSPECTIVES, call);
        let joined = call.ask::<SynthesisReply>(synthesis(Vec::new())?, None);
        let (perspectives, joined) = futures::future::join(perspectives, joined).await;
        return Ok(PerspectivesReply {
            perspectives: distinct_answers(perspectives?.answers)?,
            synthesis: joined?.value,
        });
    }
    let found =
        ask_all_or_each::<PerspectivesReply, PerspectiveReply>(asks, MIN_PERSPECTIVES, call);
    let found = match found.await? {
        AllOrEach::All(found) => return Ok(found),
        AllOrEach::Each(found) => found,
    };
    let perspectives = distinct_answers(found.answers)?;
    let texts = perspectives.iter().map(|view| view.content.as_str());
    let sizes: Vec<usize> = texts.clone().map(approximate_tokens).collect();
    let shown = texts
        .zip(equal_shares(&sizes, call.context_tokens()))
        .map(|(text, share)| shorten_tokens(text, share));
    call.progress(0.8, Some(1.0), "bringing them together");
    let joined = call.ask::<SynthesisReply>(synthesis(shown.collect())?, None);
    Ok(PerspectivesReply {
        synthesis: joined.await?.value,
        perspectives,
    })
}

/// The request, from which the answer is turned into thoughts.
struct DivergentStep {
    content: String,
    constraints: Vec<String>,
    parent: Option<ThoughtId>,
    branch: Option<BranchId>,
    /// How many perspectives are stored at the most.
    most: usize,
    /// How many were asked for.
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
        let mut kept_thoughts = Vec::new();
        for view in views.perspectives.into_iter().take(self.most) {
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
            kept_thoughts.push(kept);
        }
        let confidence = views.synthesis.fields.confidence();
        let StepFields {
            answer,
            weakest_point,
            ..
        } = views.synthesis.fields;
        let ids: Vec<&ThoughtId> = perspectives.iter().map(|it| &it.id).collect();
        let synthesis = thought(
            Some(self.content.clone()),
            views.synthesis.synthesis,
            confidence,
            metadata_object([
                ("kind", json!("synthesis")),
                ("perspectives", json!(ids)),
                ("constraints", Value::from(self.constraints)),
                ("answer", json!(answer)),
                ("weakest_point", json!(weakest_point)),
            ]),
        );
        // A perspective leads to its synthesis, which has the question that both answer.
        for kept in &mut kept_thoughts {
            if let Some(Value::Object(fields)) = &mut kept.metadata {
                fields.insert("synthesis".to_owned(), json!(synthesis.id));
            }
        }
        changes.extend(kept_thoughts.into_iter().map(Change::AddThought));
        let missing = self.requested.saturating_sub(perspectives.len());
        let output = Output {
            thought_id: synthesis.id.clone(),
            session_id: home.id(),
            content: synthesis.content.clone(),
            answer,
            confidence,
            weakest_point,
            most_novel: most_novel(&perspectives),
            perspectives,
            synthesis: synthesis.content.clone(),
            perspectives_missing: (missing > 0).then_some(missing),
            below_threshold: below_threshold(self.threshold, confidence),
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
