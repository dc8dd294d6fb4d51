//! From a tree with places to the typed form of a file.
//!
//! An error knows where the part stands that does not fit, and a name that nobody asked for is
//! noted with the names that were possible. Knows nothing of any one format.

use std::{cell::RefCell, fmt};

use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess,
        Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};

use super::yaml::{Key, Node, Place, Shape};

/// A name that means nothing where it stands.
#[derive(Debug)]
pub(crate) struct Unknown {
    pub(crate) at: Place,
    pub(crate) name: String,
    pub(crate) known: &'static [&'static str],
}

/// What does not fit, and where.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Misfit {
    pub(crate) at: Option<Place>,
    pub(crate) message: String,
}

impl serde::de::Error for Misfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            at: None,
            message: message.to_string(),
        }
    }
}

impl Misfit {
    fn or_at(mut self, at: Place) -> Self {
        self.at.get_or_insert(at);
        self
    }
}

/// Reads a tree as a type.
pub(crate) fn read<T: DeserializeOwned>(node: &Node) -> (Result<T, Misfit>, Vec<Unknown>) {
    let unknown = RefCell::new(Vec::new());
    let value = T::deserialize(Part {
        node,
        key: None,
        known: &[],
        unknown: &unknown,
    });
    (value, unknown.into_inner())
}

#[derive(Clone, Copy)]
struct Part<'a> {
    node: &'a Node,
    key: Option<&'a Key>,
    known: &'static [&'static str],
    unknown: &'a RefCell<Vec<Unknown>>,
}

impl<'a> Part<'a> {
    fn of(&self, node: &'a Node) -> Self {
        Self {
            node,
            key: None,
            known: &[],
            unknown: self.unknown,
        }
    }

    fn map<V: Visitor<'a>>(
        self,
        entries: &'a [(Key, Node)],
        known: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_map(Entries {
            part: self,
            rest: entries.iter(),
            value: None,
            known,
        })
    }

    fn number<V: Visitor<'a>>(number: &serde_json::Number, visitor: V) -> Result<V::Value, Misfit> {
        if let Some(it) = number.as_u64() {
            visitor.visit_u64(it)
        } else if let Some(it) = number.as_i64() {
            visitor.visit_i64(it)
        } else {
            visitor.visit_f64(number.as_f64().unwrap_or_default())
        }
    }
}

impl<'de> Deserializer<'de> for Part<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match &self.node.shape {
            Shape::Null => visitor.visit_unit(),
            Shape::Bool(it) => visitor.visit_bool(*it),
            Shape::Number(it) => Self::number(it, visitor),
            Shape::Text(it) => visitor.visit_borrowed_str(it),
            Shape::List(items) => visitor.visit_seq(Items {
                part: self,
                rest: items.iter(),
            }),
            Shape::Map(entries) => self.map(entries, None, visitor),
        }
        .map_err(|misfit| misfit.or_at(self.node.at))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match &self.node.shape {
            Shape::Map(entries) => self
                .map(entries, Some(fields), visitor)
                .map_err(|misfit| misfit.or_at(self.node.at)),
            Shape::List(_) => {
                Err(Misfit::custom("a list where names with values are needed").or_at(self.node.at))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match &self.node.shape {
            Shape::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// Numbers and switches are text where text is wanted: `version: 1.0`.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match &self.node.shape {
            Shape::Number(it) => visitor.visit_string(it.to_string()),
            Shape::Bool(it) => visitor.visit_string(it.to_string()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match &self.node.shape {
            Shape::Text(it) => visitor.visit_enum(StrDeserializer::<Misfit>::new(it)),
            _ => Err(Misfit::custom("one of a few words is needed here")),
        }
        .map_err(|misfit| misfit.or_at(self.node.at))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if let Some(key) = self.key {
            self.unknown.borrow_mut().push(Unknown {
                at: key.at,
                name: key.name.clone(),
                known: self.known,
            });
        }
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

struct Items<'a> {
    part: Part<'a>,
    rest: std::slice::Iter<'a, Node>,
}

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        self.rest
            .next()
            .map(|node| {
                seed.deserialize(self.part.of(node))
                    .map_err(|misfit| misfit.or_at(node.at))
            })
            .transpose()
    }
}

struct Entries<'a> {
    part: Part<'a>,
    rest: std::slice::Iter<'a, (Key, Node)>,
    value: Option<(&'a Key, &'a Node)>,
    /// The names that are possible, if the map is a record. An empty value of a record is as if
    /// it were not there.
    known: Option<&'static [&'static str]>,
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        for (key, node) in self.rest.by_ref() {
            if self.known.is_some() && matches!(node.shape, Shape::Null) {
                continue;
            }
            self.value = Some((key, node));
            let name: StrDeserializer<'_, Misfit> = key.name.as_str().into_deserializer();
            return seed.deserialize(name).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<T::Value, Misfit> {
        let (key, node) = self
            .value
            .take()
            .ok_or_else(|| Misfit::custom("a name without a value"))?;
        let part = Part {
            node,
            key: self.known.map(|_| key),
            known: self.known.unwrap_or_default(),
            unknown: self.part.unknown,
        };
        seed.deserialize(part).map_err(|misfit| {
            let mut misfit = misfit.or_at(node.at);
            if !misfit.message.starts_with('`') {
                misfit.message = format!("`{}`: {}", key.name, misfit.message);
            }
            misfit
        })
    }
}
