//! Deserializes a YAML tree with positions to the typed form of a file.
//!
//! An error has the position of the invalid node, and an unknown key is recorded with the keys that
//! are possible. Knows nothing of specific formats.

use std::{cell::RefCell, fmt};

use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess,
        Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};

use super::{SourcePosition, YamlKey, YamlNode, YamlValue};

/// An unknown key and its position.
#[derive(Debug)]
pub(crate) struct UnknownYamlKey {
    pub(crate) position: SourcePosition,
    pub(crate) name: String,
    pub(crate) known_keys: &'static [&'static str],
}

/// An invalid value and its position.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct YamlDeserializeError {
    pub(crate) position: Option<SourcePosition>,
    pub(crate) message: String,
}

impl serde::de::Error for YamlDeserializeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            position: None,
            message: message.to_string(),
        }
    }
}

impl YamlDeserializeError {
    fn or_position(mut self, at: SourcePosition) -> Self {
        self.position.get_or_insert(at);
        self
    }
}

/// Deserializes a tree; also returns the unknown keys.
pub(crate) fn deserialize<T: DeserializeOwned>(
    node: &YamlNode,
) -> (Result<T, YamlDeserializeError>, Vec<UnknownYamlKey>) {
    let unknown = RefCell::new(Vec::new());
    let value = T::deserialize(NodeDeserializer {
        node,
        key: None,
        known_keys: &[],
        unknown_keys: &unknown,
    });
    (value, unknown.into_inner())
}

#[derive(Clone, Copy)]
struct NodeDeserializer<'a> {
    node: &'a YamlNode,
    key: Option<&'a YamlKey>,
    known_keys: &'static [&'static str],
    unknown_keys: &'a RefCell<Vec<UnknownYamlKey>>,
}

impl<'a> NodeDeserializer<'a> {
    fn for_node(&self, node: &'a YamlNode) -> Self {
        Self {
            node,
            key: None,
            known_keys: &[],
            unknown_keys: self.unknown_keys,
        }
    }

    fn visit_map<V: Visitor<'a>>(
        self,
        entries: &'a [(YamlKey, YamlNode)],
        known: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        visitor.visit_map(NodeMapAccess {
            parent: self,
            rest: entries.iter(),
            value: None,
            known_keys: known,
        })
    }

    fn visit_number<V: Visitor<'a>>(
        number: &serde_json::Number,
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        if let Some(it) = number.as_u64() {
            visitor.visit_u64(it)
        } else if let Some(it) = number.as_i64() {
            visitor.visit_i64(it)
        } else {
            visitor.visit_f64(number.as_f64().unwrap_or_default())
        }
    }
}

impl<'de> Deserializer<'de> for NodeDeserializer<'de> {
    type Error = YamlDeserializeError;

    fn deserialize_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        match &self.node.value {
            YamlValue::Null => visitor.visit_unit(),
            YamlValue::Bool(it) => visitor.visit_bool(*it),
            YamlValue::Number(it) => Self::visit_number(it, visitor),
            YamlValue::Text(it) => visitor.visit_borrowed_str(it),
            YamlValue::List(items) => visitor.visit_seq(NodeSeqAccess {
                parent: self,
                rest: items.iter(),
            }),
            YamlValue::Map(entries) => self.visit_map(entries, None, visitor),
        }
        .map_err(|misfit| misfit.or_position(self.node.position))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        match &self.node.value {
            YamlValue::Map(entries) => self
                .visit_map(entries, Some(fields), visitor)
                .map_err(|misfit| misfit.or_position(self.node.position)),
            YamlValue::List(_) => Err(YamlDeserializeError::custom(
                "a mapping is required here, not a list",
            )
            .or_position(self.node.position)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        match &self.node.value {
            YamlValue::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// Accepts numbers and booleans where text is expected: `version: 1.0`.
    fn deserialize_str<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        match &self.node.value {
            YamlValue::Number(it) => visitor.visit_string(it.to_string()),
            YamlValue::Bool(it) => visitor.visit_string(it.to_string()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        match &self.node.value {
            YamlValue::Text(it) => {
                visitor.visit_enum(StrDeserializer::<YamlDeserializeError>::new(it))
            }
            _ => Err(YamlDeserializeError::custom(
                "one of the allowed words is required here",
            )),
        }
        .map_err(|misfit| misfit.or_position(self.node.position))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, YamlDeserializeError> {
        if let Some(key) = self.key {
            self.unknown_keys.borrow_mut().push(UnknownYamlKey {
                position: key.position,
                name: key.name.clone(),
                known_keys: self.known_keys,
            });
        }
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

struct NodeSeqAccess<'a> {
    parent: NodeDeserializer<'a>,
    rest: std::slice::Iter<'a, YamlNode>,
}

impl<'a> SeqAccess<'a> for NodeSeqAccess<'a> {
    type Error = YamlDeserializeError;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, YamlDeserializeError> {
        self.rest
            .next()
            .map(|node| {
                seed.deserialize(self.parent.for_node(node))
                    .map_err(|misfit| misfit.or_position(node.position))
            })
            .transpose()
    }
}

struct NodeMapAccess<'a> {
    parent: NodeDeserializer<'a>,
    rest: std::slice::Iter<'a, (YamlKey, YamlNode)>,
    value: Option<(&'a YamlKey, &'a YamlNode)>,
    /// The possible keys, if the map is a struct. A null value in a struct is treated as if it were
    /// absent.
    known_keys: Option<&'static [&'static str]>,
}

impl<'a> MapAccess<'a> for NodeMapAccess<'a> {
    type Error = YamlDeserializeError;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, YamlDeserializeError> {
        for (key, node) in self.rest.by_ref() {
            if self.known_keys.is_some() && matches!(node.value, YamlValue::Null) {
                continue;
            }
            self.value = Some((key, node));
            let name: StrDeserializer<'_, YamlDeserializeError> =
                key.name.as_str().into_deserializer();
            return seed.deserialize(name).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, YamlDeserializeError> {
        let (key, node) = self
            .value
            .take()
            .ok_or_else(|| YamlDeserializeError::custom("a key without a value"))?;
        let part = NodeDeserializer {
            node,
            key: self.known_keys.map(|_| key),
            known_keys: self.known_keys.unwrap_or_default(),
            unknown_keys: self.parent.unknown_keys,
        };
        seed.deserialize(part).map_err(|misfit| {
            let mut misfit = misfit.or_position(node.position);
            if !misfit.message.starts_with('`') {
                misfit.message = format!("`{}`: {}", key.name, misfit.message);
            }
            misfit
        })
    }
}
