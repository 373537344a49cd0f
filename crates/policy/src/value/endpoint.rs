//! Addresses with a port.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::Fault;
use crate::Code;

pub(crate) fn schema() -> Value {
    json!({"type": "string", "pattern": r"^([\d.]+|\[[^\]]+\]):\d+$"})
}

/// `example` is one of IPv4.
pub(crate) fn parse(text: &str, example: &str) -> Result<SocketAddr, Fault> {
    let port = example.rsplit(':').next().unwrap_or_default();
    let endpoint = text.parse().ok().filter(|to: &SocketAddr| to.port() > 0);
    endpoint.ok_or_else(|| {
        Fault::new(
            Code::BadAddress,
            format!("`{text}` is not an address with a port"),
            format!("write \"{example}\" or \"[2001:db8::1]:{port}\"; names are not resolved"),
        )
    })
}
