//! Why taktd refuses, or does not run. The last words are the codes of its answers.

super::reasons! {
NOT_RUNNING = "takt::taktd::not_running": "
taktd does for all users what takes privileges: registrations, reservations on the beat, stations'
weights. No program listens on /run/taktd/socket. Start it as root, `taktd` or `systemctl start taktd`.
Root can do without it for `takt run`.
";
TALK = "takt::taktd::talk": "
taktd was reached, and the conversation ended early or its answer was not understood; the message
has the reason. A taktd of another version must be started anew.
";
RUNNING = "takt::taktd::running": "
There is one taktd for the whole host, and it is running, as the process that the message names. It
holds a lock on /run/taktd/lock, which root alone can open. `takt background list` speaks to it.
";
FOREIGN = "takt::taktd::foreign": "
/run/taktd and the lock in it are root's, and neither is a link nor open to others. Something else
stands there; the message has its path, owner and mode. Nothing was changed. Find out who made it, and
remove it; taktd makes its own.
";
FILE = "takt::taktd::file": "
taktd keeps its socket and its lock in /run/taktd, and one of them could not be made; the message has
the path and the operating system's reason.
";
PASSED = "takt::taktd::passed": "
systemd passed a socket to taktd that it does not serve: its unit has been changed, or is that of
another version. taktd.socket listens at /run/taktd/socket and /run/taktd/varlink, taktd-root.socket
at /run/taktd/root. Correct ListenStream=, `systemctl daemon-reload`, and start the sockets anew.
";
METRICS = "takt::taktd::metrics": "
taktd was started with --metrics and cannot listen at its address; the message has the operating
system's reason. The address must be one of this host, and its port free: `ss -ltnp` shows who has
it. Ports below 1024 are the system's. Without an address it is 127.0.0.1:9815.
";
SYSTEM = "takt::taktd::system": "
taktd could not go on; the message says what it was doing. What it had registered is in force until
the next taktd, or until `takt revert`.
";
MALFORMED = "takt::taktd::malformed" ["malformed"]: "
As a request: it was not one JSON object on one line, has unknown keys, or contradicts itself.
docs/background.md and docs/beats.md list the requests. As a datagram of a radio client: it has
another length or kind than a report.
";
BAD_ADDRESS = "takt::taktd::bad_address" ["bad_address"]: "
What is registered is one receiver's address, in numbers: not a name, a prefix, a multicast or
broadcast address, and without a device after a percent sign.
";
BAD_PORT = "takt::taktd::bad_port" ["bad_port"]: "
A port is a number from 1 to 65535, after the address: 192.0.2.10:873, [2001:db8::1]:873.
";
BAD_LIFETIME = "takt::taktd::bad_lifetime" ["bad_lifetime"]: "
A registration lasts from 1 s to 365 days, or until it is taken back if no lifetime is given.
";
NOT_YOURS = "takt::taktd::not_yours" ["not_yours"]: "
Every user may register for their own sockets and threads; those of other users, or everyone's, are
root's to speak for.
";
NOT_REGISTERED = "takt::taktd::not_registered" ["not_registered"]: "
There is nothing to take back: no such destination is registered for that user in this network
namespace. It may have expired. `takt background list` shows what is.
";
TOO_MANY = "takt::taktd::too_many" ["too_many"]: "
So many may be registered at once: by one user 256, and no more than an eighth of what is then still
free for users, so that users who come later find room. Root has room of its own; docs/background.md has
the table. Take some back, or give them a lifetime. Of reservations on the beat: see
`takt explain place::too_many`.
";
TOO_FAST = "takt::taktd::too_fast" ["too_fast"]: "
One user may ask, and connect, so often per second; docs/background.md has the table. Wait a moment,
and keep one connection for several requests.
";
BUSY = "takt::taktd::busy" ["busy"]: "
taktd serves 56 connections of users at once, 16 of one user, and 64 of root. When users have all of
theirs, the user with most connections loses the one that has asked nothing for the longest time to a
user that has fewer. Close connections that are not used; those that ask nothing for 30 s are closed.
";
BAD_BEAT = "takt::taktd::bad_beat" ["bad_beat"]: "
No such task can be, or the policy in force has none of that name. The message says what is wrong
with it.
";
NO_PLACE = "takt::taktd::no_place" ["no_place"]: "
The thread has no reservation to leave, or the member that it asks for is another thread's.
";
FAILED = "takt::taktd::failed" ["failed"]: "
The host is to blame, not the request; the message says how. taktd's own output may say more.
";
}
