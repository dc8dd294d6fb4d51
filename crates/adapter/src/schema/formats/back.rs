//! Arguments that a model wrote for an exported form, put back into the tool's own form.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::{Undo, WRAPPER};
use crate::schema::{Additional, Kind, Parameters, Shape};

/// How deep arguments are followed, and how many steps are made in all. Forms inside forms could
/// ask for more steps than there is time; then the rest stays as the model wrote it.
const DEEPEST: usize = 64;
const MOST_STEPS: usize = 50_000;
const MOST_STEPS_TO_NULL: usize = 1_000;

impl Undo {
    pub(super) fn apply(&self, arguments: &Value) -> Value {
        let mut out = arguments.clone();
        if let Some(parameters) = &self.nulls {
            let root = match &out {
                Value::Object(fields) if self.wrapped => fields.get(WRAPPER),
                whole => Some(whole),
            };
            if let Some(root) = root {
                let walk = Walk::new(parameters, MOST_STEPS);
                return walk.without_nulls(&parameters.root, root, 0);
            }
        }
        if self.wrapped
            && let Value::Object(fields) = &mut out
            && let Some(inner) = fields.shift_remove(WRAPPER)
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

/// Whether null is a value of its own here. What isn't known is taken to mean it; a type that is
/// only implied is taken at its word.
pub(super) fn takes_null(parameters: &Parameters, shape: &Shape) -> bool {
    Walk::new(parameters, MOST_STEPS_TO_NULL).takes_null(shape)
}

struct Walk<'a> {
    parameters: &'a Parameters,
    steps: Cell<usize>,
}

impl<'a> Walk<'a> {
    const fn new(parameters: &'a Parameters, steps: usize) -> Self {
        Self {
            parameters,
            steps: Cell::new(steps),
        }
    }

    /// Makes one step; false if there are none left.
    fn step(&self, depth: usize) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0 && depth <= DEEPEST
    }

    fn takes_null(&self, shape: &Shape) -> bool {
        self.null_inside(shape, 0)
    }

    fn null_inside(&self, shape: &Shape, depth: usize) -> bool {
        if shape.nullable || !self.step(depth) {
            return true;
        }
        let shape = self.parameters.resolve(shape);
        let inner = |it: &Shape| self.null_inside(it, depth + 1);
        match &shape.kind {
            _ if shape.nullable => true,
            Kind::Boolean
            | Kind::Integer
            | Kind::Number
            | Kind::String
            | Kind::Array { .. }
            | Kind::Object { .. }
            | Kind::Never => false,
            Kind::Const(value) => value.is_null(),
            Kind::Union(forms) | Kind::OneOf(forms) => forms.iter().any(inner),
            Kind::All(parts) => parts.iter().all(inner),
            Kind::Any => shape
                .choices
                .as_ref()
                .is_none_or(|all| all.contains(&Value::Null)),
            Kind::Null | Kind::Ref(_) | Kind::Schema(_) => true,
        }
    }

    /// The value without the nulls that stood for "left out".
    fn without_nulls(&self, shape: &Shape, value: &Value, depth: usize) -> Value {
        if !self.step(depth) {
            return value.clone();
        }
        let shape = self.parameters.resolve(shape);
        let inner = |shape: &Shape, value: &Value| self.without_nulls(shape, value, depth + 1);
        match (&shape.kind, value) {
            (Kind::Object { params, .. }, Value::Object(fields)) => {
                let kept = fields.iter().filter_map(|(name, value)| {
                    let Some(param) = params.iter().find(|param| param.name == *name) else {
                        return Some((name.clone(), value.clone()));
                    };
                    let left_out = value.is_null()
                        && !param.required
                        && !takes_null(self.parameters, &param.shape);
                    (!left_out).then(|| (name.clone(), inner(&param.shape, value)))
                });
                Value::Object(kept.collect::<Map<String, Value>>())
            }
            (
                Kind::Array {
                    items: Some(shape), ..
                },
                Value::Array(items),
            ) => items.iter().map(|item| inner(shape, item)).collect(),
            (Kind::Union(forms) | Kind::OneOf(forms), value) => {
                let tries = forms.iter().map(|form| (form, inner(form, value)));
                let mut tries = tries.filter(|(form, back)| self.fits(form, back, depth + 1));
                tries.next().map_or_else(|| value.clone(), |(_, back)| back)
            }
            _ => value.clone(),
        }
    }

    /// Whether a value has the build of a shape: types, fixed values, and which fields are there.
    fn fits(&self, shape: &Shape, value: &Value, depth: usize) -> bool {
        if !self.step(depth) || (shape.nullable && value.is_null()) {
            return true;
        }
        let shape = self.parameters.resolve(shape);
        if value.is_null() && shape.nullable {
            return true;
        }
        let listed = shape.choices.as_ref();
        if listed.is_some_and(|all| !all.contains(value)) {
            return false;
        }
        let inner = |shape: &Shape, value: &Value| self.fits(shape, value, depth + 1);
        match (&shape.kind, value) {
            (
                Kind::Object {
                    params, additional, ..
                },
                Value::Object(fields),
            ) => {
                let known = |name: &String| params.iter().any(|param| param.name == *name);
                let closed = *additional == Additional::Closed;
                params.iter().all(|param| match fields.get(&param.name) {
                    Some(value) => inner(&param.shape, value),
                    None => !param.required,
                }) && (!closed || fields.keys().all(known))
            }
            (Kind::Array { items, .. }, Value::Array(all)) => items
                .as_ref()
                .is_none_or(|shape| all.iter().all(|item| inner(shape, item))),
            (Kind::Union(forms) | Kind::OneOf(forms), value) => {
                forms.iter().any(|form| inner(form, value))
            }
            (Kind::Const(only), value) => only == value,
            (Kind::Integer, Value::Number(number)) => {
                number.as_f64().is_some_and(|it| it.fract() == 0.0)
            }
            (kind, value) => same_type(kind, value),
        }
    }
}

fn same_type(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Null => value.is_null(),
        Kind::Boolean => value.is_boolean(),
        Kind::Integer | Kind::Number => value.is_number(),
        Kind::String => value.is_string(),
        Kind::Array { .. } => value.is_array(),
        Kind::Object { .. } => value.is_object(),
        Kind::Never => false,
        _ => true,
    }
}
