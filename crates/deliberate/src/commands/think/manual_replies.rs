//! Replies that a person at the terminal gives instead of a model.

use std::io::{self, BufRead as _, Write as _};

use anyhow::bail;
use deliberate_toolkit::{
    CallOutcome, CallerContext, ClientPrompt, NeedsReply, RESUME_TOOL, Registry,
};
use serde_json::{Value, json};

/// Lets the user answer the prompts for the model.
pub(super) async fn answer_manually(
    needs: NeedsReply,
    registry: &Registry,
) -> anyhow::Result<Value> {
    let mut needs = needs;
    loop {
        let mut replies = Vec::new();
        for ask in &needs.asks {
            replies.push(read_reply(ask)?);
        }
        let arguments = json!({ "id": needs.id, "replies": replies });
        match registry
            .call(RESUME_TOOL, arguments, CallerContext::default())
            .await?
        {
            CallOutcome::Done(output) => return Ok(output),
            CallOutcome::NeedsReply(again) => needs = again,
        }
    }
}

fn read_reply(ask: &ClientPrompt) -> anyhow::Result<String> {
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "{}\n", ask.system)?;
    for message in &ask.messages {
        writeln!(stderr, "{}\n", message.text)?;
    }
    writeln!(
        stderr,
        "Your reply (plain text or JSON), ended by an empty line or Ctrl-D:"
    )?;
    stderr.flush()?;
    let mut reply = String::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() && !reply.trim().is_empty() {
            break;
        }
        reply.push_str(&line);
        reply.push('\n');
    }
    if reply.trim().is_empty() {
        bail!("there was no reply; nothing was stored");
    }
    Ok(reply)
}
