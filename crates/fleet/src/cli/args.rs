//! What can be typed behind `takt fleet`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use takt_fleet::{
    engine::Access,
    health::Health,
    keys::PublicKey,
    revision::check_fleet,
    selector::Selector,
    terms::{duration, hold, period, share, tolerated},
};

const NOTES: &str = "\
Examples:
  takt fleet key fleet.key
  takt fleet agent --engine nats://192.0.2.1 --pin ed25519:… --label site=berlin
  takt fleet push policy.toml --to site=berlin --key fleet.key --hold 10m
  takt fleet status

TAKT_FLEET_ENGINE, TAKT_FLEET_KEY, TAKT_FLEET_CREDENTIALS and TAKT_FLEET_CA stand for --engine,
--key, --credentials and --ca.

Exit codes:
  0  done
  1  failed, or a wave did not keep the policy and it was taken back
  2  the policy or the arguments are wrong
  3  a kernel of the fleet could not carry the policy out
  4  others changed the fleet, or the engine shows what is not to be trusted
  5  the engine or a host is not there";

/// Rolls one policy out to many hosts, in waves: a host that cannot confirm it reverts
/// by itself, and a failed wave ends the rollout.
#[derive(Debug, Parser)]
#[command(name = "takt-fleet", bin_name = "takt fleet", version, after_help = NOTES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Common {
    /// The NATS server, or several separated by commas [default: nats://127.0.0.1:4222].
    #[arg(long, global = true, value_name = "URL")]
    engine: Option<String>,
    /// The fleet's name.
    #[arg(long, global = true, value_name = "NAME", default_value = "takt", value_parser = fleet)]
    pub fleet: String,
    /// A file with the credentials of a NATS user.
    #[arg(long, global = true, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// A file with CA certificates, to verify the server with.
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The signing key.
    #[arg(long, global = true, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A trusted public key; may be repeated.
    #[arg(long, global = true, value_name = "KEY")]
    pub pin: Vec<PublicKey>,
    /// The state directory of the agent or the operator.
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    /// How to print results.
    #[arg(long, global = true, value_enum, default_value_t)]
    pub output: Output,
}

impl Common {
    pub fn access(&self) -> Access {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let engine = self.engine.clone();
        let engine = engine.or_else(|| std::env::var("TAKT_FLEET_ENGINE").ok());
        let or = |given: &Option<PathBuf>, name| given.clone().or_else(|| variable(name));
        Access {
            urls: engine.unwrap_or_else(|| "nats://127.0.0.1:4222".to_owned()),
            credentials: or(&self.credentials, "TAKT_FLEET_CREDENTIALS"),
            ca: or(&self.ca, "TAKT_FLEET_CA"),
        }
    }

    pub fn key(&self) -> Option<PathBuf> {
        let variable = || std::env::var_os("TAKT_FLEET_KEY").map(PathBuf::from);
        self.key.clone().or_else(variable)
    }

    /// Of an operator: by default below the home directory.
    pub fn operator_state(&self) -> PathBuf {
        let home = || {
            let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
            let home = std::env::var_os("HOME").map(PathBuf::from);
            let state = state.or_else(|| home.map(|home| home.join(".local/state")));
            state.map(|state| state.join("takt-fleet"))
        };
        let given = self.state.clone().or_else(home);
        given.unwrap_or_else(|| Path::new("/var/lib/takt/fleet-operator").to_owned())
    }

    pub fn agent_state(&self) -> PathBuf {
        let given = self.state.clone();
        given.unwrap_or_else(|| Path::new("/var/lib/takt/fleet").to_owned())
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a signing key, and print its public key, which hosts pin; of an existing key, only
    /// print it.
    #[command(after_help = "Example:\n  takt fleet key fleet.key")]
    Key {
        /// The file; only its owner may read it.
        file: PathBuf,
    },

    /// Run the agent: follow signed revisions on this host until SIGINT or SIGTERM.
    ///
    /// A policy is on trial for its hold time: it stays if the host is then healthy and
    /// has reached the engine. Otherwise the previous state is restored. Without the engine the
    /// host keeps its policy.
    #[command(
        after_help = "Example:\n  takt fleet agent --engine nats://192.0.2.1 --pin ed25519:… \
                      --label site=berlin --label role=media"
    )]
    Agent {
        /// The host's name in the fleet [default: the host name].
        #[arg(long, value_name = "NAME")]
        identity: Option<String>,
        /// A label for selectors, as NAME=VALUE; may be repeated. The agent adds the
        /// kernel, its architecture and the hardware.
        #[arg(long, value_name = "LABEL")]
        label: Vec<String>,
        /// The interval between reports when idle, from 5s to 1h.
        #[arg(long, value_name = "TIME", default_value = "60s", value_parser = period)]
        period: Duration,
        /// The takt that applies policies [default: the one beside this program, else on the path].
        #[arg(long, value_name = "FILE")]
        takt: Option<PathBuf>,
    },

    /// Sign a policy for some hosts, and release it to them in waves.
    ///
    /// It waits for each wave; --detach releases only the first one, and `takt fleet resume`
    /// continues. If a wave fails, all hosts roll back and the exit code is 1.
    #[command(
        after_help = "Examples:\n  takt fleet push policy.toml --to all --key fleet.key\n  \
                      takt fleet push policy.toml --to 'site=berlin,kernel>=6.16' --canary 5% \
                      --step 25% --hold 10m \\\n    --health 'problems == 0 and dropped(voice) / \
                      sent(voice) < 1%'"
    )]
    Push(Push),

    /// Show the progress of each assignment, and the hosts that need attention.
    #[command(after_help = "Examples:\n  takt fleet status\n  takt fleet status --hosts")]
    Status {
        /// Show every host.
        #[arg(long)]
        hosts: bool,
    },

    /// Pause a rollout: no host starts, and no wave is released. Running trials continue.
    #[command(after_help = "Example:\n  takt fleet pause --to site=berlin --key fleet.key")]
    Pause(To),

    /// Resume a rollout that was paused or whose operator exited, and wait for its end.
    #[command(after_help = "Example:\n  takt fleet resume --to site=berlin --key fleet.key")]
    Resume(To),

    /// Roll the hosts back to their previous policy, all at once, on trial like any policy.
    #[command(
        after_help = "Examples:\n  takt fleet rollback --to all --key fleet.key\n  \
                      takt fleet rollback --to all --revision 12 --key fleet.key"
    )]
    Rollback {
        #[command(flatten)]
        to: To,
        /// Roll back to what this revision assigned.
        #[arg(long, value_name = "NUMBER")]
        revision: Option<u64>,
    },

    /// Compare a policy with the assigned one.
    #[command(after_help = "Example:\n  takt fleet diff policy.toml --to all")]
    Diff {
        /// The policy: a file, a directory, or - for standard input.
        policy: PathBuf,
        #[command(flatten)]
        to: To,
    },

    /// List the revisions that the engine keeps.
    #[command(after_help = "Example:\n  takt fleet history")]
    History,

    /// List hosts that do not have their assigned policy, and why.
    #[command(after_help = "Example:\n  takt fleet drift")]
    Drift,

    /// Forget a host, its last report and its key, for instance after a reinstallation.
    #[command(after_help = "Example:\n  takt fleet forget host-17")]
    Forget {
        /// The host's name in the fleet.
        host: String,
    },

    /// Serve the hosts' reports as OpenMetrics, with a status page, or print them.
    #[command(
        after_help = "Examples:\n  takt fleet serve --listen 127.0.0.1:9124\n  takt fleet serve \
                      --once"
    )]
    Serve {
        /// The address to listen on; by default only this machine can connect.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9124")]
        listen: SocketAddr,
        /// Print the metrics and exit.
        #[arg(long)]
        once: bool,
    },
}

#[derive(Debug, Args)]
pub struct To {
    /// The assignment, by its selector; required if there are several.
    #[arg(long, value_name = "SELECTOR")]
    pub to: Option<Selector>,
}

#[derive(Debug, Args)]
pub struct Push {
    /// The policy: a file, or a directory with policy.toml and policy.d/*.toml.
    #[arg(required_unless_present = "none")]
    pub policy: Option<PathBuf>,
    /// Remove the fleet's policy from the hosts, without a trial.
    #[arg(long, conflicts_with = "policy")]
    pub none: bool,
    /// The hosts: `all`, or terms separated by commas, such as site=berlin|hamburg,role!=lab,
    /// kernel>=6.16.
    #[arg(long, value_name = "SELECTOR")]
    pub to: Selector,
    /// The first wave's share of the hosts; at least one host.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    pub canary: u32,
    /// What each later wave adds.
    #[arg(long, value_name = "SHARE", default_value = "25%", value_parser = share)]
    pub step: u32,
    /// The hold time: how long each host has it on trial, from 1s to 55m.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = hold)]
    pub hold: Duration,
    /// The condition that each host must meet at the end of its trial.
    #[arg(long, value_name = "EXPR", default_value = "problems == 0")]
    pub health: Health,
    /// How long to wait for a host's report after its trial.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub grace: Duration,
    /// The share of a wave that may fail or stop reporting.
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = tolerated)]
    pub tolerate: u32,
    /// Release the first wave and exit; `takt fleet resume` continues.
    #[arg(long)]
    pub detach: bool,
    /// Assign it to all hosts at once, although none has reported.
    #[arg(long)]
    pub unseen: bool,
    /// The reason, for the history.
    #[arg(long, default_value = "")]
    pub note: String,
    /// First simulate each of its links with this traffic; stop if the simulator refuses it.
    #[arg(long, value_name = "FILE", conflicts_with = "none")]
    pub traffic: Option<PathBuf>,
}

fn fleet(text: &str) -> Result<String, String> {
    check_fleet(text).map(|()| text.to_owned())
}
