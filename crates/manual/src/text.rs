//! Characters that troff takes for something else.

/// Prose: hyphens stay hyphens.
pub fn prose(text: &str) -> String {
    text.replace('\\', "\\e").replace('"', "\\(dq")
}

/// Code: hyphens, quotes and accents as they are typed.
pub fn code(text: &str) -> String {
    prose(text)
        .replace('-', "\\-")
        .replace('\'', "\\(aq")
        .replace('`', "\\(ga")
        .replace('^', "\\(ha")
        .replace('~', "\\(ti")
}

/// No line of it begins like a request.
pub fn guarded(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.trim_end();
        if line.starts_with(['.', '\'']) {
            format!("\\&{line}\n")
        } else {
            format!("{line}\n")
        }
    });
    lines.collect()
}
