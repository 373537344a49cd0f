//! Paragraphs, lists, tables and headings.

use std::mem;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use crate::text;

#[derive(Debug, Default)]
pub struct Writer {
    page: String,
    /// The text of the paragraph, heading or cell that is being read.
    inline: String,
    /// Text is the document's title, a heading, or a block of code.
    place: Place,
    /// The next numbers of open lists; of bullets there is none.
    lists: Vec<Option<u64>>,
    /// What was written last sets the next paragraph apart: a heading, or an item's bullet.
    is_apart: bool,
    header: Vec<String>,
    row: Vec<String>,
    link: Option<Link>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Prose,
    Heading(HeadingLevel),
    Code,
}

#[derive(Debug)]
struct Link {
    target: String,
    /// Of the text before it.
    begins: usize,
}

impl Writer {
    pub fn below_a_heading() -> Self {
        Self {
            is_apart: true,
            ..Self::default()
        }
    }

    pub fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end_of(tag),
            Event::Text(words) => match self.place {
                Place::Code => self.inline.push_str(&text::code(&words)),
                Place::Heading(HeadingLevel::H2) => {
                    self.inline.push_str(&text::prose(&words.to_uppercase()));
                }
                Place::Prose | Place::Heading(_) => self.inline.push_str(&text::prose(&words)),
            },
            Event::Code(words) => {
                let words = text::code(&words);
                match self.place {
                    Place::Heading(_) => self.inline.push_str(&words),
                    Place::Prose | Place::Code => {
                        self.inline.push_str(&format!("\\fB{words}\\fR"));
                    }
                }
            }
            Event::SoftBreak | Event::HardBreak => self.inline.push('\n'),
            // Documents have none of the others.
            _ => {}
        }
    }

    pub fn end(self) -> String {
        self.page
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.place = Place::Heading(level),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.place = Place::Code;
            }
            Tag::List(first) => {
                self.flush();
                self.is_apart = false;
                if !self.lists.is_empty() {
                    self.page.push_str(".RS 2\n");
                }
                self.lists.push(first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!(".IP {}. 4\n", *number - 1)
                    }
                    _ => ".IP \\(bu 2\n".to_owned(),
                };
                self.page.push_str(&mark);
                self.is_apart = true;
            }
            Tag::Emphasis => self.inline.push_str("\\fI"),
            Tag::Strong => self.inline.push_str("\\fB"),
            Tag::Link { dest_url, .. } => {
                self.link = Some(Link {
                    target: dest_url.into_string(),
                    begins: self.inline.len(),
                });
            }
            _ => {}
        }
    }

    fn end_of(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                self.place = Place::Prose;
                let words = mem::take(&mut self.inline);
                match level {
                    HeadingLevel::H1 => return,
                    HeadingLevel::H2 => self.page.push_str(&format!(".SH {words}\n")),
                    _ => self.page.push_str(&format!(".SS {words}\n")),
                }
                self.is_apart = true;
            }
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::CodeBlock => {
                self.place = Place::Prose;
                let code = text::guarded(&mem::take(&mut self.inline));
                self.part();
                self.page.push_str(&format!(".RS 4\n.EX\n{code}.EE\n.RE\n"));
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if !self.lists.is_empty() {
                    self.page.push_str(".RE\n");
                }
            }
            TagEnd::Emphasis | TagEnd::Strong => self.inline.push_str("\\fR"),
            TagEnd::Link => self.end_of_link(),
            TagEnd::TableCell => self.row.push(mem::take(&mut self.inline)),
            TagEnd::TableHead => self.header = mem::take(&mut self.row),
            TagEnd::TableRow => {
                let row = mem::take(&mut self.row);
                self.is_apart = false;
                self.page.push_str(&item(&self.header, &row));
            }
            _ => {}
        }
    }

    /// A paragraph.
    fn flush(&mut self) {
        let words = mem::take(&mut self.inline);
        if words.is_empty() {
            return;
        }
        self.part();
        self.page.push_str(&text::guarded(&words));
    }

    /// Sets the next text apart from the one before it, where it is not.
    fn part(&mut self) {
        if !mem::take(&mut self.is_apart) {
            self.page.push_str(".PP\n");
        }
    }

    /// Paper has no links, so the file is named, unless the text does.
    fn end_of_link(&mut self) {
        let Some(Link { target, begins }) = self.link.take() else {
            return;
        };
        let words = self.inline.get(begins..).unwrap_or_default();
        let path = if target.contains("://") {
            &target
        } else {
            target.split('#').next().unwrap_or_default()
        };
        let path = path.trim_start_matches("../");
        let is_named = text::prose(path).starts_with(words.trim_end_matches('/'));
        if path.is_empty() || is_named {
            return;
        }
        let path = text::code(path);
        let is_in_parentheses = self.inline.get(..begins).is_some_and(|b| b.ends_with('('));
        self.inline.push_str(&if is_in_parentheses {
            format!(": {path}")
        } else {
            format!(" ({path})")
        });
    }
}

/// A row of a table: its first cell, and the others with their headings. One other cell needs none.
fn item(header: &[String], row: &[String]) -> String {
    let mut cells = row.iter();
    let first = cells.next().map_or("", String::as_str);
    let named = header.iter().skip(1).chain(std::iter::repeat(&EMPTY));
    let others: Vec<(&String, &String)> = named
        .zip(cells)
        .filter(|(_, cell)| !cell.is_empty())
        .collect();
    let is_plain = header.len() <= 2;
    let mut text = format!(".TP\n{}", text::guarded(first));
    let mut has_named = false;
    for (name, cell) in others {
        if is_plain || name.is_empty() {
            if mem::take(&mut has_named) {
                text.push_str(".br\n");
            }
            text.push_str(&text::guarded(cell));
        } else {
            text.push_str(&text::guarded(&format!("{name}: {cell}.")));
            has_named = true;
        }
    }
    text
}

static EMPTY: String = String::new();
