//! A model with the tools of servers, in a few lines: `tool_loop QUESTION [SERVER…]`.
//!
//! A server is a URL, or a command with its arguments in one quoted word:
//!
//! ```text
//! MODEL_URL=http://127.0.0.1:11434/v1 MODEL=qwen3 tool_loop "Which file here is the largest?" \
//!     "npx -y @modelcontextprotocol/server-filesystem ."
//! ```
//!
//! `MODEL_URL` is any `OpenAI`-compatible URL, `MODEL` one of its models, `MODEL_KEY` its API key,
//! if it needs one.
#![allow(clippy::print_stdout, reason = "an example prints to its reader")]
#![allow(
    clippy::disallowed_methods,
    reason = "the example reads its settings here"
)]

use std::{
    env,
    io::{self, Write as _},
    sync::Arc,
};

use deliberate_adapter::{
    Adapter, AdapterConfig, ServerConfig, ToolLoop, tool_loop::ToolLoopEvent,
};
use deliberate_llm::{OpenAi, OpenAiSettings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = env::args().skip(1);
    let question = words.next().ok_or("missing argument: the question")?;
    let servers: Result<Vec<_>, _> = words.enumerate().map(server).collect();
    let adapter = Adapter::new(AdapterConfig::from_servers(servers?))?;
    let functions = adapter.to_functions().await?;
    for failed in &functions.errors {
        println!("[left out: {failed}]");
    }
    let chain = ToolLoop::new(Arc::new(model()?)).with_tools(functions.functions);
    let answer = chain.run_with_events(question, &print_event).await?;
    println!("\n[{} turns, {} calls]", answer.turns, answer.calls.len());
    adapter.close().await;
    Ok(())
}

fn server((at, word): (usize, String)) -> Result<ServerConfig, Box<dyn std::error::Error>> {
    let name = format!("s{}", at + 1);
    if word.starts_with("http") {
        return Ok(ServerConfig::http(name, &word)?);
    }
    let mut words = word.split_whitespace().map(str::to_owned);
    let command = words.next().ok_or("a server must not be an empty word")?;
    Ok(ServerConfig::stdio(name, command, words))
}

fn model() -> Result<OpenAi, Box<dyn std::error::Error>> {
    let url = env::var("MODEL_URL").unwrap_or("http://127.0.0.1:11434/v1".to_owned());
    Ok(OpenAi::new(OpenAiSettings {
        model: env::var("MODEL").ok(),
        api_key: env::var("MODEL_KEY").ok().map(Into::into),
        ..OpenAiSettings::for_url(url)
    })?)
}

fn print_event(event: ToolLoopEvent) {
    match event {
        ToolLoopEvent::Text(text) => {
            print!("{text}");
            // Flushing fails only if nobody reads the output.
            drop(io::stdout().flush());
        }
        ToolLoopEvent::CallStarted(call) => println!("[{} {}]", call.name, call.arguments),
        ToolLoopEvent::Restart => println!("\n[starting again]"),
        _ => {}
    }
}
