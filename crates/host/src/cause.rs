//! The room whose error an [`Error`] is. A match on it is complete only with every error of every
//! room.

use crate::{
    apply::TrialError,
    beats::BeatsError,
    bpf::BpfError,
    crowd::CrowdError,
    error::{Error, NotTakenBack},
    helper::HelperError,
    link::LinkError,
    os::OsError,
    part::Foreign,
    radio::RadioError,
    state::StateError,
};

macro_rules! causes {
    ($($(#[$doc:meta])* $room:ident($error:ident),)*) => {
        /// An error by the room that it is of.
        #[derive(Debug)]
        pub enum Cause<'a> {
            $($(#[$doc])* $room(&'a $error),)*
        }

        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::new(error)
            }
        })*

        impl Error {
            /// The error of one room that this is.
            pub fn cause(&self) -> Cause<'_> {
                $(if let Some(error) = self.of::<$error>() {
                    return Cause::$room(error);
                })*
                unreachable!("{self} was made of none of these")
            }
        }
    };
}

causes! {
    /// The operating system refused.
    Os(OsError),
    /// Takt's records or its lock.
    State(StateError),
    /// Programs and maps.
    Bpf(BpfError),
    /// What other programs changed.
    Foreign(Foreign),
    /// Links.
    Link(LinkError),
    /// Tasks and their scheduler.
    Beats(BeatsError),
    /// The congestion control.
    Crowd(CrowdError),
    /// Signals.
    Radio(RadioError),
    /// The helper.
    Helper(HelperError),
    /// A policy on trial.
    Trial(TrialError),
    /// A change that could not be undone.
    NotTakenBack(NotTakenBack),
}
