//! Properties of the rows: quantized vectors are close to the originals, a scan finds what a plain
//! loop finds, and torn or broken files are detected.

use std::fs;

use proptest::prelude::*;

use super::{
    format::HEADER,
    nearest::{ScanStrategy, nearest},
    quantization::{QuantizedVector, quantize},
    store::VectorStore,
};
use crate::{IndexError, bit_set::BitSet};

const IDENTITY: [u8; 32] = [7; 32];

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    let dot: f32 = left.iter().zip(right).map(|(a, b)| a * b).sum();
    let length = |vector: &[f32]| vector.iter().map(|a| a * a).sum::<f32>().sqrt();
    dot / (length(left) * length(right))
}

fn vectors(dimensions: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
    let vector = prop::collection::vec(-1.0_f32..1.0, dimensions);
    prop::collection::vec(vector, 1..40)
}

/// A store with rows in blocks of the given length.
fn store_with_rows(rows: &[QuantizedVector], cut: usize) -> VectorStore {
    let store = VectorStore::open(None, IDENTITY).unwrap();
    for (number, piece) in rows.chunks(cut.max(1)).enumerate() {
        let keyed: Vec<(u64, QuantizedVector)> = piece
            .iter()
            .enumerate()
            .map(|(place, row)| ((number * cut.max(1) + place) as u64, row.clone()))
            .collect();
        store.add(&keyed, rows[0].values.len()).unwrap();
        store.flush().unwrap();
    }
    store
}

proptest! {
    #[test]
    fn an_exact_scan_equals_a_plain_loop(
        rows in vectors(70),
        cut in 1_usize..20,
        k in 1_usize..10,
        allowed in prop::collection::vec(any::<bool>(), 40),
    ) {
        let quantised: Vec<QuantizedVector> = rows.iter().filter_map(|row| quantize(row)).collect();
        prop_assume!(quantised.len() == rows.len());
        let store = store_with_rows(&quantised, cut);
        let set = store.snapshot().unwrap().set;
        let mut bits = BitSet::empty(set.rows);
        for row in (0..set.rows).filter(|row| allowed[*row as usize]) {
            bits.insert(row);
        }
        let query = quantised[0].clone();
        let found = nearest(&set, &query, &bits, k, ScanStrategy::Exact);
        let mut expected: Vec<(f32, u32)> = (0..set.rows)
            .filter(|row| allowed[*row as usize])
            .map(|row| {
                let other = &quantised[row as usize];
                let pairs = query.values.iter().zip(&other.values);
                let dot: i32 = pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                (dot as f32 * (query.scale * other.scale), row)
            })
            .collect();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        expected.truncate(k);
        prop_assert_eq!(&found, &expected);
        let every = nearest(&set, &query, &bits, k, ScanStrategy::SignsFirst(rows.len()));
        prop_assert_eq!(&every, &expected);
    }

    #[test]
    fn bytes_are_near_to_the_floats(
        left in prop::collection::vec(-1.0_f32..1.0, 64),
        right in prop::collection::vec(-1.0_f32..1.0, 64),
    ) {
        let (Some(a), Some(b)) = (quantize(&left), quantize(&right)) else {
            return Ok(());
        };
        let pairs = a.values.iter().zip(&b.values);
        let dot: i32 = pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        let kept = dot as f32 * a.scale * b.scale;
        prop_assert!((kept - cosine(&left, &right)).abs() < 0.02);
    }
}

fn row(seed: u8) -> QuantizedVector {
    quantize(&[f32::from(seed), 1.0, -2.0]).unwrap()
}

fn open(folder: &tempfile::TempDir) -> Result<VectorStore, IndexError> {
    VectorStore::open(Some(folder.path().to_owned()), IDENTITY)
}

fn only_file(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let mut files = fs::read_dir(folder.path()).unwrap();
    files.next().unwrap().unwrap().path()
}

#[test]
fn a_torn_end_is_left_out_and_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).unwrap();
    store.add(&[(1, row(1))], 3).unwrap();
    store.flush().unwrap();
    store.add(&[(2, row(2))], 3).unwrap();
    store.flush().unwrap();
    let path = only_file(&folder);
    let whole = fs::read(&path).unwrap();
    for length in [whole.len() - 1, whole.len() - 100, HEADER + 70] {
        fs::write(&path, &whole[..length]).unwrap();
        let again = open(&folder).unwrap();
        let lost = again.missing_keys(&[1, 2]).unwrap();
        assert!(lost[1], "the torn row is not there");
        again.add(&[(3, row(3))], 3).unwrap();
        again.flush().unwrap();
        let third = open(&folder).unwrap();
        assert_eq!(
            third.missing_keys(&[1, 2, 3]).unwrap(),
            [lost[0], true, false]
        );
    }
}

#[test]
fn a_broken_header_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).unwrap();
    store.add(&[(1, row(1))], 3).unwrap();
    store.flush().unwrap();
    drop(store);
    let path = only_file(&folder);
    let whole = fs::read(&path).unwrap();
    for at in [0, 9, 20, HEADER + 3, HEADER + 9] {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        fs::write(&path, &broken).unwrap();
        let error = open(&folder).err().expect("seen as broken");
        assert!(matches!(error, IndexError::Corrupt { .. }), "{at}: {error}");
    }
}

#[test]
fn broken_bytes_cost_their_piece_alone_and_are_gone_after_tidying() {
    // A key, a scale, the signs, a value.
    for at in [0, 8, 12, 20] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).unwrap();
        for key in [1, 2] {
            store.add(&[(key, row(1))], 3).unwrap();
            store.flush().unwrap();
        }
        let path = only_file(&folder);
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEADER * 2 + at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let store = open(&folder).unwrap();
        assert_eq!(store.missing_keys(&[1, 2]).unwrap(), [true, false], "{at}");
        let snapshot = store.snapshot().unwrap();
        let mut live = BitSet::empty(snapshot.set.rows);
        live.insert(snapshot.row_by_key[&2]);
        assert!(store.compact(snapshot.generation, &live).unwrap());
        assert!(!store.compact(snapshot.generation + 1, &live).unwrap());
        assert_eq!(store.snapshot().unwrap().set.rows, 1);
        assert_eq!(store.missing_keys(&[1, 2]).unwrap(), [true, false], "{at}");
    }
}

#[test]
fn tidying_keeps_the_living_and_their_vectors() {
    let folder = tempfile::tempdir().unwrap();
    for store in [
        open(&folder).unwrap(),
        VectorStore::open(None, IDENTITY).unwrap(),
    ] {
        let rows: Vec<(u64, QuantizedVector)> = (0..3000_u64)
            .map(|key| (key, row(u8::try_from(key % 100).unwrap())))
            .collect();
        store.add(&rows, 3).unwrap();
        store.flush().unwrap();
        let before = store.snapshot().unwrap();
        let mut live = BitSet::empty(3000);
        for row in (0..3000).step_by(2) {
            live.insert(row);
        }
        assert!(store.compact(before.generation, &live).unwrap());
        let after = store.snapshot().unwrap();
        assert_eq!(after.set.rows, 1500);
        for key in 0..3000_u64 {
            let found = after
                .row_by_key
                .get(&key)
                .map(|row| after.set.row(*row).unwrap());
            let expected = (key % 2 == 0).then(|| rows[usize::try_from(key).unwrap()].1.clone());
            assert_eq!(found, expected);
        }
        // Existing snapshots stay valid.
        assert_eq!(before.set.row(1).unwrap(), rows[1].1);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn another_dimension_starts_over() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).unwrap();
    store.add(&[(1, row(1))], 3).unwrap();
    store.flush().unwrap();
    let other = open(&folder).unwrap();
    let wide = quantize(&[1.0; 8]).unwrap();
    store.add(&[(2, wide)], 8).unwrap();
    store.flush().unwrap();
    assert_eq!(store.dimensions(), Some(8));
    assert_eq!(other.missing_keys(&[1, 2]).unwrap(), [true, false]);
}
