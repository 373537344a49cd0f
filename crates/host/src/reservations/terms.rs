//! What a thread may ask for.

use takt_policy::{
    BUDGET_MIN_NS, ExactTime, Handoff, Member, Overrun, PERIOD_MAX_NS, PERIOD_MIN_NS, Task,
    ThreadMatch,
};

use super::JoinError;

/// Of one task.
const MEMBERS_MAX: u32 = takt_policy::MEMBERS_MAX as u32;

/// What a thread wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A member that the policy declares.
    Declared {
        /// Its name in the policy.
        task: String,
        /// The member's name; a task that is no group has one member.
        member: Option<String>,
    },
    /// A member of an ad hoc task.
    AdHoc(Terms),
}

/// An ad hoc task. The first member of a group defines it; later members must give the same
/// terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// `None`: a thread on its own.
    pub group: Option<String>,
    /// From 0, in the order of hand-off.
    pub member: u32,
    /// 1 without a group.
    pub member_count: u32,
    /// Within [`PERIOD_MIN_NS`] and [`PERIOD_MAX_NS`].
    pub period_ns: ExactTime,
    /// Of all members together.
    pub budget_ns: u64,
    /// `None`: where it fits.
    pub offset_ns: Option<ExactTime>,
    /// How long before its beat a member is released, to wait out the rest on its CPU.
    pub lead_ns: u64,
    /// `lead_ns` is the most, [`LEAD_AUTO_MAX_NS`](takt_policy::LEAD_AUTO_MAX_NS), and how much is
    /// learned.
    pub lead_auto: bool,
    /// What happens to a member on an overrun.
    pub overrun: Overrun,
    /// Who says which member of the group goes next.
    pub handoff: Handoff,
}

impl Terms {
    /// Checks that such a task is possible at all, whatever else exists. The error names the
    /// fix.
    pub fn check(&self) -> Result<(), JoinError> {
        let shown = takt_policy::format_duration;
        let invalid = |message: String| Err(JoinError::Invalid(message));
        if !(PERIOD_MIN_NS.into()..=PERIOD_MAX_NS.into()).contains(&self.period_ns) {
            return invalid(format!(
                "a period of {} is out of range; it goes from {} to {}",
                self.period_ns,
                shown(PERIOD_MIN_NS),
                shown(PERIOD_MAX_NS)
            ));
        }
        if self.budget_ns < BUDGET_MIN_NS {
            return invalid(format!(
                "a budget of {} is too small; the smallest is {}",
                shown(self.budget_ns),
                shown(BUDGET_MIN_NS)
            ));
        }
        // One at a time: their sum may overflow.
        let room_ns = self.period_ns.whole_ns().checked_sub(self.budget_ns);
        if room_ns.is_none_or(|room_ns| self.lead_ns > room_ns) {
            return invalid(format!(
                "a budget of {} and a lead of {} do not fit into a period of {}",
                shown(self.budget_ns),
                shown(self.lead_ns),
                self.period_ns
            ));
        }
        if self
            .offset_ns
            .is_some_and(|offset_ns| offset_ns >= self.period_ns)
        {
            return invalid(format!(
                "an offset of {} is not within a period of {}",
                self.offset_ns.unwrap_or_default(),
                self.period_ns
            ));
        }
        if !(1..=MEMBERS_MAX).contains(&self.member_count) {
            return invalid(format!(
                "a group has 1 to {MEMBERS_MAX} members, not {}",
                self.member_count
            ));
        }
        if self.member >= self.member_count {
            return invalid(format!(
                "a group of {} has no member {}",
                self.member_count,
                u64::from(self.member) + 1
            ));
        }
        match &self.group {
            None if self.member_count > 1 => {
                invalid("several members need a group with a name".to_owned())
            }
            None if self.handoff == Handoff::Free => {
                invalid("free hand-off needs a group of several threads; name a group".to_owned())
            }
            None => Ok(()),
            Some(name) => takt_policy::check_name("group", name).map_err(JoinError::Invalid),
        }
    }

    /// Its members are numbered from 1, and no rule finds them.
    pub(super) fn task(&self, name: &str) -> Task {
        let member = |number: u32| Member {
            name: number.to_string(),
            matches: ThreadMatch::default(),
        };
        Task {
            name: name.to_owned(),
            period_ns: self.period_ns,
            budget_ns: self.budget_ns,
            offset_ns: self.offset_ns,
            lead_ns: self.lead_ns,
            lead_auto: self.lead_auto,
            cpus: None,
            overrun: self.overrun,
            members: (1..=self.member_count).map(member).collect(),
            handoff: self.handoff,
            line: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn terms() -> Terms {
        Terms {
            group: None,
            member: 0,
            member_count: 1,
            period_ns: (40 * MS).into(),
            budget_ns: 8 * MS,
            offset_ns: None,
            lead_ns: 0,
            lead_auto: false,
            overrun: Overrun::Demote,
            handoff: Handoff::Order,
        }
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut Terms), says: &str) {
        let mut terms = terms();
        change(&mut terms);
        let error = terms.check().expect_err("nonsense").to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn what_can_be_is_let_through() {
        terms().check().expect("plain terms");
        let edge = Terms {
            group: Some("av".to_owned()),
            member: 2,
            member_count: 3,
            budget_ns: 39 * MS,
            lead_ns: MS,
            offset_ns: Some((39 * MS).into()),
            ..terms()
        };
        edge.check().expect("terms that just fit");
    }

    #[test]
    fn nonsense_is_refused_with_its_reason() {
        refused(
            |t| t.period_ns = (1_000_000_000 * 1_000_000_000).into(),
            "from 100us to 4s",
        );
        refused(|t| t.period_ns = 0.into(), "out of range");
        refused(|t| t.budget_ns = 41 * MS, "a budget of 41ms");
        refused(|t| t.budget_ns = u64::MAX, "do not fit");
        refused(|t| t.budget_ns = 0, "too small");
        refused(|t| t.lead_ns = u64::MAX, "do not fit");
        refused(
            |t| t.offset_ns = Some((40 * MS).into()),
            "an offset of 40ms",
        );
        refused(|t| t.member_count = 0, "1 to 16");
        refused(|t| t.member_count = 17, "1 to 16");
        refused(|t| t.member = u32::MAX, "no member 4294967296");
        refused(|t| t.member_count = 2, "need a group");
        refused(|t| t.handoff = Handoff::Free, "name a group");
        refused(
            |t| t.group = Some("a\"v".to_owned()),
            "names are 1 to 31 bytes",
        );
    }
}
