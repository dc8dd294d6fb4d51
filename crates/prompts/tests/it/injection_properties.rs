//! Properties of the levels that decide about guidance.

use deliberate_prompts::{
    injection::{
        InjectionContext, InjectionDecision, InjectionLevel, InjectionLevels, InjectionModifier,
        InjectionSources, decide, explain,
    },
    library::InjectionConfig,
    model::Injection::SystemPrompt,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::injection::{context_at, rules};

/// Any rule for the system prompt, or none.
fn any_rule() -> impl Strategy<Value = Option<Value>> {
    let frequency = prop::option::of((
        prop::sample::select(vec!["every", "first-only", "never"]),
        0_u32..4,
    ));
    let condition = prop::option::of((
        prop::sample::select(vec!["first", "last", "odd", "even"]),
        prop::sample::select(vec!["inject", "skip", "inherit"]),
    ));
    let target = prop::option::of(prop::sample::select(vec!["steps", "gates", "both"]));
    let rule = (
        prop::option::of(any::<bool>()),
        frequency,
        condition,
        target,
    )
        .prop_map(|(enabled, frequency, condition, target)| {
            let mut rule = json!({ "enabled": enabled, "target": target });
            if let Some((mode, interval)) = frequency {
                rule["frequency"] = json!({ "mode": mode, "interval": interval });
            }
            if let Some((value, then)) = condition {
                let when = json!({ "type": "step-number", "value": value });
                rule["conditions"] = json!([{ "when": when, "then": then }]);
            }
            rule
        });
    prop::option::of(rule)
}

/// The rules of the four levels that have rules, highest precedence first.
fn any_rules() -> impl Strategy<Value = [Option<Value>; 4]> {
    [any_rule(), any_rule(), any_rule(), any_rule()]
}

fn decide_with(
    given: &[Option<Value>; 4],
    modifier: Option<InjectionModifier>,
    at: &InjectionContext<'_>,
) -> InjectionDecision {
    let [step, chain, category, global] = given
        .clone()
        .map(|rule| rules(json!({ "system-prompt": rule })));
    let config = InjectionConfig {
        global,
        ..InjectionConfig::default()
    };
    let levels = InjectionLevels::new(InjectionSources {
        modifier,
        step: Some(&step),
        chain: Some(&chain),
        category: Some(&category),
        config: Some(&config),
        ..InjectionSources::default()
    });
    let decided = decide(SystemPrompt, &levels, at);
    let deciding: Vec<_> = explain(SystemPrompt, &levels, at)
        .into_iter()
        .filter(|line| line.decides)
        .collect();
    assert_eq!(deciding.len(), 1, "exactly one level decides");
    assert_eq!(deciding[0].level, decided.level);
    assert_eq!(deciding[0].inject, Some(decided.inject));
    decided
}

proptest! {
    #[test]
    fn one_level_decides_and_lower_ones_change_nothing(
        mut given in any_rules(),
        other in any_rules(),
        step in 1_u32..6,
        in_review in any::<bool>(),
        modifier in prop::option::of(prop::sample::select(vec![
            InjectionModifier::Clean, InjectionModifier::Lean, InjectionModifier::Framework, InjectionModifier::Judge,
        ])),
    ) {
        let at = InjectionContext { in_review, ..context_at(step) };
        let before = decide_with(&given, modifier, &at);
        for (level, (mine, other)) in [InjectionLevel::Step, InjectionLevel::Chain, InjectionLevel::Category, InjectionLevel::Global]
            .into_iter()
            .zip(given.iter_mut().zip(other))
        {
            if level > before.level {
                *mine = other;
            }
        }
        prop_assert_eq!(decide_with(&given, modifier, &at), before);
    }
}
