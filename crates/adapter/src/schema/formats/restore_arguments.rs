//! Converts arguments that a model wrote for an exported form back to the tool's own form.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::{ArgumentRestore, WRAPPER_FIELD};
use crate::schema::{AdditionalProperties, Parameters, SchemaShape, ShapeKind};

/// The maximum depth, and the maximum number of steps in total. Nested alternatives could require
/// more steps than there is time for; the rest then stays as the model wrote it.
const MAX_DEPTH: usize = 64;
const MAX_STEPS: usize = 50_000;
const MAX_NULL_STEPS: usize = 1_000;

impl ArgumentRestore {
    pub(super) fn apply(&self, arguments: &Value) -> Value {
        let mut out = arguments.clone();
        if let Some(parameters) = &self.null_parameters {
            let root = match &out {
                Value::Object(fields) if self.wrapped => fields.get(WRAPPER_FIELD),
                whole => Some(whole),
            };
            if let Some(root) = root {
                let walk = ArgumentWalker::new(parameters, MAX_STEPS);
                return walk.strip_nulls(&parameters.root, root, 0);
            }
        }
        if self.wrapped
            && let Value::Object(fields) = &mut out
            && let Some(inner) = fields.shift_remove(WRAPPER_FIELD)
        {
            return inner;
        }
        if let Value::Object(fields) = out {
            let old = |key: String| {
                let found = self.renamed.iter().find(|(new, _)| *new == key);
                found.map_or(key, |(_, old)| old.clone())
            };
            let fields = fields.into_iter().map(|(key, it)| (old(key), it));
            return Value::Object(fields.collect());
        }
        out
    }
}

/// Returns true if null is a value of its own here. Unknown schemas are assumed to accept it; an
/// implied type is taken as the type.
pub(super) fn accepts_null(parameters: &Parameters, shape: &SchemaShape) -> bool {
    ArgumentWalker::new(parameters, MAX_NULL_STEPS).accepts_null(shape)
}

struct ArgumentWalker<'a> {
    parameters: &'a Parameters,
    steps: Cell<usize>,
}

impl<'a> ArgumentWalker<'a> {
    const fn new(parameters: &'a Parameters, steps: usize) -> Self {
        Self {
            parameters,
            steps: Cell::new(steps),
        }
    }

    /// Counts a step; returns false if none is left.
    fn take_step(&self, depth: usize) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0 && depth <= MAX_DEPTH
    }

    fn accepts_null(&self, shape: &SchemaShape) -> bool {
        self.accepts_null_at(shape, 0)
    }

    fn accepts_null_at(&self, shape: &SchemaShape, depth: usize) -> bool {
        if shape.nullable || !self.take_step(depth) {
            return true;
        }
        let shape = self.parameters.resolve(shape);
        let inner = |it: &SchemaShape| self.accepts_null_at(it, depth + 1);
        match &shape.kind {
            _ if shape.nullable => true,
            ShapeKind::Boolean
            | ShapeKind::Integer
            | ShapeKind::Number
            | ShapeKind::String
            | ShapeKind::Array { .. }
            | ShapeKind::Object { .. }
            | ShapeKind::Never => false,
            ShapeKind::Const(value) => value.is_null(),
            ShapeKind::AnyOf(forms) | ShapeKind::OneOf(forms) => forms.iter().any(inner),
            ShapeKind::AllOf(parts) => parts.iter().all(inner),
            ShapeKind::Any => shape
                .enum_values
                .as_ref()
                .is_none_or(|all| all.contains(&Value::Null)),
            ShapeKind::Null | ShapeKind::Ref(_) | ShapeKind::Opaque(_) => true,
        }
    }

    /// Removes the nulls that stand for "left out".
    fn strip_nulls(&self, shape: &SchemaShape, value: &Value, depth: usize) -> Value {
        if !self.take_step(depth) {
            return value.clone();
        }
        let shape = self.parameters.resolve(shape);
        let inner = |shape: &SchemaShape, value: &Value| self.strip_nulls(shape, value, depth + 1);
        match (&shape.kind, value) {
            (ShapeKind::Object { params, .. }, Value::Object(fields)) => {
                let kept = fields.iter().filter_map(|(name, value)| {
                    let Some(param) = params.iter().find(|param| param.name == *name) else {
                        return Some((name.clone(), value.clone()));
                    };
                    let left_out = value.is_null()
                        && !param.required
                        && !accepts_null(self.parameters, &param.shape);
                    (!left_out).then(|| (name.clone(), inner(&param.shape, value)))
                });
                Value::Object(kept.collect::<Map<String, Value>>())
            }
            (
                ShapeKind::Array {
                    items: Some(shape), ..
                },
                Value::Array(items),
            ) => items.iter().map(|item| inner(shape, item)).collect(),
            (ShapeKind::AnyOf(forms) | ShapeKind::OneOf(forms), value) => {
                let tries = forms.iter().map(|form| (form, inner(form, value)));
                let mut tries =
                    tries.filter(|(form, back)| self.matches_shape(form, back, depth + 1));
                tries.next().map_or_else(|| value.clone(), |(_, back)| back)
            }
            _ => value.clone(),
        }
    }

    /// Returns true if a value has the structure of a shape: types, fixed values, and present
    /// fields.
    fn matches_shape(&self, shape: &SchemaShape, value: &Value, depth: usize) -> bool {
        if !self.take_step(depth) || (shape.nullable && value.is_null()) {
            return true;
        }
        let shape = self.parameters.resolve(shape);
        if value.is_null() && shape.nullable {
            return true;
        }
        let listed = shape.enum_values.as_ref();
        if listed.is_some_and(|all| !all.contains(value)) {
            return false;
        }
        let inner =
            |shape: &SchemaShape, value: &Value| self.matches_shape(shape, value, depth + 1);
        match (&shape.kind, value) {
            (
                ShapeKind::Object {
                    params, additional, ..
                },
                Value::Object(fields),
            ) => {
                let known = |name: &String| params.iter().any(|param| param.name == *name);
                let closed = *additional == AdditionalProperties::Closed;
                params.iter().all(|param| match fields.get(&param.name) {
                    Some(value) => inner(&param.shape, value),
                    None => !param.required,
                }) && (!closed || fields.keys().all(known))
            }
            (ShapeKind::Array { items, .. }, Value::Array(all)) => items
                .as_ref()
                .is_none_or(|shape| all.iter().all(|item| inner(shape, item))),
            (ShapeKind::AnyOf(forms) | ShapeKind::OneOf(forms), value) => {
                forms.iter().any(|form| inner(form, value))
            }
            (ShapeKind::Const(only), value) => only == value,
            (ShapeKind::Integer, Value::Number(number)) => {
                number.as_f64().is_some_and(|it| it.fract() == 0.0)
            }
            (kind, value) => has_type(kind, value),
        }
    }
}

fn has_type(kind: &ShapeKind, value: &Value) -> bool {
    match kind {
        ShapeKind::Null => value.is_null(),
        ShapeKind::Boolean => value.is_boolean(),
        ShapeKind::Integer | ShapeKind::Number => value.is_number(),
        ShapeKind::String => value.is_string(),
        ShapeKind::Array { .. } => value.is_array(),
        ShapeKind::Object { .. } => value.is_object(),
        ShapeKind::Never => false,
        _ => true,
    }
}
