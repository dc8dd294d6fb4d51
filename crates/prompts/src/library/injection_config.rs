//! The injection rules of the workspace (`engine.yaml`). The library only reads them; the injection
//! module decides between these and the rules of prompts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::InjectionRules;

/// The injection rules of the workspace (`engine.yaml`).
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize, Serialize)]
#[serde(default)]
pub struct InjectionConfig {
    /// The rules for all prompts.
    pub global: InjectionRules,
    /// The rules by category.
    pub categories: BTreeMap<String, InjectionRules>,
    /// The rules by chain; the first matching pattern applies.
    pub chains: Vec<ChainInjection>,
}

/// The rules for the chains that match a pattern.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize, Serialize)]
#[serde(default)]
pub struct ChainInjection {
    /// The pattern: an id, `x*`, `*x` or `*x*`.
    pub chain: String,
    /// The rules for all steps.
    pub rules: InjectionRules,
    /// The rules for some steps.
    pub steps: Vec<StepInjection>,
}

/// The rules for some steps of a chain.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize, Serialize)]
#[serde(default)]
pub struct StepInjection {
    /// The steps: a number, `first`, `last`, `odd`, `even`.
    pub step: serde_json::Value,
    pub rules: InjectionRules,
}

impl InjectionConfig {
    /// Merges later rules, which take precedence, kind by kind.
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
