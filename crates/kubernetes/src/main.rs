//! The program `takt-kubernetes`.

use std::{
    error::Error,
    io::{self, Write},
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, CommandFactory, Parser, Subcommand};
use kube::Client;
use takt_fleet::{
    beside::beside, engine::Access, keys::Signer, operator::Operator, revision::check_fleet,
    signals::stopped,
};
use takt_kubernetes::{
    agent::{self, Mapping, mapping},
    bandwidth::{self, Limiter},
    controller::Controller,
    definition,
    health::{self, Pulse},
};

const NOTES: &str = "\
Examples:
  takt-kubernetes crd | kubectl apply -f -
  takt-kubernetes controller --engine nats://nats:4222 --key /etc/takt-fleet/fleet.key

The cluster is that of the pod's service account, or of $KUBECONFIG. packaging/kubernetes has the
objects that run all of it.

Exit codes:
  0  done, or ended by a signal
  1  failed
  2  the arguments are wrong";

/// Takt in Kubernetes: rollouts of a fleet as objects, and limits of what pods send.
#[derive(Debug, Parser)]
#[command(name = "takt-kubernetes", version, after_help = NOTES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the definition of TaktPolicy, in JSON.
    Crd,

    /// Run the controller, which rolls TaktPolicies out to the fleet.
    Controller {
        #[command(flatten)]
        fleet: Fleet,
        /// The signing key.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The state directory.
        #[arg(
            long,
            value_name = "DIR",
            default_value = "/var/lib/takt/fleet-operator"
        )]
        state: PathBuf,
        /// The address for probes.
        #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9125")]
        listen: SocketAddr,
    },

    /// Run the agent of takt-fleet on this node, with labels from its Node object.
    Agent {
        /// The node's name.
        #[arg(long, value_name = "NAME")]
        node: String,
        /// A label of the fleet, and the node's label with its value, as NAME=KEY; may be repeated.
        #[arg(long, value_name = "LABEL", value_parser = mapping)]
        node_label: Vec<Mapping>,
        /// The state directory.
        #[arg(long, value_name = "DIR", default_value = "/var/lib/takt/fleet")]
        state: PathBuf,
        /// More options of takt-fleet agent.
        #[arg(last = true)]
        rest: Vec<String>,
    },

    /// Limit what this node's pods send to their kubernetes.io/egress-bandwidth.
    Bandwidth {
        /// The node's name.
        #[arg(long, value_name = "NAME")]
        node: String,
        /// The takt that applies policies [default: the one beside this program, else on the path].
        #[arg(long, value_name = "FILE")]
        takt: Option<PathBuf>,
        /// The proc file system of the node.
        #[arg(long, value_name = "DIR", default_value = "/proc")]
        proc: PathBuf,
        /// The directory for the policies of pods.
        #[arg(long, value_name = "DIR", default_value = "/run/takt-kubernetes")]
        state: PathBuf,
        /// The address for probes, and for /status, which reports each pod.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9126")]
        listen: SocketAddr,
    },
}

#[derive(Debug, Args)]
struct Fleet {
    /// The NATS server, or several separated by commas.
    #[arg(long, value_name = "URL")]
    engine: String,
    /// The fleet's name.
    #[arg(long, value_name = "NAME", default_value = "takt", value_parser = fleet)]
    fleet: String,
    /// A file with the credentials of a NATS user.
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// A file with CA certificates, to verify the server with.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

fn fleet(text: &str) -> Result<String, String> {
    check_fleet(text).map(|()| text.to_owned())
}

fn main() -> ExitCode {
    takt_shell::answer(Cli::command, takt_shell::pages::KUBERNETES);
    let Cli { command } = Cli::parse();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let ran: Result<(), Box<dyn Error>> = match builder.enable_all().build() {
        Ok(runtime) => runtime.block_on(run(command)),
        Err(error) => Err(error.into()),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("takt-kubernetes: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Crd => Ok(io::stdout().write_all(definition().as_bytes())?),
        Command::Controller {
            fleet,
            key,
            state,
            listen,
        } => {
            let access = Access {
                urls: fleet.engine,
                credentials: fleet.credentials,
                ca: fleet.ca,
            };
            let signer = Signer::read(&key)?;
            let name = &fleet.fleet;
            let operator =
                Operator::connect(&access, name, Some(signer), &[], &state, true).await?;
            let pulse = Pulse::default();
            let probes = health::serve(listen, pulse.clone()).await?;
            tokio::spawn(probes);
            let client = Client::try_default().await?;
            let controller = Controller::new(client, operator, beside("takt"), &state, pulse);
            Ok(controller.run(Box::pin(stopped())).await?)
        }
        Command::Agent {
            node,
            node_label,
            state,
            rest,
        } => {
            let client = Client::try_default().await?;
            Err(agent::run(client, &node, &node_label, &state, &rest)
                .await
                .into())
        }
        Command::Bandwidth {
            node,
            takt,
            proc,
            state,
            listen,
        } => {
            let mut directory = std::fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(directory.recursive(true), 0o700)
                .create(&state)?;
            let pulse = Pulse::default();
            let probes = health::serve(listen, pulse.clone()).await?;
            tokio::spawn(probes);
            let config = bandwidth::Config {
                node,
                takt: takt.unwrap_or_else(|| beside("takt")),
                proc,
                directory: state,
            };
            let limiter = Limiter::new(Client::try_default().await?, config, pulse);
            Ok(limiter.run(Box::pin(stopped())).await?)
        }
    }
}
