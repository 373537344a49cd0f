//! What the keys have chosen.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::table::{Choice, Sort};
use crate::args::{INTERVAL_MAX, INTERVAL_MIN, View};

const FILTER_MAX_CHARS: usize = 40;
/// Of `+` and `-`.
const INTERVALS_MS: [u64; 9] = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Table,
    Filter,
    Help,
}

/// What a key asks the program for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To draw what has changed here.
    Draw,
    /// A sample for another view, now.
    Sample,
    Quit,
}

pub struct State {
    pub view: View,
    pub mode: Mode,
    pub paused: bool,
    pub interval: Duration,
    pub filter: String,
    /// The first row on the screen.
    pub scroll: usize,
    /// Rows on the screen, as last drawn.
    pub page: usize,
    sorts: [Sort; View::ALL.len()],
}

impl State {
    pub fn new(view: View, interval: Duration, filter: &str) -> Self {
        Self {
            view,
            mode: Mode::Table,
            paused: false,
            interval,
            filter: filter.to_owned(),
            scroll: 0,
            page: 1,
            sorts: View::ALL.map(View::sort),
        }
    }

    pub fn sort(&self) -> Sort {
        self.sorts[self.view.number()]
    }

    pub fn choice(&self) -> Choice<'_> {
        Choice {
            sort: self.sort(),
            filter: &self.filter,
        }
    }

    pub fn press(&mut self, key: KeyEvent) -> Wish {
        if key
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        {
            return match key.code {
                KeyCode::Char('c') => Wish::Quit,
                _ => Wish::Draw,
            };
        }
        match self.mode {
            Mode::Table => return self.press_in_table(key.code),
            Mode::Filter => self.press_in_filter(key.code),
            Mode::Help => self.mode = Mode::Table,
        }
        Wish::Draw
    }

    fn press_in_table(&mut self, key: KeyCode) -> Wish {
        match key {
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Esc if self.filter.is_empty() => return Wish::Quit,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('?' | 'h') => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('s') => self.sort_by_next(),
            KeyCode::Char('S') => self.sorts[self.view.number()].descends ^= true,
            KeyCode::Char('+' | '=') => self.interval = longer(self.interval),
            KeyCode::Char('-') => self.interval = shorter(self.interval),
            KeyCode::Char(digit @ '1'..='7') => {
                return self.show(digit as usize - '1' as usize);
            }
            KeyCode::Tab => return self.show(self.view.number() + 1),
            KeyCode::BackTab => return self.show(self.view.number() + View::ALL.len() - 1),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down => self.scroll = self.scroll.saturating_add(1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.page),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_add(self.page),
            KeyCode::Home => self.scroll = 0,
            KeyCode::End => self.scroll = usize::MAX,
            _ => {}
        }
        Wish::Draw
    }

    fn press_in_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.mode = Mode::Table,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Table;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) if self.filter.chars().count() < FILTER_MAX_CHARS => {
                self.filter.push(c);
                self.scroll = 0;
            }
            _ => {}
        }
    }

    fn show(&mut self, number: usize) -> Wish {
        let view = View::ALL[number % View::ALL.len()];
        if view == self.view {
            return Wish::Draw;
        }
        self.view = view;
        self.scroll = 0;
        Wish::Sample
    }

    /// Texts begin with the first letter, numbers with the largest.
    fn sort_by_next(&mut self) {
        let columns = self.view.columns();
        let sort = &mut self.sorts[self.view.number()];
        sort.column = (sort.column + 1) % columns.len();
        sort.descends = !columns[sort.column].is_text;
    }

    /// The screen has room for so many of these rows.
    pub fn fit(&mut self, page: usize, rows: usize) {
        self.page = page.max(1);
        self.scroll = self.scroll.min(rows.saturating_sub(self.page));
    }
}

fn longer(interval: Duration) -> Duration {
    let mut steps = INTERVALS_MS.into_iter().map(Duration::from_millis);
    steps.find(|step| *step > interval).unwrap_or(INTERVAL_MAX)
}

fn shorter(interval: Duration) -> Duration {
    let mut steps = INTERVALS_MS.into_iter().rev().map(Duration::from_millis);
    steps.find(|step| *step < interval).unwrap_or(INTERVAL_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State::new(View::Classes, Duration::from_secs(1), "")
    }

    fn press(state: &mut State, keys: &str) -> Wish {
        let keys = keys.chars().map(|c| match c {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\x1b' => KeyCode::Esc,
            '\x08' => KeyCode::Backspace,
            c => KeyCode::Char(c),
        });
        let pressed = keys.map(|code| state.press(KeyEvent::from(code)));
        pressed.last().unwrap_or(Wish::Draw)
    }

    #[test]
    fn a_view_has_a_number_and_an_order_of_its_own() {
        let mut state = state();
        let begun = state.sort();
        assert_eq!(press(&mut state, "6"), Wish::Sample);
        assert_eq!(state.view, View::Tasks);
        assert_eq!(press(&mut state, "6"), Wish::Draw, "it is shown already");
        press(&mut state, "sS2");
        assert_eq!((state.view, state.sort()), (View::Classes, begun));
        press(&mut state, "7\t");
        assert_eq!(state.view, View::Links);
        press(&mut state, "s");
        assert!(state.sort().descends, "the largest number first");
    }

    #[test]
    fn letters_of_a_filter_are_no_commands() {
        let mut state = state();
        assert_eq!(press(&mut state, "/qsx\x08"), Wish::Draw);
        assert_eq!((state.mode, state.filter.as_str()), (Mode::Filter, "qs"));
        press(&mut state, "\n");
        assert_eq!((state.mode, state.filter.as_str()), (Mode::Table, "qs"));
        assert_eq!(press(&mut state, "\x1b"), Wish::Draw, "it ends the filter");
        assert_eq!(press(&mut state, "\x1b"), Wish::Quit);
        press(&mut state, &format!("/{}", "a".repeat(500)));
        assert_eq!(state.filter.len(), FILTER_MAX_CHARS);
    }

    #[test]
    fn control_c_quits_everywhere() {
        let quit = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for keys in ["", "/", "?"] {
            let mut state = state();
            press(&mut state, keys);
            assert_eq!(state.press(quit), Wish::Quit, "after {keys}");
        }
    }

    #[test]
    fn other_keys_with_control_are_not_typed() {
        let mut state = state();
        press(&mut state, "/a");
        state.press(KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL));
        assert_eq!(state.filter, "a");
    }

    #[test]
    fn it_scrolls_no_further_than_the_last_row() {
        let mut state = state();
        state.fit(10, 25);
        state.press(KeyEvent::from(KeyCode::End));
        state.fit(10, 25);
        assert_eq!(state.scroll, 15);
        state.press(KeyEvent::from(KeyCode::PageUp));
        assert_eq!(state.scroll, 5);
        state.fit(0, 0);
        assert_eq!(state.scroll, 0);
    }

    #[test]
    fn intervals_have_ends() {
        let mut state = state();
        press(&mut state, &"-".repeat(20));
        assert_eq!(state.interval, INTERVAL_MIN);
        press(&mut state, &"+".repeat(20));
        assert_eq!(state.interval, INTERVAL_MAX);
        state.interval = Duration::from_millis(1500);
        press(&mut state, "-");
        assert_eq!(state.interval, Duration::from_secs(1));
    }
}
