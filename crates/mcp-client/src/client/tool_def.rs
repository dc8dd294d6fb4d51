//! A tool as its server describes it.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::schema::{JsonSchemaValidator, Parameters, SchemaViolation};

/// A tool of a server. The description is kept as the server wrote it.
#[derive(Debug)]
pub struct ToolDef {
    /// Its name at the server.
    pub name: String,
    /// The whole definition.
    pub raw: Arc<Value>,
    parameters: OnceLock<Arc<Parameters>>,
    input_validator: OnceLock<Option<JsonSchemaValidator>>,
    output_validator: OnceLock<Option<JsonSchemaValidator>>,
}

impl PartialEq for ToolDef {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

static NULL: Value = Value::Null;

impl ToolDef {
    /// The definition, if it has a name.
    pub fn new(mut raw: Value) -> Option<Self> {
        let name = raw.get("name")?.as_str().filter(|name| !name.is_empty())?;
        let name = name.to_owned();
        // Clients refuse a tool without one; it takes anything.
        if let Some(fields) = raw.as_object_mut() {
            let any = || serde_json::json!({ "type": "object" });
            fields.entry("inputSchema").or_insert_with(any);
        }
        Some(Self {
            name,
            raw: Arc::new(raw),
            parameters: OnceLock::new(),
            input_validator: OnceLock::new(),
            output_validator: OnceLock::new(),
        })
    }

    /// What is wrong with the definition: clients refuse a whole list for one tool that is not what
    /// the protocol says.
    pub(crate) fn definition_problem(&self) -> Option<&'static str> {
        let is = |name: &str, fits: fn(&Value) -> bool| self.raw.get(name).is_none_or(fits);
        let object = |schema: &Value| {
            schema.is_object() && schema.get("type").is_none_or(|kind| kind == "object")
        };
        let faults = [
            (
                !self.raw.get("inputSchema").is_some_and(object),
                "its inputSchema is no schema of an object",
            ),
            (
                !is("outputSchema", Value::is_object),
                "its outputSchema is no object",
            ),
            (!is("title", Value::is_string), "its title is no text"),
            (
                !is("description", Value::is_string),
                "its description is no text",
            ),
            (
                !is("annotations", Value::is_object),
                "its annotations are no object",
            ),
            (!is("icons", Value::is_array), "its icons are no list"),
            (!is("_meta", Value::is_object), "its _meta is no object"),
        ];
        faults
            .into_iter()
            .find_map(|(wrong, what)| wrong.then_some(what))
    }

    /// Its name for people.
    pub fn title(&self) -> Option<&str> {
        let title = self.raw.get("title").and_then(Value::as_str);
        title.or_else(|| self.raw.pointer("/annotations/title")?.as_str())
    }

    /// What it does.
    pub fn description(&self) -> Option<&str> {
        self.raw.get("description").and_then(Value::as_str)
    }

    /// The schema of its arguments.
    pub fn input_schema(&self) -> &Value {
        self.raw.get("inputSchema").unwrap_or(&NULL)
    }

    /// The schema of what it answers as structure.
    pub fn output_schema(&self) -> Option<&Value> {
        self.raw
            .get("outputSchema")
            .filter(|schema| schema.is_object())
    }

    /// Its arguments, one by one.
    pub fn parameters(&self) -> &Arc<Parameters> {
        self.parameters
            .get_or_init(|| Arc::new(Parameters::from_schema(self.input_schema())))
    }

    /// What is wrong with arguments; nothing, if its schema can't be used to tell.
    pub fn check_arguments(&self, arguments: &Value) -> Vec<SchemaViolation> {
        let checker = self
            .input_validator
            .get_or_init(|| JsonSchemaValidator::new(self.input_schema()).ok());
        checker
            .as_ref()
            .map_or_else(Vec::new, |checker| checker.check(arguments))
    }

    /// What is wrong with a structured answer.
    pub fn check_output(&self, answer: &Value) -> Vec<SchemaViolation> {
        let checker = self.output_validator.get_or_init(|| {
            self.output_schema()
                .and_then(|schema| JsonSchemaValidator::new(schema).ok())
        });
        checker
            .as_ref()
            .map_or_else(Vec::new, |checker| checker.check(answer))
    }

    /// Whether it says that it changes nothing.
    pub fn read_only(&self) -> bool {
        self.hint("readOnlyHint", false)
    }

    /// Whether it may destroy something; it may unless it says otherwise.
    pub fn destructive(&self) -> bool {
        !self.read_only() && self.hint("destructiveHint", true)
    }

    /// Whether doing it twice is like doing it once, as it says.
    pub fn idempotent(&self) -> bool {
        self.read_only() || self.hint("idempotentHint", false)
    }

    /// Whether it reaches beyond its server; it does unless it says otherwise.
    pub fn open_world(&self) -> bool {
        self.hint("openWorldHint", true)
    }

    fn hint(&self, name: &str, otherwise: bool) -> bool {
        let hints = self.raw.get("annotations");
        hints
            .and_then(|hints| hints.get(name)?.as_bool())
            .unwrap_or(otherwise)
    }
}
