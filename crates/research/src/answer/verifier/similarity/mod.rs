//! Similarity of sentences, by word vectors and by shared words.

pub(crate) mod paraphrase;
pub(crate) mod word_vectors;
