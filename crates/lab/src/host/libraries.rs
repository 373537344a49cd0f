//! The shared libraries of programs, as the dynamic linker finds them on this machine.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::Doing;
use super::tool::LDD;
use super::{Error, Result};

/// Libraries of all these files, the dynamic linker itself included.
pub fn of(files: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    let mut ldd = LDD.command()?;
    let mut any = false;
    for file in files {
        if is_elf(file)? {
            ldd.arg(file);
            any = true;
        }
    }
    if !any {
        return Ok(BTreeSet::new());
    }
    // It fails if one of them is static, which is no error here.
    let output = ldd.output().doing(|| "start ldd".into())?;
    libraries_in(&String::from_utf8_lossy(&output.stdout), files)
}

fn is_elf(file: &Path) -> Result<bool> {
    let mut magic = Vec::new();
    File::open(file)
        .and_then(|file| file.take(4).read_to_end(&mut magic))
        .doing(|| format!("read {}", file.display()))?;
    Ok(magic == b"\x7fELF")
}

/// Reads `ldd`'s output: `name => path (address)` or `path (address)` for each
/// library, and `file:` before those of each file if there are several.
fn libraries_in(output: &str, files: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    let mut file = files.first().cloned().unwrap_or_default();
    let mut libraries = BTreeSet::new();
    for line in output.lines() {
        if !line.starts_with(char::is_whitespace) {
            file = PathBuf::from(line.trim_end_matches(':'));
            continue;
        }
        let entry = line.trim();
        let (name, place) = entry.split_once(" => ").unwrap_or((entry, entry));
        if place == "not found" {
            return Err(Error::MissingLibrary {
                path: file,
                library: name.to_owned(),
            });
        }
        if let Some((path, _address)) = place.split_once(" (")
            && path.starts_with('/')
        {
            libraries.insert(PathBuf::from(path));
        }
    }
    Ok(libraries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_several_files() {
        let output = "\
/usr/sbin/tc:
\tlinux-vdso.so.1 (0x00007f39bbc19000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f39bb7fa000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f39bbc1b000)
/usr/bin/busybox:
\tnot a dynamic executable
/opt/tool:
\tlibown.so => /opt/lib/libown.so (0x00007f39bbc1b000)
\tstatically linked
";
        let libraries = libraries_in(output, &[]).unwrap();
        let expected = [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib64/ld-linux-x86-64.so.2",
            "/opt/lib/libown.so",
        ];
        assert!(libraries.iter().map(|l| l.to_str().unwrap()).eq(expected));
    }

    #[test]
    fn a_missing_library_is_named_with_its_user() {
        let error =
            libraries_in("\tlibgone.so.1 => not found\n", &["/opt/tool".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/opt/tool needs the shared library libgone.so.1, which this machine does not have"
        );
    }
}
