//! Old records of calls are deleted while the server runs.

use deliberate_testkit::{MockProvider, wait_until_async};
use sqlx::Connection as _;

use crate::support::{TestHome, output, serve, shut_down, think};

async fn count_records(home: &TestHome, condition: &str) -> i64 {
    let mut database = home.open_database().await;
    let sql = format!("SELECT count(*) FROM invocations WHERE {condition}");
    let count = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
        .fetch_one(&mut database)
        .await
        .unwrap();
    database.close().await.unwrap();
    count
}

#[tokio::test]
async fn records_older_than_the_setting_go_and_sessions_stay() {
    let (home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut home.command_with_provider(&standin)).await;
    output(&think(&mut client, "What is a tide?").await);
    shut_down(client).await;
    let mut database = home.open_database().await;
    // Eight days ago.
    sqlx::query("UPDATE invocations SET created_at = created_at - 8 * 86400 * 1000000")
        .execute(&mut database)
        .await
        .unwrap();
    database.close().await.unwrap();
    assert!(count_records(&home, "true").await > 0);

    let mut command = home.command_with_provider(&standin);
    let mut client = serve(command.env("DELIBERATE_RETENTION_DAYS", "7")).await;
    wait_until_async(async || count_records(&home, "true").await == 0).await;
    output(&think(&mut client, "And a neap tide?").await);
    shut_down(client).await;
    assert_eq!(count_records(&home, "true").await, 1);
    assert_eq!(home.stored_counts().await, (2, 2));
}
