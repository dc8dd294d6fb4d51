//! What the workspace says about when guidance is added (`engine.yaml`). Who decides among these
//! and the rules of prompts is no business of the library.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::InjectionRules;

/// What the workspace says about when guidance is added (`engine.yaml`).
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize, Serialize)]
#[serde(default)]
pub struct InjectionConfig {
    /// For everything.
    pub global: InjectionRules,
    /// By category.
    pub categories: BTreeMap<String, InjectionRules>,
    /// By chain; the first whose pattern fits.
    pub chains: Vec<ChainInjection>,
}

/// Rules for some chains.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize, Serialize)]
#[serde(default)]
pub struct ChainInjection {
    /// Which: an id, `x*`, `*x` or `*x*`.
    pub chain: String,
    /// For all their steps.
    pub rules: InjectionRules,
    /// For some of their steps.
    pub steps: Vec<StepInjection>,
}

/// Rules for some steps.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize, Serialize)]
#[serde(default)]
pub struct StepInjection {
    /// Which: a number, `first`, `last`, `odd`, `even`.
    pub step: serde_json::Value,
    /// For those.
    pub rules: InjectionRules,
}

impl InjectionConfig {
    /// Adds what is said later, which decides, kind by kind.
    pub(crate) fn merge(&mut self, later: &Self) {
        merge_rules(&mut self.global, &later.global);
        for (category, rules) in &later.categories {
            merge_rules(self.categories.entry(category.clone()).or_default(), rules);
        }
        let mut chains = later.chains.clone();
        chains.append(&mut self.chains);
        self.chains = chains;
    }
}

fn merge_rules(into: &mut InjectionRules, later: &InjectionRules) {
    let pairs = [
        (&mut into.system_prompt, &later.system_prompt),
        (&mut into.gate_guidance, &later.gate_guidance),
        (&mut into.style_guidance, &later.style_guidance),
    ];
    for (into, later) in pairs {
        if later.is_some() {
            into.clone_from(later);
        }
    }
}
