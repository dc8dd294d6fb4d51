//! Which edition of JSON Schema a document is written in, as far as it changes how it is read.

use serde_json::Value;

/// The differences between the editions that matter here.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaDraft {
    /// Up to draft 7, what stands beside a `$ref` is ignored.
    pub(super) ref_ignores_siblings: bool,
    /// Up to 2019-09, a tuple is an `items` that is a list.
    pub(super) items_may_be_tuple: bool,
    /// In draft 4, `id` names a schema.
    pub(super) has_legacy_id: bool,
}

impl SchemaDraft {
    /// Read from `$schema`; without one it is the newest, as MCP has it.
    pub(super) fn detect(schema: &Value) -> Self {
        let named = schema.get("$schema").and_then(Value::as_str);
        let has = |part: &str| named.is_some_and(|named| named.contains(part));
        let old = has("draft-07") || has("draft-06") || has("draft-04") || has("draft-03");
        Self {
            ref_ignores_siblings: old,
            items_may_be_tuple: old || has("2019-09"),
            has_legacy_id: has("draft-04") || has("draft-03"),
        }
    }

    /// Whether it is an edition before the newest.
    pub(super) const fn is_legacy(self) -> bool {
        self.items_may_be_tuple
    }
}
