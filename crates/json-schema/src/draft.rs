//! The JSON Schema draft of a document, as far as it affects how the document is read.

use serde_json::Value;

/// The differences between drafts that matter here.
#[derive(Debug, Clone, Copy)]
pub struct SchemaDraft {
    /// Up to draft 7, the siblings of a `$ref` are ignored.
    pub ref_ignores_siblings: bool,
    /// Up to 2019-09, a list in `items` is a tuple.
    pub items_may_be_tuple: bool,
    /// In draft 4, `id` names a schema.
    pub has_legacy_id: bool,
}

impl SchemaDraft {
    /// Detects the draft from `$schema`; without it, the newest draft applies, as MCP requires.
    pub fn detect(schema: &Value) -> Self {
        let named = schema.get("$schema").and_then(Value::as_str);
        let has = |part: &str| named.is_some_and(|named| named.contains(part));
        let old = has("draft-07") || has("draft-06") || has("draft-04") || has("draft-03");
        Self {
            ref_ignores_siblings: old,
            items_may_be_tuple: old || has("2019-09"),
            has_legacy_id: named.is_some_and(Self::has_legacy_id),
        }
    }

    /// Returns true if `id` names a schema in the draft with this address.
    pub fn has_legacy_id(address: &str) -> bool {
        address.contains("draft-04") || address.contains("draft-03")
    }

    /// Returns true for a draft before the newest.
    pub const fn is_legacy(self) -> bool {
        self.items_may_be_tuple
    }
}
