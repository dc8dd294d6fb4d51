//! A workspace like that of a team: a thousand prompts in ten categories, a chain of three steps
//! and one of a hundred and twenty, each step a prompt of its own.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::setup::{BenchSetup, DatabaseLocation};

/// The number of prompts, without the chains.
pub(super) const PROMPTS: usize = 1_000;

/// The steps of the long chain.
pub(super) const STEPS: usize = 120;

/// The text of the shortest prompt.
pub(super) const TINY: &str = "Be brief";

const CATEGORIES: usize = 10;

/// A folder that contains `resources/prompts`.
pub(super) struct BenchWorkspace(PathBuf);

impl BenchWorkspace {
    /// Creates an empty workspace.
    pub(super) fn empty(bench: &BenchSetup) -> anyhow::Result<Self> {
        let folder = bench.directory(DatabaseLocation::Disk).join("empty");
        fs::create_dir_all(folder.join("resources/prompts"))?;
        Ok(Self(folder))
    }

    /// Creates a workspace with all prompts and chains.
    pub(super) fn full(bench: &BenchSetup) -> anyhow::Result<Self> {
        let workspace = Self(bench.directory(DatabaseLocation::Disk).join("full"));
        for number in 0..PROMPTS {
            workspace.add(number)?;
        }
        workspace.write("general/tiny/prompt.yaml", &tiny())?;
        workspace.write("general/short/prompt.yaml", &chain("short", 3))?;
        workspace.write("general/long/prompt.yaml", &chain("long", STEPS))?;
        Ok(workspace)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the id of a prompt.
    pub(super) fn id(number: usize) -> String {
        format!("task_{number:04}")
    }

    /// Writes a prompt with its two files.
    pub(super) fn add(&self, number: usize) -> anyhow::Result<()> {
        self.write_yaml(number, "the team")?;
        self.write_message(number, "Keep to what is asked.")
    }

    /// Writes the YAML of a prompt; the audience appears in the rendered text.
    pub(super) fn write_yaml(&self, number: usize, audience: &str) -> anyhow::Result<()> {
        let id = Self::id(number);
        let text = format!(
            "id: {id}\n\
             name: Task {number}\n\
             category: {}\n\
             description: Looks at a topic from side {number} and says what to do about it.\n\
             userMessageTemplateFile: user-message.md\n\
             arguments:\n\
             \x20 - name: topic\n\
             \x20   type: string\n\
             \x20   required: true\n\
             \x20   description: What it is about, in a few words.\n\
             \x20   validation: {{ minLength: 2, maxLength: 2000 }}\n\
             \x20 - name: audience\n\
             \x20   type: string\n\
             \x20   required: false\n\
             \x20   defaultValue: {audience}\n\
             \x20   description: Who reads the answer.\n{}",
            category(number),
            gates(number),
        );
        self.write(&format!("{}/{id}/prompt.yaml", category(number)), &text)
    }

    /// Writes the template of a prompt, with a recognizable last line.
    pub(super) fn write_message(&self, number: usize, last: &str) -> anyhow::Result<()> {
        let mut text =
            format!("# Task {number}: {{{{ topic }}}}\n\nWrite for {{{{ audience }}}}.\n");
        text.push_str(
            "{% if previous_step_result %}Before: {{ previous_step_result }}{% endif %}\n\n",
        );
        for point in 1..=8 {
            let _ = writeln!(
                text,
                "{point}. Look at part {point} of it, say what stands in the way, and what would \
                 show that it is solved."
            );
        }
        let _ = writeln!(text, "\n{last}");
        let (category, id) = (category(number), Self::id(number));
        self.write(&format!("{category}/{id}/user-message.md"), &text)
    }

    fn write(&self, file: &str, text: &str) -> anyhow::Result<()> {
        let path = self.0.join("resources/prompts").join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
        Ok(())
    }
}

fn category(number: usize) -> String {
    format!("area_{}", number % CATEGORIES)
}

/// Returns the gates of a prompt: some have one; steps and prompts that are called alone have none.
fn gates(number: usize) -> &'static str {
    if number >= STEPS && number % 4 == 3 {
        "gateConfiguration:\n  include: [no-filler]\n"
    } else {
        ""
    }
}

fn tiny() -> String {
    format!(
        "id: tiny\nname: Tiny\ndescription: Says two words, no more.\nuserMessageTemplate: {TINY}\n"
    )
}

fn chain(id: &str, steps: usize) -> String {
    let mut text = format!(
        "id: {id}\nname: A chain\ndescription: Goes through {steps} tasks, one after another.\n\
         userMessageTemplate: Go through all tasks.\n\
         arguments: [{{ name: topic, required: true }}]\nchainSteps:\n"
    );
    for step in 0..steps {
        let prompt = BenchWorkspace::id(step);
        let _ = writeln!(text, "  - {{ promptId: {prompt}, stepName: step {step} }}");
    }
    text
}
