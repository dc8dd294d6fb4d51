//! What the files of a thing will say: the given fields put into the files there are, or into new
//! ones. What was not given stays as it is, also what nobody here knows. Touches no disk.

use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::{
    document::{Document, Unusable},
    failure::{failed, refused},
    fields,
    place::{Form, Thing, shown},
    shape,
};
use crate::model::Kind;

/// Fields that are text and nothing else.
const TEXTS: [&str; 13] = [
    "name",
    "description",
    "category",
    "user_message_template",
    "system_message",
    "guidance",
    "severity",
    "enforcement_mode",
    "gate_type",
    "subagent_model",
    "agent_type",
    "system_prompt_guidance",
    "enhancement_mode",
];

/// Files in the making.
pub(super) struct Draft<'t> {
    pub(super) thing: &'t mut Thing,
    main: Document,
    /// What the caller should know.
    pub(super) notes: Vec<String>,
}

impl<'t> Draft<'t> {
    /// Opens the files of a thing; one without files is new.
    pub(super) fn open(thing: &'t mut Thing) -> Result<Self, ToolError> {
        let text = thing.files.get(&thing.main).map_or("", String::as_str);
        let main = Document::read(text).map_err(|error| unusable(&thing.main, &error))?;
        let notes = Vec::new();
        Ok(Self { thing, main, notes })
    }

    /// What a name of the main file has.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.main.get(name)
    }

    /// Puts the given fields in.
    pub(super) fn apply(&mut self, given: &Map<String, Value>) -> Result<(), ToolError> {
        for name in fields::of(self.thing.kind) {
            if let Some(value) = given.get(*name) {
                self.field(name, value)?;
            }
        }
        Ok(())
    }

    /// Gives a name of the main file a value.
    pub(super) fn set(&mut self, name: &str, value: Value) -> Result<(), ToolError> {
        let file = self.thing.main.clone();
        self.main
            .set(name, value)
            .map_err(|error| unusable(&file, &error))
    }

    /// Writes the main file's text among the files.
    pub(super) fn close(self) -> Vec<String> {
        let main = self.thing.main.clone();
        self.thing.files.insert(main, self.main.into_text());
        self.notes
    }

    fn field(&mut self, name: &str, value: &Value) -> Result<(), ToolError> {
        if TEXTS.contains(&name) && !value.is_string() {
            return Err(refused(
                format!("`{name}` must be text, got {}.", shown(&value.to_string())),
                "Write it in quotes.",
            ));
        }
        match (self.thing.kind, name) {
            (Kind::Prompt, "user_message_template") => self.text_field(
                value,
                "userMessageTemplate",
                "userMessageTemplateFile",
                Some("user-message.md"),
            ),
            (Kind::Prompt, "system_message") => self.text_field(
                value,
                "systemMessage",
                "systemMessageFile",
                Some("system-message.md"),
            ),
            (Kind::Prompt, "arguments") => {
                is_list(name, value)?;
                self.listed("arguments", value, shape::arguments)
            }
            (Kind::Prompt, "chain_steps") => {
                is_list(name, value)?;
                self.listed("chainSteps", value, shape::steps)
            }
            (Kind::Prompt, "gate_configuration") => {
                self.listed("gateConfiguration", value, shape::gate_configuration)
            }
            (Kind::Prompt, "tools") => self.tools(value),
            (Kind::Prompt, "execution_hint") => {
                self.notes.push(
                    "execution_hint is not needed: a prompt with steps is a chain.".to_owned(),
                );
                Ok(())
            }
            (Kind::Prompt, "category") => self.category(value),
            (Kind::Gate | Kind::Style, "guidance") => {
                let usual = (self.thing.kind == Kind::Gate).then_some("guidance.md");
                self.text_field(value, "guidance", "guidanceFile", usual)
            }
            (Kind::Gate, "pass_criteria") => self.listed("pass_criteria", value, shape::criteria),
            (Kind::Gate, "gate_type") => self.gate_type(value),
            (Kind::Gate, "enforcement_mode") => self.plain("enforcementMode", value),
            (Kind::Gate, other) => self.plain(other, value),
            (Kind::Methodology, "system_prompt_guidance") => self.guidance(value),
            (Kind::Methodology, "judge_prompt") => self.judge_prompt(value),
            (Kind::Methodology, "version_label") => self.plain("version", value),
            (Kind::Methodology, "methodology_gates") => {
                self.listed("methodologyGates", value, shape::methodology_gates)
            }
            (Kind::Methodology, "phases") => {
                self.in_phases(&["processingSteps", "phases"], value, shape::phases)
            }
            (Kind::Methodology, "execution_steps") => {
                self.in_phases(&["executionSteps"], value, shape::execution_steps)
            }
            (
                Kind::Methodology,
                "quality_indicators"
                | "execution_type_enhancements"
                | "template_enhancements"
                | "execution_flow",
            ) => self.in_phases(&[&fields::camel(name)], value, |it| it),
            _ => self.plain(&fields::camel(name), value),
        }
    }

    /// A value as it is; an empty text clears the name.
    pub(super) fn plain(&mut self, name: &str, value: &Value) -> Result<(), ToolError> {
        let is_text = TEXTS.iter().any(|text| fields::camel(text) == name) || name == "type";
        put(&mut self.main, &self.thing.main, name, value, |it| {
            if is_text { it } else { fields::unfolded(&it) }
        })
    }

    fn listed(
        &mut self,
        name: &str,
        value: &Value,
        shape: impl Fn(Value) -> Value,
    ) -> Result<(), ToolError> {
        put(&mut self.main, &self.thing.main, name, value, |it| {
            shape(fields::unfolded(&it))
        })
    }

    /// A text that stands in the main file or in one that it names.
    fn text_field(
        &mut self,
        value: &Value,
        inline: &str,
        named: &str,
        usual: Option<&str>,
    ) -> Result<(), ToolError> {
        let text = value.as_str().unwrap_or_default().to_owned();
        let file = self.main.text_of(named).map(str::to_owned);
        let main = self.thing.main.clone();
        let failed = |error: Unusable| unusable(&main, &error);
        if text.is_empty() {
            // A file beside a single one may be another's too.
            if let Some(file) = file.filter(|_| self.thing.form == Form::Folder) {
                self.thing.files.remove(&file);
            }
            self.main.remove(named).map_err(failed)?;
            return self.main.remove(inline).map_err(failed);
        }
        let inner = file.filter(|file| self.thing.files.contains_key(file) || is_plain(file));
        let new =
            usual.filter(|_| self.thing.form == Form::Folder && self.main.get(inline).is_none());
        if let Some(file) = inner.as_deref().or(new) {
            self.thing.files.insert(file.to_owned(), text);
            self.main.remove(inline).map_err(failed)?;
            self.main.set(named, file.into()).map_err(failed)
        } else {
            self.main.remove(named).map_err(failed)?;
            self.main.set(inline, text.into()).map_err(failed)
        }
    }

    fn category(&mut self, value: &Value) -> Result<(), ToolError> {
        match value.as_str() {
            Some(name) if name.is_empty() || super::place::is_name(name) => {
                self.plain("category", value)
            }
            _ => Err(bad_category(&value.to_string())),
        }
    }

    /// The word says which of two things is meant.
    fn gate_type(&mut self, value: &Value) -> Result<(), ToolError> {
        match value.as_str() {
            Some("validation" | "guidance") => self.plain("type", value),
            _ => self.plain("gate_type", value),
        }
    }

    /// What the model is told stands in a file of its own if there is one.
    fn guidance(&mut self, value: &Value) -> Result<(), ToolError> {
        const FILE: &str = "system-prompt.md";
        let named = ["systemPromptFile", "systemPromptGuidanceFile"]
            .iter()
            .find_map(|name| self.main.text_of(name));
        let file = named
            .or_else(|| self.thing.files.contains_key(FILE).then_some(FILE))
            .map(str::to_owned);
        match (file, value.as_str()) {
            (Some(file), Some(text)) if is_plain(&file) && !text.is_empty() => {
                self.thing.files.insert(file, text.to_owned());
                Ok(())
            }
            _ => self.plain("systemPromptGuidance", value),
        }
    }

    fn judge_prompt(&mut self, value: &Value) -> Result<(), ToolError> {
        const FILE: &str = "judge-prompt.md";
        let file = self
            .main
            .text_of("judgePromptFile")
            .filter(|it| is_plain(it));
        let file = file.unwrap_or(FILE).to_owned();
        match value.as_str() {
            Some("") => {
                self.thing.files.remove(&file);
                let main = self.thing.main.clone();
                self.main
                    .remove("judgePromptFile")
                    .map_err(|error| unusable(&main, &error))
            }
            Some(text) => {
                self.thing.files.insert(file, text.to_owned());
                Ok(())
            }
            None => Err(refused(
                "`judge_prompt` must be text.",
                "Write it in quotes.",
            )),
        }
    }

    /// What belongs to the phases stands in the main file if it did, else in `phases.yaml`.
    fn in_phases(
        &mut self,
        names: &[&str],
        value: &Value,
        shape: impl Fn(Value) -> Value,
    ) -> Result<(), ToolError> {
        let first = names.first().copied().unwrap_or_default();
        if let Some(name) = names.iter().find(|name| self.main.get(name).is_some()) {
            return self.listed(name, value, shape);
        }
        let file = self.main.text_of("phasesFile").filter(|it| is_plain(it));
        let file = file.unwrap_or("phases.yaml").to_owned();
        let text = self.thing.files.get(&file).map_or("", String::as_str);
        let mut phases = Document::read(text).map_err(|error| unusable(&file, &error))?;
        let name = names.iter().find(|name| phases.get(name).is_some());
        put(&mut phases, &file, name.unwrap_or(&first), value, |it| {
            shape(fields::unfolded(&it))
        })?;
        self.thing.files.insert(file, phases.into_text());
        Ok(())
    }
}

/// Gives a name a value, or takes it away if the value is an empty text.
fn put(
    document: &mut Document,
    file: &str,
    name: &str,
    value: &Value,
    shape: impl Fn(Value) -> Value,
) -> Result<(), ToolError> {
    let changed = if *value == json!("") {
        document.remove(name)
    } else {
        document.set(name, shape(value.clone()))
    };
    changed.map_err(|error| unusable(file, &error))
}

/// Refuses what is no list; an empty text clears one.
fn is_list(name: &str, value: &Value) -> Result<(), ToolError> {
    match fields::unfolded(value) {
        Value::Array(_) => Ok(()),
        Value::String(text) if text.is_empty() => Ok(()),
        other => Err(refused(
            format!(
                "`{name}` must be a list, got {}.",
                shown(&other.to_string())
            ),
            "Write it in square brackets.",
        )),
    }
}

/// Whether a name that a file gives is that of a file beside it.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

pub(super) fn unusable(file: &str, error: &Unusable) -> ToolError {
    let hint = match error {
        Unusable::Unwritable(_) => "Take control characters out.",
        _ => "Mend the file by hand, or roll back to a version that worked.",
    };
    failed(
        "InvalidResource",
        format!("`{file}` can't be changed: {error}."),
        Some(hint.to_owned()),
    )
}

pub(super) fn bad_category(given: &str) -> ToolError {
    refused(
        format!(
            "The category {} can't be used; nothing was written.",
            shown(given)
        ),
        "Use letters, digits, `_` and `-`, at most 100, beginning with a letter or digit.",
    )
}
