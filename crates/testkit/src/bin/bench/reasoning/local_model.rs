//! A small local model for the time of a run, served by `scripts/local-model`.

use std::{path::Path, process::Stdio};

use anyhow::Context as _;
use clap::ValueEnum;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

/// A model of the package registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LocalModelName {
    /// Qwen2.5-Coder-0.5B-Instruct.
    #[value(name = "qwen0.5")]
    Qwen05,
    /// Qwen2.5-Coder-1.5B-Instruct.
    #[value(name = "qwen1.5")]
    Qwen15,
}

impl LocalModelName {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Qwen05 => "qwen0.5",
            Self::Qwen15 => "qwen1.5",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Qwen05 => "Qwen2.5-Coder-0.5B-Instruct (Q4_K_M, llama.cpp)",
            Self::Qwen15 => "Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, llama.cpp)",
        }
    }
}

/// A running model. It ends when dropped.
pub(crate) struct LocalModel {
    pub(crate) url: String,
    _process: Child,
}

impl LocalModel {
    /// Fetches the model if it is not there yet, and serves it.
    pub(crate) async fn start(
        model: LocalModelName,
        threads: usize,
        slots: usize,
    ) -> anyhow::Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/local-model");
        let mut process = Command::new(script)
            .args(["serve", model.name()])
            .args([
                "--threads",
                &threads.to_string(),
                "--parallel",
                &slots.to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("scripts/local-model does not start")?;
        let stdout = process.stdout.take().context("no stdout")?;
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next_line().await? {
            if let Some(url) = line.strip_prefix("listening ") {
                return Ok(Self {
                    url: url.to_owned(),
                    _process: process,
                });
            }
        }
        anyhow::bail!(
            "scripts/local-model ended before it served {}",
            model.name()
        )
    }
}
