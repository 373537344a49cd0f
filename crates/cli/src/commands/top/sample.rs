//! What is read from the kernel and taktd for one moment.

use std::time::SystemTime;

use takt_daemon::{Done, Neighbourhood, Request, ask};
use takt_flows::Seen;
use takt_host::{Error, Status};

use crate::{
    args::View,
    commands::flows::{Look, monotonic_ns},
};

/// No more than a view needs.
pub struct Sample {
    pub at_ns: u64,
    pub unix_s: u64,
    /// With flows only if the view needs them.
    pub status: Status,
    /// Only for the view of neighbours, and if taktd answers.
    pub crowd: Option<Vec<Neighbourhood>>,
    /// Only for the view of TCP flows; an error's text on a kernel without them.
    pub tcp: Option<Result<Vec<Seen>, String>>,
}

#[derive(Default)]
pub struct Sampler {
    /// Stays open while its view is shown.
    look: Option<Look>,
}

impl Sampler {
    pub fn take(&mut self, view: View) -> Result<Sample, Error> {
        let status = takt_host::status(view == View::Flows)?;
        let at_ns = monotonic_ns();
        let hears = view == View::Neighbours && status.crowd.is_some();
        if view != View::Tcp {
            self.look = None;
        }
        Ok(Sample {
            at_ns,
            unix_s: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |passed| passed.as_secs()),
            status,
            crowd: hears.then(neighbourhoods).flatten(),
            tcp: (view == View::Tcp).then(|| self.tcp().map_err(|error| error.to_string())),
        })
    }

    fn tcp(&mut self) -> Result<Vec<Seen>, Error> {
        let mut look = match self.look.take() {
            Some(look) => look,
            None => Look::open()?,
        };
        let seen = look.take()?;
        self.look = Some(look);
        Ok(seen)
    }
}

/// `None` without taktd.
fn neighbourhoods() -> Option<Vec<Neighbourhood>> {
    match ask(&Request::ListCrowd(Default::default())) {
        Ok(Done::ListedCrowd(listed)) => Some(listed.neighbourhoods),
        _ => None,
    }
}
