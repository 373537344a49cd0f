//! Every decision of `algo/` but the scheduler of a link, which is a program of its own: compiling it
//! takes as long as all others. Against a model or against its definition.

mod bandwidth;
mod byteclock;
mod calendar;
mod codel;
mod departure;
mod dscp;
mod early;
mod ecn;
mod exact;
mod flow_queue;
mod flow_table;
mod forwarded;
mod framing;
mod gap;
mod headers;
mod histogram;
mod lead;
mod push_back;
mod shared_clock;
mod slots;
mod soc;
mod starve;
mod thin;
mod turns;
mod window;
