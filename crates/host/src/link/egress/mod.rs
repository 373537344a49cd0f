//! Programs on a device's egress, which write to packets before they reach the qdisc, which cannot. A
//! link has those that its plan asks for.

mod dscp;
mod mark;

use std::{
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
};

use takt_algo::sys::{TAKT_READS_ECN, takt_plan};

use crate::{
    error::Error,
    link::{
        hook::{Hook, Point},
        program::Program,
    },
};

/// One of these programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// It marks packets (ECN).
    Mark,
    /// It gives them the DSCP of their class.
    Dscp,
}

impl Writer {
    const ALL: [Self; 2] = [Self::Mark, Self::Dscp];

    /// The directory of its pins, within that of the links.
    fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Dscp => "dscp",
        }
    }

    /// Whether the plan needs it.
    pub fn is_asked_by(self, plan: &takt_plan) -> bool {
        match self {
            Self::Mark => plan.reads & TAKT_READS_ECN != 0,
            Self::Dscp => plan.rules.sets_dscp != 0,
        }
    }

    /// Verify it against the running kernel, and leave nothing loaded.
    pub fn verify(self) -> Result<(), Error> {
        self.load(0, None, |_| Ok(()))
    }

    /// Load it for this link, and have it used.
    fn load(
        self,
        link: u32,
        program: Option<&Program>,
        used: impl FnOnce(BorrowedFd) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::Mark => mark::load(link, program, used),
            Self::Dscp => dscp::load(link, program, used),
        }
    }

    fn dir(self, program: &Program) -> PathBuf {
        program.dir().join(self.name())
    }

    fn hook(self, program: &Program, link: u32) -> Hook {
        Hook::for_link(&self.dir(program), link)
    }
}

/// Those of these plans.
pub(crate) fn asked_by<'a>(
    plans: impl Iterator<Item = &'a takt_plan> + Clone,
) -> impl Iterator<Item = Writer> {
    let asked = move |writer: &Writer| plans.clone().any(|plan| writer.is_asked_by(plan));
    Writer::ALL.into_iter().filter(asked)
}

/// One that the plan asks for, and that packets of the link's device do not pass.
pub(crate) fn missing(
    program: &Program,
    plan: &takt_plan,
    link: u32,
    device: u32,
) -> Option<Writer> {
    let stands = |writer: &Writer| writer.hook(program, link).is_attached_to(device);
    asked_by(std::iter::once(plan)).find(|writer| !stands(writer))
}

/// Load those that the plan asks for and attach them to the link's device, unless they are there. They
/// write nothing before a plan in force says so.
pub(crate) fn make(
    program: &Program,
    plan: &takt_plan,
    link: u32,
    device: u32,
) -> Result<(), Error> {
    for writer in asked_by(std::iter::once(plan)) {
        let hook = writer.hook(program, link);
        if !hook.is_attached_to(device) {
            writer.load(link, Some(program), |loaded| {
                hook.attach(loaded, device, Point::Egress)
            })?;
        }
    }
    Ok(())
}

/// Remove a link's, by the directory of the links' pins.
pub(crate) fn remove(links: &Path, link: u32) -> Result<(), Error> {
    { Writer::ALL.into_iter() }
        .try_for_each(|writer| Hook::for_link(&links.join(writer.name()), link).remove())
}

/// Remove those that the plan in force does not ask for, and those of links that are gone.
pub(crate) fn sweep(program: &Program) -> Result<(), Error> {
    for writer in Writer::ALL {
        for link in Hook::list(&writer.dir(program))? {
            let port = program.port(link)?;
            if !port.is_some_and(|port| writer.is_asked_by(&port.plan())) {
                writer.hook(program, link).remove()?;
            }
        }
    }
    Ok(())
}
