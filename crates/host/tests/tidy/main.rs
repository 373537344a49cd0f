//! Habits of the sources that no compiler checks: rooms import in one direction, functions stay
//! short, lines fit the screen, and words are those of docs/glossary.md.

mod functions;
mod rooms;
mod sources;
