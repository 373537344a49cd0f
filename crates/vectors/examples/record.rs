//! Writes the vectors under `algo/vectors/` with the answers of the current native build.

use std::{fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algo/vectors");
    for file in takt_vectors::files() {
        fs::write(dir.join(file.name), file.record()?)?;
        println!("algo/vectors/{}", file.name);
    }
    Ok(())
}
