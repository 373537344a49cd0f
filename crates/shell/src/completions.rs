//! Completions: a shell's script asks the program itself what may be typed next.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process,
};

use clap::{Command, ValueEnum};
use clap_complete::{
    CompleteEnv,
    env::{EnvCompleter, Shells},
};

/// By which a script asks; its value is the shell's name.
const VARIABLE: &str = "TAKT_COMPLETE";
/// In which scripts of most shells say which word is completed.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

/// The shells with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU's.
    Bash,
    /// Elvish.
    Elvish,
    /// Fish.
    Fish,
    /// PowerShell.
    Powershell,
    /// Zsh.
    Zsh,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Elvish => "elvish",
            Self::Fish => "fish",
            Self::Powershell => "powershell",
            Self::Zsh => "zsh",
        }
    }

    /// What this shell has to read. It calls `program` from the path.
    ///
    /// # Errors
    ///
    /// If there is no script for the shell.
    pub fn script(self, program: &str) -> io::Result<String> {
        let shells = Shells::builtins();
        let shell: &dyn EnvCompleter = shells.completer(self.name()).ok_or_else(|| {
            io::Error::new(io::ErrorKind::Unsupported, format!("no {}", self.name()))
        })?;
        let mut script = Vec::new();
        shell.write_registration(VARIABLE, program, program, program, &mut script)?;
        Ok(String::from_utf8_lossy(&script).into_owned())
    }
}

/// Answers a script that asks, and ends the program then.
pub fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// Answers a script that asks for words behind a command which another program carries out: becomes
/// that program, if it is there. `find` returns it, and the words that it gets in the command's place.
pub fn pass_on(find: impl FnOnce(&str) -> Option<(process::Command, Vec<OsString>)>) {
    if env::var_os(VARIABLE).is_none() {
        return;
    }
    let words: Vec<OsString> = env::args_os()
        .skip_while(|word| word != "--")
        .skip(1)
        .collect();
    let index = env::var(INDEX).ok().and_then(|index| index.parse().ok());
    let Some(asked) = Asked::new(&words, index) else {
        return;
    };
    let Some((mut program, first)) = find(asked.command) else {
        return;
    };
    let name = Path::new(program.get_program()).file_name();
    let name = name.unwrap_or_default().to_owned();
    program
        .arg("--")
        .arg(name)
        .args(&first)
        .args(asked.rest)
        .env(INDEX, (asked.index - 1 + first.len()).to_string());
    // Only where it is not there does this go on, and completes nothing behind the command.
    let _not_there = program.exec();
}

/// What a script asks for, behind a command.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    command: &'a str,
    rest: &'a [OsString],
    /// Of the word that is completed, among all.
    index: usize,
}

impl<'a> Asked<'a> {
    /// `words` begin with the program. Without an index the last one is completed.
    fn new(words: &'a [OsString], index: Option<usize>) -> Option<Self> {
        let index = index.or_else(|| words.len().checked_sub(1))?;
        let [_, command, rest @ ..] = words else {
            return None;
        };
        let command = OsStr::to_str(command)?;
        (index >= 2).then_some(Self {
            command,
            rest,
            index,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_has_a_script_that_asks_the_program() {
        for shell in Shell::value_variants() {
            let script = shell.script("takt").expect("a script");
            assert!(script.contains(VARIABLE), "{shell:?}: {script}");
        }
    }

    #[test]
    fn only_words_behind_a_command_are_passed_on() {
        let words = ["takt", "sim", "--be"].map(OsString::from);
        let asked = Asked::new(&words, None).expect("behind");
        assert_eq!((asked.command, asked.index), ("sim", 2));
        assert_eq!(asked.rest, &words[2..]);
        assert_eq!(Asked::new(&words, Some(1)), None);
        assert_eq!(Asked::new(&words[..2], None), None);
        assert_eq!(Asked::new(&[], None), None);
    }
}
