use takt_daemon::{Done, ListedCrowd, Neighbour, Neighbourhood, Request, ask};

use crate::{args::Output, exit::Exit, print};

pub fn neighbours(output: Output) -> Exit {
    match ask(&Request::ListCrowd(Default::default())) {
        Ok(Done::ListedCrowd(listed)) => {
            print::result(output, &listed, shown);
            Exit::Done
        }
        Ok(_) => print::failure(output, Exit::Failed, &OTHER_VERSION),
        Err(error) => print::refused(output, &error),
    }
}

const OTHER_VERSION: &str = "taktd is of another version; start it again";

fn shown(listed: &ListedCrowd) -> String {
    if listed.neighbourhoods.is_empty() {
        "taktd knows no group here; apply a policy with [crowd]\n".to_owned()
    } else {
        listed.neighbourhoods.iter().map(of_group).collect()
    }
}

fn of_group(group: &Neighbourhood) -> String {
    let mut text = format!(
        "{} on {}: {}, reports every {} ms, {} sent\n",
        group.group, group.device, group.role, group.report_interval_ms, group.reports_sent
    );
    if let Some(share) = &group.share {
        let remembered = share
            .remembered_bytes_ps
            .map(|bytes_ps| format!(", up to {} by memory", rate(bytes_ps)));
        text += &format!(
            "here: {} in {} flows{}; {} share, {} each, {} lately in all{}\n",
            rate(share.rate_bytes_ps.into()),
            share.flows,
            note(", ", share.lends, share.competes),
            share.users,
            rate(share.share_bytes_ps),
            rate(share.capacity_bytes_ps),
            remembered.unwrap_or_default(),
        );
    }
    if let Some(strangers) = &group.strangers {
        text += &format!(
            "strangers: {}, {} together\n",
            strangers.count,
            rate(strangers.rate_bytes_ps)
        );
    }
    text += &format!(
        "{:<20} {:<16} {:>14} {:>6} {:>6} {:>8}\n",
        "neighbour", "address", "rate", "flows", "RTT", "age"
    );
    text.extend(group.neighbours.iter().map(of_neighbour));
    text += &format!("{}\n", print::datagrams(&group.datagrams));
    text
}

fn note(before: &str, lends: bool, competes: bool) -> String {
    match (lends, competes) {
        (true, _) => format!("{before}lends"),
        (false, true) => format!("{before}competes"),
        (false, false) => String::new(),
    }
}

fn of_neighbour(neighbour: &Neighbour) -> String {
    let address = neighbour.address.map(|address| address.to_string());
    let ratio = neighbour
        .rtt_ratio_milli
        .map(|milli| format!("{:.2}x", f64::from(milli) / 1000.0));
    format!(
        "{:<20} {:<16} {:>14} {:>6} {:>6} {:>5} ms{}\n",
        neighbour.name,
        address.as_deref().unwrap_or("-"),
        rate(neighbour.rate_bytes_ps.into()),
        neighbour.flows,
        ratio.as_deref().unwrap_or("-"),
        neighbour.age_ms,
        note("  ", neighbour.lends, neighbour.competes),
    )
}

fn rate(bytes_ps: u64) -> String {
    format!("{:.3} Mbit/s", bytes_ps as f64 * 8.0 / 1e6)
}
