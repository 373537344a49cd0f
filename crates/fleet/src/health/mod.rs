//! Health: an expression over a host's counters, which says at the end of a trial whether the
//! policy stays.

mod parse;
mod sample;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::{
    parse::BadHealth,
    sample::{Class, Sample},
};

/// The longest text.
pub const HEALTH_MAX_BYTES: usize = 512;

/// A condition, such as `problems == 0 and dropped(voice) / sent(voice) < 1%`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Health {
    text: String,
    root: Node,
}

impl Eq for Health {}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    Value(Value),
    Not(Box<Node>),
    Two(Box<Node>, Operator, Box<Node>),
}

/// Something that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Value {
    quantity: Quantity,
    /// `None`: of all classes.
    class: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Problems,
    Sent,
    SentBytes,
    Dropped,
    Queued,
    LateUs,
}

impl Quantity {
    const ALL: [(&str, Self); 6] = [
        ("problems", Self::Problems),
        ("sent", Self::Sent),
        ("sent_bytes", Self::SentBytes),
        ("dropped", Self::Dropped),
        ("queued", Self::Queued),
        ("late_us", Self::LateUs),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
    Plus,
    Minus,
    Times,
    Over,
}

impl Operator {
    const fn joins_conditions(self) -> bool {
        matches!(self, Self::Or | Self::And)
    }

    const fn compares(self) -> bool {
        matches!(
            self,
            Self::Less
                | Self::LessOrEqual
                | Self::Greater
                | Self::GreaterOrEqual
                | Self::Equal
                | Self::Unequal
        )
    }
}

/// The classes that an expression asks for and a host does not have: it is not healthy then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no class {0}")]
pub struct NoClass(String);

impl Health {
    /// Nothing is wrong with the policy, by takt's own word.
    pub fn sound() -> Self {
        Self {
            text: "problems == 0".to_owned(),
            root: Node::Two(
                Box::new(Node::Value(Value {
                    quantity: Quantity::Problems,
                    class: None,
                })),
                Operator::Equal,
                Box::new(Node::Number(0.0)),
            ),
        }
    }

    /// Whether it holds, for what was counted between two samples of a trial.
    pub fn holds(&self, first: &Sample, last: &Sample) -> Result<bool, NoClass> {
        Ok(eval(&self.root, first, last)? != 0.0)
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Health> for String {
    fn from(health: Health) -> Self {
        health.text
    }
}

/// Conditions are 1 or 0: the parser keeps them and numbers apart.
fn eval(node: &Node, first: &Sample, last: &Sample) -> Result<f64, NoClass> {
    Ok(match node {
        Node::Number(number) => *number,
        Node::Value(value) => value.of(first, last)?,
        Node::Not(condition) => f64::from(eval(condition, first, last)? == 0.0),
        Node::Two(left, operator, right) => {
            // Both sides are looked at: a class that is missing is told in any case.
            let (left, right) = (eval(left, first, last)?, eval(right, first, last)?);
            match operator {
                Operator::Or => f64::from(left != 0.0 || right != 0.0),
                Operator::And => f64::from(left != 0.0 && right != 0.0),
                Operator::Less => f64::from(left < right),
                Operator::LessOrEqual => f64::from(left <= right),
                Operator::Greater => f64::from(left > right),
                Operator::GreaterOrEqual => f64::from(left >= right),
                Operator::Equal => f64::from(left == right),
                Operator::Unequal => f64::from(left != right),
                Operator::Plus => left + right,
                Operator::Minus => left - right,
                Operator::Times => left * right,
                // A share of nothing is nothing.
                Operator::Over if left == 0.0 => 0.0,
                Operator::Over => left / right,
            }
        }
    })
}

impl Value {
    fn of(&self, first: &Sample, last: &Sample) -> Result<f64, NoClass> {
        if self.quantity == Quantity::Problems {
            return Ok(last.problems.len() as f64);
        }
        let none = Class::default();
        let mut found = 0;
        let (mut sum, mut most) = (0, 0);
        for class in last.classes.iter().filter(|class| self.means(class)) {
            found += 1;
            let before = first.classes.iter().find(|other| other.is(class));
            let before = before.unwrap_or(&none);
            let counted = |of: fn(&Class) -> u64| of(class).saturating_sub(of(before));
            let value = match self.quantity {
                Quantity::Sent => counted(|class| class.sent_packets),
                Quantity::SentBytes => counted(|class| class.sent_bytes),
                Quantity::Dropped => counted(|class| class.dropped_packets),
                Quantity::Queued => class.queued_packets,
                Quantity::LateUs => class.late_max_ns / 1_000,
                Quantity::Problems => 0,
            };
            sum += value;
            most = value.max(most);
        }
        match &self.class {
            Some(class) if found == 0 => Err(NoClass(class.clone())),
            _ if self.quantity == Quantity::LateUs => Ok(most as f64),
            _ => Ok(sum as f64),
        }
    }

    /// `CLASS`, or `DEVICE/CLASS`.
    fn means(&self, class: &Class) -> bool {
        self.class.as_ref().is_none_or(|asked| {
            *asked == class.name
                || asked
                    .split_once('/')
                    .is_some_and(|(device, name)| device == class.device && name == class.name)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(sent: u64, dropped: u64) -> Sample {
        Sample {
            classes: vec![Class {
                device: "eth0".to_owned(),
                name: "voice".to_owned(),
                sent_packets: sent,
                dropped_packets: dropped,
                late_max_ns: 5_000,
                ..Class::default()
            }],
            ..Sample::default()
        }
    }

    fn holds(text: &str) -> Result<bool, NoClass> {
        let health: Health = text.parse().unwrap();
        health.holds(&sample(100, 10), &sample(1_100, 12))
    }

    #[test]
    fn conditions_are_judged() {
        for (text, wanted) in [
            ("problems == 0", true),
            ("sent(voice) == 1000 and dropped(voice) == 2", true),
            ("sent(eth0/voice) >= 1001", false),
            ("dropped / sent < 1%", true),
            ("dropped(voice) / sent(voice) > 0.1 %", true),
            ("not (late_us > 4) or queued != 0", false),
            ("not late_us > 4 or queued == 0", true),
            ("1 + 2 * 3 - 4 / 2 == 5", true),
            ("(1 + 2) * 3 == 9 and not not 1 < 2", true),
            ("queued / queued < 1", true),
        ] {
            assert_eq!(holds(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn a_class_that_is_gone_is_ill() {
        let gone = holds("sent > 0 or dropped(video) == 0");
        assert_eq!(gone, Err(NoClass("video".to_owned())));
    }

    #[test]
    fn mistakes_are_named() {
        for text in [
            "",
            "1",
            "sent",
            "sent +",
            "sent > ",
            "1 < 2 < 3",
            "(1 < 2",
            "1 < 2)",
            "1 and 2",
            "not 1",
            "(1<2) + 1 > 0",
            "cpu > 1",
            "problems(x) == 0",
            "sent() > 1",
            "1 < 2 or",
            "1 = 2",
            "1e999 > 1",
            "sent(a b",
            "١ > 0",
        ] {
            let error = text.parse::<Health>().expect_err(text);
            assert!(!error.to_string().is_empty());
        }
        assert!("(".repeat(500).parse::<Health>().is_err());
        assert!(
            format!("{}1 < 2", "not ".repeat(100))
                .parse::<Health>()
                .is_err()
        );
    }

    #[test]
    fn the_default_is_what_its_text_says() {
        assert_eq!("problems == 0".parse::<Health>().unwrap(), Health::sound());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9 ()<>=!%.+*/-]{0,40}") {
            if let Ok(health) = text.parse::<Health>() {
                let _ = health.holds(&sample(0, 0), &sample(1, 1));
                prop_assert_eq!(health.to_string().parse::<Health>(), Ok(health));
            }
        }
    }
}
