//! What git knows of the sources.

use std::{path::Path, process::Command};

use anyhow::{Context, ensure};

/// The output of a git command, without the last newline.
pub fn git(arguments: &[&str]) -> anyhow::Result<String> {
    said(Command::new("git").args(arguments))
}

/// The name of all sources here as they are, committed or not. `index` is a file for git's use.
pub fn sources(index: &Path) -> anyhow::Result<String> {
    let git = || {
        let mut git = Command::new("git");
        git.env("GIT_INDEX_FILE", index);
        git
    };
    said(git().args(["add", "--all"]))?;
    said(git().arg("write-tree"))
}

fn said(command: &mut Command) -> anyhow::Result<String> {
    let done = command.output().context("git does not start")?;
    ensure!(
        done.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&done.stderr).trim()
    );
    let said = String::from_utf8(done.stdout).context("git's output is no UTF-8")?;
    Ok(said.trim_end().to_owned())
}
