//! How a pod's limit comes and goes: decided first, and then carried out.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    Config,
    namespace::{Place, find},
    pod::{Ask, policy},
};

/// For a takt that does not come back: it waits a minute for the host's lock.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(20);
const ANSWER_MAX_BYTES: u64 = 64 << 10;

/// What was done about a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// Nothing.
    Nothing,
    /// An agent before this one limited it.
    Before,
    /// It is limited to this rate, in this network namespace.
    Limited(u64, u64),
}

impl Done {
    /// The limit, if it is known.
    pub const fn rate_bps(&self) -> Option<u64> {
        match self {
            Self::Limited(rate_bps, _) => Some(*rate_bps),
            Self::Nothing | Self::Before => None,
        }
    }
}

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Todo {
    /// Nothing.
    Rest,
    /// Limit it to this rate.
    Limit(u64),
    /// Limit it no more.
    Release,
    /// Say what is wrong. A limit that it had before stays.
    Tell(String),
}

/// What is to be done about a pod that asks for this.
pub fn todo(ask: &Ask, runs: bool, done: &Done) -> Todo {
    match (ask, done) {
        (Ask::Wrong(why), _) => Todo::Tell(why.clone()),
        _ if !runs => Todo::Rest,
        (Ask::Nothing, Done::Nothing) => Todo::Rest,
        (Ask::Nothing, _) => Todo::Release,
        // Again now and then: its network namespace may be another.
        (Ask::Limit(rate_bps), _) => Todo::Limit(*rate_bps),
    }
}

/// A pod, and what is to be done about it.
#[derive(Debug)]
pub struct Asked {
    pub todo: Todo,
    pub done: Done,
    pub addresses: Vec<IpAddr>,
    pub pids: Vec<u32>,
    pub uid: String,
}

fn file(directory: &Path, uid: &str) -> PathBuf {
    directory.join(format!("{uid}.toml"))
}

/// What an agent before this one did.
pub fn before(directory: &Path, uid: &str) -> Done {
    if file(directory, uid).exists() {
        Done::Before
    } else {
        Done::Nothing
    }
}

/// Forgets a pod.
pub fn remove(directory: &Path, uid: &str) {
    let _ = fs::remove_file(file(directory, uid));
}

/// Forgets all pods but these.
pub fn keep_only<T>(directory: &Path, pods: &BTreeMap<String, T>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let uid = name.to_str().and_then(|name| name.strip_suffix(".toml"));
        if uid.is_some_and(|uid| !pods.contains_key(uid)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Does it: what is done then, or what is wrong.
pub fn carry_out(config: &Config, asked: &Asked) -> Result<Done, String> {
    let place = || {
        let place = find(&config.proc, &asked.uid, &asked.pids, &asked.addresses);
        place.ok_or_else(|| {
            "no process of the pod is in a network namespace with the pod's address".to_owned()
        })
    };
    match &asked.todo {
        Todo::Rest => Ok(asked.done.clone()),
        Todo::Tell(why) => Err(why.clone()),
        Todo::Release => {
            takt(config, &place()?, &["revert"])?;
            remove(&config.directory, &asked.uid);
            Ok(Done::Nothing)
        }
        Todo::Limit(rate_bps) => {
            let place = place()?;
            let done = Done::Limited(*rate_bps, place.inode());
            if asked.done == done {
                return Ok(done);
            }
            let path = file(&config.directory, &asked.uid);
            let text = policy(&place.device, *rate_bps);
            write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
            takt(config, &place, &["apply", &path.to_string_lossy()])?;
            Ok(done)
        }
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let next = path.with_extension("next");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    std::io::Write::write_all(&mut options.open(&next)?, text.as_bytes())?;
    fs::rename(next, path)
}

/// Runs takt in a pod's network namespace.
fn takt(config: &Config, place: &Place, words: &[&str]) -> Result<(), String> {
    let named = |error: std::io::Error| format!("{}: {error}", config.takt.display());
    let mut child = place
        .within(|| {
            Command::new(&config.takt)
                .args(["--output", "json"])
                .args(words)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        })
        .and_then(|spawned| spawned)
        .map_err(named)?;
    let stdout = child.stdout.take();
    // What does not fit is not waited for: takt would end with a broken pipe.
    let reader = thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stdout.map(|from| from.take(ANSWER_MAX_BYTES).read_to_end(&mut said));
        said
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait().map_err(named)? {
            Some(status) => break status,
            None if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("takt {} timed out", words[0]));
            }
            None => thread::sleep(LOOK),
        }
    };
    if status.success() {
        return Ok(());
    }
    let said = reader.join().unwrap_or_default();
    let first = serde_json::Deserializer::from_slice(&said).into_iter::<serde_json::Value>();
    let told = first.last().and_then(Result::ok);
    let told = told.and_then(|value| Some(value.get("error")?.as_str()?.to_owned()));
    Err(told.unwrap_or_else(|| format!("takt {} ended with {status}", words[0])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_annotations() {
        let limited = Done::Limited(1_000, 7);
        let cases = [
            (Ask::Nothing, true, Done::Nothing, Todo::Rest),
            (Ask::Nothing, true, Done::Before, Todo::Release),
            (Ask::Nothing, true, limited.clone(), Todo::Release),
            (Ask::Limit(1_000), false, Done::Nothing, Todo::Rest),
            (Ask::Limit(1_000), true, Done::Nothing, Todo::Limit(1_000)),
            (Ask::Limit(2_000), true, limited.clone(), Todo::Limit(2_000)),
            (Ask::Nothing, false, limited.clone(), Todo::Rest),
        ];
        for (ask, runs, done, wanted) in cases {
            assert_eq!(todo(&ask, runs, &done), wanted, "{ask:?} {done:?}");
        }
        let wrong = Ask::Wrong("ten".to_owned());
        assert_eq!(todo(&wrong, false, &limited), Todo::Tell("ten".to_owned()));
    }

    #[test]
    fn files_of_pods_that_are_gone_go() {
        let folder = tempfile::tempdir().unwrap();
        for uid in ["a", "b"] {
            write(&file(folder.path(), uid), "").unwrap();
        }
        keep_only(folder.path(), &BTreeMap::from([("a".to_owned(), ())]));
        assert_eq!(before(folder.path(), "a"), Done::Before);
        assert_eq!(before(folder.path(), "b"), Done::Nothing);
    }
}
