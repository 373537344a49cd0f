//! What systemd is told: that taktd is ready, looks again, ends, and goes on. Without systemd
//! nothing is sent.

use std::time::Duration;

use sd_notify::{NotifyState, notify};

/// The service manager, and when it next expects to hear of taktd.
pub(crate) struct Manager {
    /// Half the time after which systemd takes taktd to hang; `None`: it does not watch.
    interval_ns: Option<u64>,
    due_ns: u64,
}

impl Manager {
    pub fn of_this_service(now_ns: u64) -> Self {
        Self::watching(sd_notify::watchdog_enabled(), now_ns)
    }

    fn watching(patience: Option<Duration>, now_ns: u64) -> Self {
        Self {
            interval_ns: patience.map(|patience| patience.as_nanos() as u64 / 2),
            due_ns: now_ns,
        }
    }

    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// Followed by [`Manager::ready`].
    pub fn reloading(&self) {
        // Which reload it is: systemd compares it with the time of its signal.
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(_) => tell(&[NotifyState::Reloading]),
        }
    }

    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// What `systemctl status` shows.
    pub fn status(&self, text: &str) {
        tell(&[NotifyState::Status(text)]);
    }

    /// When to call [`Manager::go_on`].
    pub fn due_ns(&self) -> Option<u64> {
        self.interval_ns.map(|_| self.due_ns)
    }

    /// taktd is at work, if `is_well`: otherwise systemd starts another one in the end.
    pub fn go_on(&mut self, now_ns: u64, is_well: bool) {
        let Some(interval_ns) = self.interval_ns.filter(|_| now_ns >= self.due_ns) else {
            return;
        };
        self.due_ns = now_ns + interval_ns;
        if is_well {
            tell(&[NotifyState::Watchdog]);
        }
    }
}

/// That it is not heard changes nothing for taktd's own work.
fn tell(states: &[NotifyState]) {
    let _ = notify(states);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_twice_within_its_patience() {
        let mut manager = Manager::watching(Some(Duration::from_secs(30)), 5);
        assert_eq!(manager.due_ns(), Some(5));
        manager.go_on(6, true);
        assert_eq!(manager.due_ns(), Some(15_000_000_006));
        manager.go_on(7, true);
        assert_eq!(manager.due_ns(), Some(15_000_000_006));
    }

    #[test]
    fn without_a_watchdog_nothing_is_due() {
        let mut manager = Manager::watching(None, 5);
        manager.go_on(6, true);
        assert_eq!(manager.due_ns(), None);
    }
}
