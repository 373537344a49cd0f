//! For build scripts: manual pages from documentation in Markdown, so that nothing is written twice.
//!
//! What `docs/` uses is understood: headings of three levels, paragraphs, lists, tables, code and
//! links. A table becomes a list, because a terminal is too narrow for its columns.

mod block;
mod text;

use block::Writer;
use pulldown_cmark::{Options, Parser};

/// What a page is, besides its text.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Its name, such as `takt-policy`.
    pub name: &'a str,
    /// Its section of the manual.
    pub section: u8,
    /// The name and version of the program that it is a page of.
    pub source: &'a str,
    /// One line for `whatis`.
    pub about: &'a str,
}

impl Page<'_> {
    /// The whole page, in troff's man macros. The document's title is not in it, since `about` is.
    #[must_use]
    pub fn of(&self, markdown: &str) -> String {
        let Self {
            name,
            section,
            source,
            about,
        } = self;
        let name = text::code(name);
        format!(
            ".TH {name} {section} \"\" \"{source}\" Takt\n.SH NAME\n{name} \\- {}\n.SH \
             DESCRIPTION\n{}",
            text::prose(about),
            sections(markdown)
        )
    }
}

/// The text of a document without its title, as sections. What stands before its first heading
/// belongs to the section that the caller has begun.
#[must_use]
pub fn sections(markdown: &str) -> String {
    let mut writer = Writer::below_a_heading();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        writer.take(event);
    }
    writer.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_name_and_no_second_title() {
        let page = Page {
            name: "takt-policy",
            section: 5,
            source: "takt 1.2",
            about: "the policy",
        };
        assert_eq!(
            page.of("# The policy\n\nA file.\n"),
            ".TH takt\\-policy 5 \"\" \"takt 1.2\" Takt\n.SH NAME\ntakt\\-policy \\- the policy\n.SH \
             DESCRIPTION\nA file.\n"
        );
    }

    #[test]
    fn headings_are_capitals_but_for_code() {
        let text = "## `[link.\"a\"]`: a device\n\n### Of it\n\nText.\n";
        assert_eq!(
            sections(text),
            ".SH [link.\\(dqa\\(dq]: A DEVICE\n.SS Of it\nText.\n"
        );
    }

    #[test]
    fn text_is_not_taken_for_requests() {
        let text = "one\n.two `-x 'y'`\n'three' **4** *5* back\\\\slash\n";
        assert_eq!(
            sections(text),
            "one\n\\&.two \\fB\\-x \\(aqy\\(aq\\fR\n\\&'three' \\fB4\\fR \\fI5\\fR back\\eslash\n"
        );
    }

    #[test]
    fn code_keeps_its_lines() {
        let text = "```toml\n[link]\n.x = 1\n```\n";
        assert_eq!(sections(text), ".RS 4\n.EX\n[link]\n\\&.x = 1\n.EE\n.RE\n");
    }

    #[test]
    fn a_table_is_a_list_with_its_headings_as_words() {
        let text =
            "| Key | Takes | Default | |\n|---|---|---|---|\n| `a` | a rate | required | of it |\n";
        assert_eq!(
            sections(text),
            ".TP\n\\fBa\\fR\nTakes: a rate.\nDefault: required.\n.br\nof it\n"
        );
        let text = "| word | meaning |\n|---|---|\n| link | a device |\n";
        assert_eq!(sections(text), ".TP\nlink\na device\n");
    }

    #[test]
    fn lists_have_bullets_or_numbers() {
        assert_eq!(sections("- a\n- b\n"), ".IP \\(bu 2\na\n.IP \\(bu 2\nb\n");
        assert_eq!(sections("3. a\n4. b\n"), ".IP 3. 4\na\n.IP 4. 4\nb\n");
        assert_eq!(
            sections("- a\n- b\n\ntext\n"),
            ".IP \\(bu 2\na\n.IP \\(bu 2\nb\n.PP\ntext\n"
        );
    }

    #[test]
    fn a_link_names_its_file() {
        for (markdown, page) in [
            ("[below](#there)", "below"),
            ("[a.md](a.md)", "a.md"),
            ("[examples/](../examples)", "examples/"),
            ("[the law](crowd-law.md#x)", "the law (crowd\\-law.md)"),
            ("it ([why](adr/1.md))", "it (why: adr/1.md)"),
            ("[spec](https://a.b/)", "spec (https://a.b/)"),
        ] {
            assert_eq!(sections(markdown), format!("{page}\n"));
        }
    }
}
