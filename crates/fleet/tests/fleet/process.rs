//! An agent as a process.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use takt_fleet::{host::Journal, keys::Signer, revision::Revision};

use crate::common::{FLEET, SECRET, Server, stand_in_takt};

/// A host: an agent's process, and the state of its takt, which a stand-in is.
pub struct Host {
    url: String,
    identity: String,
    folder: PathBuf,
    environment: Vec<(&'static str, PathBuf)>,
    agent: Option<Child>,
}

impl Host {
    /// With more of an environment.
    pub fn start(server: &Server, host: usize, environment: &[(&'static str, PathBuf)]) -> Self {
        let identity = format!("host-{host}");
        let folder = server.folder.path().join(&identity);
        fs::create_dir_all(folder.join("takt")).unwrap();
        let mut host = Self {
            url: server.url(),
            identity,
            folder,
            environment: environment.to_vec(),
            agent: None,
        };
        host.go_on();
        host
    }

    pub fn go_on(&mut self) {
        let mut log = fs::OpenOptions::new();
        let log = log.create(true).append(true).open(self.folder.join("log"));
        let agent = Command::new(env!("CARGO_BIN_EXE_takt-fleet"))
            .args(["agent", "--fleet", FLEET, "--identity", &self.identity])
            .args(["--engine", &self.url, "--period", "5s"])
            .args(["--pin", &Signer::new(&SECRET).public().to_string()])
            .arg("--state")
            .arg(self.folder.join("state"))
            .arg("--takt")
            .arg(stand_in_takt())
            .env("STAND_IN_TAKT", self.folder.join("takt"))
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stderr(log.unwrap())
            .spawn();
        self.agent = Some(agent.unwrap());
    }

    pub fn kill(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            agent.kill().unwrap();
            agent.wait().unwrap();
        }
    }

    /// The policy in force, whole.
    pub fn in_force(&self) -> Option<String> {
        let file = fs::read_to_string(self.folder.join("takt/in-force")).ok()?;
        fs::read_to_string(file).ok()
    }

    pub fn is_on_trial(&self) -> bool {
        self.folder.join("takt/pending").exists()
    }

    pub fn journal(&self) -> Journal {
        let text = fs::read(self.folder.join("state/journal.json"));
        text.map_or_else(
            |_| Journal::default(),
            |text| serde_json::from_slice(&text).unwrap(),
        )
    }

    /// What is obeyed: whole and signed, whenever one looks.
    pub fn revision(&self) -> Option<Revision> {
        let bytes = fs::read(self.folder.join("state/revision")).ok()?;
        let pins = [Signer::new(&SECRET).public()];
        Some(Revision::open(&bytes, &pins, FLEET).expect("it is whole and signed"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
    }
}
