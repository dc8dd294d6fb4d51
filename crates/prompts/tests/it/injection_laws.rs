//! Laws of the levels that decide what is added.

use deliberate_prompts::{
    inject::{Decided, Level, LevelSources, Levels, Modifier, Moment, decide, explain},
    library::InjectionConfig,
    model::Injection::SystemPrompt,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::injection::{at, rules};

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

/// The rules of the four levels that have rules, strongest first.
fn any_rules() -> impl Strategy<Value = [Option<Value>; 4]> {
    [any_rule(), any_rule(), any_rule(), any_rule()]
}

fn decided_by(given: &[Option<Value>; 4], modifier: Option<Modifier>, at: &Moment<'_>) -> Decided {
    let [step, chain, category, global] = given
        .clone()
        .map(|rule| rules(json!({ "system-prompt": rule })));
    let config = InjectionConfig {
        global,
        ..InjectionConfig::default()
    };
    let levels = Levels::new(LevelSources {
        modifier,
        step: Some(&step),
        chain: Some(&chain),
        category: Some(&category),
        config: Some(&config),
        ..LevelSources::default()
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
            Modifier::Clean, Modifier::Lean, Modifier::Framework, Modifier::Judge,
        ])),
    ) {
        let at = Moment { in_review, ..at(step) };
        let before = decided_by(&given, modifier, &at);
        for (level, (mine, other)) in [Level::Step, Level::Chain, Level::Category, Level::Global]
            .into_iter()
            .zip(given.iter_mut().zip(other))
        {
            if level > before.level {
                *mine = other;
            }
        }
        prop_assert_eq!(decided_by(&given, modifier, &at), before);
    }
}
