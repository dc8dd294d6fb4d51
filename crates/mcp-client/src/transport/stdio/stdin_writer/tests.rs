//! Tests of writing lines to pipes that are full, slow or closed.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};

use super::*;

fn new_writer(room: usize, patience_ms: u64) -> (Arc<StdinWriter<DuplexStream>>, DuplexStream) {
    let (ours, theirs) = duplex(room);
    let writer = Arc::new(StdinWriter::new(ours, Duration::from_millis(patience_ms)));
    let pump = Arc::clone(&writer);
    tokio::spawn(async move { pump.write_queue().await });
    (writer, theirs)
}

fn delivery_status(outcome: Result<(), TransportError>) -> DeliveryStatus {
    match outcome {
        Err(TransportError::Closed { sent, .. }) => sent,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_never_mix() {
    let (writer, mut theirs) = new_writer(97, 60_000);
    let mut sending = tokio::task::JoinSet::new();
    for number in 0..200_u32 {
        let writer = Arc::clone(&writer);
        let line = format!("{number}:{}", "x".repeat(number as usize));
        sending.spawn(async move { writer.send(line.into()).await });
    }
    let reading = tokio::spawn(async move {
        let mut text = String::new();
        theirs.read_to_string(&mut text).await.unwrap();
        text
    });
    while let Some(outcome) = sending.join_next().await {
        outcome.unwrap().unwrap();
    }
    writer.close("done");
    let text = reading.await.unwrap();
    let mut seen: Vec<u32> = text
        .lines()
        .map(|line| {
            let (number, rest) = line.split_once(':').unwrap();
            assert_eq!(rest.len(), number.parse::<usize>().unwrap());
            number.parse().unwrap()
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_knows_whether_it_may_arrive() {
    let (writer, mut theirs) = new_writer(4, 1_000);
    let begun = writer.send("abcdef".into());
    let behind = writer.send("never".into());
    let (begun, behind) = tokio::join!(begun, behind);
    assert_eq!(delivery_status(begun), DeliveryStatus::Maybe);
    assert_eq!(delivery_status(behind), DeliveryStatus::No);
    // A line that was begun is completed, so that the next one starts on its own line.
    let next = tokio::spawn({
        let writer = Arc::clone(&writer);
        async move { writer.send("next".into()).await }
    });
    let mut text = [0; 12];
    theirs.read_exact(&mut text).await.unwrap();
    next.await.unwrap().unwrap();
    assert_eq!(&text, b"abcdef\nnext\n");
}

#[tokio::test]
async fn who_stops_waiting_takes_the_line_back() {
    let (writer, mut theirs) = new_writer(1, 60_000);
    let first = tokio::spawn({
        let writer = Arc::clone(&writer);
        async move { writer.send("a".into()).await }
    });
    tokio::task::yield_now().await;
    {
        let taken_back = writer.send("b".into());
        tokio::pin!(taken_back);
        assert!(futures::poll!(&mut taken_back).is_pending());
    }
    let last = tokio::spawn(async move { writer.send("c".into()).await });
    let mut text = [0; 4];
    theirs.read_exact(&mut text).await.unwrap();
    first.await.unwrap().unwrap();
    last.await.unwrap().unwrap();
    assert_eq!(&text, b"a\nc\n");
}

#[tokio::test]
async fn a_broken_pipe_is_told_to_all() {
    let (writer, theirs) = new_writer(3, 60_000);
    let begun = writer.send("abcdef".into());
    let behind = writer.send("never".into());
    let broken = async {
        tokio::task::yield_now().await;
        drop(theirs);
    };
    let (begun, behind, ()) = tokio::join!(begun, behind, broken);
    assert_eq!(delivery_status(begun), DeliveryStatus::Maybe);
    assert_eq!(delivery_status(behind), DeliveryStatus::No);
    assert_eq!(
        delivery_status(writer.send("later".into()).await),
        DeliveryStatus::No
    );
}
