//! Whether the kernel still runs the scheduler. The kernel ends a scheduler that fails, or when
//! it is told to (SysRq-S), and then runs every thread itself. The scheduler has itself ended when
//! a realtime thread lets ordinary ones starve (bpf/beats/watch.h).

use std::{
    fmt::{self, Display},
    fs, thread,
    time::{Duration, Instant},
};

use serde::Serialize;
use takt_algo::sys::{TAKT_BEATS_EXIT_REALTIME, takt_beats};

use crate::bpf::names::text;

/// Its name in the kernel, as in bpf/beats.
pub(super) const NAME: &str = "takt";

/// The kernel's number for an end that the scheduler asked for (SCX_EXIT_UNREG_BPF).
const BY_ITSELF: u32 = 65;

const END_PATIENCE: Duration = Duration::from_secs(3);
const END_LOOK: Duration = Duration::from_millis(2);

/// Why a scheduler does not run any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// The kernel's number for it (enum scx_exit_kind); 0: it did not say.
    pub kind: u32,
    /// The kernel's words, such as `runnable task stall`.
    pub reason: String,
    /// Details with names and numbers; may be empty.
    pub message: String,
}

impl Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.message.as_str() {
            "" => f.write_str(&self.reason),
            message => write!(f, "{} ({message})", self.reason),
        }
    }
}

impl Ended {
    /// Who ended it.
    pub fn by(&self) -> &'static str {
        match self.kind {
            BY_ITSELF => "takt",
            _ => "the kernel",
        }
    }
}

/// The kernel's state of sched_ext in general.
pub(super) struct Kernel {
    /// `enabled`, `disabled` or a state between the two.
    state: Option<String>,
    /// The name of the running scheduler.
    name: Option<String>,
}

impl Kernel {
    pub fn ask() -> Self {
        let word = |file: &str| {
            let text = fs::read_to_string(format!("/sys/kernel/sched_ext/{file}")).ok()?;
            Some(text.trim().to_owned())
        };
        Self {
            state: word("state"),
            name: word("root/ops").filter(|name| !name.is_empty()),
        }
    }

    /// As [`Self::ask`], but first waits until our scheduler, without references by now, is
    /// gone. The kernel ends it asynchronously.
    pub fn without_ours() -> Self {
        let patience = Instant::now() + END_PATIENCE;
        loop {
            let kernel = Self::ask();
            if kernel.name.as_deref() != Some(NAME) || Instant::now() > patience {
                return kernel;
            }
            thread::sleep(END_LOOK);
        }
    }

    /// The running scheduler.
    pub fn runs(self) -> Option<String> {
        self.name
    }
}

/// Why the kernel said that it ended; `None` if it has not said so.
pub(super) fn told(state: &takt_beats) -> Option<Ended> {
    (state.exit_kind != 0).then(|| Ended {
        kind: state.exit_kind,
        reason: match (state.exit_kind, state.exit_code as u32) {
            (BY_ITSELF, TAKT_BEATS_EXIT_REALTIME) => "a realtime thread never sleeps".to_owned(),
            _ => text(&state.exit_reason),
        },
        message: text(&state.exit_message),
    })
}

/// `None` while it runs.
pub(super) fn judge(state: &takt_beats, kernel: &Kernel) -> Option<Ended> {
    if let Some(ended) = told(state) {
        return Some(ended);
    }
    // The scheduler ended without a message.
    let reason = match (&kernel.state, &kernel.name) {
        (_, Some(name)) if name != NAME => format!("the scheduler {name} runs instead"),
        (Some(state), _) if state == "disabled" => "the kernel gives no reason".to_owned(),
        _ => return None,
    };
    Some(Ended {
        kind: 0,
        reason,
        message: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_char;

    fn kernel(state: Option<&str>, name: Option<&str>) -> Kernel {
        Kernel {
            state: state.map(str::to_owned),
            name: name.map(str::to_owned),
        }
    }

    #[test]
    fn its_own_word_counts_first() {
        let mut state = takt_beats {
            exit_kind: 1026,
            ..Default::default()
        };
        for (to, from) in state.exit_reason.iter_mut().zip(b"runnable task stall") {
            *to = *from as c_char;
        }
        let ended = judge(&state, &kernel(Some("disabled"), None)).expect("it ended");
        assert_eq!(ended.to_string(), "runnable task stall");
        for (to, from) in state.exit_message.iter_mut().zip(b"a[7] waits\n") {
            *to = *from as c_char;
        }
        let ended = judge(&state, &kernel(None, Some(NAME))).expect("it ended");
        assert_eq!(ended.to_string(), "runnable task stall (a[7] waits)");
    }

    #[test]
    fn takt_ends_it_beside_a_realtime_thread_that_never_sleeps() {
        let mut state = takt_beats {
            exit_kind: BY_ITSELF,
            exit_code: TAKT_BEATS_EXIT_REALTIME.into(),
            ..Default::default()
        };
        for (to, from) in state.exit_message.iter_mut().zip(b"hog, thread 7") {
            *to = *from as c_char;
        }
        let ended = judge(&state, &kernel(Some("disabled"), None)).expect("it ended");
        let said = format!("{} ended it: {ended}", ended.by());
        assert_eq!(
            said,
            "takt ended it: a realtime thread never sleeps (hog, thread 7)"
        );
    }

    #[test]
    fn without_one_the_kernel_is_asked() {
        let state = takt_beats::default();
        let ended = |state_is, name| judge(&state, &kernel(state_is, name));
        assert_eq!(ended(Some("enabled"), Some(NAME)), None);
        assert_eq!(ended(Some("disabling"), Some(NAME)), None);
        // If /sys is hidden, the state is unknown.
        assert_eq!(ended(None, None), None);
        assert!(ended(Some("disabled"), None).is_some());
        let other = ended(Some("enabled"), Some("other")).expect("it is not ours");
        assert!(other.reason.contains("other"), "{other}");
    }
}
