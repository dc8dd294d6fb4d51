//! Creates the script tools that a prompt owns together with the prompt. Touches no disk and runs
//! nothing.

use deliberate_toolkit::ToolError;
use serde_json::{Map, Value};

use super::{
    file_draft::{FileDraft, yaml_edit_failed},
    yaml_edit::YamlDocument,
};
use crate::resource_manager::{
    disk::resource_path::{FileLayout, display_input, is_folder_name},
    errors::invalid_input,
    extra_fields,
};

impl FileDraft<'_> {
    /// Sets the script tools: a word names one, an object creates one.
    pub(crate) fn set_tools(&mut self, value: &Value) -> Result<(), ToolError> {
        let Value::Array(given) = extra_fields::parse_json_text(value) else {
            return Err(invalid_input(
                "`tools` must be a list.",
                "Give ids, or {id, name, script}.",
            ));
        };
        let mut ids = Vec::new();
        for tool in given {
            match tool {
                Value::String(id) => ids.push(Value::String(id)),
                Value::Object(fields) => ids.push(self.write_script_tool(fields)?.into()),
                other => {
                    return Err(invalid_input(
                        format!("`{}` is not a tool.", display_input(&other.to_string())),
                        "Give an id, or {id, name, script}.",
                    ));
                }
            }
        }
        self.set_value("tools", &Value::Array(ids))
    }

    /// Writes the files of a script tool that the prompt owns.
    fn write_script_tool(&mut self, mut given: Map<String, Value>) -> Result<String, ToolError> {
        let mut take = |name: &str| given.shift_remove(name).filter(|it| !it.is_null());
        let text = |value: Option<Value>| value.and_then(|it| it.as_str().map(str::to_owned));
        let id = text(take("id")).unwrap_or_default();
        let script = text(take("script")).unwrap_or_default();
        if !is_folder_name(&id) || script.is_empty() || self.resource.layout != FileLayout::Folder {
            return Err(invalid_input(
                format!("The tool `{}` can't be created.", display_input(&id)),
                "It needs an id of letters, digits, `_` and `-`, the text of its script, and a \
                 prompt that has its own folder.",
            ));
        }
        let runtime = text(take("runtime")).unwrap_or_else(|| "auto".to_owned());
        let ending = match runtime.as_str() {
            "node" => "js",
            "shell" => "sh",
            _ => "py",
        };
        let mut file = Map::new();
        file.insert("id".to_owned(), id.clone().into());
        let name = text(take("name")).unwrap_or_else(|| id.clone());
        file.insert("name".to_owned(), name.into());
        if let Some(description) = take("description") {
            file.insert("description".to_owned(), description);
        }
        file.insert("script".to_owned(), format!("script.{ending}").into());
        file.insert("runtime".to_owned(), runtime.into());
        if let Some(timeout) = take("timeout") {
            file.insert("timeout".to_owned(), timeout);
        }
        let mut execution = Map::new();
        for name in ["trigger", "confirm", "strict"] {
            if let Some(value) = take(name) {
                execution.insert(name.to_owned(), value);
            }
        }
        if !execution.is_empty() {
            file.insert("execution".to_owned(), Value::Object(execution));
        }
        let schema = take("schema");
        if let Some(name) = given.keys().next() {
            return Err(invalid_input(
                format!("`{}` is not a field of a tool.", display_input(name)),
                "A tool has id, name, description, script, runtime, schema, trigger, confirm, \
                 strict and timeout.",
            ));
        }
        let folder = format!("tools/{id}");
        let mut document = YamlDocument::default();
        let path = format!("{folder}/tool.yaml");
        for (name, value) in file {
            document
                .set(&name, value)
                .map_err(|error| yaml_edit_failed(&path, &error))?;
        }
        self.resource.files.insert(path, document.into_text());
        self.resource
            .files
            .insert(format!("{folder}/script.{ending}"), script);
        if let Some(schema) = schema {
            let schema = extra_fields::parse_json_text(&schema);
            self.resource
                .files
                .insert(format!("{folder}/schema.json"), format!("{schema:#}\n"));
        }
        Ok(id)
    }
}
