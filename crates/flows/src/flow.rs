use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The two ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ends {
    /// The socket's own address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

/// The properties of a flow that seldom change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// The socket's cookie, which the kernel never reuses.
    #[serde(rename = "flow")]
    pub id: u64,
    /// The addresses of both ends.
    #[serde(flatten)]
    pub ends: Ends,
    /// The name of the process that holds the socket, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The process, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The congestion control's name; unknown for a flow that only an event named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
}
