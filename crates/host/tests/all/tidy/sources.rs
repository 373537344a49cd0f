//! The repository's files.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file, by its path within the repository.
pub struct Source {
    pub path: PathBuf,
    pub text: String,
}

/// All files below a folder of the repository that end so.
pub fn below(folder: &str, extensions: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let extension = path
                .extension()
                .and_then(|it| it.to_str())
                .unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if extensions.contains(&extension) {
                found.push(Source {
                    text: fs::read_to_string(&path).unwrap(),
                    path: path.strip_prefix(&root).unwrap().to_owned(),
                });
            }
        }
    }
    found
}

/// The C sources.
pub fn c() -> Vec<Source> {
    ["algo", "bpf", "include"]
        .into_iter()
        .flat_map(|folder| below(folder, &["c", "h"]))
        .collect()
}
