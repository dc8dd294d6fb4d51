//! A tool definition of a server.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use deliberate_json_schema::{JsonSchemaValidator, SchemaViolation};

/// A tool definition, kept as the server wrote it.
#[derive(Debug)]
pub struct ToolDef {
    /// The tool's name at the server.
    pub name: String,
    /// The complete definition.
    pub raw: Arc<Value>,
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
    /// Creates a definition; returns none if it has no name.
    pub fn new(mut raw: Value) -> Option<Self> {
        let name = raw.get("name")?.as_str().filter(|name| !name.is_empty())?;
        let name = name.to_owned();
        // Clients reject a tool without an input schema; this one accepts anything.
        if let Some(fields) = raw.as_object_mut() {
            let any = || serde_json::json!({ "type": "object" });
            fields.entry("inputSchema").or_insert_with(any);
        }
        Some(Self {
            name,
            raw: Arc::new(raw),
            input_validator: OnceLock::new(),
            output_validator: OnceLock::new(),
        })
    }

    /// Describes what is wrong with the definition. Clients reject a whole list because of one
    /// invalid tool.
    pub(crate) fn definition_problem(&self) -> Option<&'static str> {
        let is = |name: &str, fits: fn(&Value) -> bool| self.raw.get(name).is_none_or(fits);
        let object = |schema: &Value| {
            schema.is_object() && schema.get("type").is_none_or(|kind| kind == "object")
        };
        let faults = [
            (
                !self.raw.get("inputSchema").is_some_and(object),
                "its inputSchema is not an object schema",
            ),
            (
                !is("outputSchema", Value::is_object),
                "its outputSchema is not an object",
            ),
            (!is("title", Value::is_string), "its title is not a string"),
            (
                !is("description", Value::is_string),
                "its description is not a string",
            ),
            (
                !is("annotations", Value::is_object),
                "its annotations are not an object",
            ),
            (!is("icons", Value::is_array), "its icons are not a list"),
            (!is("_meta", Value::is_object), "its _meta is not an object"),
        ];
        faults
            .into_iter()
            .find_map(|(wrong, what)| wrong.then_some(what))
    }

    /// Returns the tool's display name.
    pub fn title(&self) -> Option<&str> {
        let title = self.raw.get("title").and_then(Value::as_str);
        title.or_else(|| self.raw.pointer("/annotations/title")?.as_str())
    }

    /// Returns the tool's description.
    pub fn description(&self) -> Option<&str> {
        self.raw.get("description").and_then(Value::as_str)
    }

    /// Returns the schema of the tool's arguments.
    pub fn input_schema(&self) -> &Value {
        self.raw.get("inputSchema").unwrap_or(&NULL)
    }

    /// Returns the schema of the tool's structured content.
    pub fn output_schema(&self) -> Option<&Value> {
        self.raw
            .get("outputSchema")
            .filter(|schema| schema.is_object())
    }

    /// Checks arguments against the input schema. Returns no violations if the schema is unusable.
    pub fn check_arguments(&self, arguments: &Value) -> Vec<SchemaViolation> {
        let checker = self
            .input_validator
            .get_or_init(|| JsonSchemaValidator::new(self.input_schema()).ok());
        checker
            .as_ref()
            .map_or_else(Vec::new, |checker| checker.check(arguments))
    }

    /// Tells whether checking the arguments takes so little time that an asynchronous task may do it:
    /// they have little to be checked, and the schema was compiled by an earlier check.
    pub fn checks_arguments_quickly(&self, arguments: &Value) -> bool {
        is_quick(&self.input_validator, arguments)
    }

    /// Tells the same of [`result_violation`](Self::result_violation).
    pub fn checks_result_quickly(&self, result: &Value) -> bool {
        let structure = result.get("structuredContent");
        structure.is_none_or(|structure| is_quick(&self.output_validator, structure))
    }

    /// Checks structured content against the output schema.
    pub fn check_output(&self, answer: &Value) -> Vec<SchemaViolation> {
        let checker = self.output_validator.get_or_init(|| {
            self.output_schema()
                .and_then(|schema| JsonSchemaValidator::new(schema).ok())
        });
        checker
            .as_ref()
            .map_or_else(Vec::new, |checker| checker.check(answer))
    }

    /// Checks the structured content of a `tools/call` result against the output schema and
    /// describes the first violation. A result with `isError` or one that asks for input is not
    /// checked.
    pub fn result_violation(&self, result: &Value) -> Option<String> {
        let is = |name: &str, value: Value| result.get(name) == Some(&value);
        let is_open = is("isError", true.into()) || is("resultType", "input_required".into());
        let structure = result.get("structuredContent").filter(|_| !is_open)?;
        let faults = self.check_output(structure);
        let first = faults.first()?;
        Some(format!(
            "its structured content violates its own output schema: {first}"
        ))
    }

    /// Returns true if the tool declares that it changes nothing.
    pub fn read_only(&self) -> bool {
        self.hint("readOnlyHint", false)
    }

    /// Returns true if the tool may destroy data, which is assumed unless it declares otherwise.
    pub fn destructive(&self) -> bool {
        !self.read_only() && self.hint("destructiveHint", true)
    }

    /// Returns true if the tool declares that repeating a call has no further effect.
    pub fn idempotent(&self) -> bool {
        self.read_only() || self.hint("idempotentHint", false)
    }

    /// Returns true if the tool reaches systems beyond its server, which is assumed unless it
    /// declares otherwise.
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

fn is_quick(validator: &OnceLock<Option<JsonSchemaValidator>>, value: &Value) -> bool {
    let compiled = validator.get();
    compiled.is_some_and(|usable| usable.as_ref().is_none_or(|it| it.is_quick(value)))
}
