//! Against a real API server, which `scripts/kube-apiserver` builds: the objects of
//! packaging/kubernetes are accepted, and the programs do with the rights of rbac.yaml what they
//! should. Not in CI: it takes minutes to build one.
//!
//!     export TAKT_APISERVER=…/kube-apiserver
//!     cargo test --release -p takt-kubernetes --test cluster -- --ignored apiserver

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use http::{Method, Request};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use takt_fleet::digest::Digest;
use tempfile::TempDir;

use crate::common::{self, FLEET, PATIENCE, SECRET, Server};

const POLICIES: &str = "/apis/fleet.takt/v1alpha1/taktpolicies";
const GOOD: &str = "[link.eth0]\nrate = \"1gbit\"\n";
const CUTS_OFF: &str = "[link.eth0]\nrate = \"1kbit\"\n# cuts off\n";

/// A process that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(command: &mut Command, log: &Path) -> Running {
    let log = fs::File::create(log).unwrap();
    let both = (log.try_clone().unwrap(), log);
    let spawned = command
        .stdin(Stdio::null())
        .stdout(both.0)
        .stderr(both.1)
        .spawn();
    Running(spawned.unwrap_or_else(|error| panic!("{command:?}: {error}")))
}

fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A control plane: etcd and an API server, and no controllers and no kubelets.
struct Cluster {
    folder: TempDir,
    server: String,
    client: Client,
    _processes: [Running; 2],
}

impl Cluster {
    async fn start() -> Self {
        let program = std::env::var_os("TAKT_APISERVER");
        let program = program.expect("TAKT_APISERVER names it; scripts/kube-apiserver builds one");
        let etcd = std::env::var_os("TAKT_ETCD").unwrap_or_else(|| "etcd".into());
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let [etcd_port, peer_port, api_port] = [port(), port(), port()];
        let etcd_url = format!("http://127.0.0.1:{etcd_port}");
        let peer_url = format!("http://127.0.0.1:{peer_port}");
        let state = run(
            Command::new(etcd)
                .arg("--data-dir")
                .arg(path("etcd"))
                .args(["--listen-client-urls", &etcd_url])
                .args(["--advertise-client-urls", &etcd_url])
                .args(["--listen-peer-urls", &peer_url])
                .args(["--initial-advertise-peer-urls", &peer_url])
                .args(["--initial-cluster", &format!("default={peer_url}")]),
            &path("etcd.log"),
        );
        let made = Command::new("openssl")
            .args(["genrsa", "-out"])
            .arg(path("accounts.key"))
            .stderr(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        fs::write(path("tokens.csv"), "admin,admin,admin,system:masters\n").unwrap();
        let api = run(
            Command::new(program)
                .args(["--etcd-servers", &etcd_url])
                .args(["--bind-address", "127.0.0.1"])
                .args(["--secure-port", &api_port.to_string()])
                .args(["--service-cluster-ip-range", "10.0.0.0/24"])
                .args(["--authorization-mode", "RBAC"])
                .args(["--service-account-issuer", "https://takt"])
                .arg("--service-account-key-file")
                .arg(path("accounts.key"))
                .arg("--service-account-signing-key-file")
                .arg(path("accounts.key"))
                .arg("--cert-dir")
                .arg(path("certs"))
                .arg("--token-auth-file")
                .arg(path("tokens.csv")),
            &path("apiserver.log"),
        );
        let server = format!("https://127.0.0.1:{api_port}");
        until("the API server has certificates", || {
            path("certs/apiserver.crt").exists()
        });
        let config = config_of(folder.path(), &server, "admin", "admin");
        let config = Kubeconfig::read_from(config).unwrap();
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
        let cluster = Self {
            client: Client::try_from(config.unwrap()).unwrap(),
            server,
            folder,
            _processes: [state, api],
        };
        let began = Instant::now();
        while cluster
            .ask(Method::GET, "/readyz", "", &Value::Null)
            .await
            .is_err()
            || cluster
                .ask(Method::GET, "/api/v1/namespaces/default", "", &Value::Null)
                .await
                .is_err()
        {
            assert!(began.elapsed() < PATIENCE, "the API server is not ready");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        cluster
    }

    /// The body of an answer that is no error.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: &Value,
    ) -> Result<String, kube::Error> {
        let text = match body {
            Value::Null => Vec::new(),
            Value::String(yaml) => yaml.clone().into_bytes(),
            body => body.to_string().into_bytes(),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", kind)
            .header("Accept", "application/json, */*");
        self.client.request_text(request.body(text).unwrap()).await
    }

    async fn get(&self, path: &str) -> Value {
        let text = self.ask(Method::GET, path, "", &Value::Null).await;
        text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }

    async fn create(&self, path: &str, body: Value) -> Result<String, kube::Error> {
        self.ask(Method::POST, path, "application/json", &body)
            .await
    }

    async fn patch(&self, path: &str, body: Value) -> Result<String, kube::Error> {
        let kind = "application/merge-patch+json";
        self.ask(Method::PATCH, path, kind, &body).await
    }

    /// All objects of packaging/kubernetes.
    async fn install(&self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/kubernetes");
        let definition = fs::read_to_string(folder.join("crd.generated.json")).unwrap();
        let definition = serde_json::from_str(&definition).unwrap();
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        self.create(path, definition).await.unwrap();
        for name in ["namespace", "rbac", "engine", "controller", "node"] {
            let text = fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
            for document in text.split("\n---\n") {
                let kind = document
                    .lines()
                    .find_map(|line| line.strip_prefix("kind: "));
                let path = match kind.expect("a kind") {
                    "Namespace" => "/api/v1/namespaces",
                    "ClusterRole" => "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                    "ClusterRoleBinding" => {
                        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
                    }
                    "ServiceAccount" => "/api/v1/namespaces/takt-system/serviceaccounts",
                    "Service" => "/api/v1/namespaces/takt-system/services",
                    "PersistentVolumeClaim" => {
                        "/api/v1/namespaces/takt-system/persistentvolumeclaims"
                    }
                    "Deployment" => "/apis/apps/v1/namespaces/takt-system/deployments",
                    "StatefulSet" => "/apis/apps/v1/namespaces/takt-system/statefulsets",
                    "DaemonSet" => "/apis/apps/v1/namespaces/takt-system/daemonsets",
                    other => panic!("{other}"),
                };
                // Strictly: a field that is not known is an error.
                let path = format!("{path}?fieldValidation=Strict");
                let made = self
                    .ask(Method::POST, &path, "application/yaml", &document.into())
                    .await;
                made.unwrap_or_else(|error| panic!("{name}: {error}\n{document}"));
            }
        }
    }

    /// Pods as the controllers of a real cluster would make them of a template: the rules for pods
    /// are stricter than those for templates.
    async fn try_pods(&self) {
        for (kind, name) in [
            ("deployments", "takt-controller"),
            ("daemonsets", "takt-node"),
            ("statefulsets", "takt-engine"),
        ] {
            let of = format!("/apis/apps/v1/namespaces/takt-system/{kind}/{name}");
            let mut pod = self.get(&of).await["spec"]["template"].clone();
            pod["metadata"]["name"] = name.into();
            if name == "takt-engine" {
                pod["spec"]["volumes"] = json!([{ "name": "data", "emptyDir": {} }]);
                pod["spec"]["serviceAccountName"] = "takt-controller".into();
            }
            let path = "/api/v1/namespaces/takt-system/pods?dryRun=All&fieldValidation=Strict";
            let made = self.create(path, pod).await;
            made.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// Our program, with the rights of a service account.
    async fn start_program(&self, account: &str, words: &[&str], folder: &Path) -> Running {
        let path = format!("/api/v1/namespaces/takt-system/serviceaccounts/{account}/token");
        let token = self
            .create(&path, json!({ "spec": { "expirationSeconds": 3600 } }))
            .await;
        let token: Value = serde_json::from_str(&token.unwrap()).unwrap();
        let token = token["status"]["token"].as_str().unwrap();
        let config = config_of(self.folder.path(), &self.server, account, token);
        run(
            Command::new(folder.join("takt-kubernetes"))
                .args(words)
                .env("KUBECONFIG", config)
                .env("STAND_IN_TAKT", folder),
            &folder.join(format!("{account}.log")),
        )
    }
}

fn config_of(folder: &Path, server: &str, name: &str, token: &str) -> PathBuf {
    let path = folder.join(format!("{name}.kubeconfig"));
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": {
            "server": server, "certificate-authority": folder.join("certs/apiserver.crt"),
        } }],
        "users": [{ "name": "u", "user": { "token": token } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
    });
    fs::write(&path, config.to_string()).unwrap();
    path
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until an object is as it should be.
async fn until_is(cluster: &Cluster, path: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let found = cluster.get(path).await;
        if is(&found) {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "not in time: {what}: {found}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A folder with our program, and this beside it as takt.
fn programs(folder: &Path, takt: &Path) {
    fs::create_dir_all(folder).unwrap();
    let program = env!("CARGO_BIN_EXE_takt-kubernetes");
    fs::copy(program, folder.join("takt-kubernetes")).unwrap();
    symlink(takt, folder.join("takt")).unwrap();
}

fn policy(name: &str, to: &str, text: &str) -> Value {
    json!({
        "apiVersion": "fleet.takt/v1alpha1", "kind": "TaktPolicy", "metadata": { "name": name },
        "spec": { "to": to, "policy": text, "rollout": {
            "canary": "25%", "step": "50%", "hold": "3s", "grace": "20s",
        } },
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants an API server, which TAKT_APISERVER names"]
async fn objects_are_rolled_out() {
    let cluster = Cluster::start().await;
    cluster.install().await;
    cluster.try_pods().await;

    let server = Server::start();
    let mut operator = server.operator().await;
    let hosts = server.hosts(8, Duration::from_secs(5)).await;
    while operator.fresh_roster().await.unwrap().hosts().count() < hosts.len() {}
    let folder = cluster.folder.path().join("controller");
    programs(&folder, Path::new("/bin/true"));
    let key = folder.join("fleet.key");
    let secret: String = SECRET.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(&key, secret).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let (state, listen) = (folder.join("state"), format!("127.0.0.1:{}", port()));
    let url = server.url();
    let words = [
        "controller",
        "--engine",
        &url,
        "--fleet",
        FLEET,
        "--key",
        key.to_str().unwrap(),
        "--state",
        state.to_str().unwrap(),
        "--listen",
        &listen,
    ];
    let mut program = cluster
        .start_program("takt-controller", &words, &folder)
        .await;
    let have = |text: &str| {
        let digest = Digest::for_content(text.as_bytes());
        let have = hosts
            .iter()
            .filter(|host| host.host().policy() == Some(digest));
        have.count()
    };

    // A good one reaches all hosts, though the controller is killed in between.
    let voice = &format!("{POLICIES}/voice");
    cluster
        .create(POLICIES, policy("voice", "all", GOOD))
        .await
        .unwrap();
    until_is(&cluster, voice, "its canaries try it", |own| {
        own["status"]["phase"] == "RollingOut" && own["status"]["hosts"]["released"] == 2
    })
    .await;
    drop(program);
    program = cluster
        .start_program("takt-controller", &words, &folder)
        .await;
    let done = until_is(&cluster, voice, "it is complete", |own| {
        own["status"]["phase"] == "Complete"
    })
    .await;
    assert_eq!(done["status"]["hosts"]["kept"], 8, "{done}");
    assert_eq!(done["status"]["wave"], 3, "{done}");
    assert_eq!(have(GOOD), 8);

    // Its hosts cannot be others, and no other object can have them.
    let refused = cluster
        .patch(voice, json!({ "spec": { "to": "site=berlin" } }))
        .await;
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("to cannot be changed")
    );
    cluster
        .create(POLICIES, policy("other", "all", GOOD))
        .await
        .unwrap();
    let other = &format!("{POLICIES}/other");
    let other_is = until_is(&cluster, other, "it is refused", |own| {
        own["status"]["phase"] == "Refused"
    })
    .await;
    assert_eq!(
        other_is["status"]["conditions"][0]["reason"], "Conflict",
        "{other_is}"
    );

    // A bad one stays with its canaries.
    cluster
        .patch(voice, json!({ "spec": { "policy": CUTS_OFF } }))
        .await
        .unwrap();
    let back = until_is(&cluster, voice, "it is taken back", |own| {
        own["status"]["phase"] == "TakenBack"
    })
    .await;
    let why = back["status"]["why"].as_str().unwrap();
    assert!(why.contains("cut off the engine"), "{why}");
    let evil = Digest::for_content(CUTS_OFF.as_bytes());
    let had = hosts
        .iter()
        .filter(|host| host.host().duration(&evil).is_some());
    assert_eq!(had.count(), 2);
    common::until("all have the good one", || have(GOOD) == 8).await;

    // One that is no policy is not pushed; a pause releases nothing.
    cluster
        .patch(voice, json!({ "spec": { "policy": "rate = 1" } }))
        .await
        .unwrap();
    until_is(&cluster, voice, "it is refused", |own| {
        own["status"]["phase"] == "Refused" && own["status"]["conditions"][0]["reason"] == "Invalid"
    })
    .await;

    // A rival that is deleted takes nothing with it; the object that has the hosts does.
    cluster
        .ask(Method::DELETE, other, "", &Value::Null)
        .await
        .unwrap();
    until_is(&cluster, other, "it is gone", Value::is_null).await;
    assert_eq!(have(GOOD), 8, "the rival had nothing of the fleet's");
    let again = json!({ "spec": { "policy": GOOD, "note": "again" } });
    cluster.patch(voice, again).await.unwrap();
    until_is(&cluster, voice, "it is complete", |own| {
        own["status"]["phase"] == "Complete" && own["status"]["observedGeneration"] == 4
    })
    .await;
    cluster
        .ask(Method::DELETE, voice, "", &Value::Null)
        .await
        .unwrap();
    until_is(&cluster, voice, "it is gone", Value::is_null).await;
    common::until("no host has it", || have(GOOD) == 0).await;
    drop(program);
    println!(
        "{}",
        fs::read_to_string(folder.join("takt-controller.log")).unwrap()
    );
}

/// A process in a network namespace of its own, with this address on its loopback.
fn pod_process(address: &str) -> Running {
    let script =
        format!("ip link set lo up && ip address add {address}/32 dev lo && exec sleep 600");
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut command = Command::new("unshare");
    command
        .args(["--net", "sh", "-c", &script])
        .env("PATH", path);
    Running(command.spawn().expect("unshare is there"))
}

/// Notes what it is asked, and in which network namespace.
const NOTES: &str = "#!/bin/sh\n\
    echo \"$(readlink /proc/self/ns/net) $*\" >>\"$STAND_IN_TAKT/asked\"\n\
    [ \"$3\" != apply ] || grep -v '^#' \"$4\" >>\"$STAND_IN_TAKT/asked\"\n\
    echo '{}'\n";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants an API server, which TAKT_APISERVER names, and root"]
async fn pods_are_limited() {
    let cluster = Cluster::start().await;
    cluster.install().await;
    let folder = cluster.folder.path().join("node");
    fs::create_dir(&folder).unwrap();
    let takt = folder.join("notes");
    fs::write(&takt, NOTES).unwrap();
    fs::set_permissions(&takt, fs::Permissions::from_mode(0o755)).unwrap();
    programs(&folder, &takt);

    // A node with three pods, one of them wrong; kubelet's part is played here.
    let shop = "/api/v1/namespaces/shop";
    cluster
        .create(
            "/api/v1/namespaces",
            json!({ "metadata": { "name": "shop" } }),
        )
        .await
        .unwrap();
    let account = json!({ "metadata": { "name": "default" } });
    cluster
        .create(&format!("{shop}/serviceaccounts"), account)
        .await
        .unwrap();
    let proc = folder.join("proc");
    fs::create_dir_all(proc.join("self/ns")).unwrap();
    symlink("/proc/self/ns/net", proc.join("self/ns/net")).unwrap();
    let mut processes = Vec::new();
    for (name, address, annotation) in [
        ("web", "10.9.8.1", "10M"),
        ("wrong", "10.9.8.2", "fast"),
        ("plain", "10.9.8.3", ""),
    ] {
        let mut annotations = json!({});
        if !annotation.is_empty() {
            annotations["kubernetes.io/egress-bandwidth"] = annotation.into();
        }
        let pod = json!({
            "metadata": { "name": name, "annotations": annotations },
            "spec": { "nodeName": "node-1", "automountServiceAccountToken": false,
                "containers": [{ "name": "c", "image": "i" }] },
        });
        let made = cluster.create(&format!("{shop}/pods"), pod).await.unwrap();
        let made: Value = serde_json::from_str(&made).unwrap();
        let uid = made["metadata"]["uid"].as_str().unwrap();
        let process = pod_process(address);
        let pid = process.0.id().to_string();
        fs::create_dir_all(proc.join(&pid).join("ns")).unwrap();
        symlink(
            format!("/proc/{pid}/ns/net"),
            proc.join(&pid).join("ns/net"),
        )
        .unwrap();
        let group = format!("0::/kubepods/besteffort/pod{uid}/0123\n");
        fs::write(proc.join(&pid).join("cgroup"), group).unwrap();
        let status = json!({ "status": {
            "phase": "Running", "podIP": address, "podIPs": [{ "ip": address }],
        } });
        cluster
            .patch(&format!("{shop}/pods/{name}/status"), status)
            .await
            .unwrap();
        processes.push(process);
    }
    let state = folder.join("state");
    let listen = format!("127.0.0.1:{}", port());
    let words = [
        "bandwidth",
        "--node",
        "node-1",
        "--proc",
        proc.to_str().unwrap(),
        "--state",
        state.to_str().unwrap(),
        "--listen",
        &listen,
    ];
    let program = cluster.start_program("takt-node", &words, &folder).await;
    let asked = || fs::read_to_string(folder.join("asked")).unwrap_or_default();
    let net = fs::read_link(format!("/proc/{}/ns/net", processes[0].0.id())).unwrap();
    let net = net.display().to_string();
    until("the pod is limited", || {
        asked().contains("rate = \"10000000bit\"")
    });
    assert!(asked().contains("[link.\"lo\"]"), "{}", asked());
    assert!(asked().starts_with(&net), "{} {net}", asked());

    // The wrong one is told so.
    let events = format!("{shop}/events");
    let events = until_is(&cluster, &events, "there is an event", |events| {
        events["items"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    })
    .await;
    assert_eq!(events["items"].as_array().unwrap().len(), 1, "{events}");
    let event = &events["items"][0];
    assert_eq!(event["involvedObject"]["name"], "wrong");
    assert!(
        event["message"]
            .as_str()
            .unwrap()
            .contains("not a quantity"),
        "{event}"
    );

    // Changed, wrong for a while, and taken away.
    let annotate = async |text: Value| {
        let annotations = json!({ "kubernetes.io/egress-bandwidth": text });
        let body = json!({ "metadata": { "annotations": annotations } });
        cluster
            .patch(&format!("{shop}/pods/web"), body)
            .await
            .unwrap();
    };
    annotate("2M".into()).await;
    until("the pod has another limit", || {
        asked().contains("rate = \"2000000bit\"")
    });
    // Another agent goes on where this one ended.
    drop(program);
    annotate(Value::Null).await;
    let _program = cluster.start_program("takt-node", &words, &folder).await;
    until("the pod is limited no more", || {
        asked().trim_end().ends_with("--output json revert")
    });
    let last = asked();
    assert!(last.lines().last().unwrap().starts_with(&net), "{last}");
    assert!(
        !last.contains(
            &fs::read_link(format!("/proc/{}/ns/net", processes[2].0.id()))
                .unwrap()
                .display()
                .to_string()
        )
    );
}
