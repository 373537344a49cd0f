//! What the model of a crowd says: its figures in docs/, the worth of memory, and what joining costs.

mod adoption;
mod figures;
mod memory;
