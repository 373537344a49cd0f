//! What is drawn. Nothing is said by colour alone.

use std::{env, time::Duration};

use ratatui::{
    Frame,
    style::{Color, Modifier, Style},
};
use takt_policy::format_duration;

use super::{
    picture::Picture,
    state::{Mode, State},
};
use crate::{args::View, print::count};

const PROBLEMS_MAX: usize = 3;

const HELP: &[&str] = &[
    "1 to 7, Tab      another view",
    "s                sort by the next column",
    "S                the other way round (v: the largest first, ^: the smallest)",
    "/                show only rows with a text; Enter keeps the filter, Esc drops it",
    "arrows, PgUp, PgDn, Home, End",
    "                 scroll",
    "space            pause, go on",
    "+ -              sample less often, more often",
    "q, Esc, Ctrl-C   quit",
    "",
    "A dash is a value that is not known, or not yet: rates need two samples.",
    "Rates and bytes are those on the wire. All columns: docs/top.md.",
    "",
    "Any key closes this help.",
];

/// The styles of a terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    heading: Style,
    problem: Style,
}

impl Look {
    pub fn of_environment() -> Self {
        let terminal = env::var("TERM").unwrap_or_default();
        if ["", "dumb", "mono"].contains(&terminal.as_str()) {
            return Self::default();
        }
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let problem = Style::default().add_modifier(Modifier::BOLD);
        Self {
            heading: Style::default().add_modifier(Modifier::REVERSED),
            problem: if no_color {
                problem
            } else {
                problem.fg(Color::Red)
            },
        }
    }
}

/// Lines from the top of a screen on, as far as there is room.
struct Page<'a, 'b> {
    frame: &'a mut Frame<'b>,
    used: u16,
}

impl Page<'_, '_> {
    fn width(&self) -> usize {
        self.frame.area().width.into()
    }

    fn left(&self) -> u16 {
        self.frame.area().height - self.used
    }

    fn line(&mut self, text: &str, style: Style) {
        let area = self.frame.area();
        if self.left() > 0 && area.width > 0 {
            let (y, width) = (area.y + self.used, self.width());
            let text = format!("{text:<width$}");
            let buffer = self.frame.buffer_mut();
            buffer.set_stringn(area.x, y, text, width, style);
            self.used += 1;
        }
    }
}

pub fn draw(frame: &mut Frame, picture: &Picture, state: &mut State, look: Look) {
    let table = picture.table(state.view);
    let chosen = table.chosen(state.choice());
    let mut page = Page { frame, used: 0 };
    let problems = picture.problems.len().min(PROBLEMS_MAX);
    // Above the rows: the header, problems and headings. Below: the footer.
    let room = usize::from(page.left()).saturating_sub(3 + problems);
    state.fit(room, chosen.len());
    let shown = state.scroll..chosen.len().min(state.scroll + room);
    let rows = &chosen[shown.clone()];

    page.line(
        &header(picture, state, rows.len(), chosen.len()),
        look.heading,
    );
    for problem in &picture.problems[..problems] {
        page.line(&format!("! {problem}"), look.problem);
    }
    match (state.mode, &table.note) {
        (Mode::Help, _) => HELP
            .iter()
            .for_each(|line| page.line(line, Style::default())),
        (_, Some(note)) => page.line(note, Style::default()),
        (_, None) => {
            let lines = table.lines(rows, state.sort(), Some(page.width()));
            for (at, line) in lines.iter().enumerate().take(room + 1) {
                let style = if at == 0 {
                    look.heading
                } else {
                    Style::default()
                };
                page.line(line, style);
            }
        }
    }
    let left = page.left();
    if left > 0 {
        page.used += left - 1;
        page.line(&footer(state), look.heading);
    }
}

/// What matters most first: a narrow screen cuts the rest off.
fn header(picture: &Picture, state: &State, shown: usize, all: usize) -> String {
    let mut parts = Vec::new();
    if !picture.problems.is_empty() {
        let problems = count(picture.problems.len(), "problem", "problems");
        parts.push(format!("! {problems}"));
    }
    if state.paused {
        parts.push("paused".to_owned());
    }
    parts.push(picture.host.clone());
    parts.push(picture.clock.clone());
    if shown < all {
        let (first, last) = (state.scroll + 1, state.scroll + shown);
        parts.push(format!("rows {first}-{last} of {all}"));
    }
    parts.push(format!("every {}", every(state.interval)));
    parts.push(picture.policy.clone());
    parts.join("  ")
}

fn every(interval: Duration) -> String {
    format_duration(interval.as_nanos() as u64)
}

fn footer(state: &State) -> String {
    if state.mode == Mode::Filter {
        return format!("only rows with: {}_", state.filter);
    }
    let views = View::ALL.map(|view| {
        let name = format!("{} {}", view.number() + 1, view.name());
        if view == state.view {
            format!("[{name}]")
        } else {
            name
        }
    });
    let filter = match state.filter.as_str() {
        "" => String::new(),
        filter => format!("/{filter} "),
    };
    format!("{filter}{} ? help q quit", views.join(" "))
}

#[cfg(test)]
mod tests {
    use ratatui::{Terminal, backend::TestBackend, crossterm::event::KeyEvent};
    use takt_host::{BeatsStatus, Status};

    use super::*;
    use crate::commands::top::{
        rates::Meter, sample::Sample, table::Table, value::Value, view::tests::sample,
    };

    fn screen(width: u16, height: u16, picture: &Picture, state: &mut State) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal
            .draw(|frame| draw(frame, picture, state, Look::default()))
            .unwrap();
        let buffer = terminal.backend().buffer();
        let lines = buffer.content().chunks(usize::from(width).max(1));
        let text = |line: &[ratatui::buffer::Cell]| line.iter().map(|cell| cell.symbol()).collect();
        lines.map(text).collect()
    }

    fn state() -> State {
        State::new(View::Classes, Duration::from_secs(1), "")
    }

    /// A host with so many classes, each of which sends more than the one before.
    fn busy(classes: usize) -> Picture {
        let mut picture = Picture::new(&sample(), &mut Meter::default());
        let row = |at: usize| {
            let mut row = vec![Value::Count(1); View::Classes.columns().len()];
            row[0] = Value::Text(format!("class{at}"));
            row[1] = Value::Text("eth0".to_owned());
            row[2] = Value::Rate(at as f64 * 1e6);
            row
        };
        picture.set(
            View::Classes,
            Table {
                columns: View::Classes.columns(),
                rows: (0..classes).map(row).collect(),
                note: None,
            },
        );
        picture.host = "host".to_owned();
        picture
    }

    #[test]
    fn eighty_by_twenty_four_has_all_that_matters() {
        let lines = screen(80, 24, &busy(100), &mut state());
        let header = "host  23:59:59 UTC  rows 1-21 of 100  every 1s  no policy";
        assert_eq!(lines[0].trim_end(), header);
        assert_eq!(
            lines[1].trim_end(),
            "class   link bit/sv   rate   ceil queued  delay drop/s worst late  pkt/s mark/s"
        );
        assert!(lines[2].starts_with("class99 eth0  99.0M"), "{}", lines[2]);
        assert_eq!(
            lines[23].trim_end(),
            "1 links [2 classes] 3 flows 4 stations 5 neighbours 6 tasks 7 tcp ? help q quit"
        );
    }

    #[test]
    fn problems_come_first() {
        let beats = BeatsStatus {
            problem: Some("ended".to_owned()),
            ..beats()
        };
        let status = Status {
            beats: Some(beats),
            ..Status::default()
        };
        let sample = Sample { status, ..sample() };
        let picture = Picture::new(&sample, &mut Meter::default());
        let lines = screen(80, 24, &picture, &mut state());
        assert!(lines[0].starts_with("! 1 problem  "), "{}", lines[0]);
        assert_eq!(lines[1].trim_end(), "! beats: ended");
        assert_eq!(lines[2].trim_end(), "no links are managed");
    }

    fn beats() -> BeatsStatus {
        BeatsStatus {
            running: false,
            ended: None,
            problem: None,
            generation: 2,
            policy: None,
            grid_ns: None,
            grid: None,
            clock: None,
            clock_set_by_ns: None,
            tai_offset_s: None,
            network: None,
            sent_away: Vec::new(),
            cpus: Vec::new(),
        }
    }

    #[test]
    fn a_small_screen_shows_less() {
        let lines = screen(40, 10, &busy(100), &mut state());
        assert_eq!(
            lines[1].trim_end(),
            "class   link bit/sv   rate   ceil queued"
        );
        assert!(lines[9].starts_with("1 links [2 classes]"));
    }

    #[test]
    fn no_size_and_no_key_is_too_much() {
        let picture = busy(2000);
        for (width, height) in [(0, 0), (1, 1), (2, 3), (7, 2), (80, 1), (300, 200)] {
            let mut state = state();
            for key in "s?x/clas 1234567\t\x1b".chars() {
                state.press(KeyEvent::from(ratatui::crossterm::event::KeyCode::Char(
                    key,
                )));
                state.scroll = usize::MAX;
                screen(width, height, &picture, &mut state);
            }
        }
    }

    #[test]
    fn help_and_filter_are_shown() {
        let mut state = state();
        state.mode = Mode::Help;
        let lines = screen(80, 24, &busy(3), &mut state);
        assert!(lines.iter().any(|line| line.contains("quit")));
        state.mode = Mode::Filter;
        state.filter = "class2".to_owned();
        let lines = screen(80, 24, &busy(3), &mut state);
        assert_eq!(lines[23].trim_end(), "only rows with: class2_");
        assert!(lines[2].starts_with("class2"), "{}", lines[2]);
        assert_eq!(lines[3].trim_end(), "");
    }
}
