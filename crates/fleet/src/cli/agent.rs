//! `takt fleet agent`.

use std::{fs, path::PathBuf, time::Duration};

use takt_fleet::{
    beside::beside,
    engine::HostEngine,
    host::{Agent, Config, Directory, Takt},
    keys::Signer,
    labels::{self, Labels},
    log::Log,
    signals::stopped,
};

use super::{args::Common, exit::Exit, fail};

pub async fn run(
    common: &Common,
    identity: Option<String>,
    given: &[String],
    period: Duration,
    takt: Option<PathBuf>,
) -> Exit {
    let output = common.output;
    if common.pin.is_empty() {
        let told = "no trusted key is given; use --pin KEY, as \
                    `takt fleet key FILE` prints it";
        return fail(output, Exit::Invalid, &told);
    }
    let identity = identity.unwrap_or_else(host_name);
    if let Err(error) = labels::check_identity(&identity) {
        return fail(output, Exit::Invalid, &error);
    }
    let labels = match all_labels(&identity, given) {
        Ok(labels) => labels,
        Err(error) => return fail(output, Exit::Invalid, &error),
    };
    let state = common.agent_state();
    let store = match Directory::open(&state) {
        Ok(store) => store,
        Err(error) => {
            let told = format!("{}: {error}", state.display());
            return fail(output, Exit::Failed, &told);
        }
    };
    let signer = match Signer::read_or_make(&state.join("host.key")) {
        Ok(signer) => signer,
        Err(error) => return fail(output, Exit::Failed, &error),
    };
    let connected = HostEngine::connect(&common.access(), &common.fleet, &identity, false).await;
    let (engine, heard) = match connected {
        Ok(connected) => connected,
        Err(error) => return fail(output, Exit::Invalid, &error),
    };
    let config = Config {
        fleet: common.fleet.clone(),
        identity,
        labels,
        pins: common.pin.clone(),
        period,
    };
    let takt = Takt::new(takt.unwrap_or_else(|| beside("takt")));
    let ran = match Agent::new(config, engine, takt, store, signer, Log::stderr()) {
        Ok(agent) => agent.run(heard, stopped()).await,
        Err(error) => Err(error),
    };
    match ran {
        Ok(()) => Exit::Done,
        Err(error) => fail(
            output,
            Exit::Failed,
            &format!("{}: {error}", state.display()),
        ),
    }
}

fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().replace('.', "-")
}

/// What the host knows of itself, and what is given.
fn all_labels(identity: &str, given: &[String]) -> Result<Labels, labels::BadLabel> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let hardware = read("/sys/class/dmi/id/product_name")
        .or_else(|| read("/proc/device-tree/model"))
        .and_then(|name| labels::tame(name.trim_end_matches('\0')));
    let kernel = read("/proc/sys/kernel/osrelease").and_then(|name| labels::tame(&name));
    let own = [
        ("id", Some(identity.to_owned())),
        ("arch", Some(std::env::consts::ARCH.to_owned())),
        ("kernel", kernel),
        ("hardware", hardware),
    ];
    let own = own.into_iter();
    let mut labels: Labels = own
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    for label in given {
        let (name, value) = labels::parse(label)?;
        labels.insert(name, value);
    }
    labels::check(&labels)?;
    Ok(labels)
}
