use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ends {
    /// The socket's own.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
}

/// What of a flow seldom changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// The socket's cookie: the kernel gives none twice.
    #[serde(rename = "flow")]
    pub id: u64,
    /// Between whom it is.
    #[serde(flatten)]
    pub ends: Ends,
    /// Of the process that holds the socket, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// Likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The congestion control's name; not known of a flow that only an event told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
}
