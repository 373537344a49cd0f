//! A thread for what each priority receives, without a second device on the way of what it sends.
//!
//! The server's packets of the background come back on a cable of their own, as through a receive
//! queue of their own of one device. Each cable's packets are processed by a thread (threaded
//! NAPI), the background's of its program's importance: an acknowledgement is processed there, and
//! what it releases is sent from there.

use crate::experiment::background::upload::Port;
use crate::experiment::background::{far_end, importance};
use crate::experiment::command;
use crate::experiment::error::Result;
use crate::experiment::pair::{A, B, DEVICE, SENDER};

use super::{SECOND_DEVICE, SECOND_PEER_DEVICE};

/// Routes and rules of the second cable.
const TABLE: &str = "102";
const ADDRESS: &str = "02:00:00:00:02:0a";

/// Removed when this is dropped.
pub struct Threads(());

impl Threads {
    /// `nice` is the background's.
    pub fn start(nice: i32) -> Result<Self> {
        let threads = Self(());
        A.run(|| {
            far_end::polled(SECOND_DEVICE)?;
            ip(&format!("link set {SECOND_DEVICE} address {ADDRESS}"))
        })?;
        importance::nice(far_end::threaded(A, DEVICE)?, 0)?;
        importance::nice(far_end::threaded(A, SECOND_DEVICE)?, nice)?;
        B.run(|| {
            ip(&format!(
                "neigh replace {SENDER} lladdr {ADDRESS} dev {SECOND_PEER_DEVICE} nud permanent"
            ))?;
            ip(&format!(
                "route replace {SENDER} dev {SECOND_PEER_DEVICE} table {TABLE}"
            ))?;
            ip(&format!("rule add {}", rule()))
        })?;
        Ok(threads)
    }
}

/// The background's packets from the server.
fn rule() -> String {
    format!(
        "ipproto 6 sport {} lookup {TABLE}",
        Port::Background.number()
    )
}

impl Drop for Threads {
    fn drop(&mut self) {
        eprintln!(
            "DBG {:?}",
            command::run(
                "bash",
                &[
                    "-c",
                    "for p in /proc/[0-9]*; do read n < $p/comm; case $n in napi*) echo $n; cat $p/schedstat; cat $p/stat;; esac; done"
                ]
            )
        );
        eprintln!(
            "DBG {}",
            A.run(|| Ok(std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default()))
                .unwrap_or_default()
        );
        eprintln!(
            "DBG {}",
            B.run(|| command::run("ip", &["rule"])).unwrap_or_default()
        );
        let removed = B
            .run(|| ip(&format!("rule del {}", rule())))
            .and_then(|()| far_end::unthreaded(A, DEVICE));
        if let Err(error) = removed {
            eprintln!("while cleaning up: {error}");
        }
    }
}

fn ip(words: &str) -> Result<()> {
    let words: Vec<&str> = words.split_whitespace().collect();
    command::run("ip", &words).map(drop)
}
