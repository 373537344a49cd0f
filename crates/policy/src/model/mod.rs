//! The policy in the planner's form: every default filled in, every unit resolved, independent of
//! the file's spelling.

mod beats;
mod crowd;
mod framing;
mod link;
mod radio;

pub use beats::*;
pub use crowd::*;
pub use framing::*;
pub use link::*;
pub use radio::*;
