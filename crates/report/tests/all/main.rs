//! Reports as text, as pages and as figures of the documentation.

mod browser;
mod flows;
mod render;
mod results;
