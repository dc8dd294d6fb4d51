//! Reads one document and prints its text, or the whole of what was found as JSON.
//!
//! ```text
//! read FILE [--json]
//! ```

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use deliberate_extract::{DocumentFormat, ExtractLimits, extract};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(file) = arguments.next() else {
        return ExitCode::from(2);
    };
    let json = arguments
        .next()
        .is_some_and(|argument| argument == "--json");
    let Ok(bytes) = std::fs::read(&file) else {
        return ExitCode::FAILURE;
    };
    let name = Path::new(&file).to_string_lossy();
    let format = DocumentFormat::detect(&bytes, &name).unwrap_or(DocumentFormat::Text);
    let said = match extract(&bytes, format, &ExtractLimits::default()) {
        Ok(document) if json => serde_json::to_string_pretty(&document).unwrap_or_default(),
        Ok(document) => document.text(),
        Err(error) => format!("{error}. {}", error.hint()),
    };
    let _ = writeln!(std::io::stdout(), "{said}");
    ExitCode::SUCCESS
}
