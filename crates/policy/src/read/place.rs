//! The tables of a policy, and which of them a key belongs in.

use super::beats::{self, BEATS, task::TASK};
use super::crowd::CROWD;
use super::keys::Schema;
use super::link::{LINK, class::CLASS, download::DOWNLOAD, matching, tenant::TENANT};
use super::radio::RADIO;
use crate::value::folded;

/// A kind of table of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The whole file.
    File,
    Link,
    /// What a device receives.
    Download,
    Tenant,
    Class,
    /// The match of a class.
    Match,
    Radio,
    Crowd,
    Beats,
    Task,
    /// The match of a task.
    TaskMatch,
}

use Place::*;

impl Place {
    pub const ALL: [Place; 11] = [
        File, Link, Download, Tenant, Class, Match, Radio, Crowd, Beats, Task, TaskMatch,
    ];

    pub fn schema(self) -> &'static Schema {
        match self {
            File => &super::FILE,
            Link => &LINK,
            Download => &DOWNLOAD,
            Tenant => &TENANT,
            Class => &CLASS,
            Match => &matching::MATCH,
            Radio => &RADIO,
            Crowd => &CROWD,
            Beats => &BEATS,
            Task => &TASK,
            TaskMatch => &beats::thread::MATCH,
        }
    }

    /// The table as messages name it.
    pub fn shown(self) -> &'static str {
        match self {
            File => "the policy",
            Link => "[link.DEV]",
            Download => "[link.DEV.download]",
            Tenant => "a [[link.DEV.tenant]]",
            Class => "a [[link.DEV.class]]",
            Match => "the match of a [[link.DEV.class]]",
            Radio => "[radio]",
            Crowd => "[crowd]",
            Beats => "[beats]",
            Task => "a [[task]]",
            TaskMatch => "the match of a [[task]]",
        }
    }

    /// The table that has this one as its key `match`.
    pub fn around(self) -> Option<Place> {
        match self {
            Match => Some(Class),
            TaskMatch => Some(Task),
            _ => None,
        }
    }

    /// Tables that a key in this one may have been meant for.
    fn related(self) -> &'static [Place] {
        match self {
            File => &[Link, Tenant, Class, Match, Beats, Task, TaskMatch],
            Link | Download | Tenant | Class | Match => &[Link, Tenant, Class, Match],
            Beats | Task | TaskMatch => &[Beats, Task, TaskMatch],
            Radio | Crowd => &[],
        }
    }

    /// `line` goes into this table: what to write in the table `from`, and where.
    pub fn line(self, line: &str, from: Place) -> String {
        let around = self.around();
        let whole = match around {
            Some(_) if self != from => format!("match = {{ {line} }}"),
            _ => line.to_owned(),
        };
        let table = around.unwrap_or(self);
        if self == from || table == from || table == File {
            whole
        } else {
            format!("{whole} in {}", table.shown())
        }
    }

    /// Where a key belongs that this table has not.
    pub fn elsewhere(self, key: &str) -> Option<String> {
        let meant = folded(key);
        let known = |place: Place| place.schema().names().find(|known| folded(known) == meant);
        let related = self.related().iter().copied();
        let owners: Vec<Place> = related.filter(|place| known(*place).is_some()).collect();
        let key = known(*owners.first()?)?;
        if owners.contains(&self) {
            return None;
        }
        let help = match owners.as_slice() {
            [owner] if owner.around() == Some(self) => {
                format!("the match: match = {{ {key} = … }}")
            }
            _ => {
                let shown: Vec<&str> = owners.iter().map(|place| place.shown()).collect();
                shown.join(" or ")
            }
        };
        Some(format!("`{key}` belongs in {help}"))
    }
}
