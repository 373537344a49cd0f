//! The controller and the limiter of pods against recordings of an API server (Kubernetes 1.34,
//! `recordings`), a real nats-server, and stand-ins for hosts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use takt_fleet::digest::Digest;
use takt_kubernetes::{
    bandwidth::{Config, Limiter},
    controller::Controller,
    health::Pulse,
};
use tokio::sync::oneshot;

use crate::{
    common::{PATIENCE, Server, until},
    played::{Api, recorded},
};

const PERIOD: Duration = Duration::from_secs(5);
/// It would be tried again within this time.
const QUIET: Duration = Duration::from_secs(3);

/// A TaktPolicy that is made, kept, changed for the worse and taken back.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_rolled_out() {
    let server = Server::start();
    let operator = server.operator().await;
    let mut watcher = server.operator().await;
    let hosts = server.hosts(4, PERIOD).await;
    while watcher.fresh_roster().await.unwrap().hosts().count() < hosts.len() {}
    let patched = [
        ("/status", "patched-status.json"),
        ("/voice", "patched.json"),
    ];
    let api = Api::new(recorded("list.json"), &patched);
    let controller = Controller::new(
        api.client(),
        operator,
        "/bin/true".into(),
        server.folder.path(),
        Pulse::default(),
    );
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(controller.run(Box::pin(async move {
        let _ = stopped.await;
    })));

    until("it is complete", || api.status()["phase"] == "Complete").await;
    let status = api.status();
    assert_eq!(status["hosts"]["kept"], 4, "{status}");
    assert_eq!(
        (
            status["wave"].as_u64(),
            status["observedGeneration"].as_u64()
        ),
        (Some(2), Some(1))
    );
    let complete = &status["conditions"][1];
    assert_eq!(
        (&complete["type"], &complete["status"]),
        (&json!("Complete"), &json!("True"))
    );
    // Its finalizer came first.
    let (path, first) = &api.written()[0];
    assert!(path.ends_with("/voice"), "{path}");
    assert_eq!(
        first["metadata"]["finalizers"],
        json!(["fleet.takt/policy"])
    );
    let good = Digest::for_content(b"[link.eth0]\nrate = \"1gbit\"\n");
    assert!(hosts.iter().all(|host| host.host().policy() == Some(good)));

    // The events of its own writes, and then that of a change.
    let writes = api.written().len();
    let events = recorded("watch.jsonl");
    for event in events.lines() {
        api.event(event);
    }
    until("it is taken back", || api.status()["phase"] == "TakenBack").await;
    let status = api.status();
    assert!(
        status["why"]
            .as_str()
            .unwrap()
            .contains("cut off the engine"),
        "{status}"
    );
    assert_eq!(status["observedGeneration"], 2);
    until("the hosts have what they had", || {
        hosts.iter().all(|host| host.host().policy() == Some(good))
    })
    .await;
    // It is not tried again, and nothing is written while nothing changes.
    let number = watcher.current().await.unwrap().revision.number;
    assert!(api.written().len() > writes);
    let began = Instant::now();
    loop {
        let written = api.written().len();
        tokio::time::sleep(QUIET).await;
        if api.written().len() == written {
            break;
        }
        // Hosts report until the last one has what it had.
        assert!(began.elapsed() < PATIENCE, "{:?}", api.written());
    }
    assert_eq!(watcher.current().await.unwrap().revision.number, number);

    let _ = stop.send(());
    running.await.unwrap().unwrap();
}

/// Pods of a node: one that asks for something wrong is told so, and the others are none the worse.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_annotation_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let api = Api::new(recorded("pods.json"), &[]);
    let config = Config {
        node: "node-1".to_owned(),
        takt: "/bin/false".into(),
        proc: folder.path().to_owned(),
        directory: folder.path().to_owned(),
    };
    let pulse = Pulse::default();
    let limiter = Limiter::new(api.client(), config, pulse.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(limiter.run(Box::pin(async move {
        let _ = stopped.await;
    })));
    until("both are told", || api.written().len() >= 2).await;
    until("it watches", || api.is_watched()).await;
    until("it says so", || pulse.said().contains("below 1k")).await;
    let events = api.written();
    let told = |pod: &str| {
        let own = events
            .iter()
            .find(|(_, event)| event["involvedObject"]["name"] == pod);
        own.map(|(path, event)| (path.as_str(), event["message"].as_str().unwrap().to_owned()))
    };
    let (path, why) = told("small").expect("an event");
    assert_eq!(path, "/api/v1/namespaces/shop/events");
    assert!(why.contains("\"10m\" is below 1k"), "{why}");
    // There is no process of it in this recording.
    let (_, why) = told("web").expect("an event");
    assert!(why.contains("no process of the pod"), "{why}");
    assert_eq!(told("plain"), None);
    let said: Value = serde_json::from_str(&pulse.said()).unwrap();
    let said = said["pods"].as_array().unwrap();
    let problem = |pod: &str| {
        let own = said.iter().find(|own| own["name"] == pod);
        own.map(|own| {
            own["problem"]
                .as_str()
                .unwrap_or_default()
                .contains("below 1k")
        })
    };
    assert_eq!(
        [problem("small"), problem("web"), problem("plain")],
        [Some(true), Some(false), None]
    );
    let _ = stop.send(());
    running.await.unwrap().unwrap();
}
