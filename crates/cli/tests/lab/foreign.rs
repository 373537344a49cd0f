//! foreign
