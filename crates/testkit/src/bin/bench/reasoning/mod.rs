//! Measures what the reasoning modes are worth: the same tasks with exact answers, asked directly,
//! by vote, and through each mode of the real server, with the model's endpoint behind a recording
//! proxy.

mod answer_shape;
mod arm;
mod local_model;
mod proxy;
mod response_cache;
mod run;
mod server_session;
mod table;
mod usage;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, ensure};
use arm::BenchArm;
use clap::{Args, ValueEnum as _};
use local_model::{LocalModel, LocalModelName};
use proxy::{ModelEndpoint, RecordingProxy};
use response_cache::ModelAnswerCache;
use server_session::SessionSettings;
use table::ModelResults;

/// Options of `reasoning`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of `reasoning`")]
pub(crate) struct ReasoningArgs {
    /// The base URL of an OpenAI-compatible endpoint, such as `http://127.0.0.1:8080/v1`.
    #[arg(long, requires = "model")]
    model_url: Option<String>,
    /// The model's name at that endpoint.
    #[arg(long)]
    model: Option<String>,
    /// The model's name in the table; its name at the endpoint by default.
    #[arg(long)]
    label: Option<String>,
    /// The key for that endpoint.
    #[arg(long, env = "DELIBERATE_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// A local model to fetch and serve (repeatable); all of them if no endpoint is named.
    #[arg(long)]
    local: Vec<LocalModelName>,
    /// Threads of the local model.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Tasks of each of the six families.
    #[arg(long, default_value_t = 10)]
    tasks_per_family: usize,
    /// The difficulty of the tasks: easy or hard.
    #[arg(long, default_value = "easy")]
    level: deliberate_bench::TaskLevel,
    /// The seed of tasks and samples.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The arms to run; all by default.
    #[arg(long, value_delimiter = ',')]
    arms: Vec<BenchArm>,
    /// Tasks at the same time.
    #[arg(long, default_value_t = 4)]
    concurrency: usize,
    /// The temperature of requests that the benchmark itself makes: direct, vote, the client's model.
    #[arg(long, default_value_t = 0.7)]
    temperature: f64,
    /// The directory for the model's answers; `reasoning` in the directory for databases by default.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// A file for every task, text and verdict, as JSON.
    #[arg(long)]
    report: Option<PathBuf>,
}

/// A model to measure.
struct BenchModel {
    label: String,
    name: String,
    endpoint: ModelEndpoint,
}

/// Runs the arms on every model, prints a table for each, and writes the report.
pub(crate) async fn measure(
    arguments: &ReasoningArgs,
    server: Option<PathBuf>,
    server_args: &[String],
    disk: &Path,
) -> anyhow::Result<()> {
    let server = match server {
        Some(server) => server,
        None => std::env::current_exe()?.with_file_name("deliberate"),
    };
    ensure!(
        server.is_file(),
        "{} does not exist; build it first",
        server.display()
    );
    let local = if arguments.model_url.is_none() && arguments.local.is_empty() {
        LocalModelName::value_variants()
    } else {
        &arguments.local
    };
    let server = server.canonicalize()?;
    let mut reports = Vec::new();
    if let (Some(url), Some(name)) = (&arguments.model_url, &arguments.model) {
        let endpoint = ModelEndpoint {
            url: url.clone(),
            api_key: arguments.api_key.clone(),
        };
        let label = arguments.label.clone().unwrap_or_else(|| name.clone());
        let model = BenchModel {
            label,
            name: name.clone(),
            endpoint,
        };
        reports.push(measure_model(arguments, &server, server_args, disk, model).await?);
    }
    for local in local {
        let running = LocalModel::start(*local, arguments.threads, arguments.concurrency).await?;
        let endpoint = ModelEndpoint {
            url: running.url.clone(),
            api_key: None,
        };
        let model = BenchModel {
            label: local.label().to_owned(),
            name: local.name().to_owned(),
            endpoint,
        };
        reports.push(measure_model(arguments, &server, server_args, disk, model).await?);
    }
    if let Some(file) = &arguments.report {
        let text = serde_json::to_string_pretty(&reports)?;
        std::fs::write(file, text + "\n")
            .with_context(|| format!("{} can't be written", file.display()))?;
    }
    Ok(())
}

async fn measure_model(
    arguments: &ReasoningArgs,
    server: &Path,
    server_args: &[String],
    disk: &Path,
    model: BenchModel,
) -> anyhow::Result<serde_json::Value> {
    let directory = arguments
        .cache
        .clone()
        .unwrap_or_else(|| disk.join("reasoning"));
    let cache = ModelAnswerCache::open(&directory, &model.name)?;
    let proxy = Arc::new(RecordingProxy::start(model.endpoint, cache, arguments.seed).await?);
    let settings = SessionSettings {
        server: server.to_owned(),
        server_args: server_args.to_vec(),
        model: model.name,
        temperature: arguments.temperature,
        proxy,
    };
    let arms = if arguments.arms.is_empty() {
        BenchArm::value_variants()
    } else {
        &arguments.arms
    };
    let tasks =
        deliberate_bench::generate(arguments.seed, arguments.level, arguments.tasks_per_family);
    let results = run::run_arms(&settings, &tasks, arms, arguments.concurrency).await?;
    let results = ModelResults {
        label: model.label,
        seed: arguments.seed,
        temperature: arguments.temperature,
        tasks,
        results,
    };
    writeln!(std::io::stdout(), "{}", results.markdown())?;
    Ok(results.json())
}
