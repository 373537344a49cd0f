//! The page and the metrics of `takt fleet serve`, the page also in a browser if there is one.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use takt_fleet::{digest::Digest, keys::Signer, operator::Ended, selector::Selector};

use crate::common::{FLEET, SECRET, Server, push, until};

const POLICY: &str = "[link.eth0]\nrate = \"1gbit\"\n# drops\n";

struct Served {
    process: Child,
    address: String,
}

impl Served {
    fn start(server: &Server) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_takt-fleet"))
            .args(["serve", "--listen", "127.0.0.1:0", "--fleet", FLEET])
            .args(["--engine", &server.url()])
            .args(["--pin", &Signer::new(&SECRET).public().to_string()])
            .arg("--state")
            .arg(server.folder.path().join("served"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut told = BufReader::new(process.stdout.take().unwrap());
        told.read_line(&mut line).unwrap();
        let rest = line.strip_prefix("http://").expect("an address");
        let address = rest.split('/').next().unwrap().to_owned();
        Self { process, address }
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_is_shown() {
    let server = Server::start();
    let mut operator = server.operator().await;
    let hosts = server.hosts(20, Duration::from_secs(5)).await;
    let roster = operator.fresh_roster().await.unwrap();
    operator.push(&push(POLICY, "all"), &roster).await.unwrap();
    let ended = operator.drive(&Selector::ALL, |_, _| {}).await.unwrap();
    assert!(matches!(ended, Ended::Done(_)), "{ended:?}");
    let digest = Digest::for_content(POLICY.as_bytes());
    until("all have it", || {
        hosts.iter().all(|h| h.host().policy() == Some(digest))
    })
    .await;

    let served = Served::start(&server);
    let own =
        "takt_fleet_host_dropped_packets_total{fleet=\"test\",host=\"host-3\",site=\"hamburg\"} ";
    let dropped = |metrics: &str| {
        let count = metrics.lines().find_map(|line| line.strip_prefix(own))?;
        count.parse::<u64>().ok()
    };
    // Its report after the trial.
    until("a host has told of drops", || {
        dropped(&served.get("/metrics")).is_some_and(|count| count > 0)
    })
    .await;
    let kept = |metrics: &str| metrics.matches("state=\"kept\"} 1").count();
    until("all have told that they keep it", || {
        kept(&served.get("/metrics")) == 20
    })
    .await;
    let metrics = served.get("/metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let state = served.get("/state.json?x=1");
    let (_, json) = state.split_once("\r\n\r\n").unwrap();
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(json["hosts"].as_array().unwrap().len(), 20);
    assert_eq!(json["assignments"][0]["kept"], 20);

    // Nothing can be written, and nonsense is answered.
    assert!(
        served
            .ask("POST / HTTP/1.1\r\n\r\n")
            .starts_with("HTTP/1.1 405")
    );
    assert!(served.get("/../etc/passwd").starts_with("HTTP/1.1 404"));
    assert!(served.ask("rubbish\r\n\r\n").starts_with("HTTP/1.1 400"));
    let long = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(9_000));
    assert!(served.ask(&long).starts_with("HTTP/1.1 431"));

    let page = served.get("/");
    assert!(page.contains("<title>Takt fleet</title>"), "{page}");
    let Some(browser) = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
    else {
        println!("no browser: there is no Chromium on the path (Debian: apt-get install chromium)");
        return;
    };
    let folder = server.folder.path().join("browser");
    let shot = std::env::temp_dir().join("takt-fleet-page.png");
    let shown = |more: &[&str]| {
        let ran = Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--virtual-time-budget=6000",
            ])
            .arg(format!("--user-data-dir={}", folder.display()))
            .args(more)
            .arg(format!("http://{}/", served.address))
            .output()
            .unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    // A phone's width.
    let dom = shown(&["--window-size=390,844", "--dump-dom"]);
    for text in [
        "Takt fleet test",
        "20 of 20 released: 20 keep it",
        "kept: 20",
        "eth0/voice",
    ] {
        assert!(dom.contains(text), "{text}: {dom}");
    }
    if std::env::var_os("TAKT_KEEP_PAGE").is_some() {
        shown(&[
            "--window-size=390,844",
            &format!("--screenshot={}", shot.display()),
        ]);
        println!("{}", shot.display());
    }
}
