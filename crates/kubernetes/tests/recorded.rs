//! The controller and the limiter of pods against recordings of an API server (Kubernetes 1.34,
//! `tests/recorded`), a real nats-server, and stand-ins for hosts.

#[path = "../../fleet/tests/common/mod.rs"]
mod common;

use std::{
    collections::BTreeMap,
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use common::{Server, until};
use futures_util::{StreamExt, stream, stream::BoxStream};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use takt_fleet::digest::Digest;
use takt_kubernetes::{
    bandwidth::{Config, Limiter},
    controller::Controller,
    health::Pulse,
};
use tokio::sync::{mpsc, oneshot};

const PERIOD: Duration = Duration::from_secs(5);

fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

type Answer = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

fn answer(text: impl futures_util::Stream<Item = String> + Send + 'static) -> Response<Answer> {
    let frames = text.map(|text| Ok(Frame::data(Bytes::from(text))));
    Response::new(StreamBody::new(frames.boxed()))
}

/// An API server that plays recordings, and notes what is written.
#[derive(Clone, Default)]
struct Api(Arc<Mutex<Played>>);

#[derive(Default)]
struct Played {
    list: String,
    /// By the end of the path.
    patched: BTreeMap<&'static str, String>,
    written: Vec<(String, Value)>,
    watch: Option<mpsc::UnboundedSender<String>>,
}

impl Api {
    fn new(list: &str, patched: &[(&'static str, &str)]) -> Self {
        let patched = patched.iter().map(|(end, name)| (*end, recorded(name)));
        Self(Arc::new(Mutex::new(Played {
            list: recorded(list),
            patched: patched.collect(),
            ..Played::default()
        })))
    }

    fn client(&self) -> Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let api = api.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.map(|body| body.to_bytes());
                let body = serde_json::from_slice(&body.unwrap_or_default());
                let query = head.uri.query().unwrap_or_default();
                let is_watch = query.contains("watch=true");
                let path = head.uri.path().to_owned();
                Ok::<_, Infallible>(api.play(
                    &head.method,
                    path,
                    is_watch,
                    body.unwrap_or_default(),
                ))
            }
        });
        Client::new(service, "default")
    }

    fn play(&self, method: &Method, path: String, is_watch: bool, body: Value) -> Response<Answer> {
        let mut played = self.0.lock().unwrap();
        let text = match *method {
            Method::GET if is_watch => {
                let (tell, told) = mpsc::unbounded_channel();
                played.watch = Some(tell);
                return answer(stream::unfold(told, async |mut told| {
                    told.recv().await.map(|line: String| (line + "\n", told))
                }));
            }
            Method::GET => played.list.clone(),
            Method::PATCH => {
                let ends = played.patched.iter().find(|(end, _)| path.ends_with(*end));
                ends.expect("a recording").1.clone()
            }
            // What is created is answered.
            Method::POST => body.to_string(),
            _ => panic!("{method} {path}"),
        };
        if *method != Method::GET {
            played.written.push((path, body));
        }
        answer(stream::once(async { text }))
    }

    fn event(&self, line: &str) {
        let played = self.0.lock().unwrap();
        let watch = played.watch.as_ref().expect("it watches");
        watch.send(line.to_owned()).expect("it listens");
    }

    fn written(&self) -> Vec<(String, Value)> {
        self.0.lock().unwrap().written.clone()
    }

    fn is_watched(&self) -> bool {
        self.0.lock().unwrap().watch.is_some()
    }

    /// The last status that was written.
    fn status(&self) -> Value {
        let written = self.written();
        let status = written
            .iter()
            .rev()
            .find(|(path, _)| path.ends_with("/status"));
        status
            .map(|(_, body)| body["status"].clone())
            .unwrap_or_default()
    }
}

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
    let api = Api::new("list.json", &patched);
    let controller = Controller::new(
        api.client(),
        operator,
        "/bin/true".into(),
        server.folder.path(),
        Pulse::default(),
    );
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(controller.run(async move {
        let _ = stopped.await;
    }));

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
    let good = Digest::of(b"[link.eth0]\nrate = \"1gbit\"\n");
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
    let settled = api.written().len();
    assert!(settled > writes);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(api.written().len(), settled, "{:?}", api.written());
    assert_eq!(watcher.current().await.unwrap().revision.number, number);

    let _ = stop.send(());
    running.await.unwrap().unwrap();
}

/// Pods of a node: one that asks for something wrong is told so, and the others are none the worse.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_annotation_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let api = Api::new("pods.json", &[]);
    let config = Config {
        node: "node-1".to_owned(),
        takt: "/bin/false".into(),
        proc: folder.path().to_owned(),
        directory: folder.path().to_owned(),
    };
    let limiter = Limiter::new(api.client(), config, Pulse::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(limiter.run(async move {
        let _ = stopped.await;
    }));
    until("both are told", || api.written().len() >= 2).await;
    until("it watches", || api.is_watched()).await;
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
    let _ = stop.send(());
    running.await.unwrap().unwrap();
}
