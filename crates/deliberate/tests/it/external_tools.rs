//! Tests of a server with external tools: they are listed, they work, and their server stops with
//! this one.

use std::path::Path;

use deliberate_testkit::{
    StdioClient, mock_mcp_server_program, raw_http::RawHttp, wait_for, wait_until_async,
};
use serde_json::{Value, json};

use crate::support::{TestHome, serve, shut_down, terminate, tool_failure, wait_until};

/// Writes settings with an upstream server, which stores its process id in `pid`.
fn write_upstream_settings(home: &TestHome) {
    let folder = home.path("config/deliberate");
    std::fs::create_dir_all(&folder).unwrap();
    let (program, pid) = (mock_mcp_server_program().display(), home.path("work/pid"));
    let text = format!(
        "[servers.up]\ncommand = 'sh'\nargs = ['-c', 'echo $$ > \"{}\"; exec \"{program}\"']\n\
         expose = ['echo', 'ad*']\n\n[servers.dead]\ncommand = 'sh'\nargs = ['-c', 'exit 1']\n\
         expose = 'all'\n",
        pid.display()
    );
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

async fn list_tools(client: &mut StdioClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({})).await.unwrap();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// Waits until the upstream server has listed its tools.
async fn wait_for_external_tools(client: &mut StdioClient) -> Vec<String> {
    let listed = wait_for(async || {
        let names = list_tools(client).await;
        names.iter().any(|name| name == "up__echo").then_some(names)
    });
    listed.await
}

#[tokio::test]
async fn without_others_there_are_no_tools_for_them() {
    let home = TestHome::new();
    let mut client = serve(home.command().arg("serve")).await;
    let names = list_tools(&mut client).await;
    assert!(
        !names.iter().any(|name| name.starts_with("gateway_")),
        "{names:?}"
    );
    shut_down(client).await;
}

#[tokio::test]
async fn the_tools_that_are_exposed_are_listed_and_called_and_their_server_ends_with_ours() {
    let home = TestHome::new();
    write_upstream_settings(&home);
    let mut client = serve(home.command().arg("serve")).await;
    let names = wait_for_external_tools(&mut client).await;
    for name in [
        "gateway_search",
        "gateway_call",
        "up__add",
        "reasoning_linear",
    ] {
        assert!(names.iter().any(|it| it == name), "{name} in {names:?}");
    }
    let guests = names.iter().filter(|name| name.contains("__")).count();
    assert_eq!(guests, 2, "{names:?}");
    let answer = client
        .call("up__echo", json!({ "text": "hello" }))
        .await
        .unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "hello", "{answer}");
    let call = json!({ "tool": "up__add", "arguments": { "a": 1, "b": 2 } });
    let answer = client.call("gateway_call", call).await.unwrap();
    assert_ne!(answer["result"]["isError"], Value::Bool(true), "{answer}");
    let pid = std::fs::read_to_string(home.path("work/pid")).unwrap();
    let process = format!("/proc/{}", pid.trim());
    assert!(!cfg!(target_os = "linux") || Path::new(&process).exists());
    shut_down(client).await;
    wait_until(|| !Path::new(&process).exists()).await;
}

#[tokio::test]
async fn a_call_that_another_server_never_answers_does_not_hold_up_the_end() {
    let home = TestHome::new();
    write_upstream_settings(&home);
    for by_signal in [false, true] {
        let mut command = home.command();
        command.arg("serve");
        command.env("DELIBERATE_LIMITS_SHUTDOWN_MS", "200");
        let mut client = serve(&mut command).await;
        wait_for_external_tools(&mut client).await;
        let called = json!({ "name": "gateway_call", "arguments": { "tool": "up__hang" } });
        let id = client.send_request("tools/call", called).await.unwrap();
        // It is answered after the call has started.
        let quick = json!({ "tool": "up__add", "arguments": { "a": 1, "b": 2 } });
        client.call("gateway_call", quick).await.unwrap();
        let pid = std::fs::read_to_string(home.path("work/pid")).unwrap();
        if by_signal {
            terminate(client.pid().unwrap()).await;
        } else {
            client.close_stdin();
        }
        let told = client.response(id).await.unwrap();
        // It is unknown whether the call took effect.
        assert_eq!(tool_failure(&told).code, "CutOff", "{told}");
        assert!(client.wait_exit().await.unwrap().success());
        let process = format!("/proc/{}", pid.trim());
        wait_until(|| !Path::new(&process).exists()).await;
    }
}

#[tokio::test]
async fn whoever_leaves_the_gateway_out_gets_none_of_them() {
    let home = TestHome::new();
    write_upstream_settings(&home);
    let arguments = ["--set", "tools.sets=reasoning", "serve"];
    let mut client = serve(home.command().args(arguments)).await;
    let names = list_tools(&mut client).await;
    assert!(
        names.iter().all(|name| name.starts_with("reasoning_")),
        "{names:?}"
    );
    shut_down(client).await;
    assert!(!home.path("work/pid").exists(), "nothing was started");
}

/// Waits for the address in the log.
async fn http_address(client: &StdioClient) -> std::net::SocketAddr {
    let find = || {
        let log = client.stderr();
        let (_, rest) = log.split_once("\"url\":\"http://")?;
        rest.split_once("/mcp")?.0.parse().ok()
    };
    wait_until(|| find().is_some()).await;
    find().unwrap()
}

#[tokio::test]
async fn operators_see_each_server_its_calls_and_who_made_them() {
    let home = TestHome::new();
    write_upstream_settings(&home);
    let mut command = home.command();
    command.args(["serve", "--stdio", "--http", "127.0.0.1:0"]);
    command.env("LOG_FORMAT", "json");
    let mut client = serve(&mut command).await;
    wait_for_external_tools(&mut client).await;
    let secret = "canary-argument-5c0e";
    client
        .call("up__echo", json!({ "text": secret }))
        .await
        .unwrap();
    let failed = json!({ "tool": "up__fail", "arguments": { "text": secret } });
    client.call("gateway_call", failed).await.unwrap();
    let mut http = RawHttp::connect(http_address(&client).await).await.unwrap();
    let health = http.request("GET", "/health", &[], "").await.unwrap();
    let health = health.json().unwrap();
    let server = |name: &str| {
        let servers = health["servers"].as_array().unwrap().iter();
        servers
            .clone()
            .find(|it| it["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(server("up")["state"], "connected", "{health}");
    assert!(server("up")["last_success"].is_string(), "{health}");
    assert_eq!(server("dead")["state"], "failed", "{health}");
    assert!(server("dead")["reason"].is_string(), "{health}");
    let metrics = http
        .request("GET", "/metrics", &[], "")
        .await
        .unwrap()
        .text();
    for line in [
        "deliberate_upstream_calls_total{server=\"up\",tool=\"echo\",outcome=\"ok\"} 1",
        "deliberate_upstream_calls_total{server=\"up\",tool=\"fail\",outcome=\"ToolFailed\"} 1",
        "deliberate_upstream_caller_calls_total{server=\"up\",caller=\"operator\",outcome=\"ok\"} 1",
        "deliberate_calls_total{tool=\"gateway_call\",outcome=\"ToolFailed\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    drop(http);
    client.close_stdin();
    client.wait_exit().await.unwrap();
    let log = client.stderr();
    let audit: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["target"] == "audit")
        .collect();
    let outcomes: Vec<_> = audit
        .iter()
        .map(|line| {
            [
                &line["principal"],
                &line["server"],
                &line["tool"],
                &line["outcome"],
            ]
        })
        .collect();
    assert_eq!(
        json!(outcomes),
        json!([
            ["operator", "up", "echo", "ok"],
            ["operator", "up", "fail", "ToolFailed"]
        ]),
        "{log}"
    );
    assert!(audit.iter().all(|line| line["took_ms"].is_u64()));
    assert!(!log.contains(secret), "{log}");
}

#[tokio::test]
async fn servers_that_are_added_and_removed_count_without_a_restart() {
    let home = TestHome::new();
    write_upstream_settings(&home);
    let mut client = serve(home.command().arg("serve")).await;
    wait_for_external_tools(&mut client).await;
    let program = mock_mcp_server_program().display().to_string();
    let call = json!({ "tool": "late__echo", "arguments": { "text": "hi" } });
    let mut reaches = async |wanted: bool| {
        wait_until_async(async || {
            let answer = client.call("gateway_call", call.clone()).await.unwrap();
            (answer["result"]["isError"] != Value::Bool(true)) == wanted
        })
        .await;
    };
    let added = home.run(&["servers", "add", "late", "--", &program]).await;
    assert_eq!(added.code, Some(0), "{added:?}");
    reaches(true).await;
    let removed = home.run(&["servers", "remove", "late"]).await;
    assert_eq!(removed.code, Some(0), "{removed:?}");
    reaches(false).await;
    shut_down(client).await;
}
