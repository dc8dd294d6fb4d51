//! From a command to its plan: every chain is unfolded into its steps (`mod`), every step gets its
//! gates, methodology and style (`choose`), and what can't be done is refused (`check`). What the plan needs is copied into it, so that a run
//! does not change under way.

mod check;
mod choose;

use std::{collections::BTreeMap, sync::Arc};

use deliberate_toolkit::ToolError;
use serde_json::{Map, Value};

use super::{
    Context,
    context::{Bound, Marks, Staged},
    failure::failure,
    filled::refers_to,
};
use crate::{
    chain::{Does, Node, Plan, Question, Takes, Within},
    model::{ChainStep, Delegation, InjectionRules, Prompt, Rule, StepKind},
};

/// Makes one plan.
pub(super) struct Planner<'a, 'c> {
    context: &'a Context<'c>,
    plan: Plan,
    notes: Vec<String>,
    stage: u32,
    /// How many steps each chain has so far; the first is the command.
    counts: Vec<u32>,
}

/// What a step inherits from where it stands.
#[derive(Clone)]
struct Place<'p> {
    marks: &'p Marks,
    arguments: &'p Map<String, Value>,
    takes: Option<Takes>,
    delegated: bool,
    only_if: Vec<(usize, bool)>,
    input: Vec<BTreeMap<String, String>>,
    declared: Vec<String>,
    /// The chain it is a step of, and that chain's number.
    chain: Option<&'p Prompt>,
    number: u32,
    /// Where that chain stands itself.
    path: Vec<Within>,
    /// The ids of the chains it lies in.
    within: Vec<&'p str>,
    preface: Option<String>,
    /// Whether others are done beside it.
    several: bool,
}

impl<'a, 'c> Planner<'a, 'c> {
    pub(super) fn new(context: &'a Context<'c>) -> Self {
        Self {
            context,
            plan: Plan::default(),
            notes: Vec::new(),
            stage: 0,
            counts: vec![0],
        }
    }

    /// The plan of a command, and what its caller should know.
    pub(super) fn plan(mut self, stages: &[Staged]) -> Result<(Plan, Vec<String>), ToolError> {
        if let [only] = stages
            && let [step] = only.then.as_slice()
        {
            self.plan.arguments.clone_from(&step.arguments);
        }
        for staged in stages {
            self.staged(staged)?;
        }
        if self.plan.is_empty() {
            return Err(failure(
                "InvalidChain",
                "there is nothing to do",
                "Give the chain a step.",
            ));
        }
        self.check_questions()?;
        if !self.context.outlined {
            self.check_required()?;
        }
        Ok((self.plan, self.notes))
    }

    /// A stage of the command.
    fn staged(&mut self, staged: &Staged) -> Result<(), ToolError> {
        let condition = staged.condition.as_ref();
        let asked = condition.map(|text| self.question(text));
        let before = self.stage;
        let then: Vec<_> = asked.iter().map(|at| (*at, true)).collect();
        self.bound(&staged.then, staged.delegated, &then)?;
        let after = self.stage;
        if !staged.otherwise.is_empty() {
            self.stage = before;
            let otherwise: Vec<_> = asked.iter().map(|at| (*at, false)).collect();
            self.bound(&staged.otherwise, staged.delegated, &otherwise)?;
            self.stage = self.stage.max(after);
        }
        Ok(())
    }

    /// Steps of the command that are done side by side.
    fn bound(
        &mut self,
        steps: &[Bound],
        delegated: bool,
        only_if: &[(usize, bool)],
    ) -> Result<(), ToolError> {
        self.stage += 1;
        for step in steps {
            let takes = step.takes_previous.as_ref().map(|name| Takes {
                name: name.clone(),
                before: self.stage,
            });
            let place = Place {
                marks: &step.marks,
                arguments: &step.arguments,
                takes,
                delegated,
                only_if: only_if.to_vec(),
                input: Vec::new(),
                declared: Vec::new(),
                chain: None,
                number: 0,
                path: Vec::new(),
                within: Vec::new(),
                preface: None,
                several: steps.len() > 1,
            };
            let prompt = &step.prompt;
            self.prompt(
                prompt,
                &prompt.name,
                &ChainStep::of_prompt(&prompt.id),
                &place,
            )?;
        }
        Ok(())
    }

    /// A prompt as a step; a chain as all of its steps.
    fn prompt(
        &mut self,
        prompt: &Arc<Prompt>,
        name: &str,
        step: &ChainStep,
        place: &Place<'_>,
    ) -> Result<(), ToolError> {
        if self.plan.title.is_empty() {
            self.plan.title.clone_from(&prompt.name);
            self.plan.base.clone_from(&prompt.id);
        }
        if prompt.is_chain() {
            return self.chain(prompt, name, step, place);
        }
        self.remember(prompt);
        let does = Does::Prompt(prompt.id.clone());
        self.node(does, Some(prompt), name, step, place)
    }

    fn chain(
        &mut self,
        prompt: &Arc<Prompt>,
        name: &str,
        outer: &ChainStep,
        place: &Place<'_>,
    ) -> Result<(), ToolError> {
        self.check_nesting(prompt, place)?;
        let mut within = place.within.clone();
        within.push(&prompt.id);
        let mut path = place.path.clone();
        path.push(self.counted(place.number, name));
        let number = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        self.counts.push(0);
        let mut declared = place.declared.clone();
        declared.extend(prompt.arguments.iter().map(|it| it.name.clone()));
        let mut inner = Place {
            chain: Some(prompt),
            number,
            path,
            within,
            declared,
            preface: prompt.system.as_ref().map(|text| text.body.clone()),
            ..place.clone()
        };
        if !outer.input.is_empty() {
            inner.input.push(outer.input.clone());
        }
        let first_node = self.plan.nodes.len();
        for (index, step) in prompt.steps.iter().enumerate() {
            if index > 0 {
                self.stage += 1;
                inner.preface = None;
            }
            self.chain_step(step, &inner)?;
        }
        // What the whole chain is called by is what its last step comes to.
        if self.plan.nodes.len() > first_node
            && let Some(last) = self.plan.nodes.last_mut()
        {
            last.output.extend(outer.output.clone());
        }
        Ok(())
    }

    /// A step of a chain.
    fn chain_step(&mut self, step: &ChainStep, place: &Place<'_>) -> Result<(), ToolError> {
        let mut inner = place.clone();
        let asked = step.when.as_ref().map(|text| self.question(text));
        inner.only_if.extend(asked.map(|at| (at, true)));
        let before = self.stage;
        match &step.kind {
            StepKind::Prompt { id } => {
                let prompt = self.context.library.prompt(id).ok_or_else(|| {
                    let name = &step.name;
                    failure(
                        "UnknownName",
                        format!("step {name:?} wants prompt {id:?}, which there is not"),
                        "Mend the chain; `deliberate prompt check` shows where.",
                    )
                })?;
                self.prompt(&prompt.clone(), &step.name, step, &inner)?;
            }
            StepKind::Tool { name, arguments } => {
                self.check_tool(name, step)?;
                let does = Does::Tool {
                    name: name.clone(),
                    arguments: arguments.clone(),
                };
                self.node(does, None, &step.name, step, &inner)?;
            }
            StepKind::Parallel(steps) => {
                inner.several = true;
                for step in steps {
                    self.chain_step(step, &inner)?;
                }
            }
        }
        if let (Some(asked), Some(otherwise)) = (asked, &step.otherwise) {
            let after = self.stage;
            self.stage = before;
            let mut other = place.clone();
            other.only_if.push((asked, false));
            self.chain_step(otherwise, &other)?;
            self.stage = self.stage.max(after);
        }
        Ok(())
    }

    fn question(&mut self, text: &str) -> usize {
        let text = text.to_owned();
        self.plan.questions.push(Question { text });
        self.plan.questions.len() - 1
    }

    /// One more step of a chain.
    fn counted(&mut self, chain: u32, name: &str) -> Within {
        let index = usize::try_from(chain).unwrap_or_default();
        let step = self.counts.get_mut(index).map_or(1, |count| {
            *count += 1;
            *count
        });
        Within {
            chain,
            step,
            name: name.to_owned(),
        }
    }

    fn node(
        &mut self,
        does: Does,
        prompt: Option<&Arc<Prompt>>,
        name: &str,
        step: &ChainStep,
        place: &Place<'_>,
    ) -> Result<(), ToolError> {
        let most = self.context.engine.options.limits.steps;
        if self.plan.nodes.len() >= most {
            return Err(failure(
                "TooManySteps",
                format!("the chain has more than {most} steps"),
                "Cut it into several.",
            ));
        }
        let chosen = self.choose(prompt, place);
        let mut path = place.path.clone();
        path.push(self.counted(place.number, name));
        let mut input = place.input.clone();
        input.extend((!step.input.is_empty()).then(|| step.input.clone()));
        let id = prompt.map(|it| it.id.as_str()).unwrap_or_default();
        let mut node = Node {
            number: u32::try_from(self.plan.nodes.len() + 1).unwrap_or(u32::MAX),
            stage: self.stage,
            name: name.to_owned(),
            does,
            delegated: place.delegated || step.delegation != Delegation::default(),
            delegation: step.delegation.clone(),
            only_if: place.only_if.clone(),
            input,
            maps_own_input: !step.input.is_empty(),
            declared: place.declared.clone(),
            output: step.output.clone(),
            arguments: place.arguments.clone(),
            takes: place.takes.clone(),
            path,
            retries: step.retries,
            gates: Vec::new(),
            modifier: chosen.modifier.map(|it| it.name().to_owned()),
            methodology: chosen.methodology.as_ref().map(|it| it.id.clone()),
            style: chosen.style.as_ref().map(|it| it.id.clone()),
            rules: step_rules(step, place),
            chain_rules: chain_rules(place.chain, prompt),
            chain: place.chain.map_or(id, |chain| chain.id.as_str()).to_owned(),
            category: prompt.map(|it| it.category.clone()).unwrap_or_default(),
            preface: place.preface.clone(),
        };
        self.gates(
            &mut node,
            prompt,
            step,
            place,
            chosen.methodology.as_deref(),
        )?;
        if let Some(it) = chosen.methodology {
            self.plan.methodologies.insert(it.id.clone(), it);
        }
        if let Some(it) = chosen.style {
            self.plan.styles.insert(it.id.clone(), it);
        }
        self.plan.nodes.push(node);
        Ok(())
    }

    /// Keeps a prompt in the plan, and those it refers to.
    fn remember(&mut self, prompt: &Arc<Prompt>) {
        if self.plan.prompts.contains_key(&prompt.id) {
            return;
        }
        self.plan.prompts.insert(prompt.id.clone(), prompt.clone());
        for id in refers_to(prompt) {
            if let Some(other) = self.context.library.prompt(&id).cloned() {
                self.remember(&other);
            }
        }
    }
}

/// What a step says about guidance. What stands at the step itself in the command is meant for it,
/// however seldom the rules of others would add it.
fn step_rules(step: &ChainStep, place: &Place<'_>) -> InjectionRules {
    let mut rules = step.injection.clone();
    let always = Rule {
        enabled: Some(true),
        ..Rule::default()
    };
    if place.chain.is_none() {
        if place.marks.methodology.is_some() {
            rules.system_prompt.get_or_insert_with(|| always.clone());
        }
        if place.marks.style.is_some() {
            rules.style_guidance.get_or_insert(always);
        }
    }
    rules
}

/// What the chain of a step says about guidance; for a prompt on its own, what the prompt says.
fn chain_rules(chain: Option<&Prompt>, prompt: Option<&Arc<Prompt>>) -> InjectionRules {
    chain
        .map(|it| it.injection.clone())
        .or_else(|| prompt.map(|it| it.injection.clone()))
        .unwrap_or_default()
}
