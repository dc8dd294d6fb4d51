//! A cache of compiled templates, so that a call does not compile them again. It has a size limit
//! and evicts the least recently used templates first. Knows nothing of prompts.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use minijinja::Environment;

use crate::template::{error::TemplateFault, preprocess::PreprocessedTemplate};

/// The maximum number of cached templates. A short one takes about 14 kB, and compiling it takes
/// less time than its call.
const MAX_TEMPLATES: usize = 64;

/// The maximum bytes of cached templates.
const MAX_BYTES: usize = 16 << 20;

/// A compiled template.
pub(crate) struct CompiledTemplate {
    pub(crate) preprocessed: PreprocessedTemplate,
    /// The engine with this template in it, under the empty name.
    pub(crate) environment: Environment<'static>,
    /// The names that the template uses but does not set.
    pub(crate) names: BTreeSet<String>,
}

/// A cache of compiled templates by their text.
#[derive(Default)]
pub(crate) struct TemplateCache {
    state: Mutex<TemplateCacheState>,
}

#[derive(Default)]
struct TemplateCacheState {
    entries: HashMap<Box<str>, TemplateCacheEntry>,
    bytes: usize,
    clock: u64,
}

struct TemplateCacheEntry {
    compiled: Arc<CompiledTemplate>,
    last_used: u64,
}

impl TemplateCache {
    /// Returns the compiled template of a text, and compiles it if it is not cached.
    pub(crate) fn get(
        &self,
        body: &str,
        compile: impl FnOnce() -> Result<CompiledTemplate, TemplateFault>,
    ) -> Result<Arc<CompiledTemplate>, TemplateFault> {
        if let Some(found) = self.lock().find(body) {
            return Ok(found);
        }
        let compiled = Arc::new(compile()?);
        self.lock().insert(body, &compiled);
        Ok(compiled)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, TemplateCacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TemplateCacheState {
    fn find(&mut self, body: &str) -> Option<Arc<CompiledTemplate>> {
        self.clock += 1;
        let entry = self.entries.get_mut(body)?;
        entry.last_used = self.clock;
        Some(Arc::clone(&entry.compiled))
    }

    fn insert(&mut self, body: &str, compiled: &Arc<CompiledTemplate>) {
        if body.len() > MAX_BYTES {
            return;
        }
        let entry = TemplateCacheEntry {
            compiled: Arc::clone(compiled),
            last_used: self.clock,
        };
        if self.entries.insert(body.into(), entry).is_none() {
            self.bytes += body.len();
        }
        while self.entries.len() > MAX_TEMPLATES || self.bytes > MAX_BYTES {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_used);
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
    use super::*;
    use crate::template::preprocess::preprocess;

    fn compile_for_test(body: &str) -> Result<CompiledTemplate, TemplateFault> {
        Ok(CompiledTemplate {
            preprocessed: preprocess(body)?,
            environment: Environment::new(),
            names: BTreeSet::new(),
        })
    }

    #[test]
    fn it_reads_once_and_forgets_the_oldest() {
        let cache = TemplateCache::default();
        cache.get("first", || compile_for_test("first")).unwrap();
        for number in 0..MAX_TEMPLATES {
            let body = format!("body {number}");
            cache.get("first", || panic!("read twice")).unwrap();
            cache.get(&body, || compile_for_test(&body)).unwrap();
        }
        let inner = cache.lock();
        assert_eq!(inner.entries.len(), MAX_TEMPLATES);
        assert!(inner.entries.contains_key("first"));
        assert!(!inner.entries.contains_key("body 0"));
    }
}
