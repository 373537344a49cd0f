//! What `takt status --output json` counts at one moment.

use serde::Deserialize;

/// Counters of a host at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    /// Of all links.
    pub classes: Vec<Class>,
    /// What is wrong, by takt's own word.
    pub problems: Vec<String>,
    /// The files of the policies in force.
    pub policies: Vec<String>,
    /// A policy waits to be confirmed: its file.
    pub pending: Option<String>,
}

/// A class of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Class {
    /// Of the link, as the policy names it.
    pub device: String,
    /// Of the class.
    pub name: String,
    /// So far.
    pub sent_packets: u64,
    /// So far.
    pub sent_bytes: u64,
    /// So far.
    pub dropped_packets: u64,
    /// Now.
    pub queued_packets: u64,
    /// The worst so far.
    pub late_max_ns: u64,
}

impl Class {
    pub(super) fn is(&self, other: &Self) -> bool {
        self.device == other.device && self.name == other.name
    }
}

#[derive(Deserialize)]
struct Status {
    links: Vec<Link>,
    beats: Option<Problem>,
    crowd: Option<Problem>,
    pending: Option<Pending>,
}

#[derive(Deserialize)]
struct Link {
    device: String,
    /// Of a takt before this key, `None`.
    named: Option<String>,
    problem: Option<String>,
    policy: Option<String>,
    classes: Vec<Counted>,
}

#[derive(Deserialize)]
struct Counted {
    name: String,
    sent_packets: u64,
    sent_bytes: u64,
    dropped_packets: u64,
    queued_packets: u64,
    late_max_ns: u64,
}

#[derive(Deserialize)]
struct Problem {
    problem: Option<String>,
}

#[derive(Deserialize)]
struct Pending {
    policy: String,
    problem: Option<String>,
}

impl Sample {
    /// Reads what `takt status --output json` prints.
    pub fn read(json: &[u8]) -> Result<Self, serde_json::Error> {
        let status: Status = serde_json::from_slice(json)?;
        let mut sample = Self::default();
        for link in status.links {
            let device = link.named.unwrap_or(link.device);
            let problem = link.problem.map(|problem| format!("{device}: {problem}"));
            sample.problems.extend(problem);
            sample.policies.extend(link.policy);
            sample
                .classes
                .extend(link.classes.into_iter().map(|class| Class {
                    device: device.clone(),
                    name: class.name,
                    sent_packets: class.sent_packets,
                    sent_bytes: class.sent_bytes,
                    dropped_packets: class.dropped_packets,
                    queued_packets: class.queued_packets,
                    late_max_ns: class.late_max_ns,
                }));
        }
        let parts = [("beats", status.beats), ("crowd", status.crowd)];
        for (name, part) in parts {
            let problem = part.and_then(|part| part.problem);
            sample
                .problems
                .extend(problem.map(|problem| format!("{name}: {problem}")));
        }
        if let Some(pending) = status.pending {
            sample.problems.extend(pending.problem);
            sample.pending = Some(pending.policy);
        }
        sample.policies.sort();
        sample.policies.dedup();
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_goes_by_its_name_in_the_policy() {
        let device_of = |named: &str| {
            let json = format!(
                "{{\"links\": [{{\"device\": \"eth0\", {named} \"problem\": null, \"policy\": \"a\", \
                 \"classes\": [{{\"name\": \"voice\", \"sent_packets\": 0, \"sent_bytes\": 0, \
                 \"dropped_packets\": 0, \"queued_packets\": 0, \"late_max_ns\": 0}}]}}]}}"
            );
            let sample = Sample::read(json.as_bytes()).expect("a status");
            sample.classes[0].device.clone()
        };
        assert_eq!(device_of("\"named\": \"wan\","), "wan");
        assert_eq!(device_of("\"named\": null,"), "eth0");
        assert_eq!(device_of(""), "eth0");
    }
}
