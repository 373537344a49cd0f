//! The grammar of health: conditions with `or`, `and` and `not`, comparisons, and arithmetic.

use std::str::FromStr;

use super::{HEALTH_MAX_BYTES, Health, Node, Operator, Quantity, Value};

/// Of parentheses and `not`.
const DEPTH_MAX: u32 = 24;

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadHealth {
    /// Too long.
    #[error("a health expression has at most {HEALTH_MAX_BYTES} bytes")]
    TooLong,
    /// Something else stands there.
    #[error("health, byte {at}: {wanted}")]
    At {
        /// From the text's beginning.
        at: usize,
        /// What is missing or wrong there.
        wanted: String,
    },
}

impl FromStr for Health {
    type Err = BadHealth;

    fn from_str(text: &str) -> Result<Self, BadHealth> {
        if text.len() > HEALTH_MAX_BYTES {
            return Err(BadHealth::TooLong);
        }
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
        };
        let (root, kind) = parser.or()?;
        parser.blank();
        if parser.at < text.len() {
            return parser.fail("an operator or the end is expected");
        }
        match kind {
            Kind::Condition => Ok(Self {
                text: text.to_owned(),
                root,
            }),
            Kind::Number => parser.fail("a comparison is missing, such as `== 0`"),
        }
    }
}

impl TryFrom<String> for Health {
    type Error = BadHealth;

    fn try_from(text: String) -> Result<Self, BadHealth> {
        text.parse()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Condition,
}

type Parsed = Result<(Node, Kind), BadHealth>;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

/// Longer ones come first.
const COMPARISONS: [(&str, Operator); 6] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl<'a> Parser<'a> {
    fn or(&mut self) -> Parsed {
        self.chain(Self::and, |parser| {
            parser.word("or").then_some(Operator::Or)
        })
    }

    fn and(&mut self) -> Parsed {
        let next = |parser: &mut Self| parser.word("and").then_some(Operator::And);
        self.chain(Self::not, next)
    }

    fn not(&mut self) -> Parsed {
        if !self.word("not") {
            return self.comparison();
        }
        self.deeper(|parser| match parser.not()? {
            (node, Kind::Condition) => Ok((Node::Not(Box::new(node)), Kind::Condition)),
            (_, Kind::Number) => parser.fail("`not` takes a comparison"),
        })
    }

    fn comparison(&mut self) -> Parsed {
        let left = self.sum()?;
        let mut found = COMPARISONS.iter();
        match found.find(|(sign, _)| self.sign(sign)) {
            Some((_, operator)) => {
                let right = self.sum()?;
                self.two(left, *operator, right)
            }
            None => Ok(left),
        }
    }

    fn sum(&mut self) -> Parsed {
        self.chain(Self::product, |parser| match () {
            () if parser.sign("+") => Some(Operator::Plus),
            () if parser.sign("-") => Some(Operator::Minus),
            () => None,
        })
    }

    fn product(&mut self) -> Parsed {
        self.chain(Self::atom, |parser| match () {
            () if parser.sign("*") => Some(Operator::Times),
            () if parser.sign("/") => Some(Operator::Over),
            () => None,
        })
    }

    /// Operands with operators of one rank between them, from the left.
    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Parsed,
        operator: impl Fn(&mut Self) -> Option<Operator>,
    ) -> Parsed {
        let mut left = operand(self)?;
        while let Some(operator) = operator(self) {
            let right = operand(self)?;
            left = self.two(left, operator, right)?;
        }
        Ok(left)
    }

    fn two(&self, left: (Node, Kind), operator: Operator, right: (Node, Kind)) -> Parsed {
        let wanted = if operator.joins_conditions() {
            Kind::Condition
        } else {
            Kind::Number
        };
        if left.1 != wanted || right.1 != wanted {
            return self.fail(match wanted {
                Kind::Condition => "`and` and `or` stand between comparisons",
                Kind::Number => "a number is expected on both sides",
            });
        }
        let kind = if operator.joins_conditions() || operator.compares() {
            Kind::Condition
        } else {
            Kind::Number
        };
        Ok((
            Node::Two(Box::new(left.0), operator, Box::new(right.0)),
            kind,
        ))
    }

    fn atom(&mut self) -> Parsed {
        if self.sign("(") {
            let inner = self.deeper(Self::or)?;
            return if self.sign(")") {
                Ok(inner)
            } else {
                self.fail("`)` is expected")
            };
        }
        self.blank();
        let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
        let number = self.take(is_number);
        if !number.is_empty() {
            let Ok(value) = number.parse::<f64>() else {
                return self.fail("this is not a number");
            };
            let share = if self.sign("%") { 100.0 } else { 1.0 };
            return Ok((Node::Number(value / share), Kind::Number));
        }
        let at = self.at;
        let name = self.take(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let Some((_, quantity)) = Quantity::ALL.iter().find(|(known, _)| *known == name) else {
            self.at = at;
            let known = Quantity::ALL.map(|(name, _)| name).join(", ");
            return self.fail(&format!("a number, `(` or one of {known} is expected"));
        };
        let class = self.class()?;
        if class.is_some() && *quantity == Quantity::Problems {
            return self.fail("`problems` are counted for the whole host");
        }
        let value = Value {
            quantity: *quantity,
            class,
        };
        Ok((Node::Value(value), Kind::Number))
    }

    /// `(CLASS)` or `(DEVICE/CLASS)`.
    fn class(&mut self) -> Result<Option<String>, BadHealth> {
        if !self.sign("(") {
            return Ok(None);
        }
        self.blank();
        let is_known =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
        let name = self.take(is_known);
        if !name.is_empty() && self.sign(")") {
            Ok(Some(name.to_owned()))
        } else {
            self.fail("the name of a class and `)` are expected")
        }
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.fail(&format!("more than {DEPTH_MAX} levels"));
        }
        let parsed = inner(self);
        self.depth -= 1;
        parsed
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        self.take(|byte| byte.is_ascii_whitespace());
    }

    fn take(&mut self, is_meant: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        // Only bytes of ASCII are meant, so this is no part of a character.
        let end = rest
            .bytes()
            .take_while(|byte| byte.is_ascii() && is_meant(*byte));
        let taken = &rest[..end.count()];
        self.at += taken.len();
        taken
    }

    fn sign(&mut self, sign: &str) -> bool {
        self.blank();
        let is_there = self.rest().starts_with(sign);
        self.at += if is_there { sign.len() } else { 0 };
        is_there
    }

    fn word(&mut self, word: &str) -> bool {
        self.blank();
        let ends = |rest: &str| {
            !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
        };
        let is_there = self.rest().strip_prefix(word).is_some_and(ends);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    fn fail<T>(&self, wanted: &str) -> Result<T, BadHealth> {
        Err(BadHealth::At {
            at: self.at + 1,
            wanted: wanted.to_owned(),
        })
    }
}
