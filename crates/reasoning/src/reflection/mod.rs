//! Looking back on a piece of reasoning to judge it and to make it better.

mod evaluate;
mod measures;
mod subject;

use std::{collections::BTreeSet, sync::LazyLock};

use deliberate_core::{
    Change, Mode, Percent, Score, SessionId, Thought, ThoughtId, approximate_tokens,
};
use deliberate_thinker::Ask;
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    context::Past,
    given::listed,
    prompt::{Asking, Freedom},
    said::{Sure, gist, says_nothing, some_things, something},
    session::{Home, metadata},
};
pub use evaluate::ReflectionEvaluate;
use subject::Subject;

/// `reasoning_reflection`.
pub struct Reflection;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Content to reflect on (if not using `thought_id`)
    content: Option<String>,
    /// Thought to evaluate
    thought_id: Option<ThoughtId>,
    /// Session for context; alone: reflect on its latest thought
    session_id: Option<SessionId>,
    /// Areas to focus on
    #[schemars(length(max = 20))]
    focus_areas: Option<Vec<String>>,
    /// Default: 1
    #[schemars(range(min = 1, max = 5))]
    max_iterations: Option<u8>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    thought_id: ThoughtId,
    session_id: SessionId,
    content: String,
    confidence: Score,
    strengths: Vec<String>,
    weaknesses: Vec<String>,
    recommendations: Vec<String>,
    improved_reasoning: Option<String>,
    improved_thought_id: Option<ThoughtId>,
    reflected_thought_id: Option<ThoughtId>,
    quality_before: Option<Score>,
    quality_after: Option<Score>,
    iterations: usize,
}

/// What the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
// All is asked for, though an answer without some of it can be used.
#[schemars(extend("required" = [
    "analysis", "strengths", "weaknesses", "recommendations", "quality_percent",
    "improved_reasoning", "improved_quality_percent", "confidence_percent", "weakest_point"
]))]
struct Judgement {
    /// The judgement, in a few sentences
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "something")]
    analysis: String,
    #[serde(default, deserialize_with = "some_things")]
    strengths: Vec<String>,
    #[serde(default, deserialize_with = "some_things")]
    weaknesses: Vec<String>,
    #[serde(default, deserialize_with = "some_things")]
    recommendations: Vec<String>,
    /// How good the subject is
    #[serde(default, deserialize_with = "Percent::or_none")]
    #[schemars(with = "Percent")]
    quality_percent: Option<Percent>,
    /// The subject, written anew
    #[schemars(with = "String")]
    improved_reasoning: Option<String>,
    /// How good that is
    #[serde(default, deserialize_with = "Percent::or_none")]
    #[schemars(with = "Percent")]
    improved_quality_percent: Option<Percent>,
    #[serde(flatten)]
    sure: Sure,
    /// Where the judgement is most likely to be wrong
    #[schemars(with = "String", length(max = 300))]
    weakest_point: Option<String>,
}

/// What the ask shows.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    past: &'a Past,
    focus: &'a [String],
    subject: &'a str,
}

/// Limits as in the pipes of the original server.
const FREEDOM: Freedom = Freedom {
    max_tokens: 2_500,
    temperature: 0.6,
};

/// The subject is written anew, so a long one needs more room; this much at the most.
const MOST_ROOM: usize = 6_000;

static ASK: LazyLock<Asking> =
    LazyLock::new(|| Asking::new::<Judgement>("reflection", include_str!("reflect.md"), FREEDOM));

impl Tool for Reflection {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_reflection",
            title: "Reflect on a thought",
            description: "Meta-cognitive reasoning: evaluates strengths and weaknesses of a thought \
                          or text, gives recommendations and an improved version.",
            annotations: Annotations {
                read_only: false,
                destructive: false,
                idempotent: false,
                open_world: true,
            },
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let subject = Subject::of(
            input.content,
            input.thought_id.as_ref(),
            input.session_id.as_ref(),
            call,
        )
        .await?;
        let focus = listed("focus_areas", input.focus_areas, call)?;
        reflect(subject, focus, input.max_iterations.unwrap_or(1), call).await
    }
}

/// Reflects on `content`, in a session of any mode or in a new one.
pub(crate) async fn reflect_on(
    content: String,
    session: Option<deliberate_core::Session>,
    call: &Call,
) -> Result<Outcome<Output>, ToolError> {
    let subject = Subject::given(content, session, call).await?;
    reflect(subject, Vec::new(), 1, call).await
}

async fn reflect(
    subject: Subject,
    focus: Vec<String>,
    most: u8,
    call: &Call,
) -> Result<Outcome<Output>, ToolError> {
    let reflected = Rounds::go(&subject, &focus, most, call).await?;
    Ok(outcome(subject, focus, reflected, call))
}

/// What the rounds came to.
struct Rounds {
    /// The judgement that is answered.
    best: Judgement,
    /// The text it improved, if it did.
    improved: Option<String>,
    quality_before: Option<Score>,
    count: usize,
}

impl Rounds {
    /// Reflects on the subject, then on what became of it, for as long as it gets better. No text
    /// is reflected on twice, and a model that gives no numbers is asked once.
    async fn go(
        subject: &Subject,
        focus: &[String],
        most: u8,
        call: &Call,
    ) -> Result<Self, ToolError> {
        let mut text = subject.text.clone();
        let mut seen = BTreeSet::from([gist(&text)]);
        let mut rounds = Self::first(subject, focus, &text, most, call).await?;
        loop {
            let Some(improved) = &rounds.improved else {
                return Ok(rounds);
            };
            let Some(to_beat) = rounds.measured() else {
                return Ok(rounds);
            };
            if rounds.count >= usize::from(most) {
                return Ok(rounds);
            }
            text.clone_from(improved);
            seen.insert(gist(&text));
            let next = judge(subject, focus, &text, (rounds.count + 1, most), call).await?;
            rounds.count += 1;
            let better = next.improved_quality().is_some_and(|it| it > to_beat);
            let improved = next.improvement().filter(|it| !seen.contains(&gist(it)));
            match improved {
                Some(improved) if better => {
                    rounds.improved = Some(improved);
                    rounds.best = next;
                }
                _ => return Ok(rounds),
            }
        }
    }

    async fn first(
        subject: &Subject,
        focus: &[String],
        text: &str,
        most: u8,
        call: &Call,
    ) -> Result<Self, ToolError> {
        let first = judge(subject, focus, text, (1, most), call).await?;
        let quality_before = first.quality_percent.map(|percent| percent.0);
        let improved = first.improvement().filter(|it| gist(it) != gist(text));
        let worse = match (quality_before, first.improved_quality()) {
            (Some(before), Some(after)) => after <= before,
            // Nobody says that it is worse, and it was offered as better.
            _ => false,
        };
        Ok(Self {
            improved: improved.filter(|_| !worse),
            best: first,
            quality_before,
            count: 1,
        })
    }

    /// The quality the next round has to exceed, if all of it was measured.
    fn measured(&self) -> Option<Score> {
        self.quality_before.and(self.best.improved_quality())
    }
}

impl Judgement {
    fn improved_quality(&self) -> Option<Score> {
        self.improved_quality_percent.map(|percent| percent.0)
    }

    fn improvement(&self) -> Option<String> {
        let text = self.improved_reasoning.as_deref()?;
        (!says_nothing(text)).then(|| text.trim().to_owned())
    }
}

async fn judge(
    subject: &Subject,
    focus: &[String],
    text: &str,
    (number, most): (usize, u8),
    call: &Call,
) -> Result<Judgement, ToolError> {
    call.progress((number - 1) as f64, Some(f64::from(most)), "reflecting");
    let ask = ASK.ask(Shown {
        past: &subject.past,
        focus,
        subject: text,
    })?;
    let room = approximate_tokens(text).min(MOST_ROOM);
    let ask = Ask {
        key: format!("reflection_{number}"),
        max_tokens: ask.max_tokens + u32::try_from(room).unwrap_or_default(),
        variables: [("content".to_owned(), text.to_owned())].into(),
        ..ask
    };
    Ok(call.think(ask, None).await?.value)
}

fn outcome(subject: Subject, focus: Vec<String>, rounds: Rounds, call: &Call) -> Outcome<Output> {
    let home = Home::of(subject.session, Mode::Reflection, &subject.text, call);
    let at = call.now();
    let branch_id = match &subject.thought {
        Some(thought) => thought.branch_id.clone(),
        None => subject.past.branch.clone(),
    };
    let reflected = subject.thought.map(|thought| thought.id);
    let thought = |input, content, confidence, parent_id, metadata| Thought {
        id: call.fresh(),
        session_id: home.id(),
        input,
        content,
        confidence,
        mode: Mode::Reflection,
        parent_id,
        branch_id: branch_id.clone(),
        set_aside: false,
        created_at: at,
        metadata,
    };
    let best = rounds.best;
    let quality_after = rounds.improved.as_ref().and(best.improved_quality());
    let confidence = best.sure.score();
    let reflection = thought(
        subject.given,
        best.analysis,
        confidence,
        subject.parent,
        metadata([
            ("kind", json!("reflection")),
            ("reflects_on", json!(reflected)),
            ("strengths", json!(best.strengths)),
            ("weaknesses", json!(best.weaknesses)),
            ("recommendations", json!(best.recommendations)),
            ("quality_before", json!(rounds.quality_before)),
            ("quality_after", json!(quality_after)),
            ("iterations", json!(rounds.count)),
            ("focus_areas", Value::from(focus)),
            ("weakest_point", json!(best.weakest_point)),
        ]),
    );
    let improved = rounds.improved.map(|text| {
        thought(
            None,
            text,
            quality_after.unwrap_or(confidence),
            Some(reflection.id.clone()),
            metadata([("kind", json!("improved")), ("improves", json!(reflected))]),
        )
    });
    let output = Output {
        thought_id: reflection.id.clone(),
        session_id: home.id(),
        content: reflection.content.clone(),
        confidence,
        strengths: best.strengths,
        weaknesses: best.weaknesses,
        recommendations: best.recommendations,
        improved_reasoning: improved.as_ref().map(|it| it.content.clone()),
        improved_thought_id: improved.as_ref().map(|it| it.id.clone()),
        reflected_thought_id: reflected,
        quality_before: rounds.quality_before,
        quality_after,
        iterations: rounds.count,
    };
    let mut changes = home.changes();
    changes.push(Change::AddThought(reflection));
    changes.extend(improved.map(Change::AddThought));
    Outcome {
        output,
        changes,
        session: Some(home.id()),
    }
}
