//! What no compiler checks: the style of the tree, and the names of BPF functions.

mod symbols;
mod tidy;
