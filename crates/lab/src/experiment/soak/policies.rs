//! The policies of the soak, for its own device.

/// Its device, and the far end in the other namespace.
pub const DEVICE: &str = "soak0";
pub const PEER: &str = "soak1";
/// What the device is called for a while.
pub const OTHER_NAME: &str = "soak9";

/// Takt's own qdisc with everything that it does, and beats.
pub const EVERYTHING: &str = r#"
[link.soak0]
rate = "50mbit"
on_conflict = "restore"

[[link.soak0.class]]
name = "stream"
rate = "10mbit"
match = { proto = "udp", dst_port = "5001-5100" }

[[link.soak0.class]]
name = "backup"
priority = "background"
match = [{ registered = true }, { dst_port = 873 }]

[radio]
interval = "1s"
source = "none"

[[task]]
name = "mixer"
period = "40ms"
budget = "4ms"
"#;

/// Another set of classes on the same device.
pub const FEWER: &str = r#"
[link.soak0]
rate = "20mbit"
on_conflict = "restore"

[[link.soak0.class]]
name = "stream"
rate = "5mbit"
match = { proto = "udp", dst_port = "5001-5100" }
per_flow = true
"#;

pub const DEPARTURE: &str = r#"
[link.soak0]
rate = "50mbit"
backend = "departure"
on_conflict = "restore"

[[link.soak0.class]]
name = "stream"
rate = "10mbit"
match = { proto = "udp", dst_port = "5001-5100" }

[[link.soak0.class]]
name = "default"
rate = "40mbit"
"#;

pub const TREE: &str = r#"
[link.soak0]
rate = "50mbit"
backend = "tree"
on_conflict = "restore"

[[link.soak0.class]]
name = "stream"
rate = "10mbit"
ceil = "50mbit"
match = { proto = "udp", dst_port = "5001-5100" }
"#;

pub const ALL: [&str; 4] = [EVERYTHING, FEWER, DEPARTURE, TREE];

/// Stations whose strengths are in FILE.
pub const STATIONS: &str = r#"
[link.soak0]
rate = "50mbit"
on_conflict = "restore"

[radio]
source = "file"
file = "FILE"
interval = "1s"
points = [[0, 0.0], [10, 1.0]]
"#;
