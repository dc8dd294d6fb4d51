//! Computes the new files of a resource: the given fields are applied to the existing files, or to
//! new ones. Everything else stays as it is, including unknown fields. Touches no disk.

use deliberate_toolkit::{ErrorCode, ToolError};
use serde_json::{Map, Value, json};

use super::{
    input_normalization,
    yaml_edit::{YamlDocument, YamlEditError},
};
use crate::{
    model::LibraryItemKind,
    resource_manager::{
        disk::resource_path::{FileLayout, ResourceFiles, display_input},
        errors::{invalid_input, manage_error},
        extra_fields,
    },
};

/// Fields that only accept text.
const TEXT_FIELDS: [&str; 13] = [
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

/// The draft of a resource's files.
pub(crate) struct FileDraft<'t> {
    pub(crate) resource: &'t mut ResourceFiles,
    main_document: YamlDocument,
    /// Notes for the caller.
    pub(crate) notes: Vec<String>,
}

impl<'t> FileDraft<'t> {
    /// Opens the files of a resource; without files it is new.
    pub(crate) fn open(thing: &'t mut ResourceFiles) -> Result<Self, ToolError> {
        let text = thing.files.get(&thing.main_file).map_or("", String::as_str);
        let main = YamlDocument::parse(text)
            .map_err(|error| yaml_edit_failed(&thing.main_file, &error))?;
        let notes = Vec::new();
        Ok(Self {
            resource: thing,
            main_document: main,
            notes,
        })
    }

    /// Returns the value of a field of the main file.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.main_document.get(name)
    }

    /// Applies the given fields.
    pub(crate) fn apply(&mut self, given: &Map<String, Value>) -> Result<(), ToolError> {
        for name in extra_fields::resource_fields(self.resource.kind) {
            if let Some(value) = given.get(*name) {
                self.apply_field(name, value)?;
            }
        }
        Ok(())
    }

    /// Sets a field of the main file.
    pub(crate) fn set(&mut self, name: &str, value: Value) -> Result<(), ToolError> {
        let file = self.resource.main_file.clone();
        self.main_document
            .set(name, value)
            .map_err(|error| yaml_edit_failed(&file, &error))
    }

    /// Writes the main file's text into the resource and returns the notes.
    pub(crate) fn finish(self) -> Vec<String> {
        let main = self.resource.main_file.clone();
        self.resource
            .files
            .insert(main, self.main_document.into_text());
        self.notes
    }

    fn apply_field(&mut self, name: &str, value: &Value) -> Result<(), ToolError> {
        if TEXT_FIELDS.contains(&name) && !value.is_string() {
            return Err(invalid_input(
                format!(
                    "`{name}` must be text, got {}.",
                    display_input(&value.to_string())
                ),
                "Write it in quotes.",
            ));
        }
        match (self.resource.kind, name) {
            (LibraryItemKind::Prompt, "user_message_template") => self.set_text(
                value,
                "userMessageTemplate",
                "userMessageTemplateFile",
                Some("user-message.md"),
            ),
            (LibraryItemKind::Prompt, "system_message") => self.set_text(
                value,
                "systemMessage",
                "systemMessageFile",
                Some("system-message.md"),
            ),
            (LibraryItemKind::Prompt, "arguments") => {
                check_list(name, value)?;
                self.set_normalized("arguments", value, input_normalization::normalize_arguments)
            }
            (LibraryItemKind::Prompt, "chain_steps") => {
                check_list(name, value)?;
                self.set_normalized("chainSteps", value, input_normalization::normalize_steps)
            }
            (LibraryItemKind::Prompt, "gate_configuration") => self.set_normalized(
                "gateConfiguration",
                value,
                input_normalization::normalize_gate_configuration,
            ),
            (LibraryItemKind::Prompt, "tools") => self.set_tools(value),
            (LibraryItemKind::Prompt, "execution_hint") => {
                self.notes.push(
                    "execution_hint is not needed: a prompt with steps is a chain.".to_owned(),
                );
                Ok(())
            }
            (LibraryItemKind::Prompt, "category") => self.set_category(value),
            (LibraryItemKind::Gate | LibraryItemKind::Style, "guidance") => {
                let usual = (self.resource.kind == LibraryItemKind::Gate).then_some("guidance.md");
                self.set_text(value, "guidance", "guidanceFile", usual)
            }
            (LibraryItemKind::Gate, "pass_criteria") => self.set_normalized(
                "pass_criteria",
                value,
                input_normalization::normalize_criteria,
            ),
            (LibraryItemKind::Gate, "gate_type") => self.set_gate_type(value),
            (LibraryItemKind::Gate, "enforcement_mode") => self.set_value("enforcementMode", value),
            (LibraryItemKind::Gate, other) => self.set_value(other, value),
            (LibraryItemKind::Methodology, "system_prompt_guidance") => self.set_guidance(value),
            (LibraryItemKind::Methodology, "judge_prompt") => self.set_judge_prompt(value),
            (LibraryItemKind::Methodology, "version_label") => self.set_value("version", value),
            (LibraryItemKind::Methodology, "methodology_gates") => self.set_normalized(
                "methodologyGates",
                value,
                input_normalization::normalize_methodology_gates,
            ),
            (LibraryItemKind::Methodology, "phases") => self.set_in_phases(
                &["processingSteps", "phases"],
                value,
                input_normalization::normalize_phases,
            ),
            (LibraryItemKind::Methodology, "execution_steps") => self.set_in_phases(
                &["executionSteps"],
                value,
                input_normalization::normalize_execution_steps,
            ),
            (
                LibraryItemKind::Methodology,
                "quality_indicators"
                | "execution_type_enhancements"
                | "template_enhancements"
                | "execution_flow",
            ) => self.set_in_phases(&[&extra_fields::to_camel_case(name)], value, |it| it),
            _ => self.set_value(&extra_fields::to_camel_case(name), value),
        }
    }

    /// Sets a field as it is; an empty text removes it.
    pub(crate) fn set_value(&mut self, name: &str, value: &Value) -> Result<(), ToolError> {
        let is_text = TEXT_FIELDS
            .iter()
            .any(|text| extra_fields::to_camel_case(text) == name)
            || name == "type";
        set_or_remove(
            &mut self.main_document,
            &self.resource.main_file,
            name,
            value,
            |it| {
                if is_text {
                    it
                } else {
                    extra_fields::parse_json_text(&it)
                }
            },
        )
    }

    fn set_normalized(
        &mut self,
        name: &str,
        value: &Value,
        shape: impl Fn(Value) -> Value,
    ) -> Result<(), ToolError> {
        set_or_remove(
            &mut self.main_document,
            &self.resource.main_file,
            name,
            value,
            |it| shape(extra_fields::parse_json_text(&it)),
        )
    }

    /// Sets a text that is in the main file or in a file that it names.
    fn set_text(
        &mut self,
        value: &Value,
        inline: &str,
        named: &str,
        usual: Option<&str>,
    ) -> Result<(), ToolError> {
        let text = value.as_str().unwrap_or_default().to_owned();
        let file = self.main_document.text(named).map(str::to_owned);
        let main = self.resource.main_file.clone();
        let failed = |error: YamlEditError| yaml_edit_failed(&main, &error);
        if text.is_empty() {
            // A file next to a single-file resource may belong to another one.
            if let Some(file) = file.filter(|_| self.resource.layout == FileLayout::Folder) {
                self.resource.files.remove(&file);
            }
            self.main_document.remove(named).map_err(failed)?;
            return self.main_document.remove(inline).map_err(failed);
        }
        let inner = file
            .filter(|file| self.resource.files.contains_key(file) || is_sibling_file_name(file));
        let new = usual.filter(|_| {
            self.resource.layout == FileLayout::Folder && self.main_document.get(inline).is_none()
        });
        if let Some(file) = inner.as_deref().or(new) {
            self.resource.files.insert(file.to_owned(), text);
            self.main_document.remove(inline).map_err(failed)?;
            self.main_document.set(named, file.into()).map_err(failed)
        } else {
            self.main_document.remove(named).map_err(failed)?;
            self.main_document.set(inline, text.into()).map_err(failed)
        }
    }

    fn set_category(&mut self, value: &Value) -> Result<(), ToolError> {
        match value.as_str() {
            Some(name)
                if name.is_empty()
                    || crate::resource_manager::disk::resource_path::is_folder_name(name) =>
            {
                self.set_value("category", value)
            }
            _ => Err(invalid_category(&value.to_string())),
        }
    }

    /// Sets `type` or `gate_type`, depending on the word.
    fn set_gate_type(&mut self, value: &Value) -> Result<(), ToolError> {
        match value.as_str() {
            Some("validation" | "guidance") => self.set_value("type", value),
            _ => self.set_value("gate_type", value),
        }
    }

    /// Sets the guidance, in its own file if there is one.
    fn set_guidance(&mut self, value: &Value) -> Result<(), ToolError> {
        const FILE: &str = "system-prompt.md";
        let named = ["systemPromptFile", "systemPromptGuidanceFile"]
            .iter()
            .find_map(|name| self.main_document.text(name));
        let file = named
            .or_else(|| self.resource.files.contains_key(FILE).then_some(FILE))
            .map(str::to_owned);
        match (file, value.as_str()) {
            (Some(file), Some(text)) if is_sibling_file_name(&file) && !text.is_empty() => {
                self.resource.files.insert(file, text.to_owned());
                Ok(())
            }
            _ => self.set_value("systemPromptGuidance", value),
        }
    }

    fn set_judge_prompt(&mut self, value: &Value) -> Result<(), ToolError> {
        const FILE: &str = "judge-prompt.md";
        let file = self
            .main_document
            .text("judgePromptFile")
            .filter(|it| is_sibling_file_name(it));
        let file = file.unwrap_or(FILE).to_owned();
        match value.as_str() {
            Some("") => {
                self.resource.files.remove(&file);
                let main = self.resource.main_file.clone();
                self.main_document
                    .remove("judgePromptFile")
                    .map_err(|error| yaml_edit_failed(&main, &error))
            }
            Some(text) => {
                self.resource.files.insert(file, text.to_owned());
                Ok(())
            }
            None => Err(invalid_input(
                "`judge_prompt` must be text.",
                "Write it in quotes.",
            )),
        }
    }

    /// Sets a field of the phases: in the main file if it is already there, else in `phases.yaml`.
    fn set_in_phases(
        &mut self,
        names: &[&str],
        value: &Value,
        shape: impl Fn(Value) -> Value,
    ) -> Result<(), ToolError> {
        let first = names.first().copied().unwrap_or_default();
        if let Some(name) = names
            .iter()
            .find(|name| self.main_document.get(name).is_some())
        {
            return self.set_normalized(name, value, shape);
        }
        let file = self
            .main_document
            .text("phasesFile")
            .filter(|it| is_sibling_file_name(it));
        let file = file.unwrap_or("phases.yaml").to_owned();
        let text = self.resource.files.get(&file).map_or("", String::as_str);
        let mut phases =
            YamlDocument::parse(text).map_err(|error| yaml_edit_failed(&file, &error))?;
        let name = names.iter().find(|name| phases.get(name).is_some());
        set_or_remove(&mut phases, &file, name.unwrap_or(&first), value, |it| {
            shape(extra_fields::parse_json_text(&it))
        })?;
        self.resource.files.insert(file, phases.into_text());
        Ok(())
    }
}

/// Sets a field, or removes it if the value is an empty text.
fn set_or_remove(
    document: &mut YamlDocument,
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
    changed.map_err(|error| yaml_edit_failed(file, &error))
}

/// Rejects a value that is not a list; an empty text clears it.
fn check_list(name: &str, value: &Value) -> Result<(), ToolError> {
    match extra_fields::parse_json_text(value) {
        Value::Array(_) => Ok(()),
        Value::String(text) if text.is_empty() => Ok(()),
        other => Err(invalid_input(
            format!(
                "`{name}` must be a list, got {}.",
                display_input(&other.to_string())
            ),
            "Write it in square brackets.",
        )),
    }
}

/// Returns whether a file name in the main file refers to a file next to it.
fn is_sibling_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

pub(crate) fn yaml_edit_failed(file: &str, error: &YamlEditError) -> ToolError {
    let hint = match error {
        YamlEditError::Unwritable(_) => "Remove control characters, or nest it less deeply.",
        _ => "Repair the file by hand, or roll back to a working version.",
    };
    manage_error(
        ErrorCode::InvalidResource,
        format!("`{file}` can't be changed: {error}."),
        Some(hint.to_owned()),
    )
}

pub(crate) fn invalid_category(given: &str) -> ToolError {
    invalid_input(
        format!(
            "The category {} is not valid; nothing was written.",
            display_input(given)
        ),
        "Use letters, digits, `_` and `-`, at most 100, beginning with a letter or digit.",
    )
}
