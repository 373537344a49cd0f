//! The model of caches beside a machine: the emulator's plugin, and the file of its marks.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use takt_caches::{FILE_NAME, read_marks};
use takt_report::Report;
use tempfile::NamedTempFile;
use thiserror::Error;

use crate::experiment::fill_caches;

/// Why there are no misses.
#[derive(Debug, Error)]
pub enum CachesError {
    /// The plugin is not beside this program.
    #[error("the model of caches is missing: {}; make build makes it", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The file of its marks cannot be made or read.
    #[error("the marks of the model of caches: {0}")]
    Marks(#[from] io::Error),
    /// A mark is missing, or there is one too many.
    #[error("the model of caches saw other marks than the experiment made")]
    OtherMarks,
}

pub(crate) struct Caches {
    plugin: PathBuf,
    marks: NamedTempFile,
}

impl Caches {
    pub fn new() -> Result<Self, CachesError> {
        let path = env::current_exe()?.with_file_name(FILE_NAME);
        if !path.is_file() {
            return Err(CachesError::Missing { path });
        }
        Ok(Self {
            plugin: path,
            marks: NamedTempFile::new()?,
        })
    }

    /// As behind the emulator's `-plugin`, which doubles commas in paths.
    pub fn argument(&self) -> OsString {
        let [plugin, marks] =
            [&self.plugin, self.marks.path()].map(|path| path.display().to_string());
        format!(
            "{},marks={}",
            plugin.replace(',', ",,"),
            marks.replace(',', ",,")
        )
        .into()
    }

    /// Put the misses into the machine's report.
    pub fn fill(&self, report: &mut Report) -> Result<(), CachesError> {
        let marks = read_marks(self.marks.path())?;
        fill_caches(report, &marks).ok_or(CachesError::OtherMarks)
    }
}
