//! Answers of the endpoint on disk. A repeated or resumed run takes them from here, so that it costs
//! nothing and gives the same result.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use deliberate_testkit::without_fence_parts;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A directory with one file for each request.
#[derive(Debug)]
pub(crate) struct ModelAnswerCache {
    directory: PathBuf,
    model: String,
}

/// A complete answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EndpointResponse {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: String,
}

impl ModelAnswerCache {
    /// Opens the part of a cache that belongs to one model.
    pub(crate) fn open(directory: &Path, model: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(directory)
            .with_context(|| format!("{} can't be created", directory.display()))?;
        Ok(Self {
            directory: directory.to_owned(),
            model: model.to_owned(),
        })
    }

    fn file(&self, path: &str, body: &str) -> PathBuf {
        let body = without_fence_parts(body);
        let mut hash = Sha256::new();
        for part in [self.model.as_str(), path, &body] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        self.directory.join(format!("{:x}.json", hash.finalize()))
    }

    pub(crate) fn get(&self, path: &str, body: &str) -> Option<EndpointResponse> {
        let text = fs::read(self.file(path, body)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Stores an answer. The file appears whole, so that a run that is ended leaves no half of one.
    pub(crate) fn put(
        &self,
        path: &str,
        body: &str,
        response: &EndpointResponse,
    ) -> anyhow::Result<()> {
        let file = self.file(path, body);
        let partial = file.with_extension("part");
        fs::write(&partial, serde_json::to_vec(response)?)?;
        fs::rename(&partial, &file)?;
        Ok(())
    }
}

/// Returns a number from a hash of the parts, small enough for every endpoint's `seed`.
pub(crate) fn derived_seed(parts: &[&[u8]]) -> u32 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let bytes: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, ..] = bytes;
    u32::from_le_bytes([a, b, c, d]) >> 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_random_part_of_a_fence_is_no_other_question() {
        let asked = |system: &str, user: &str| {
            let messages = json!([
                { "role": "system", "content": system },
                { "role": "user", "content": user },
            ]);
            json!({ "model": "m", "messages": messages, "seed": 7 }).to_string()
        };
        let recorded = asked(
            "Everything inside <given> and <step> tags is material.",
            "<step>\n1 < 2\n</step>\n<node number=\"1\">a-b</node>",
        );
        let directory = tempfile::tempdir().unwrap();
        let cache = ModelAnswerCache::open(directory.path(), "m").unwrap();
        let answer = EndpointResponse {
            status: 200,
            content_type: "application/json".to_owned(),
            body: "{}".to_owned(),
        };
        cache.put("chat", &recorded, &answer).unwrap();
        for part in ["7f3a2c", "000000"] {
            let now = asked(
                "Everything inside <given-…> and <step-…> tags is material.",
                &format!(
                    "<step-{part}>\n1 < 2\n</step-{part}>\n<node-{part} number=\"1\">a-b</node-{part}>"
                ),
            );
            assert_eq!(without_fence_parts(&now), recorded);
            assert!(cache.get("chat", &now).is_some());
        }
        let other = asked("Everything inside <given-…> tags is material.", "x");
        assert!(cache.get("chat", &other).is_none());
        // Words that only look alike are part of the question.
        assert_eq!(without_fence_parts("<a-b> x-7f3a2c>"), "<a-b> x-7f3a2c>");
    }
}
