//! Waiting for a server to listen.

use std::time::{Duration, Instant};

use super::error::{ExperimentError, Result, WhileDoing};

const TIME_MAX: Duration = Duration::from_secs(10);

/// Returns when a socket in this thread's namespace listens on `port`. A trial connection would
/// use up iperf3's one session.
pub fn wait_for(server: &str, port: u16) -> Result<()> {
    const SOCKETS: &str = "/proc/thread-self/net/tcp";
    let started = Instant::now();
    loop {
        let table = std::fs::read_to_string(SOCKETS).doing("list TCP sockets")?;
        if listens(&table, port) {
            return Ok(());
        }
        if started.elapsed() > TIME_MAX {
            return Err(ExperimentError::Output {
                command: server.to_owned(),
                reason: format!("port {port} is not open after {TIME_MAX:?}"),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn listens(table: &str, port: u16) -> bool {
    const LISTEN: &str = "0A";
    let local = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        columns.next().is_some_and(|at| at.ends_with(&local)) && columns.nth(1) == Some(LISTEN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_listening_socket_listens() {
        let table = "  sl  local_address rem_address   st\n   \
                     0: 00000000:1451 00000000:0000 0A 00000000:00000000\n   \
                     1: 0200000A:0016 0100000A:D431 01 00000000:00000000\n";
        assert!(listens(table, 5201));
        assert!(!listens(table, 22));
    }
}
