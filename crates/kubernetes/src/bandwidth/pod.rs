//! What a pod asks for, and what is done about it. Nothing here reads or writes.

use k8s_openapi::api::core::v1::Pod;

use crate::quantity::rate_bps;

/// The annotation, as the bandwidth plugin of CNI reads it.
pub const ANNOTATION: &str = "kubernetes.io/egress-bandwidth";
/// Takt paces no faster.
const PACED_MAX_BPS: u64 = 400_000_000_000;

/// What a pod asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Nothing, or more than takt could limit: it is not limited.
    Nothing,
    /// At most this many bits per second leave it.
    Limit(u64),
    /// It cannot be carried out, and why not.
    Wrong(String),
}

/// What a pod asks for.
pub fn ask(pod: &Pod) -> Ask {
    let annotations = pod.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|all| all.get(ANNOTATION)) else {
        return Ask::Nothing;
    };
    let uses_host = pod.spec.as_ref().and_then(|spec| spec.host_network);
    match rate_bps(text) {
        Err(error) => Ask::Wrong(format!("{ANNOTATION}: {error}")),
        Ok(_) if uses_host == Some(true) => Ask::Wrong(format!(
            "{ANNOTATION}: a pod with hostNetwork sends through the node's own devices, which a \
             policy of the node limits"
        )),
        Ok(bps) if bps > PACED_MAX_BPS => Ask::Nothing,
        Ok(bps) => Ask::Limit(bps),
    }
}

/// Whether its processes run.
pub fn runs(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
}

/// Its addresses.
pub fn addresses(pod: &Pod) -> Vec<std::net::IpAddr> {
    let Some(status) = &pod.status else {
        return Vec::new();
    };
    let first = status.pod_ip.iter();
    let more = status.pod_ips.iter().flatten().map(|own| &own.ip);
    let parsed = first.chain(more).filter_map(|text| text.parse().ok());
    parsed.collect()
}

/// The policy that limits a device to a rate.
pub fn policy(device: &str, rate_bps: u64) -> String {
    format!(
        "# By takt-kubernetes, of {ANNOTATION}.\n[link.{}]\nrate = \"{rate_bps}bit\"\n",
        serde_json::Value::from(device)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(annotation: Option<&str>, uses_host: bool) -> Pod {
        let annotations = annotation.map(|text| serde_json::json!({ ANNOTATION: text }));
        let object = serde_json::json!({
            "metadata": { "name": "web", "annotations": annotations },
            "spec": { "containers": [], "hostNetwork": uses_host },
            "status": { "phase": "Running", "podIP": "10.1.2.3",
                "podIPs": [{ "ip": "10.1.2.3" }, { "ip": "fd00::3" }] },
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn annotations_are_limits() {
        assert_eq!(ask(&pod(None, false)), Ask::Nothing);
        assert_eq!(ask(&pod(Some("10M"), false)), Ask::Limit(10_000_000));
        assert_eq!(ask(&pod(Some("1P"), false)), Ask::Nothing);
        for (text, uses_host, why) in [
            ("10m", false, "below 1k"),
            ("ten", false, "not a quantity"),
            ("2P", false, "above 1P"),
            ("10M", true, "hostNetwork"),
        ] {
            let Ask::Wrong(told) = ask(&pod(Some(text), uses_host)) else {
                panic!("{text}");
            };
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn a_pod_runs_at_its_addresses() {
        let pod = pod(None, false);
        assert!(runs(&pod));
        let all = addresses(&pod);
        assert!(all.contains(&"10.1.2.3".parse().unwrap()), "{all:?}");
        assert!(all.contains(&"fd00::3".parse().unwrap()), "{all:?}");
    }

    #[test]
    fn limits_are_policies() {
        for bps in [1_000, 10_000_000, PACED_MAX_BPS] {
            let text = policy("eth0.1", bps);
            let read = takt_policy::parse("pod", &text).unwrap();
            assert_eq!(read.links[0].device, "eth0.1");
            assert_eq!(read.links[0].rate_bps, bps);
        }
    }
}
