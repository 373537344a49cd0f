//! What the model of a crowd says: its figures in docs/, and the worth of memory.

mod figures;
mod memory;
