//! Why a link could not be had.

use std::io;

use thiserror::Error;

use crate::{error::Error, os::OsError};

/// A device, its qdisc or its stations.
#[derive(Debug, Error)]
pub enum LinkError {
    /// An ifb was to be made, and the kernel has no such devices.
    #[error(
        "this kernel has no devices of kind ifb, which incoming background traffic goes through \
         (CONFIG_IFB; `modprobe ifb` says what is missing); receive = false in the classes with \
         priority = \"background\" does without"
    )]
    NoIfb,
    /// The program was loaded, but could not be attached to the device (tcx).
    #[error(
        "this kernel takes no program on a device's ingress, which incoming background traffic \
         needs: {source}; receive = false in the classes with priority = \"background\" does \
         without"
    )]
    NoIngress {
        /// The kernel's answer.
        source: libbpf_rs::Error,
    },
    /// Drivers' names are read through a socket (ethtool), which could not be opened.
    #[error("opening a socket to query drivers: {source}")]
    NoDriverSocket {
        /// The kernel's answer.
        source: io::Error,
    },
    /// There is no number left for another link (TAKT_LINKS in bpf/link/link_maps.h).
    #[error("{link_count} devices are managed already, which is the maximum")]
    TooManyLinks {
        /// Of all network namespaces, receive sides included.
        link_count: usize,
    },
    /// A device's table of stations cannot be opened, or its link knows stations by another
    /// kind of address.
    #[error("stations of {device}: {problem}")]
    NoStations {
        /// The requested device.
        device: String,
        /// The reason and, if there is one, the remedy.
        problem: &'static str,
    },
    /// There is no room for another station's weight (TAKT_STATIONS in algo/station.h).
    #[error("{device} has 256 stations already, which is the maximum; forget some")]
    TooManyStations {
        /// The device of the link.
        device: String,
    },
    /// A process could not be moved into a control group below its own.
    #[error("process {pid} cannot be moved to the background: {reason}")]
    NotMoved {
        /// Its number in /proc.
        pid: i32,
        /// The reason.
        reason: String,
    },
}

impl LinkError {
    /// For reading drivers' names.
    pub(crate) fn driver_socket(source: io::Error) -> Error {
        let doing = "opening a socket to query drivers";
        let short = OsError::too_many_files(doing, &source);
        short.unwrap_or_else(|| Self::NoDriverSocket { source }.into())
    }
}
