//! Turns a command into a plan. Every chain is expanded into its steps (this file), every step gets
//! its gates, methodology and style (`step_guidance`), and impossible plans are rejected
//! (`feasibility`). The plan contains copies of everything it needs, so that a run does not change
//! while it is open.

mod feasibility;
mod step_guidance;

use std::{collections::BTreeMap, sync::Arc};

use deliberate_toolkit::{ErrorCode, ToolError};
use serde_json::{Map, Value};

use super::{
    EngineContext,
    context::{ResolvedAnnotations, ResolvedStage, ResolvedStep},
    errors::engine_error,
    value_templates::referenced_prompts,
};
use crate::{
    chain::{
        BranchCondition, ChainPlan, ChainPosition, PlannedStep, PreviousResultArgument, StepAction,
    },
    model::{ChainStep, Delegation, InjectionRule, InjectionRules, Prompt, StepKind},
};

/// Builds one plan.
pub(super) struct Planner<'a, 'c> {
    context: &'a EngineContext<'c>,
    plan: ChainPlan,
    notes: Vec<String>,
    stage: u32,
    /// The number of steps of each chain so far; the first is the command.
    step_counts: Vec<u32>,
}

/// The properties that a step inherits from its place in the command.
#[derive(Clone)]
struct StepScope<'p> {
    annotations: &'p ResolvedAnnotations,
    arguments: &'p Map<String, Value>,
    previous_result: Option<PreviousResultArgument>,
    delegated: bool,
    only_if: Vec<(usize, bool)>,
    input: Vec<BTreeMap<String, String>>,
    declared: Vec<String>,
    /// The chain that the step belongs to, and its number.
    chain: Option<&'p Prompt>,
    chain_number: u32,
    /// The positions of that chain itself.
    path: Vec<ChainPosition>,
    /// The ids of the chains around the step.
    chain_ids: Vec<&'p str>,
    preface: Option<String>,
    /// Whether other steps are done side by side with it.
    is_parallel: bool,
}

impl<'a, 'c> Planner<'a, 'c> {
    pub(super) fn new(context: &'a EngineContext<'c>) -> Self {
        Self {
            context,
            plan: ChainPlan::default(),
            notes: Vec::new(),
            stage: 0,
            step_counts: vec![0],
        }
    }

    /// Returns the plan of a command and notes for the caller.
    pub(super) async fn plan(
        mut self,
        stages: &[ResolvedStage],
    ) -> Result<(ChainPlan, Vec<String>), ToolError> {
        if let [only] = stages
            && let [step] = only.then.as_slice()
        {
            self.plan.arguments.clone_from(&step.arguments);
        }
        for staged in stages {
            self.add_stage(staged)?;
        }
        if self.plan.is_empty() {
            return Err(engine_error(
                ErrorCode::InvalidChain,
                "the command has no steps",
                "Add a step to the chain.",
            ));
        }
        self.check_conditions().await?;
        if !self.context.outline_only {
            self.check_required()?;
        }
        Ok((self.plan, self.notes))
    }

    /// Adds a stage of the command.
    fn add_stage(&mut self, staged: &ResolvedStage) -> Result<(), ToolError> {
        let condition = staged.condition.as_ref();
        let asked = condition.map(|text| self.add_condition(text));
        let before = self.stage;
        let then: Vec<_> = asked.iter().map(|at| (*at, true)).collect();
        self.add_steps(&staged.then, staged.delegated, &then)?;
        let after = self.stage;
        if !staged.otherwise.is_empty() {
            self.stage = before;
            let otherwise: Vec<_> = asked.iter().map(|at| (*at, false)).collect();
            self.add_steps(&staged.otherwise, staged.delegated, &otherwise)?;
            self.stage = self.stage.max(after);
        }
        Ok(())
    }

    /// Adds steps of the command that are done side by side.
    fn add_steps(
        &mut self,
        steps: &[ResolvedStep],
        delegated: bool,
        only_if: &[(usize, bool)],
    ) -> Result<(), ToolError> {
        self.stage += 1;
        for step in steps {
            let takes = step
                .previous_result_argument
                .as_ref()
                .map(|name| PreviousResultArgument {
                    name: name.clone(),
                    before: self.stage,
                });
            let scope = StepScope {
                annotations: &step.annotations,
                arguments: &step.arguments,
                previous_result: takes,
                delegated,
                only_if: only_if.to_vec(),
                input: Vec::new(),
                declared: Vec::new(),
                chain: None,
                chain_number: 0,
                path: Vec::new(),
                chain_ids: Vec::new(),
                preface: None,
                is_parallel: steps.len() > 1,
            };
            let prompt = &step.prompt;
            self.add_prompt(
                prompt,
                &prompt.name,
                &ChainStep::for_prompt(&prompt.id),
                &scope,
            )?;
        }
        Ok(())
    }

    /// Adds a prompt as a step, or a chain as all of its steps.
    fn add_prompt(
        &mut self,
        prompt: &Arc<Prompt>,
        name: &str,
        step: &ChainStep,
        scope: &StepScope<'_>,
    ) -> Result<(), ToolError> {
        if self.plan.title.is_empty() {
            self.plan.title.clone_from(&prompt.name);
            self.plan.base.clone_from(&prompt.id);
        }
        if prompt.is_chain() {
            return self.add_chain(prompt, name, step, scope);
        }
        self.add_prompt_definition(prompt);
        let does = StepAction::Prompt(prompt.id.clone());
        self.add_step(does, Some(prompt), name, step, scope)
    }

    fn add_chain(
        &mut self,
        prompt: &Arc<Prompt>,
        name: &str,
        outer: &ChainStep,
        scope: &StepScope<'_>,
    ) -> Result<(), ToolError> {
        self.check_nesting(prompt, scope)?;
        let mut within = scope.chain_ids.clone();
        within.push(&prompt.id);
        let mut path = scope.path.clone();
        path.push(self.next_position(scope.chain_number, name));
        let number = u32::try_from(self.step_counts.len()).unwrap_or(u32::MAX);
        self.step_counts.push(0);
        let mut declared = scope.declared.clone();
        declared.extend(prompt.arguments.iter().map(|it| it.name.clone()));
        let mut inner = StepScope {
            chain: Some(prompt),
            chain_number: number,
            path,
            chain_ids: within,
            declared,
            preface: prompt.system.as_ref().map(|text| text.body.clone()),
            ..scope.clone()
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
            self.add_chain_step(step, &inner)?;
        }
        // The output names of a whole chain refer to the output of its last step.
        if self.plan.nodes.len() > first_node
            && let Some(last) = self.plan.nodes.last_mut()
        {
            last.output.extend(outer.output.clone());
        }
        Ok(())
    }

    /// Adds a step of a chain.
    fn add_chain_step(&mut self, step: &ChainStep, scope: &StepScope<'_>) -> Result<(), ToolError> {
        let mut inner = scope.clone();
        let asked = step.when.as_ref().map(|text| self.add_condition(text));
        inner.only_if.extend(asked.map(|at| (at, true)));
        let before = self.stage;
        match &step.kind {
            StepKind::Prompt { id } => {
                let prompt = self.context.library.prompt(id).ok_or_else(|| {
                    let name = &step.name;
                    engine_error(
                        ErrorCode::UnknownName,
                        format!("step {name:?} uses prompt {id:?}, which does not exist"),
                        "Correct the chain; `deliberate prompt check` shows where.",
                    )
                })?;
                self.add_prompt(&prompt.clone(), &step.name, step, &inner)?;
            }
            StepKind::Tool { name, arguments } => {
                self.check_tool(name, step)?;
                let does = StepAction::Tool {
                    name: name.clone(),
                    arguments: arguments.clone(),
                };
                self.add_step(does, None, &step.name, step, &inner)?;
            }
            StepKind::Parallel(steps) => {
                inner.is_parallel = true;
                for step in steps {
                    self.add_chain_step(step, &inner)?;
                }
            }
        }
        if let (Some(asked), Some(otherwise)) = (asked, &step.otherwise) {
            let after = self.stage;
            self.stage = before;
            let mut other = scope.clone();
            other.only_if.push((asked, false));
            self.add_chain_step(otherwise, &other)?;
            self.stage = self.stage.max(after);
        }
        Ok(())
    }

    fn add_condition(&mut self, text: &str) -> usize {
        let text = text.to_owned();
        self.plan.questions.push(BranchCondition { text });
        self.plan.questions.len() - 1
    }

    /// Counts one more step of a chain and returns its position.
    fn next_position(&mut self, chain: u32, name: &str) -> ChainPosition {
        let index = usize::try_from(chain).unwrap_or_default();
        let step = self.step_counts.get_mut(index).map_or(1, |count| {
            *count += 1;
            *count
        });
        ChainPosition {
            chain,
            step,
            name: name.to_owned(),
        }
    }

    fn add_step(
        &mut self,
        does: StepAction,
        prompt: Option<&Arc<Prompt>>,
        name: &str,
        step: &ChainStep,
        scope: &StepScope<'_>,
    ) -> Result<(), ToolError> {
        let most = self.context.engine.options.limits.steps;
        if self.plan.nodes.len() >= most {
            return Err(engine_error(
                ErrorCode::TooManySteps,
                format!("the chain has more than {most} steps"),
                "Split it into several chains.",
            ));
        }
        let guidance = self.choose_guidance(prompt, scope);
        let mut path = scope.path.clone();
        path.push(self.next_position(scope.chain_number, name));
        let mut input = scope.input.clone();
        input.extend((!step.input.is_empty()).then(|| step.input.clone()));
        let id = prompt.map(|it| it.id.as_str()).unwrap_or_default();
        let mut node = PlannedStep {
            number: u32::try_from(self.plan.nodes.len() + 1).unwrap_or(u32::MAX),
            stage: self.stage,
            name: name.to_owned(),
            does,
            delegated: scope.delegated || step.delegation != Delegation::default(),
            delegation: step.delegation.clone(),
            only_if: scope.only_if.clone(),
            input,
            maps_own_input: !step.input.is_empty(),
            declared: scope.declared.clone(),
            output: step.output.clone(),
            arguments: scope.arguments.clone(),
            takes: scope.previous_result.clone(),
            path,
            retries: step.retries,
            gates: Vec::new(),
            modifier: guidance.modifier.map(|it| it.name().to_owned()),
            methodology: guidance.methodology.as_ref().map(|it| it.id.clone()),
            style: guidance.style.as_ref().map(|it| it.id.clone()),
            rules: step_rules(step, scope),
            chain_rules: chain_rules(scope.chain, prompt),
            chain: scope.chain.map_or(id, |chain| chain.id.as_str()).to_owned(),
            category: prompt.map(|it| it.category.clone()).unwrap_or_default(),
            preface: scope.preface.clone(),
        };
        self.choose_gates(
            &mut node,
            prompt,
            step,
            scope,
            guidance.methodology.as_deref(),
        )?;
        if let Some(it) = guidance.methodology {
            self.plan.methodologies.insert(it.id.clone(), it);
        }
        if let Some(it) = guidance.style {
            self.plan.styles.insert(it.id.clone(), it);
        }
        self.plan.nodes.push(node);
        Ok(())
    }

    /// Copies a prompt and the prompts it refers to into the plan.
    fn add_prompt_definition(&mut self, prompt: &Arc<Prompt>) {
        if self.plan.prompts.contains_key(&prompt.id) {
            return;
        }
        self.plan.prompts.insert(prompt.id.clone(), prompt.clone());
        for id in referenced_prompts(prompt) {
            if let Some(other) = self.context.library.prompt(&id).cloned() {
                self.add_prompt_definition(&other);
            }
        }
    }
}

/// Returns the injection rules of a step. A methodology or style that the command gives to the step
/// itself is always injected.
fn step_rules(step: &ChainStep, scope: &StepScope<'_>) -> InjectionRules {
    let mut rules = step.injection.clone();
    let always = InjectionRule {
        enabled: Some(true),
        ..InjectionRule::default()
    };
    if scope.chain.is_none() {
        if scope.annotations.methodology.is_some() {
            rules.system_prompt.get_or_insert_with(|| always.clone());
        }
        if scope.annotations.style.is_some() {
            rules.style_guidance.get_or_insert(always);
        }
    }
    rules
}

/// Returns the injection rules of the step's chain, or of the prompt if it is used on its own.
fn chain_rules(chain: Option<&Prompt>, prompt: Option<&Arc<Prompt>>) -> InjectionRules {
    chain
        .map(|it| it.injection.clone())
        .or_else(|| prompt.map(|it| it.injection.clone()))
        .unwrap_or_default()
}
