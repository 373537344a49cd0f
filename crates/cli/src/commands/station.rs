use serde::Serialize;
use takt_host::{
    applied_policy,
    stations::{self, Address, Stations},
};
use takt_policy::{Policy, parse_in};
use takt_wlan::radio::weight_ppm;

use crate::{
    args::{Output, Station},
    exit::Exit,
    print::{self, Failure, weight},
};

pub fn run(command: Station, output: Output) -> Exit {
    let done = match command {
        Station::Set {
            address,
            snr,
            device,
        } => set(address, snr, device.as_deref(), output),
        Station::List { device } => list(device.as_deref(), output),
        Station::Forget { address, device } => forget(address, device.as_deref(), output),
    };
    match done {
        Ok(()) => Exit::Done,
        Err(failure) => print::refused(output, failure),
    }
}

/// The change, and its links.
#[derive(Serialize)]
struct Changed {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_ppm: Option<u32>,
    devices: Vec<String>,
}

#[derive(Serialize)]
struct Listed {
    links: Vec<Link>,
}

#[derive(Serialize)]
struct Link {
    device: String,
    stations: Vec<stations::Station>,
}

fn set(
    address: Address,
    snr_centidb: i32,
    device: Option<&str>,
    output: Output,
) -> Result<(), Failure> {
    let policy = policy()?;
    let Some(radio) = &policy.radio else {
        return Err(no_radio());
    };
    let weight_ppm = weight_ppm(radio, snr_centidb);
    let mut devices = Vec::new();
    for mut table in tables(&policy, address, device)? {
        table
            .set_by_hand(address, weight_ppm)
            .map_err(|error| Failure::from(&error))?;
        devices.push(table.device().to_owned());
    }
    changed(address, Some(weight_ppm), devices, output);
    Ok(())
}

fn forget(address: Address, device: Option<&str>, output: Output) -> Result<(), Failure> {
    let mut devices = Vec::new();
    for mut table in tables(&policy()?, address, device)? {
        let known = table.list().into_iter();
        let is_there = known
            .filter(|station| station.known)
            .any(|station| station.address == address);
        if is_there {
            table.let_go(address);
            devices.push(table.device().to_owned());
        }
    }
    if devices.is_empty() {
        let message = format!(
            "no weight was set for {address}; `takt station list` shows the stations that have one"
        );
        return Err(Failure::plain(Exit::Invalid, message));
    }
    changed(address, None, devices, output);
    Ok(())
}

fn changed(address: Address, weight_ppm: Option<u32>, devices: Vec<String>, output: Output) {
    let changed = Changed {
        address: address.to_string(),
        weight_ppm,
        devices,
    };
    print::result(output, &changed, |changed| {
        let devices = changed.devices.join(", ");
        match changed.weight_ppm {
            Some(weight_ppm) => format!("{address} on {devices}: weight {}", weight(weight_ppm)),
            None => format!("{address} on {devices}: forgotten"),
        }
    });
}

fn list(device: Option<&str>, output: Output) -> Result<(), Failure> {
    let mut links = Vec::new();
    for device in devices(&policy()?, device)? {
        let table = Stations::open(&device).map_err(|error| Failure::from(&error))?;
        let stations = table.list();
        links.push(Link { device, stations });
    }
    print::result(output, &Listed { links }, |listed| {
        let mut text = format!(
            "{:<12} {:<20} {:>8} {:>8} {:>8} {:>12} {:>14}\n",
            "link", "station", "weight", "applied", "queued", "sent", "bytes"
        );
        for link in &listed.links {
            text.extend(
                link.stations
                    .iter()
                    .map(|station| line(&link.device, station)),
            );
        }
        text
    });
    Ok(())
}

fn line(device: &str, station: &stations::Station) -> String {
    let by_hand = if station.by_hand { "  by hand" } else { "" };
    let own = if station.known {
        weight(station.weight_ppm)
    } else {
        "-".to_owned()
    };
    format!(
        "{device:<12} {:<20} {own:>8} {:>8} {:>8} {:>12} {:>14}{by_hand}\n",
        station.address.to_string(),
        weight(station.applied_ppm),
        station.queued_packets,
        station.counters.sent_packets,
        station.counters.sent_bytes,
    )
}

/// The policy in force here.
fn policy() -> Result<Policy, Failure> {
    let source = applied_policy().map_err(|error| Failure::from(&error))?;
    let source = source.ok_or_else(no_radio)?;
    // It was valid when it was applied.
    parse_in(&source.folder, &source.name, &source.text).map_err(|_| {
        let message = format!(
            "{} was applied by another version of takt; apply it again",
            source.name
        );
        Failure::plain(Exit::Failed, message)
    })
}

/// The devices with stations, or the one of them that is asked for.
fn devices(policy: &Policy, device: Option<&str>) -> Result<Vec<String>, Failure> {
    if let Some(device) = device {
        return Ok(vec![device.to_owned()]);
    }
    let links = policy.links.iter().filter(|link| link.has_stations);
    let devices: Vec<String> = links.map(|link| link.device.clone()).collect();
    if devices.is_empty() {
        Err(no_radio())
    } else {
        Ok(devices)
    }
}

/// The links' tables. Without a device, those whose stations have addresses of this kind.
fn tables(
    policy: &Policy,
    address: Address,
    device: Option<&str>,
) -> Result<Vec<Stations>, Failure> {
    let mut tables = Vec::new();
    for name in devices(policy, device)? {
        tables.push(Stations::open(&name).map_err(|error| Failure::from(&error))?);
    }
    let is_mac = matches!(address, Address::Mac(_));
    let fits = |table: &Stations| device.is_some() || table.are_macs() == is_mac;
    if !tables.iter().any(fits) {
        let kind = if is_mac { "IP" } else { "MAC" };
        let message = format!("{address}: all stations here are known by {kind} address");
        return Err(Failure::plain(Exit::Invalid, message));
    }
    tables.retain(fits);
    Ok(tables)
}

fn no_radio() -> Failure {
    let message = "no link of the policy in force has stations; apply one with [radio]";
    Failure::plain(Exit::Invalid, message)
}
