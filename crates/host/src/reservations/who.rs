//! Who may take a reservation, by `join` of the policy in force.

use nix::unistd::Group;
use takt_policy::Join;

use super::JoinError;

/// A process that asks for a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its user.
    pub uid: u32,
    /// All groups that it is in.
    pub groups: Vec<u32>,
}

impl Caller {
    /// A process that may do everything.
    pub const ROOT: Self = Self {
        uid: 0,
        groups: Vec::new(),
    };
}

const ROOT_ALONE: &str = "the policy in force has join = \"none\", so only root's threads take reservations on \
                          the beat; ask for another join in [beats], or for a [[task]]";

/// The group is looked up now, which may take long, so without the host's lock.
pub(super) fn check(caller: &Caller, join: &Join) -> Result<(), JoinError> {
    let refused = |message: String| Err(JoinError::MayNotJoin(message));
    let name = match join {
        _ if caller.uid == 0 => return Ok(()),
        Join::All => return Ok(()),
        Join::None => return refused(ROOT_ALONE.to_owned()),
        Join::Group(name) => name,
    };
    let (problem, first) = match Group::from_name(name) {
        Ok(Some(group)) if caller.groups.contains(&group.gid.as_raw()) => return Ok(()),
        Ok(Some(_)) => (String::new(), String::new()),
        Ok(None) => (
            ", and this host has no such group".to_owned(),
            format!("groupadd --system {name}; "),
        ),
        Err(error) => (
            format!(", and looking that up failed: {error}"),
            String::new(),
        ),
    };
    refused(format!(
        "user {} is not in the group `{name}`, whose members may take reservations on the beat{problem}; as \
         root: {first}usermod -aG {name} USER, or join = \"all\" in [beats]",
        caller.uid
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(groups: &[u32]) -> Caller {
        Caller {
            uid: 1000,
            groups: groups.to_vec(),
        }
    }

    fn refused(caller: &Caller, join: &Join) -> String {
        let error = check(caller, join).expect_err("it may not");
        assert!(matches!(error, JoinError::MayNotJoin(_)), "{error:?}");
        error.to_string()
    }

    #[test]
    fn the_key_says_who() {
        for join in [
            Join::None,
            Join::All,
            Join::Group("no-such-group".to_owned()),
        ] {
            assert!(check(&Caller::ROOT, &join).is_ok(), "{join:?}");
        }
        assert!(check(&user(&[]), &Join::All).is_ok());
        assert!(refused(&user(&[0, 1000]), &Join::None).contains("join = \"none\""));
    }

    #[test]
    fn a_group_is_its_members() {
        // Of number 0 on every host.
        let root = Join::Group("root".to_owned());
        assert!(check(&user(&[7, 0]), &root).is_ok());
        let says = refused(&user(&[7]), &root);
        assert!(says.contains("usermod -aG root"), "{says}");
        assert!(!says.contains("groupadd"), "{says}");
        let says = refused(&user(&[0]), &Join::Group("no-such-group".to_owned()));
        assert!(says.contains("groupadd --system no-such-group"), "{says}");
    }
}
