//! Tables of markdown: names on the left, figures on the right.

pub fn heading(title: &str, about: &str) {
    println!("\n## {title}\n");
    println!("{about}\n");
}

pub fn columns(names: &[&str]) {
    println!("| {} |", names.join(" | "));
    println!("|---{}|", "|--:".repeat(names.len() - 1));
}

pub fn row(name: &str, cells: &[String]) {
    println!("| {name} | {} |", cells.join(" | "));
}
