//! Lists the tools of a server and calls one: `tools COMMAND ARGS… [--call TOOL JSON]`.
//!
//! A URL may take the place of the command:
//!
//! ```text
//! tools npx -y @modelcontextprotocol/server-everything --call server__echo '{"message":"hello"}'
//! tools https://example.com/mcp
//! ```
#![allow(clippy::print_stdout, reason = "an example prints to its reader")]

use deliberate_adapter::{Adapter, AdapterConfig, ServerConfig};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let command = words
        .next()
        .ok_or("missing argument: the command or URL of a server")?;
    let args: Vec<String> = words.by_ref().take_while(|word| word != "--call").collect();
    let server = if command.starts_with("http") {
        ServerConfig::http("server", &command)?
    } else {
        ServerConfig::stdio("server", command, args)
    };
    let adapter = Adapter::new(AdapterConfig::from_servers([server]))?;
    let functions = adapter.to_functions().await?;
    for function in &functions.functions {
        let description = function.description().lines().next().unwrap_or_default();
        println!("{:30} {description}", function.name);
    }
    for warning in &functions.warnings {
        println!("[{warning}]");
    }
    if let (Some(name), Some(arguments)) = (words.next(), words.next()) {
        let function = functions.get(&name).ok_or("the function does not exist")?;
        let result = function.call(serde_json::from_str(&arguments)?).await?;
        println!("{}", result.text());
    }
    println!("{}", serde_json::to_string_pretty(&adapter.status())?);
    adapter.close().await;
    Ok(())
}
