//! The keys that a policy names: whether they exist, and no other user can read or change them.

use std::path::PathBuf;

use takt_policy::{Diagnostics, KeyOf, Policy};
use takt_wlan::{Examined, KeyError, examine_key};

/// The result of `check` for a user who may not read a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// A warning: another user applies the policy.
    Warned,
    /// An error: this user applies it.
    Refused,
}

/// Adds warnings to the policy, or returns the error of the first key that is not in order.
pub fn check(policy: &mut Policy, unreadable: Unreadable) -> Result<(), Diagnostics> {
    let keys = policy.keys().into_iter();
    let keys: Vec<(KeyOf, PathBuf)> = keys.map(|(of, path)| (of, path.to_owned())).collect();
    for (of, path) in keys {
        match (examine_key(&path), unreadable) {
            (Err(error), _) => {
                return Err(policy.key_error(of, error.to_string(), help(of, &error)));
            }
            (Ok(Examined::Sound), _) => {}
            // The key is in order, as far as this user can see.
            (Ok(Examined::Unread), Unreadable::Warned) => {}
            (Ok(Examined::Hidden), Unreadable::Warned) => {
                let message = format!("the key {} cannot be checked", path.display());
                policy.warn_of_key(of, message, "root can check it: sudo takt check");
            }
            (Ok(_), Unreadable::Refused) => {
                let message = format!("the key {} cannot be read", path.display());
                return Err(policy.key_error(of, message, "apply the policy as root"));
            }
        }
    }
    Ok(())
}

fn help(of: KeyOf, error: &KeyError) -> String {
    let group = match of {
        KeyOf::Crowd => "crowd",
        KeyOf::Radio => "radio",
    };
    match error {
        KeyError::File { path, .. } => format!(
            "`takt {group} key {}` makes one for a new group; for an existing group copy its key",
            path.display()
        ),
        _ => "its owner alone may read and write it, and that is root".to_owned(),
    }
}
