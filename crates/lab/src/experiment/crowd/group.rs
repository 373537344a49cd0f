//! Terminals with Takt: a policy and a taktd each, and an aggregator at the access point, which
//! for ten terminals takes less air than reports to all.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::experiment::command;
use crate::experiment::daemon::Daemon;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::namespace::Namespace;
use crate::experiment::wlan::{ACCESS_POINT, ACCESS_POINT_ADDRESS, BRIDGE, DEVICE, Station};

/// taktd's own default.
pub const PORT: u16 = 7642;

/// They are restored when this is dropped.
pub struct Group {
    daemons: Vec<Daemon>,
    members: Vec<Namespace>,
    takt: PathBuf,
    folder: TempDir,
}

impl Group {
    /// Policies are in force when it returns, and if `hears`, daemons run.
    pub fn start(takt: &Path, terminals: Vec<Station>, hears: bool) -> Result<Self> {
        let mut group = Self {
            daemons: Vec::new(),
            members: Vec::new(),
            takt: takt.to_owned(),
            folder: tempfile::tempdir().doing("find a place for the group's key")?,
        };
        let key = group.folder.path().join("crowd.key");
        command::run(takt, &["crowd", "key", &key.to_string_lossy()])?;
        let aggregator = format!("device = \"{BRIDGE}\"\naggregate = true\n");
        group.join(ACCESS_POINT, &key, &aggregator)?;
        let terminal = format!(
            "device = \"{DEVICE}\"\naggregator = \"{ACCESS_POINT_ADDRESS}:{PORT}\"\ndownloads = true\n"
        );
        for station in terminals {
            group.join(station.namespace(), &key, &terminal)?;
        }
        if hears {
            for member in &group.members {
                group.daemons.push(Daemon::start_alone(*member)?);
            }
        }
        Ok(group)
    }

    fn join(&mut self, member: Namespace, key: &Path, role: &str) -> Result<()> {
        let policy = self.folder.path().join(format!("{}.toml", member.0));
        let text = format!(
            "[crowd]\ngroup = \"lab\"\nkey_file = {:?}\n{role}",
            key.display()
        );
        std::fs::write(&policy, text).doing("write a member's policy")?;
        let apply = || command::run(&self.takt, &["apply", &policy.to_string_lossy()]).map(drop);
        member.run(apply)?;
        self.members.push(member);
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.daemons.clear();
        for member in self.members.iter().rev() {
            let revert = || command::run(&self.takt, &["revert"]).map(drop);
            if let Err(error) = member.run(revert) {
                eprintln!("while cleaning up: {error}");
            }
        }
    }
}
