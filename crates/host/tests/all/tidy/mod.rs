//! Habits of the sources that no compiler checks: rooms import in one direction, functions stay
//! short, and lines fit the screen.

mod columns;
mod functions;
mod rooms;
mod skipped;
mod sources;
