//! The load client and the baseline of the benchmarks work together, in every revision and answer
//! format.

use deliberate_testkit::{
    bare_command,
    load::{ClientProtocol, LoadClient, ServerProcess},
};
use serde_json::json;

#[tokio::test]
async fn the_floor_answers_the_load_client() {
    for kind in [None, Some("--json")] {
        let mut command = bare_command(env!("CARGO_BIN_EXE_echo_baseline"));
        command.args(kind);
        let server = ServerProcess::start(&mut command).await.unwrap();
        for era in ClientProtocol::ALL {
            let mut caller = LoadClient::new(server.address(), era, 41);
            for text in ["one", "two"] {
                let params = json!({ "name": "echo", "arguments": { "text": text } });
                let result = caller.request("tools/call", params).await.unwrap();
                assert_eq!(result["content"][0]["text"], text);
            }
            assert!(caller.request("no/method", json!({})).await.is_err());
            let listed = caller.request("tools/list", json!({})).await.unwrap();
            assert_eq!(listed["tools"][0]["name"], "echo");
        }
        assert!(server.resident_kib().unwrap() > 0);
        let port = server.address().port().to_string();
        assert!(server.output().contains(&port), "{}", server.output());
    }
}
