//! Why taktd refuses, or does not run. The last words are the codes of its answers.

super::reasons! {
NOT_RUNNING = "takt::taktd::not_running": "
taktd does for all users what requires privileges: registrations, reservations on the beat,
stations' weights. It is not running: no program listens on /run/taktd/socket. Start it as root,
`taktd` or `systemctl start taktd`. Root can do without it for `takt run`.
";
TALK = "takt::taktd::talk": "
The connection to taktd ended early, or its answer was not understood; the message has the reason. A
taktd of another version must be restarted.
";
RUNNING = "takt::taktd::running": "
There is one taktd for the whole host, and it is running, as the process that the message names. It
holds a lock on /run/taktd/lock, which root alone can open. `takt background list` speaks to it.
";
FOREIGN = "takt::taktd::foreign": "
/run/taktd and the lock in it must belong to root, must not be links, and must not be writable by
others. Something else is in their place; the message has its path, owner and mode. Nothing was
changed. Find out who created it, and remove it; taktd creates its own.
";
FILE = "takt::taktd::file": "
taktd keeps its socket and its lock in /run/taktd, and one of them could not be made; the message has
the path and the operating system's reason.
";
PASSED = "takt::taktd::passed": "
systemd passed a socket to taktd that it does not serve: its unit has been changed, or is that of
another version. taktd.socket listens at /run/taktd/socket and /run/taktd/varlink, taktd-root.socket
at /run/taktd/root. Correct ListenStream=, run `systemctl daemon-reload`, and restart the sockets.
";
METRICS = "takt::taktd::metrics": "
taktd was started with --metrics and cannot listen at its address; the message has the operating
system's reason. The address must be one of this host, and its port free: `ss -ltnp` shows who has
it. Ports below 1024 are reserved. The default address is 127.0.0.1:9815.
";
SYSTEM = "takt::taktd::system": "
taktd had to exit; the message says in which step. Its registrations stay in force until the next
taktd, or until `takt revert`.
";
MALFORMED = "takt::taktd::malformed" ["malformed"]: "
As a request: it is not one JSON object on one line, has unknown keys, or contradicts itself.
docs/background.md and docs/beats.md list the requests. As a datagram of a radio client: it does not
have the length or kind of a report.
";
BAD_ADDRESS = "takt::taktd::bad_address" ["bad_address"]: "
Only the numeric address of one receiver can be registered: not a name, a prefix, a multicast or
broadcast address, and without a device after a percent sign.
";
BAD_PORT = "takt::taktd::bad_port" ["bad_port"]: "
A port is a number from 1 to 65535, after the address: 192.0.2.10:873, [2001:db8::1]:873.
";
BAD_LIFETIME = "takt::taktd::bad_lifetime" ["bad_lifetime"]: "
A registration lasts from 1 s to 365 days, or without a lifetime until it is removed.
";
NOT_YOURS = "takt::taktd::not_yours" ["not_yours"]: "
Users may register for their own sockets and threads; only root may register for other users or for
everyone.
";
NOT_REGISTERED = "takt::taktd::not_registered" ["not_registered"]: "
There is nothing to remove: no such destination is registered for that user in this network
namespace. It may have expired. `takt background list` shows the registrations.
";
TOO_MANY = "takt::taktd::too_many" ["too_many"]: "
One user may have 256 registrations at once, and no more than an eighth of those still free for
users, so that later users find room. Root has a limit of its own; docs/background.md has the table.
Remove some, or register with a lifetime. Of reservations on the beat: see `takt explain
place::too_many`.
";
TOO_FAST = "takt::taktd::too_fast" ["too_fast"]: "
The requests and connections of a user per second are limited; docs/background.md has the table.
Wait a moment, and use one connection for several requests.
";
BUSY = "takt::taktd::busy" ["busy"]: "
taktd serves 56 connections of users at once, at most 16 of one user, and 64 of root. When all are
in use, the user with the most connections loses the one that has been idle the longest to a user
with fewer. Close unused connections; taktd closes those that are idle for 30 s.
";
BAD_BEAT = "takt::taktd::bad_beat" ["bad_beat"]: "
The requested task is impossible, or the policy in force has no task of that name. The message has
the reason.
";
NO_PLACE = "takt::taktd::no_place" ["no_place"]: "
The thread has no reservation to leave, or another thread holds the requested member.
";
FAILED = "takt::taktd::failed" ["failed"]: "
The request is valid, but the host could not carry it out; the message has the reason. taktd's log
may say more.
";
}
