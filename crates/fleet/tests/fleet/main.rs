//! Whole fleets: a real nats-server, agents in this process or in their own, and stand-ins for takt.
//! One program for all of them, since they wait for most of their time.

mod clocks;
mod common;
mod desk;
mod hostile;
mod killed;
mod process;
mod push;
mod replaced;
mod rollout;
mod serve;
