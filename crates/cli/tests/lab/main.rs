//! Takt in real kernels: what it promises, tried as a user would.
//!
//! Nearly every test here runs inside the lab's machine, as root, and looks at
//! takt through its command line, at the kernel through `tc` and `ip`, and at
//! the traffic through sockets. [`machine`] tells how a test gets there and its
//! verdict back; [`shell`], [`takt`], [`wire`], [`flow`], [`helper`] and [`metronome`] are the tests'
//! hands.

mod flow;
mod helper;
mod kernel_bpf;
mod machine;
mod metronome;
mod recorder;
mod shell;
mod takt;
mod wire;

mod background;
mod beats;
mod beats_status;
mod buffer;
mod classify;
mod contract;
mod devices;
mod flows;
mod foreign;
mod gap;
mod gate;
mod killed;
mod owners;
mod receive;
mod refusals;
mod replace;
mod traffic;
