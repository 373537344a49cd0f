//! An API server that plays recordings.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream, stream::BoxStream};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use kube::{Client, client::Body};
use serde_json::Value;
use tokio::sync::mpsc;

pub fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/recordings");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

type Answer = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

fn answer(text: impl futures_util::Stream<Item = String> + Send + 'static) -> Response<Answer> {
    let frames = text.map(|text| Ok(Frame::data(Bytes::from(text))));
    Response::new(StreamBody::new(frames.boxed()))
}

/// An API server that plays recordings, and notes what is written.
#[derive(Clone, Default)]
pub struct Api(Arc<Mutex<Played>>);

#[derive(Default)]
struct Played {
    list: String,
    /// By the end of the path.
    patched: BTreeMap<&'static str, String>,
    written: Vec<(String, Value)>,
    watch: Option<mpsc::UnboundedSender<String>>,
}

impl Api {
    /// With the text of a list, and recordings of what is patched.
    pub fn new(list: String, patched: &[(&'static str, &str)]) -> Self {
        let patched = patched.iter().map(|(end, name)| (*end, recorded(name)));
        Self(Arc::new(Mutex::new(Played {
            list,
            patched: patched.collect(),
            ..Played::default()
        })))
    }

    pub fn client(&self) -> Client {
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

    pub fn event(&self, line: &str) {
        let played = self.0.lock().unwrap();
        let watch = played.watch.as_ref().expect("it watches");
        watch.send(line.to_owned()).expect("it listens");
    }

    pub fn written(&self) -> Vec<(String, Value)> {
        self.0.lock().unwrap().written.clone()
    }

    pub fn is_watched(&self) -> bool {
        self.0.lock().unwrap().watch.is_some()
    }

    /// The last status that was written.
    pub fn status(&self) -> Value {
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
