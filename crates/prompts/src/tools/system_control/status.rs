//! `status`: how things stand.

use deliberate_core::RunState;
use deliberate_store::Page;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::{
    Desk, Done, Operation,
    done::{Lines, count},
    health, problems, session,
};
use crate::{
    inject,
    library::Library,
    model::{Injection, Layer},
};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "default",
        takes: &["show_details"],
        run: |desk| Box::pin(whole(desk)),
    },
    Operation {
        name: "health",
        takes: &[],
        run: |desk| Box::pin(health::health(desk)),
    },
    Operation {
        name: "diagnostics",
        takes: &[],
        run: |desk| Box::pin(diagnostics(desk)),
    },
    Operation {
        name: "framework_status",
        takes: &["show_details"],
        run: |desk| Box::pin(async { Ok(framework_status(desk)) }),
    },
];

/// Problems that are shown unless all are wanted.
const SHOWN: usize = 20;

/// Problems that are shown at the most.
const MOST: usize = 1_000;

async fn whole(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let library = &desk.library;
    let details = desk.input.show_details == Some(true);
    let open = open_runs(desk).await?;
    let mut lines = Lines::default();
    let counts = counts(library);
    for (kind, number) in &counts {
        let of = |layer: &str| number.get(layer).and_then(Value::as_u64).unwrap_or(0);
        let (shipped, own) = (of("shipped"), of("workspace"));
        lines.add(format!(
            "{kind}: {} ({shipped} shipped, {own} in the workspace)",
            shipped + own
        ));
    }
    lines.add(framework_line(desk));
    let on = if desk.settings.gates_off { "off" } else { "on" };
    lines.add(format!("gates are {on}"));
    lines.add(format!("open runs: {open}"));
    let overrides = desk.settings.overrides.len();
    if overrides > 0 {
        lines.add(format!("overrides of injection: {overrides}"));
    }
    let shown = if details { MOST } else { SHOWN };
    add_problems(&mut lines, library, shown);
    let fields = json!({
        "counts": counts,
        "framework": framework(desk),
        "gates_on": !desk.settings.gates_off,
        "open_runs": open,
        "problems": library.problems.iter().take(shown).collect::<Vec<_>>(),
        "problems_total": library.problems.len(),
    });
    let mut more = Value::Null;
    if details {
        let categories: Vec<Value> = library
            .categories
            .values()
            .map(|it| {
                let prompts = library.prompts.values();
                let prompts = prompts.filter(|prompt| prompt.category == it.id).count();
                lines.add(format!("category {}: {}", it.id, count(prompts, "prompt")));
                json!({ "id": it.id, "name": it.name, "prompts": prompts })
            })
            .collect();
        lines.add(format!("generation of the library: {}", library.generation));
        more = json!({
            "categories": categories,
            "generation": library.generation,
            "overrides": desk.settings.overrides,
        });
    }
    Ok(Done::new(lines.end(), fields).and(more))
}

/// How many of each there are, and where they come from.
fn counts(library: &Library) -> Map<String, Value> {
    let prompts = library.prompts.values();
    let chains = prompts.clone().filter(|it| it.is_chain());
    let all: [(&str, Vec<Layer>); 5] = [
        ("prompts", prompts.map(|it| it.origin.layer).collect()),
        ("chains", chains.map(|it| it.origin.layer).collect()),
        (
            "gates",
            library.gates.values().map(|it| it.origin.layer).collect(),
        ),
        (
            "methodologies",
            library
                .methodologies
                .values()
                .map(|it| it.origin.layer)
                .collect(),
        ),
        (
            "styles",
            library.styles.values().map(|it| it.origin.layer).collect(),
        ),
    ];
    all.into_iter()
        .map(|(kind, layers)| {
            let shipped = layers.iter().filter(|it| **it == Layer::Shipped).count();
            let own = layers.len() - shipped;
            (
                kind.to_owned(),
                json!({ "shipped": shipped, "workspace": own }),
            )
        })
        .collect()
}

/// How many runs can go on.
pub(super) async fn open_runs(desk: &Desk<'_>) -> Result<usize, ToolError> {
    let filter = session::theirs(desk, Some(RunState::Open));
    let runs = desk
        .call
        .store()
        .runs(&filter, Page::first(Page::MOST))
        .await?;
    Ok(runs.len())
}

fn framework(desk: &Desk<'_>) -> Value {
    let framework = &desk.settings.framework;
    json!({
        "active": framework.active,
        "on": !framework.off,
        "since": framework.since,
        "reason": framework.reason,
    })
}

/// The methodology in use, in a line.
pub(super) fn framework_line(desk: &Desk<'_>) -> String {
    let framework = &desk.settings.framework;
    let since = framework.since.map(|it| format!(", since {it}"));
    let reason = framework.reason.as_deref().map(|it| format!(" ({it})"));
    let (since, reason) = (since.unwrap_or_default(), reason.unwrap_or_default());
    match &framework.active {
        _ if framework.off => format!("methodologies are switched off{since}{reason}"),
        None => "no methodology is in use".to_owned(),
        Some(id) if desk.library.methodology(id).is_none() => {
            format!("methodology {id} is chosen, but it is not there or disabled{since}{reason}")
        }
        Some(id) => format!("methodology in use: {id}{since}{reason}"),
    }
}

fn add_problems(lines: &mut Lines, library: &Library, most: usize) {
    let total = library.problems.len();
    if total == 0 {
        lines.add("no problems");
        return;
    }
    lines.add(format!("{}:", count(total, "problem")));
    for problem in library.problems.iter().take(most) {
        lines.add(problems::line(problem));
    }
    if total > most {
        lines.add(format!("… and {} more", total - most));
    }
}

async fn diagnostics(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let library = &desk.library;
    let store = desk.call.store().state().await?;
    let mut lines = Lines::default();
    let watching = problems::blind(library).map_or("yes", |it| it.message.as_str());
    lines.add(format!("generation of the library: {}", library.generation));
    lines.add(format!("files are watched: {watching}"));
    lines.add(format!(
        "tables of the store: version {}",
        store.schema_version
    ));
    let limits = super::config::limits(&desk.engine.options.limits);
    for (name, value) in &limits {
        lines.add(format!("limit {name}: {value}"));
    }
    add_problems(&mut lines, library, MOST);
    let fields = json!({
        "generation": library.generation,
        "watching": problems::blind(library).is_none(),
        "store_version": store.schema_version,
        "limits": limits,
        "traced_calls": desk.engine.traces.last(usize::MAX).len(),
        "problems": library.problems.iter().take(MOST).collect::<Vec<_>>(),
        "problems_total": library.problems.len(),
    });
    Ok(Done::new(lines.end(), fields))
}

fn framework_status(desk: &Desk<'_>) -> Done {
    let mut lines = Lines::default();
    lines.add(framework_line(desk));
    let mut more = Value::Null;
    if desk.settings.methodology().is_some() {
        lines.add(often(desk));
    }
    if desk.input.show_details == Some(true)
        && let Some(it) = desk
            .settings
            .methodology()
            .and_then(|id| desk.library.methodology(id))
    {
        let phases: Vec<&str> = it.phases.iter().map(|phase| phase.name.as_str()).collect();
        lines.add(format!("phases: {}", phases.join(", ")));
        lines.add(&it.system_prompt_guidance);
        more = json!({ "phases": phases });
    }
    Done::new(lines.end(), framework(desk)).and(more)
}

/// How often its guidance is added, by what holds for everything.
fn often(desk: &Desk<'_>) -> String {
    let (levels, moment) = super::injection::everywhere(desk);
    let decided = inject::decide(Injection::SystemPrompt, &levels, &moment);
    format!(
        "its guidance is {} to a first step: {} ({})",
        if decided.inject { "added" } else { "not added" },
        decided.reason,
        decided.level.as_str()
    )
}
