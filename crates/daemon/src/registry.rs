//! What is registered, and who may change it. Pure: takes the time and the caller, returns
//! answers and changes.

use std::collections::BTreeMap;

use takt_algo::sys::TAKT_REGISTRATIONS;
use takt_host::{Destination, Registration, Whose};
use takt_wlan::Bucket;

use crate::{
    address,
    limit::{Limits, Room},
    protocol::{Add, Code, Listed, Refusal, Registered, Remove},
};

/// How long a registration that was taken back is kept, switched off, so that packets queued
/// because of it are not overtaken.
const LINGER_NS: u64 = 60 * NS_PER_S;
const LIFETIME_MAX_S: u64 = 365 * 24 * 3600;
const NS_PER_S: u64 = 1_000_000_000;
const ENTRIES_MAX: usize = TAKT_REGISTRATIONS as usize;
const OF_ROOT_MAX: usize = ENTRIES_MAX / 4;
const ROOM: Room = Room {
    users_max: ENTRIES_MAX - OF_ROOT_MAX,
    user_max: 256,
    root_max: OF_ROOT_MAX,
};

/// The caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caller {
    pub uid: u32,
    pub netns_cookie: u64,
}

/// What to write to the kernel; `None`: forget it.
pub(crate) type Change = (Destination, Option<Registration>);

#[derive(Debug, Default)]
pub(crate) struct Registry {
    entries: BTreeMap<Destination, Entry>,
    buckets: BTreeMap<u32, Bucket>,
    changes: Vec<Change>,
    changed_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    registration: Registration,
    /// The user whose limit it counts against.
    by: u32,
    /// When it is taken back, or, if it was taken back, forgotten.
    ends_ns: Option<u64>,
}

impl Registry {
    /// Whether this user may make another request now.
    pub fn admit(&mut self, now_ns: u64, uid: u32) -> Result<(), Refusal> {
        let rate = Limits::for_user(uid).requests;
        if self.buckets.entry(uid).or_default().take(&rate, now_ns) {
            return Ok(());
        }
        Err(Refusal::new(
            Code::TooFast,
            format!(
                "user {uid} sends too many requests: at most {} at once and {} per second are answered",
                rate.burst(),
                rate.per_second_count()
            ),
            "wait a second; one registration holds for all connections to its destination",
        ))
    }

    /// Whether it was not there before.
    pub fn add(&mut self, now_ns: u64, caller: Caller, add: &Add) -> Result<bool, Refusal> {
        let to = address::check(&add.dst, add.port)?;
        let destination = Destination {
            netns_cookie: caller.netns_cookie,
            whose: whose(caller, add.user, add.everyone)?,
            to,
        };
        let ends_ns = match add.lifetime_s {
            None => None,
            Some(lifetime_s @ 1..=LIFETIME_MAX_S) => Some(now_ns + lifetime_s * NS_PER_S),
            Some(lifetime_s) => {
                return Err(Refusal::new(
                    Code::BadLifetime,
                    format!("{lifetime_s} s is not a valid lifetime"),
                    "a lifetime lasts from one second to a year; without one the registration is unlimited",
                ));
            }
        };
        if let Some(entry) = self.entries.get_mut(&destination)
            && entry.registration.on
        {
            entry.ends_ns = ends_ns;
            return Ok(false);
        }
        self.make_room(caller.uid, &destination)?;
        self.put(now_ns, destination, true, caller.uid, ends_ns);
        Ok(true)
    }

    pub fn remove(&mut self, now_ns: u64, caller: Caller, remove: &Remove) -> Result<(), Refusal> {
        let destination = Destination {
            netns_cookie: caller.netns_cookie,
            whose: whose(caller, remove.user, remove.everyone)?,
            to: address::check(&remove.dst, remove.port)?,
        };
        match self.entries.get(&destination) {
            Some(entry) if entry.registration.on => {
                self.take_back(now_ns, destination, entry.by);
                Ok(())
            }
            _ => Err(Refusal::new(
                Code::NotRegistered,
                format!("{} is not registered", destination.to),
                "`takt background list` shows what is, in this network namespace",
            )),
        }
    }

    /// What concerns the caller, sorted by user and address.
    pub fn list(&self, now_ns: u64, caller: Caller) -> Listed {
        let is_shown = |destination: &Destination| {
            destination.netns_cookie == caller.netns_cookie
                && match destination.whose {
                    Whose::Everyone => true,
                    Whose::User(uid) => uid == caller.uid || caller.uid == 0,
                }
        };
        let registrations = self
            .entries
            .iter()
            .filter(|(destination, entry)| entry.registration.on && is_shown(destination))
            .map(|(destination, entry)| Registered {
                dst: destination.to.ip().to_string(),
                port: destination.to.port(),
                user: match destination.whose {
                    Whose::User(uid) => Some(uid),
                    Whose::Everyone => None,
                },
                lifetime_s: entry
                    .ends_ns
                    .map(|ends_ns| ends_ns.saturating_sub(now_ns).div_ceil(NS_PER_S)),
            });
        Listed {
            registrations: registrations.collect(),
        }
    }

    /// Advance the time: take back what has expired, forget what was kept long enough.
    pub fn tick(&mut self, now_ns: u64) {
        self.buckets.retain(|_, bucket| !bucket.is_full(now_ns));
        let ended: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.ends_ns.is_some_and(|ends_ns| ends_ns <= now_ns))
            .map(|(destination, entry)| (*destination, *entry))
            .collect();
        for (destination, entry) in ended {
            if entry.registration.on {
                self.take_back(now_ns, destination, entry.by)
            } else {
                self.forget(&destination)
            }
        }
    }

    /// What a killed taktd left: it is taken back.
    pub fn adopt(&mut self, now_ns: u64, left: impl IntoIterator<Item = Destination>) {
        for destination in left {
            if !self.entries.contains_key(&destination) {
                self.take_back(now_ns, destination, 0);
            }
        }
    }

    /// Take everything back.
    pub fn clear(&mut self, now_ns: u64) {
        let on: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.registration.on)
            .map(|(destination, entry)| (*destination, entry.by))
            .collect();
        for (destination, by) in on {
            self.take_back(now_ns, destination, by);
        }
    }

    /// Forget everything, switched off or not.
    pub fn forget_all(&mut self) {
        let known: Vec<_> = self.entries.keys().copied().collect();
        for destination in known {
            self.forget(&destination);
        }
    }

    /// What the kernel has to be told since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Everything that the kernel has to know.
    pub fn all(&self) -> impl Iterator<Item = Change> {
        self.entries
            .iter()
            .map(|(destination, entry)| (*destination, Some(entry.registration)))
    }

    /// Whether time changes anything.
    pub fn is_waiting(&self) -> bool {
        let mut entries = self.entries.values();
        !self.buckets.is_empty() || entries.any(|entry| entry.ends_ns.is_some())
    }

    /// Those that are switched off included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn make_room(&mut self, uid: u32, for_this: &Destination) -> Result<(), Refusal> {
        let count = |is_counted: &dyn Fn(u32) -> bool| {
            let on = self.entries.values().filter(|entry| entry.registration.on);
            on.filter(|entry| is_counted(entry.by)).count()
        };
        let (own, of_users) = (count(&|by| by == uid), count(&|by| by != 0));
        if own >= ROOM.limit(uid, own, of_users) {
            return Err(Refusal::new(
                Code::TooMany,
                format!(
                    "user {uid} has {own} registrations, and may have no more now: all users have \
                     {of_users} of {}",
                    ROOM.users_max
                ),
                "remove one, or register with lifetimes",
            ));
        }
        // Those that are on always leave room: their number is limited.
        if self.entries.len() >= ENTRIES_MAX && !self.entries.contains_key(for_this) {
            let lingering = self.entries.iter().filter(|(_, it)| !it.registration.on);
            let oldest = lingering.min_by_key(|(_, it)| it.registration.changed_ns);
            if let Some(destination) = oldest.map(|(destination, _)| *destination) {
                self.forget(&destination);
            }
        }
        Ok(())
    }

    fn take_back(&mut self, now_ns: u64, destination: Destination, by: u32) {
        self.put(now_ns, destination, false, by, Some(now_ns + LINGER_NS));
    }

    fn put(&mut self, now_ns: u64, to: Destination, on: bool, by: u32, ends_ns: Option<u64>) {
        self.changed_ns = now_ns.max(self.changed_ns + 1);
        let registration = Registration {
            changed_ns: self.changed_ns,
            on,
        };
        let entry = Entry {
            registration,
            by,
            ends_ns,
        };
        self.entries.insert(to, entry);
        self.changes.push((to, Some(registration)));
    }

    fn forget(&mut self, destination: &Destination) {
        self.entries.remove(destination);
        self.changes.push((*destination, None));
    }
}

fn whose(caller: Caller, user: Option<u32>, everyone: bool) -> Result<Whose, Refusal> {
    match (user, everyone) {
        (None, false) => Ok(Whose::User(caller.uid)),
        (Some(user), false) if user == caller.uid => Ok(Whose::User(user)),
        // The highest number is no user.
        (Some(user), false) if caller.uid == 0 && user < u32::MAX => Ok(Whose::User(user)),
        (None, true) if caller.uid == 0 => Ok(Whose::Everyone),
        (Some(_), true) => Err(Refusal::new(
            Code::Malformed,
            "a user and everyone exclude each other",
            "name a user, or everyone",
        )),
        (Some(u32::MAX), false) => Err(Refusal::new(
            Code::Malformed,
            format!("there is no user {}", u32::MAX),
            "name an existing user",
        )),
        _ => Err(Refusal::new(
            Code::NotYours,
            "these sockets belong to another user",
            "leave the user out to register for your own sockets; root may do so for others",
        )),
    }
}

#[cfg(test)]
mod tests;
