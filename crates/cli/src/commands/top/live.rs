//! The screen on a terminal, which is left as it was found however this ends.

use std::{
    io,
    mem::ManuallyDrop,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use ratatui::crossterm::{
    cursor::Show,
    event::{self, Event, KeyEventKind},
    execute,
};

use super::{
    picture::Picture,
    rates::Meter,
    sample::Sampler,
    screen::{Look, draw},
    state::{State, Wish},
};
use crate::{
    args::Top,
    commands::{
        ending::{Came, Ending},
        stop::Stop,
    },
};

/// The longest time without a look at the screen's size.
const DRAW_EVERY: Duration = Duration::from_secs(1);

/// Gives the terminal back. A panic's message comes after that: ratatui has a hook for it.
struct Borrowed;

impl Drop for Borrowed {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = ratatui::try_restore();
        let _ = execute!(io::stdout(), Show);
    }
}

pub fn run(terms: &Top) -> Result<(), Stop> {
    let ending = Ending::after(None).map_err(Stop::system)?;
    let mut state = State::new(terms.view, terms.interval, &terms.filter);
    let (mut sampler, mut meter) = (Sampler::default(), Meter::default());
    // Before the screen is taken: what is refused is said below the command.
    let mut picture = Picture::new(&sampler.take(state.view)?, &mut meter);
    let look = Look::of_environment();
    let _borrowed = Borrowed;
    // Dropped, it would tell a terminal that is gone that it is gone, and panic.
    let mut terminal = ManuallyDrop::new(ratatui::try_init().map_err(failed)?);
    let mut due = Instant::now() + state.interval;
    loop {
        let drawn = terminal.draw(|frame| draw(frame, &picture, &mut state, look));
        drawn.map_err(failed)?;
        let soon = Instant::now() + DRAW_EVERY;
        let next = if state.paused { soon } else { due.min(soon) };
        match ending.or_input(next, io::stdin().as_fd()) {
            Ok(Came::End) => return Ok(()),
            Ok(Came::Input) => match keys(&mut state).map_err(failed)? {
                Wish::Quit => return Ok(()),
                Wish::Sample => due = Instant::now(),
                Wish::Draw => due = due.min(Instant::now() + state.interval),
            },
            Ok(Came::Time) => {}
            Err(error) => return Err(Stop::system(error)),
        }
        if !state.paused && Instant::now() >= due {
            match sampler.take(state.view) {
                Ok(sample) => picture = Picture::new(&sample, &mut meter),
                // It may pass.
                Err(error) => picture.problems = vec![format!("no update: {error}")],
            }
            due = (due + state.interval).max(Instant::now());
        }
    }
}

/// What all keys that are there ask for together.
fn keys(state: &mut State) -> io::Result<Wish> {
    let mut wished = Wish::Draw;
    while event::poll(Duration::ZERO)? {
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match state.press(key) {
                Wish::Quit => return Ok(Wish::Quit),
                Wish::Sample => wished = Wish::Sample,
                Wish::Draw => {}
            },
            _ => {}
        }
    }
    Ok(wished)
}

fn failed(error: io::Error) -> Stop {
    Stop::Failed(format!("the terminal: {error}"))
}
