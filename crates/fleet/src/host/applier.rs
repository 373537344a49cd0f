//! What puts policies in force on a host: `takt`, on trial.

use std::{future::Future, path::PathBuf, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncReadExt, BufReader},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::health::Sample;

/// A policy on its way to a host.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Where it lies.
    pub file: PathBuf,
    /// What it says.
    pub text: String,
}

/// Puts policies in force and takes them back. Errors are sentences for people.
pub trait Applier: Send {
    /// Puts a policy on trial for so long; without one, ends what the fleet had put in force.
    fn begin(
        &mut self,
        policy: Option<&Policy>,
        patience: Duration,
    ) -> impl Future<Output = Result<(), String>> + Send;
    /// Keeps what is on trial.
    fn keep(&mut self) -> impl Future<Output = Result<(), String>> + Send;
    /// Keeps what an agent before this one had put on trial.
    fn keep_pending(&mut self) -> impl Future<Output = Result<(), String>> + Send;
    /// Takes back what is on trial, now.
    fn take_back(&mut self) -> impl Future<Output = Result<(), String>> + Send;
    /// Puts a policy in force that was kept before, as after a boot.
    fn restore(&mut self, policy: &Policy) -> impl Future<Output = Result<(), String>> + Send;
    /// Counters.
    fn sample(&mut self) -> impl Future<Output = Result<Sample, String>> + Send;
    /// What tells one boot of the host from another.
    fn boot(&self) -> String;
}

/// For a takt that does not come back.
const PATIENCE: Duration = Duration::from_secs(120);
const ANSWER_MAX_BYTES: usize = 16 << 20;

/// The program takt.
pub struct Takt {
    program: PathBuf,
    trial: Option<(Child, BufReader<ChildStdout>)>,
}

impl Takt {
    /// Runs this program.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            trial: None,
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--output", "json"]).args(words);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    async fn run(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        let name = words.first().copied().unwrap_or_default();
        let output = self.command(words).kill_on_drop(true).output();
        let output = timeout(PATIENCE, output)
            .await
            .map_err(|_| format!("takt {name} timed out"))?
            .map_err(|error| format!("starting {}: {error}", self.program.display()))?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(told(&output.stdout)
                .unwrap_or_else(|| format!("takt {name} ended with {}", output.status)))
        }
    }
}

/// The message of a failed takt.
fn told(json: &[u8]) -> Option<String> {
    let first = serde_json::Deserializer::from_slice(json).into_iter::<serde_json::Value>();
    let value = first.last()?.ok()?;
    Some(value.get("error")?.as_str()?.to_owned())
}

impl Applier for Takt {
    async fn begin(&mut self, policy: Option<&Policy>, patience: Duration) -> Result<(), String> {
        let Some(policy) = policy else {
            return match self.run(&["revert"]).await {
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
        };
        let file = policy.file.to_string_lossy();
        let seconds = format!("{}s", patience.as_secs());
        let mut command = self.command(&["apply", &file, "--confirm", &seconds]);
        // Not killed with this process: its guard takes the policy back in time.
        let spawned = command.stdout(Stdio::piped()).spawn();
        let mut child =
            spawned.map_err(|error| format!("starting {}: {error}", self.program.display()))?;
        let stdout = child.stdout.take().ok_or("takt has no output")?;
        let mut stdout = BufReader::new(stdout);
        let first = timeout(PATIENCE, first_value(&mut stdout)).await;
        let value = match first {
            Ok(value) => value?,
            Err(_) => {
                // It takes back what it has begun.
                stop(&child);
                let _ = timeout(PATIENCE, child.wait()).await;
                return Err("takt apply timed out".to_owned());
            }
        };
        if let Some(error) = value.get("error") {
            let _ = timeout(PATIENCE, child.wait()).await;
            return Err(error.as_str().unwrap_or("takt apply failed").to_owned());
        }
        self.trial = Some((child, stdout));
        Ok(())
    }

    async fn keep(&mut self) -> Result<(), String> {
        let Some((mut child, _stdout)) = self.trial.take() else {
            return Ok(());
        };
        self.run(&["confirm"]).await?;
        match timeout(PATIENCE, child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(format!("takt apply ended with {status}")),
            // The decision counts, not the process.
            _ => Ok(()),
        }
    }

    async fn keep_pending(&mut self) -> Result<(), String> {
        self.run(&["confirm"]).await.map(|_| ())
    }

    async fn take_back(&mut self) -> Result<(), String> {
        let trial = self.trial.take();
        let cancelled = self.run(&["cancel"]).await;
        if let Some((mut child, _stdout)) = trial {
            if cancelled.is_err() {
                stop(&child);
            }
            let _ = timeout(PATIENCE, child.wait()).await;
        }
        let pending = self.sample().await?.pending;
        match pending {
            None => Ok(()),
            Some(_) => Err(cancelled.err().unwrap_or_else(|| {
                "the policy is still on trial; takt status tells more".to_owned()
            })),
        }
    }

    async fn restore(&mut self, policy: &Policy) -> Result<(), String> {
        let file = policy.file.to_string_lossy();
        self.run(&["apply", &file]).await.map(|_| ())
    }

    async fn sample(&mut self) -> Result<Sample, String> {
        // Exit code 4 tells of problems, which are in what it prints.
        let output = self.command(&["status"]).kill_on_drop(true).output();
        let output = timeout(PATIENCE, output)
            .await
            .map_err(|_| "takt status timed out".to_owned())?
            .map_err(|error| format!("starting {}: {error}", self.program.display()))?;
        Sample::read(&output.stdout).map_err(|error| {
            told(&output.stdout).unwrap_or_else(|| format!("takt status: {error}"))
        })
    }

    fn boot(&self) -> String {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        id.unwrap_or_default().trim().to_owned()
    }
}

/// SIGTERM, at which takt takes a trial back.
fn stop(child: &Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid {
        let pid = nix::unistd::Pid::from_raw(pid);
        // It may have ended by itself.
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
    }
}

/// The first of the values that takt prints; more come when the trial ends.
async fn first_value(from: &mut BufReader<ChildStdout>) -> Result<serde_json::Value, String> {
    let mut read = Vec::new();
    let mut some = [0; 4096];
    loop {
        let count = from.read(&mut some).await.map_err(|e| e.to_string())?;
        read.extend_from_slice(&some[..count]);
        let mut values = serde_json::Deserializer::from_slice(&read).into_iter();
        match values.next() {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) if !error.is_eof() => return Err(format!("takt apply: {error}")),
            _ if count == 0 => return Err("takt apply printed nothing".to_owned()),
            _ if read.len() > ANSWER_MAX_BYTES => {
                return Err("takt apply printed too much".to_owned());
            }
            _ => {}
        }
    }
}
