//! What of the experiment is to run.

use super::case::Traffic;
use super::contender::Contender;
use super::line::Line;
use crate::experiment::error::{ExperimentError, Result};

/// By names; everything where there are none.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// `20/5`, …
    pub lines: Vec<String>,
    /// `takt`, …
    pub contenders: Vec<String>,
    /// `rrul`, …
    pub traffic: Vec<String>,
}

impl Choice {
    /// The first argument that chooses; none if it is all.
    pub fn argument(&self) -> Option<&'static str> {
        let mut lists = self.lists().into_iter();
        lists.find_map(|(argument, names)| (!names.is_empty()).then_some(argument))
    }

    /// As arguments of a command line.
    pub fn arguments(&self) -> Vec<String> {
        let given = self
            .lists()
            .into_iter()
            .filter(|(_, names)| !names.is_empty());
        given
            .flat_map(|(argument, names)| [argument.to_owned(), names.join(",")])
            .collect()
    }

    pub(super) fn lines(&self) -> Result<Vec<Line>> {
        chosen("line", &self.lines, &Line::ALL, |line| line.name)
    }

    pub(super) fn contenders(&self) -> Result<Vec<Contender>> {
        let all = Contender::ALL;
        chosen("contender", &self.contenders, &all, Contender::name)
    }

    pub(super) fn traffic(&self) -> Result<Vec<Traffic>> {
        let all = Traffic::ALL;
        chosen("traffic", &self.traffic, &all, Traffic::name)
    }

    fn lists(&self) -> [(&'static str, &[String]); 3] {
        [
            ("--line", &self.lines),
            ("--contender", &self.contenders),
            ("--traffic", &self.traffic),
        ]
    }
}

/// The names of all lines, contenders and kinds of traffic.
pub fn names() -> [Vec<&'static str>; 3] {
    [
        Line::ALL.map(|line| line.name).to_vec(),
        Contender::ALL.map(Contender::name).to_vec(),
        Traffic::ALL.map(Traffic::name).to_vec(),
    ]
}

fn chosen<T: Copy>(
    what: &'static str,
    wanted: &[String],
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<Vec<T>> {
    let unknown = |wanted: &&String| !all.iter().any(|one| name(*one) == *wanted);
    if let Some(unknown) = wanted.iter().find(unknown) {
        return Err(ExperimentError::UnknownChoice {
            what,
            name: unknown.clone(),
            known: all
                .iter()
                .map(|one| name(*one))
                .collect::<Vec<_>>()
                .join(", "),
        });
    }
    let is_wanted = |one: &T| wanted.is_empty() || wanted.iter().any(|known| known == name(*one));
    Ok(all.iter().copied().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_it_is_everything() {
        let all = Choice::default();
        assert!(all.argument().is_none() && all.arguments().is_empty());
        assert_eq!(all.lines().unwrap(), Line::ALL);
        assert_eq!(all.traffic().unwrap(), Traffic::ALL);
    }

    #[test]
    fn names_keep_the_order_of_the_experiment() {
        let some = Choice {
            contenders: ["takt-tree", "cake"].map(str::to_owned).to_vec(),
            ..Choice::default()
        };
        let order = [Contender::Cake, Contender::TaktTree];
        assert_eq!(some.contenders().unwrap(), order);
        assert_eq!(some.arguments(), ["--contender", "takt-tree,cake"]);
    }

    #[test]
    fn an_unknown_name_is_told_all_others() {
        let wrong = Choice {
            lines: vec!["20".to_owned()],
            ..Choice::default()
        };
        let error = wrong.lines().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no line `20`; there are: 20/5, 2/0.5, 100/20, 940/40"
        );
    }
}
