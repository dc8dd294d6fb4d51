//! `OpenAI`'s strict form: every field is required, no other field is allowed, and few keywords are
//! accepted. The rest is described in words; a schema that would lose its meaning makes the tool
//! non-strict.

use serde_json::{Map, Value, json};

use super::{
    ArgumentRestore, ParameterForm, WRAPPER_FIELD, restore_arguments::accepts_null, with_rules,
};
use crate::schema::{
    AdditionalProperties, Param, Parameters, SchemaShape, ShapeKind, constraint_text,
    references::{DEFS, definition_ref},
    write,
};

/// The limits of a strict schema.
const MAX_FIELDS: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_ENUM_VALUES: usize = 1_000;
const MAX_NAME_CHARS: usize = 120_000;
/// A list of more than this many strings has a limit on its total characters.
const LARGE_ENUM: usize = 250;
const MAX_LARGE_ENUM_CHARS: usize = 15_000;

type StrictResult<T> = Result<T, String>;

/// Builds the strict form; an error says what the strict form cannot express.
pub(super) fn build(parameters: &Parameters) -> StrictResult<ParameterForm> {
    let root = parameters.resolve(&parameters.root);
    let wrapped = !matches!(root.kind, ShapeKind::Object { .. });
    let mut plain = if wrapped {
        wrap_shape(&parameters.root)
    } else {
        root.clone()
    };
    let mut writer = StrictSchemaWriter::new(parameters);
    plain.nullable = false;
    plain.implied = false;
    plain.description = None;
    let mut rules = constraint_text::describe_keywords(&plain.constraints);
    if let Some(values) = plain.enum_values.take() {
        rules.push(format!(
            "one of {}",
            constraint_text::schema_text(&Value::Array(values))
        ));
    }
    let notes = rule_notes(&plain.constraints);
    plain.constraints.clear();
    let is_free = matches!(&plain.kind, ShapeKind::Object { params, also_required, .. }
        if params.is_empty() && also_required.is_empty());
    let mut schema = if is_free && is_closed(&plain.kind) {
        empty_object_schema()
    } else {
        writer.write(&plain, 1)?
    };
    let shelf = writer.write_definitions()?;
    if let Some(fields) = schema.as_object_mut()
        && !shelf.is_empty()
    {
        fields.insert(DEFS.to_owned(), Value::Object(shelf));
    }
    writer.notes.splice(0..0, notes);
    if wrapped {
        let note =
            format!("the schema is not a plain object; it is wrapped in the field {WRAPPER_FIELD}");
        writer.notes.insert(0, note);
    }
    Ok(ParameterForm {
        schema,
        rules,
        notes: writer.notes,
        restore: ArgumentRestore {
            wrapped,
            null_parameters: Some(Box::new(parameters.clone())),
            ..ArgumentRestore::default()
        },
    })
}

/// Wraps arguments that are not a plain object in one field.
fn wrap_shape(root: &SchemaShape) -> SchemaShape {
    SchemaShape::new(ShapeKind::Object {
        params: vec![Param {
            name: WRAPPER_FIELD.to_owned(),
            required: true,
            shape: root.clone(),
        }],
        also_required: Vec::new(),
        additional: AdditionalProperties::Closed,
    })
}

fn is_closed(kind: &ShapeKind) -> bool {
    matches!(
        kind,
        ShapeKind::Object {
            additional: AdditionalProperties::Closed,
            ..
        }
    )
}

fn is_open(additional: &AdditionalProperties) -> bool {
    match additional {
        AdditionalProperties::Open => true,
        AdditionalProperties::Closed => false,
        AdditionalProperties::Shape(shape) => shape.kind == ShapeKind::Any && shape.is_bare(),
    }
}

fn empty_object_schema() -> Value {
    json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
}

fn rule_notes(rules: &Map<String, Value>) -> Vec<String> {
    let told = rules
        .keys()
        .map(|key| format!("{key} is in the description"));
    told.collect()
}

struct StrictSchemaWriter<'a> {
    parameters: &'a Parameters,
    fields: usize,
    choices: usize,
    names: usize,
    notes: Vec<String>,
    used: Vec<String>,
}

impl<'a> StrictSchemaWriter<'a> {
    const fn new(parameters: &'a Parameters) -> Self {
        Self {
            parameters,
            fields: 0,
            choices: 0,
            names: 0,
            notes: Vec::new(),
            used: Vec::new(),
        }
    }

    /// Writes a shape with its description, which includes the rules.
    fn write(&mut self, shape: &SchemaShape, level: usize) -> StrictResult<Value> {
        let (mut out, mut rules) = self.write_core(shape, level)?;
        rules.extend(constraint_text::describe_keywords(&shape.constraints));
        for key in shape.constraints.keys() {
            self.add_note(format!("{key} is in the description"));
        }
        if let Some(value) = &shape.default {
            rules.push(format!(
                "{} when left out",
                constraint_text::schema_text(value)
            ));
            self.add_note("default is in the description".to_owned());
        }
        if shape.nullable && !matches!(shape.kind, ShapeKind::Null) {
            out = allow_null(out);
        }
        let text = with_rules(shape.description.clone().unwrap_or_default(), &rules);
        if !text.is_empty() {
            out = with_description(out, text);
        }
        Ok(Value::Object(out))
    }

    fn add_note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn write_core(
        &mut self,
        shape: &SchemaShape,
        level: usize,
    ) -> StrictResult<(Map<String, Value>, Vec<String>)> {
        if level > MAX_LEVELS {
            return Err(format!("it is nested deeper than {MAX_LEVELS} levels"));
        }
        let mut out = Map::new();
        let mut rules = Vec::new();
        match &shape.kind {
            ShapeKind::Object { .. } => out = self.write_object(&shape.kind, level)?,
            ShapeKind::Array { prefix, items } => {
                let Some(items) = items.as_ref().filter(|_| prefix.is_empty()) else {
                    return Err("a list does not define all its items".to_owned());
                };
                out.insert("type".to_owned(), "array".into());
                out.insert("items".to_owned(), self.write(items, level + 1)?);
            }
            ShapeKind::AnyOf(forms) | ShapeKind::OneOf(forms) => {
                if matches!(shape.kind, ShapeKind::OneOf(_)) {
                    rules.push("fits exactly one of the forms".to_owned());
                    self.add_note("oneOf became anyOf".to_owned());
                }
                let forms: StrictResult<Vec<Value>> = forms
                    .iter()
                    .map(|form| self.write(form, level + 1))
                    .collect();
                out.insert("anyOf".to_owned(), Value::Array(forms?));
            }
            ShapeKind::Const(value) => self.write_values(&mut out, std::slice::from_ref(value))?,
            ShapeKind::Any if shape.enum_values.is_some() => {}
            ShapeKind::Ref(name) => {
                if !self.used.contains(name) {
                    self.used.push(name.clone());
                }
                out.insert("$ref".to_owned(), definition_ref(name).into());
            }
            _ => match write::type_name(shape).or(implied_type(shape)) {
                Some(name) => {
                    out.insert("type".to_owned(), name.into());
                }
                None => return Err("a part of it has no type".to_owned()),
            },
        }
        if let Some(values) = &shape.enum_values {
            self.write_values(&mut out, values)?;
        }
        Ok((out, rules))
    }

    /// Writes a list of plain values with their type.
    fn write_values(&mut self, out: &mut Map<String, Value>, values: &[Value]) -> StrictResult<()> {
        self.choices += values.len();
        let length: usize = values.iter().filter_map(Value::as_str).map(str::len).sum();
        self.names += length;
        if self.choices > MAX_ENUM_VALUES || self.names > MAX_NAME_CHARS {
            return Err(format!(
                "it lists more than {MAX_ENUM_VALUES} values or very long ones"
            ));
        }
        if values.len() > LARGE_ENUM && length > MAX_LARGE_ENUM_CHARS {
            return Err("one of its lists of values is too long".to_owned());
        }
        let mut types: Vec<&str> = Vec::new();
        for value in values {
            let name = match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(number) if number.is_f64() => "number",
                Value::Number(_) => "integer",
                Value::String(_) => "string",
                _ => return Err("one of its fixed values is a list or an object".to_owned()),
            };
            if !types.contains(&name) {
                types.push(name);
            }
        }
        if !out.contains_key("type") {
            let named = match types.as_slice() {
                [one] => json!(one),
                many => json!(many),
            };
            out.insert("type".to_owned(), named);
        }
        out.insert("enum".to_owned(), Value::Array(values.to_vec()));
        Ok(())
    }

    fn write_object(&mut self, kind: &ShapeKind, level: usize) -> StrictResult<Map<String, Value>> {
        let ShapeKind::Object {
            params,
            also_required,
            additional,
        } = kind
        else {
            return Err("a part of it is not an object".to_owned());
        };
        if !also_required.is_empty() {
            return Err("it requires a field that it does not describe".to_owned());
        }
        match additional {
            AdditionalProperties::Closed => {}
            other if !params.is_empty() && is_open(other) => {
                self.add_note("additional fields cannot be given".to_owned());
            }
            _ => return Err("a part of it accepts fields of any name".to_owned()),
        }
        self.fields += params.len();
        self.names += params.iter().map(|param| param.name.len()).sum::<usize>();
        if self.fields > MAX_FIELDS || self.names > MAX_NAME_CHARS {
            return Err(format!(
                "it has more than {MAX_FIELDS} fields or very long names"
            ));
        }
        let mut properties = Map::new();
        for param in params {
            let mut schema = self.write(&param.shape, level + 1)?;
            if !param.required && !accepts_null(self.parameters, &param.shape) {
                self.add_note("optional fields are null instead of left out".to_owned());
                schema = make_optional(schema);
            }
            properties.insert(param.name.clone(), schema);
        }
        let names: Vec<&String> = params.iter().map(|param| &param.name).collect();
        let mut out = Map::new();
        out.insert("type".to_owned(), "object".into());
        out.insert("required".to_owned(), json!(names));
        out.insert("properties".to_owned(), Value::Object(properties));
        out.insert("additionalProperties".to_owned(), false.into());
        Ok(out)
    }

    /// Writes the definitions that were used, and those that they use.
    fn write_definitions(&mut self) -> StrictResult<Map<String, Value>> {
        let mut shelf = Map::new();
        while let Some(name) = self
            .used
            .iter()
            .find(|name| !shelf.contains_key(*name))
            .cloned()
        {
            let found = self
                .parameters
                .definitions
                .iter()
                .find(|it| it.name == name);
            let Some(found) = found else {
                return Err("a reference has no target".to_owned());
            };
            self.names += name.len();
            let schema = self.write(&found.shape, 2)?;
            shelf.insert(name, schema);
        }
        Ok(shelf)
    }
}

/// Returns the type that the rules refer to, if the schema names none.
fn implied_type(shape: &SchemaShape) -> Option<&'static str> {
    let mut schema_shape = SchemaShape::new(shape.kind.clone());
    schema_shape.implied = false;
    write::type_name(&schema_shape)
}

/// Makes an optional field nullable; its description stays outside.
fn make_optional(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else {
        return schema;
    };
    let text = fields.shift_remove("description");
    let mut out = allow_null(fields);
    if let Some(Value::String(text)) = text {
        out = with_description(out, text);
    }
    Value::Object(out)
}

fn allow_null(mut fields: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(forms)) = fields.get_mut("anyOf") {
        let null = json!({"type": "null"});
        if !forms.contains(&null) {
            forms.push(null);
        }
        return fields;
    }
    let simple = !fields.contains_key("$ref") && !fields.contains_key("properties");
    match fields.get("type").cloned() {
        Some(Value::String(name)) if simple => {
            fields.insert("type".to_owned(), json!([name, "null"]));
        }
        Some(Value::Array(mut names)) if simple => {
            if !names.contains(&json!("null")) {
                names.push("null".into());
            }
            fields.insert("type".to_owned(), Value::Array(names));
        }
        _ => {
            let mut either = Map::new();
            either.insert("anyOf".to_owned(), json!([fields, {"type": "null"}]));
            return either;
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    fields
}

/// Adds a description; a reference accepts none beside it and is therefore nested one level deeper.
fn with_description(mut fields: Map<String, Value>, text: String) -> Map<String, Value> {
    if fields.contains_key("$ref") {
        let mut out = Map::new();
        out.insert("anyOf".to_owned(), json!([fields]));
        fields = out;
    }
    fields.insert("description".to_owned(), Value::String(text));
    fields
}
