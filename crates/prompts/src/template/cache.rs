//! Templates that were read before, so that a call does not read them again. Holds so many and no
//! more; the ones that were not asked for longest go first. Knows nothing of prompts.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use minijinja::Environment;

use super::{error::Fault, prepare::Prepared};

/// Templates that are kept. A short one takes some 14 kB, and less time to read than its call takes.
const KEPT: usize = 64;

/// Bytes of templates that are kept.
const KEPT_BYTES: usize = 16 << 20;

/// A template that was read.
pub(super) struct Compiled {
    /// What it was made of.
    pub(super) prepared: Prepared,
    /// The engine with this template in it, under the empty name.
    pub(super) environment: Environment<'static>,
    /// The names it uses and does not set itself.
    pub(super) names: BTreeSet<String>,
}

/// Templates that were read.
#[derive(Default)]
pub(super) struct Cache {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<Box<str>, Entry>,
    bytes: usize,
    now: u64,
}

struct Entry {
    compiled: Arc<Compiled>,
    used: u64,
}

impl Cache {
    /// The template with this text, read now if it was not before.
    pub(super) fn get(
        &self,
        body: &str,
        compile: impl FnOnce() -> Result<Compiled, Fault>,
    ) -> Result<Arc<Compiled>, Fault> {
        if let Some(found) = self.lock().find(body) {
            return Ok(found);
        }
        let compiled = Arc::new(compile()?);
        self.lock().keep(body, &compiled);
        Ok(compiled)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn find(&mut self, body: &str) -> Option<Arc<Compiled>> {
        self.now += 1;
        let entry = self.entries.get_mut(body)?;
        entry.used = self.now;
        Some(Arc::clone(&entry.compiled))
    }

    fn keep(&mut self, body: &str, compiled: &Arc<Compiled>) {
        if body.len() > KEPT_BYTES {
            return;
        }
        let entry = Entry {
            compiled: Arc::clone(compiled),
            used: self.now,
        };
        if self.entries.insert(body.into(), entry).is_none() {
            self.bytes += body.len();
        }
        while self.entries.len() > KEPT || self.bytes > KEPT_BYTES {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(body, _)| body.clone()) else {
                break;
            };
            self.entries.remove(&oldest);
            self.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::prepare::prepare, *};

    fn compiled(body: &str) -> Result<Compiled, Fault> {
        Ok(Compiled {
            prepared: prepare(body)?,
            environment: Environment::new(),
            names: BTreeSet::new(),
        })
    }

    #[test]
    fn it_reads_once_and_forgets_the_oldest() {
        let cache = Cache::default();
        cache.get("first", || compiled("first")).unwrap();
        for number in 0..KEPT {
            let body = format!("body {number}");
            cache.get("first", || panic!("read twice")).unwrap();
            cache.get(&body, || compiled(&body)).unwrap();
        }
        let inner = cache.lock();
        assert_eq!(inner.entries.len(), KEPT);
        assert!(inner.entries.contains_key("first"));
        assert!(!inner.entries.contains_key("body 0"));
    }
}
