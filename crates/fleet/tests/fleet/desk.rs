//! An operator's machine: takt-fleet, and the programs beside it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::common::{FLEET, SECRET, Server, stand_in_takt};

/// A folder with all of it; takt is the stand-in there.
pub struct Desk {
    url: String,
    pub folder: PathBuf,
}

impl Desk {
    pub fn new(server: &Server) -> Self {
        let folder = server.folder.path().join("desk");
        fs::create_dir(&folder).unwrap();
        // A copy: the program looks for others where it lies itself.
        fs::copy(env!("CARGO_BIN_EXE_takt-fleet"), folder.join("takt-fleet")).unwrap();
        symlink(stand_in_takt(), folder.join("takt")).unwrap();
        // As `takt fleet key` writes it.
        let secret: String = SECRET.iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(folder.join("fleet.key"), secret).unwrap();
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(folder.join("fleet.key"), mode).unwrap();
        Self {
            url: server.url(),
            folder,
        }
    }

    /// The path of a file with this text.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs `takt-fleet COMMAND`, with more of an environment: its exit code, and what it says.
    pub fn fleet(
        &self,
        command: &str,
        words: &[&str],
        environment: &[(&str, PathBuf)],
    ) -> (Option<i32>, Value) {
        let key = [PathBuf::from("--key"), self.folder.join("fleet.key")];
        self.run(command, words, &key, environment)
    }

    /// The same of one who has no key.
    pub fn fleet_without_key(&self, command: &str) -> (Option<i32>, Value) {
        self.run(command, &[], &[], &[])
    }

    fn run(
        &self,
        command: &str,
        words: &[&str],
        key: &[PathBuf],
        environment: &[(&str, PathBuf)],
    ) -> (Option<i32>, Value) {
        let ran = Command::new(self.folder.join("takt-fleet"))
            .args([command, "--output", "json", "--fleet", FLEET])
            .args(["--engine", &self.url])
            .args(key)
            .arg("--state")
            .arg(self.folder.join("state"))
            .args(words)
            .env("STAND_IN_TAKT", &self.folder)
            .envs(environment.iter().cloned())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        let value = serde_json::from_str(&said);
        (
            ran.status.code(),
            value.unwrap_or_else(|error| panic!("{error}: {said}")),
        )
    }
}
