//! `deliberate sessions show`: prints all pages of `reasoning_get`.

use std::{collections::HashSet, io::Write};

use anyhow::bail;
use deliberate_core::SessionId;
use deliberate_toolkit::{CallOutcome, CallerContext, Registry};
use serde_json::{Map, Value, json};

use crate::commands::table::escape_control;

/// Largest page of `reasoning_get`.
const PAGE_SIZE: u32 = 200;

/// Start of a later page of a session, after the part that all its pages repeat.
const STEP_HEADING: &str = "## Step";

/// Start of a later page of a graph.
const NODE_HEADING: &str = "### ";

/// The lists of a session that continue from page to page.
const PAGED_LISTS: [&str; 4] = ["thoughts", "branches", "cross_references", "graphs"];

/// Prints Markdown, for people.
pub(super) async fn print_markdown(
    id: &SessionId,
    registry: &Registry,
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    let session = load_session(id, registry).await?;
    let graphs = session.get("graphs").and_then(Value::as_array);
    let graphs = graphs.map(Vec::as_slice).unwrap_or_default();
    let ids: Vec<&str> = graphs.iter().filter_map(item_id).collect();
    let pages = load_pages(id.as_str(), "markdown", 0, registry).await?;
    if let [only] = pages.as_slice()
        && graphs.iter().all(|graph| next_offset(graph).is_none())
    {
        writeln!(output, "{}", escape_control(page_text(only).trim_end()))?;
        return Ok(());
    }
    print_pages(&pages, STEP_HEADING, &ids, output)?;
    // Graphs follow the last step, each as a whole.
    for id in ids {
        let pages = self::load_pages(id, "markdown", 0, registry).await?;
        writeln!(output)?;
        print_pages(&pages, NODE_HEADING, &[], output)?;
    }
    Ok(())
}

/// Returns one JSON object, for programs.
pub(super) async fn load_json(id: &SessionId, registry: &Registry) -> anyhow::Result<Value> {
    let mut session = load_session(id, registry).await?;
    let graphs = session.get_mut("graphs").and_then(Value::as_array_mut);
    for graph in graphs.into_iter().flatten() {
        let (Some(next), Some(id)) = (next_offset(graph), item_id(graph).map(str::to_owned)) else {
            continue;
        };
        for rest in load_pages(&id, "data", next, registry).await? {
            merge_lists(graph, into_data(rest), &["nodes", "edges"]);
        }
        if let Some(fields) = graph.as_object_mut() {
            fields.shift_remove("next_offset");
        }
    }
    Ok(Value::Object(session))
}

/// Returns a Mermaid flowchart.
pub(super) async fn load_mermaid(id: &SessionId, registry: &Registry) -> anyhow::Result<String> {
    let answer = get_page(id.as_str(), "mermaid", 0, registry).await?;
    Ok(escape_control(page_text(&answer).trim_end()))
}

/// Merges the pages of a session. A graph may still lack nodes; it then says where they begin.
async fn load_session(id: &SessionId, registry: &Registry) -> anyhow::Result<Map<String, Value>> {
    let pages = load_pages(id.as_str(), "data", 0, registry).await?;
    let mut parts = pages.into_iter().map(into_data);
    let mut whole = parts.next().unwrap_or_default();
    for part in parts {
        merge_lists(&mut whole, part, &PAGED_LISTS);
    }
    match whole {
        Value::Object(fields) => Ok(fields),
        _ => bail!("reasoning_get returned no session; please report this"),
    }
}

/// Loads all pages from an offset on.
async fn load_pages(
    id: &str,
    format: &str,
    mut offset: u32,
    registry: &Registry,
) -> anyhow::Result<Vec<Value>> {
    let mut pages = Vec::new();
    loop {
        let page = get_page(id, format, offset, registry).await?;
        let next = next_offset(&page);
        pages.push(page);
        match next {
            Some(next) if next > offset => offset = next,
            _ => return Ok(pages),
        }
    }
}

async fn get_page(
    id: &str,
    format: &str,
    offset: u32,
    registry: &Registry,
) -> anyhow::Result<Value> {
    let arguments = json!({ "id": id, "format": format, "offset": offset, "limit": PAGE_SIZE });
    let answer = registry.call("reasoning_get", arguments, CallerContext::default());
    match answer.await? {
        CallOutcome::Done(answer) => Ok(answer),
        CallOutcome::NeedsReply(_) => bail!("reading a session needed a reply; please report this"),
    }
}

fn next_offset(page: &Value) -> Option<u32> {
    let next = page.get("next_offset")?.as_u64()?;
    u32::try_from(next).ok()
}

fn into_data(mut page: Value) -> Value {
    page.get_mut("data").map(Value::take).unwrap_or_default()
}

fn page_text(page: &Value) -> &str {
    page.get("text").and_then(Value::as_str).unwrap_or_default()
}

fn item_id(item: &Value) -> Option<&str> {
    let id = item.get("id").or_else(|| item.pointer("/graph/id"))?;
    id.as_str()
}

/// Appends the items of a further page that the whole does not have.
fn merge_lists(whole: &mut Value, mut part: Value, lists: &[&str]) {
    for name in lists {
        let more = part.get_mut(*name).and_then(Value::as_array_mut);
        let list = whole.get_mut(*name).and_then(Value::as_array_mut);
        let (Some(list), Some(more)) = (list, more) else {
            continue;
        };
        let known: HashSet<String> = list.iter().filter_map(item_id).map(str::to_owned).collect();
        let is_new = |item: &Value| item_id(item).is_none_or(|id| !known.contains(id));
        list.extend(std::mem::take(more).into_iter().filter(is_new));
    }
}

/// Prints pages one after another, without their graphs. A later page starts at the first line with
/// this prefix, because the text above it was on the first page.
fn print_pages(
    pages: &[Value],
    begins: &str,
    graphs: &[&str],
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    let graphs: Vec<String> = graphs.iter().map(|id| format!("## Graph `{id}`")).collect();
    let mut is_first = true;
    for page in pages {
        let lines: Vec<&str> = page_text(page)
            .lines()
            .skip_while(|line| !is_first && !line.starts_with(begins))
            .take_while(|line| !graphs.iter().any(|graph| line.starts_with(graph)))
            .collect();
        let text = escape_control(&lines.join("\n"));
        let text = strip_next_page_hint(text.trim_end(), next_offset(page));
        if text.is_empty() {
            continue;
        }
        if !is_first {
            writeln!(output)?;
        }
        writeln!(output, "{text}")?;
        is_first = false;
    }
    Ok(())
}

/// Removes the hint at the end of a page that says where the next one begins; here it follows.
fn strip_next_page_hint(text: &str, next: Option<u32>) -> &str {
    let Some((above, last)) = text.rsplit_once('\n') else {
        return text;
    };
    let mut numbers = last.split(|letter: char| !letter.is_ascii_digit());
    let names_it = next.is_some_and(|next| numbers.any(|number| number == next.to_string()));
    if names_it && last.starts_with("*More ") {
        above.trim_end()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print_to_string(pages: &[Value], begins: &str, graphs: &[&str]) -> String {
        let mut output = Vec::new();
        print_pages(pages, begins, graphs, &mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn pages_are_printed_as_one_without_repeating_the_heading_and_the_graphs() {
        let graph = "## Graph `g`\n\n### 1. root\n\nA node.\n";
        let pages = [
            json!({ "text": format!("# T\n\nabout\n\n## Step 1 (70 %)\n\n## Graph `x`\n\n\
                *More steps follow from offset 1.*\n\n{graph}"), "next_offset": 1 }),
            json!({ "text": format!("# T\n\nabout\n\n## Step 2 (80 %)\n\n*More* is said.\n\n\
                *More than 2.*\n\n{graph}"), "next_offset": 20 }),
            json!({ "text": format!("# T\n\nabout\n\n{graph}") }),
            json!({ "text": "# T\n\n## Step 3\n\n\u{1b}[2JEnd.\n" }),
        ];
        assert_eq!(
            print_to_string(&pages, STEP_HEADING, &["g"]),
            "# T\n\nabout\n\n## Step 1 (70 %)\n\n## Graph `x`\n\n## Step 2 (80 %)\n\n\
             *More* is said.\n\n*More than 2.*\n\n## Step 3\n\n[2JEnd.\n"
        );
        let pages = [
            json!({ "text": graph, "next_offset": 1 }),
            json!({ "text": "## Graph `g`\n\n> ### no\n\n### 2. thought\n\nAnother.\n" }),
        ];
        assert_eq!(
            print_to_string(&pages, NODE_HEADING, &[]),
            format!("{graph}\n### 2. thought\n\nAnother.\n")
        );
    }

    #[test]
    fn what_several_pages_have_is_there_once() {
        let mut whole = json!({
            "session": { "id": "s" },
            "thoughts": [{ "id": "1" }],
            "graphs": [{ "graph": { "id": "g" }, "nodes": [1] }],
        });
        let part = json!({
            "thoughts": [{ "id": "1" }, { "id": "2" }],
            "branches": [{ "id": "b" }],
            "graphs": [{ "graph": { "id": "g" }, "nodes": [] }, { "graph": { "id": "h" } }],
        });
        merge_lists(&mut whole, part, &PAGED_LISTS);
        assert_eq!(
            whole,
            json!({
                "session": { "id": "s" },
                "thoughts": [{ "id": "1" }, { "id": "2" }],
                "graphs": [{ "graph": { "id": "g" }, "nodes": [1] }, { "graph": { "id": "h" } }],
            })
        );
    }
}
