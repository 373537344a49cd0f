//! An experiment's progress messages: whole lines that begin with its name, since another may
//! run at the same time.

use std::io::{self, Write};

pub struct Progress<W: Write> {
    name: String,
    line: Vec<u8>,
    out: W,
}

impl<W: Write> Progress<W> {
    pub fn new(name: &str, out: W) -> Self {
        Self {
            name: format!("{name}: "),
            line: Vec::new(),
            out,
        }
    }
}

impl<W: Write> Write for Progress<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend(piece);
            if piece.ends_with(b"\n") {
                self.flush()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.line.is_empty() {
            return Ok(());
        }
        if !self.line.starts_with(self.name.as_bytes()) {
            self.line.splice(..0, self.name.bytes());
        }
        // One call, so that lines do not mix with other processes' lines.
        self.out.write_all(&self.line)?;
        self.line.clear();
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_named() {
        let mut shown = Vec::new();
        let mut progress = Progress::new("cost", &mut shown);
        for piece in ["cost: rou", "nd 1\nfq is left", " out\n", "half"] {
            progress.write_all(piece.as_bytes()).unwrap();
        }
        progress.flush().unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(shown, "cost: round 1\ncost: fq is left out\ncost: half");
    }
}
