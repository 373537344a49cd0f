//! Every code of a diagnostic, with the long explanation behind `takt explain CODE`.
//!
//! A code is a variant, so a code without an explanation does not compile.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! catalogue {
    ($($code:ident = $name:literal: $explanation:literal;)*) => {
        /// The kind of a diagnostic; stable from version to version.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = concat!("`", $name, "`")] $code,)*
        }

        impl Code {
            /// In the order of the catalogue.
            pub const ALL: &[Code] = &[$(Code::$code,)*];

            /// The name as it is shown, such as `takt::policy::unknown_key`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }

            /// A paragraph or two: the rule, its reason, and the fix.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$code => $explanation.trim_ascii(),)* }
            }
        }
    };
}

catalogue! {
Syntax = "takt::policy::syntax": "
The file is not valid TOML, so nothing in it was read as a policy. The usual causes: text without
quotes (rate = 25mbit instead of rate = \"25mbit\"), a bracket or a quote that is not closed, a key
or a table that appears twice, an inline table { … } with no comma between its keys.
https://toml.io describes the format.
";
Empty = "takt::policy::empty": "
The file holds nothing but blanks and comments. An empty policy could only mean 'pace nothing';
that is what `takt revert` does, and it is too easily asked for by a file that was cut short.

The smallest policy:

    [link.eth0]
    rate = \"1gbit\"

or

    [[task]]
    name = \"mixer\"
    period = \"40ms\"
    budget = \"8ms\"
";
NoLink = "takt::policy::no_link": "
A policy describes at least one link, one task or a crowd, or a client of a radio link. A link is a
table [link.DEV], where DEV is the name of a network device as `ip link` shows it; a task is a table
[[task]] with name, period and budget; a crowd is a table [crowd] with group, key_file and device; a
client has report_to in [radio]. Without any there is nothing to apply.
";
NoTraffic = "takt::traffic::empty": "
A traffic file for `takt sim` says what is sent: each table [[source]] is a flow, or many of a kind,
with a name and a kind. Without one nothing would be simulated. The other tables, [device], [host]
and [measure], may be left out.
";
NoTask = "takt::policy::no_task": "
[beats] says how the tasks of a policy share the CPUs: the grid of their time slots, what stays
free, how packets are processed beside them. Without a task no scheduler is loaded and nothing of it
would hold. A task is a table [[task]] with name, period and budget.
";
NoStations = "takt::policy::no_stations": "
[radio] gives the stations of links their weights, or has a client report how well it hears. Here it
does neither: there is no link, or links = [] leaves all of them out, and there is no report_to. An
access point or gateway has a table [link.DEV] with the rate of its line; a client has report_to,
device and key_file.
";
UnknownLink = "takt::policy::unknown_link": "
links, in [radio], says which links of this policy tell stations apart; all do if it is left out.
access_point = true, in [crowd], has the link on its device thin acknowledgements. A link is there
as a table [link.DEV] with its rate, that of the air or a little less.
";
StationsPerFlow = "takt::policy::stations_per_flow": "
On a link with stations every station has a queue of its own in each class, and its share is the
class's weight times its own. A per_flow class, and aqm = \"fq_codel\", give each flow one instead. A
packet waits in one queue, so a link has the one or the other.
";
BadPoints = "takt::policy::bad_points": "
The points of weight = \"pw\" are 1 to 16 pairs of a strength in dB, from -20 to 60, and a weight,
from 0 to 1: points = [[0, 0.0], [4, 0.2], [10, 0.8], [14, 1.0]]. Between two points the weight is
linear; before the first and after the last it stays. Strengths rise from point to point, and
weights do not fall: a station with the better signal never gets less.
";
IdleKey = "takt::policy::idle_key": "
The key belongs to something that is not there, so it would do nothing: points to weight = \"pw\",
threshold to weight = \"gb\", file to source = \"file\", listen and key_file to reports, device to
report_to; and in [crowd] an aggregator to a host that is not one itself. Or another key says the
same: framing names overhead, min_frame and cells together. A value that is passed over is most
often one that was meant to count.
";
BadCpus = "takt::policy::bad_cpus": "
cpus takes CPUs by number, as `lscpu` and `taskset -c` have them: one, a range or a list of both,
such as \"1\", \"0-3\" or \"0-3,6\".
";
NoCommonCpu = "takt::policy::no_common_cpu": "
The cpus of [beats] are those that carry time slots at all, for instance those that are kept free of
other work; the cpus of a task are those it may have its slots on. They must have one in common.
";
OffGrid = "takt::policy::off_grid": "
Time slots begin and end at multiples of the grid, 500us unless [beats] says otherwise. So that a
task has the same slots in each of its periods, its period is a multiple of the grid too, and so is
its offset. Budgets and leads need not be: they are given whole slots, and the thread gets exactly
its budget of them.

A fine grid wastes less of budgets that are no multiple of it; a coarse one has fewer edges.

A period that is a fraction, such as \"64/48000s\" for 64 frames at 48 kHz, needs a grid that is one
as well, such as \"1/48000s\".
";
BudgetAbovePeriod = "takt::policy::budget_above_period": "
The budget is what a task may use in each period, so the slots that hold it fit into the period, and
so do those of its lead before them. Both take whole slots: on a grid of 500us, a budget of 600us
with a lead of 20us takes 1500us of every period.

A part of every CPU is never assigned: free, in [beats], which is 0.0625 by default. So a budget
that is as long as the period fits nowhere. A single thread may have its slots on several CPUs in
turn, with a free slot between two of them; a group stays on one.
";
NoRoomTogether = "takt::policy::no_room_together": "
Tasks that are bound to the same CPUs, by their own cpus or by those of [beats], share what is
assigned of them. Their budgets and leads, in whole slots, do not add up to more, and the periods on
one CPU repeat after 4s at most, in a table of at most 4096 slots. Whether there are slots that suit
all of them is found out when the policy is applied.
";
OffsetMisfit = "takt::policy::offset_misfit": "
The offset says when in its period a task's budget begins. A slot lies within the period: the lead,
in whole slots, does not begin before it, and the budget, in whole slots, does not end after it.
Periods of all tasks begin at the same moments, multiples of the period on the host's monotonic
clock. Without an offset a task goes where there is room.
";
RoundedBudget = "takt::policy::rounded_budget": "
A budget takes whole slots of the grid, and this one leaves more than half of its last slot to
ordinary threads. They use it, but no other task can. A larger budget costs nothing up to the slot's
end; a finer grid loses less.
";
LongLead = "takt::policy::long_lead": "
The lead is how long before its beat a thread is released, to wait out the rest on its CPU. It is
there for the microseconds that a wake-up takes, and all of it is lost for other threads. Here it is
longer than the budget.
";
DuplicateTask = "takt::policy::duplicate_task": "
Every task has a name of its own: statistics are shown by it, and a task keeps its slots by it while
a policy is replaced. Several threads that run one after the other in one slot are the members of
one task: members = [\"decode\", \"mix\"].
";
DuplicateThread = "takt::policy::duplicate_thread": "
A thread has one slot, so no two members may claim the same one. Claims are compared as the policy
states them: without a match the thread is the one that has the task's or the member's name, with
one it is as the match says, of a group with the member's name. Tell them apart by thread, command,
cgroup or unit.
";
GroupThread = "takt::policy::group_thread": "
The threads of a group are found by the names in members, in the order in which they hand over. The
match of a group says what they have in common: command, cgroup, unit. A single thread that has
another name than its task is named by match = { thread = \"…\" }, without members.
";
TooManyTasks = "takt::policy::too_many_tasks": "
The scheduler has 256 members for threads on the beat, those of all tasks together.
";
TooManyMembers = "takt::policy::too_many_members": "
A task that is a group has up to 16 members, which have their turns in one slot, one after the
other. More threads than that are several tasks.
";
TooLarge = "takt::policy::too_large": "
A policy file is at most 1 MiB. That is room for 4094 classes with dozens of matches each; what is
larger is most likely a wrong path, so it is not read at all. Merge matches: one entry takes a whole
prefix and a list of port ranges.
";
UnknownKey = "takt::policy::unknown_key": "
Every key must be one that Takt knows. A misspelt key that is silently passed over would leave a
class without its rate, so it is an error instead.

Known keys:

    [link.DEV]            rate reflectors overhead framing min_frame cells
                          pacing packets burst lag_max slack horizon
                          beyond_horizon ecn acks share wash on_conflict
                          backend preset tenant class download
    [link.DEV.download]   rate overhead framing min_frame cells ecn share wash
                          backend preset tenant class
    [[link.DEV.tenant]]   name rate ceil weight floor priority
    [[link.DEV.class]]    name match tenant rate ceil weight floor priority
                          per_flow queue_packets burst aqm target interval gate
                          receive set_dscp best_effort
    match                 proto family src dst src_port dst_port dscp mark
                          app user cgroup unit registered
    [radio]               interval smoothing decay weight points threshold links
                          source file key_file listen report_to device
    [crowd]               group key_file device interval aggregator aggregate
                          access_point downloads
    [beats]               grid clock free cpus threaded_napi batch
                          ignore_cgroup_limits join
    [[task]]              name period budget offset lead cpus overrun match members
                          handoff
    a task's match        thread command cgroup unit
";
NotBackground = "takt::policy::not_background": "
The gate blocks packets of a class in the background while the CPU runs a task that is more
important than the one that sends them. Traffic of any other priority is foreground: blocking it
would make its senders wait for the CPU as well as for the link, so only a class with
priority = \"background\" has a gate. There it is \"sender\" unless the policy says gate = \"open\".

Incoming packets of such a class wait likewise, unless the policy says receive = false. Those of all
other classes go straight on.
";
AqmWithoutTurns = "takt::policy::aqm_without_turns": "
aqm = \"fq_codel\" gives each flow of a class a queue; they take turns, flows that send little go
first, and CoDel keeps each queue short. A per_flow class has a queue for each flow already. The
gate of a class in the background blocks the class as a whole, by the task that sends. In both
aqm = \"codel\" keeps the queues short, and is the default.
";
WrongType = "takt::policy::wrong_type": "
The value is of another TOML type than the key takes. Rates, durations, addresses and names are text
in quotes; overhead, min_frame and queue_packets are plain integers, weight is a number, per_flow
and registered are true or false; match is a table or an array of tables, of a task one table;
classes, tenants and tasks are arrays of tables, [[link.DEV.class]] with two brackets on either
side.
";
MissingKey = "takt::policy::missing_key": "
A key that has no default is absent. A link needs its rate, because every class is measured against
it. Classes and tenants need a name, because statistics and messages refer to it. A class needs a
match that says which traffic it takes; only the class named \"default\" has none, since it takes
what is left. A task needs a name, a period and a budget; a match or a list of members that is there
has something in it. In [radio], a threshold belongs to weight = \"gb\", a file to source =
\"file\", a key_file to reports, a device to report_to. [crowd] needs a group, its key_file and the
device on the shared air; an access point that hears no reports needs its device alone.
";
BadUnit = "takt::policy::bad_unit": "
Rates and durations carry their unit. Units of rate are those of tc, in any case:

    bit kbit mbit gbit tbit        bits per second, steps of 1000
    kibit mibit gibit              bits per second, steps of 1024
    bps kbps mbps gbps             BYTES per second, steps of 1000

    ns us ms s                     units of time

The number may have a decimal fraction: \"2.5gbit\". Number and unit stand together, without a
blank. A bare number is refused: tc would read it as bits per second, others as kilobits.
";
RateNotPositive = "takt::policy::rate_not_positive": "
A rate is what a class may send, so it must be positive. A class at rate zero would hold its
packets forever. To keep traffic back, give its class a low rate or priority = \"background\"; to
stop it, use a firewall.
";
OutOfRange = "takt::policy::out_of_range": "
The value lies outside what this key takes:

    rate ceil floor  1kbit to 400gbit
    weight           0.001 to 400000
    overhead         0 to 256 bytes per frame
    min_frame        0 to 256 bytes
    lag_max          100us to 1s
    burst            50us to 100ms of a link, 1ms to 100ms of a class
    slack            0 to 1ms
    horizon          1ms to 100s
    priority         0 (most important) to 6, or \"background\"
    queue_packets    1 to 65535
    dscp set_dscp    0 to 63
    proto            0 to 255
    ports            0 to 65535
    mark             0 to 0xffffffff
    user             0 to 4294967294, or a name

    interval         10ms to 10s
    smoothing        0.01 to 1
    decay            0 to 1
    threshold        -20 to 60 dB
    points           -20 to 60 dB, and weights from 0 to 1
    listen           1 to 65535

    grid             10us to 100ms, also a fraction
    free             0.01 to 0.9
    batch            1 to 64 packets
    period           100us to 4s, a multiple of the grid, also a fraction
    budget           1us to the period
    offset lead      0 to less than the period; lead also \"auto\"
    cpus             0 to 8191

Below 1 kbit/s a full frame would occupy its class for more than ten seconds; 400 Gbit/s is as fast
as Ethernet comes today, and the byte clock's arithmetic is proven up to there.
";
RateAboveLink = "takt::policy::rate_above_link": "
Neither a class nor a tenant can be guaranteed more than its link has, nor can it go above that.
Lower its rate, ceil or floor, or correct the link's rate: it is the rate of the wire, or of the
slower line behind it if this host is the place to queue. Without rate and ceil a class may take
whatever the link has to spare.
";
RateAboveTenant = "takt::policy::rate_above_tenant": "
The classes of a tenant share its ceiling: its ceil, or its rate if it has no ceil. So none of them
can be guaranteed more, or go above it. Lower the rate, ceil or floor of the class, or give the
tenant a higher ceil.
";
CeilBelowRate = "takt::policy::ceil_below_rate": "
rate is what is guaranteed, ceil is what may be borrowed up to, so ceil is at least the rate.
Without a ceil the rate is the ceiling too: the class or tenant is paced at its rate and borrows
nothing.
";
FloorAboveCeil = "takt::policy::floor_above_ceil": "
A floor is served before all priorities, and what it serves counts against the ceiling like
everything else. So a floor above ceil, or above the rate of a class or tenant without ceil, could
never be reached.
";
FloorsAboveLink = "takt::policy::floors_above_link": "
Floors come before all priorities: they are what must be left even when everything else is busy.
When they add up to more than the link has, or those of a tenant's classes to more than the tenant
may take, they cannot hold. Unlike rates they are not scaled. Lower them; the floor of a per_flow
class is each flow's, and counts once here.
";
BadName = "takt::policy::bad_name": "
Names of classes, tenants and tasks appear in status output and in metrics, so they are short and
plain: 1 to 31 bytes out of A-Z a-z 0-9 _ . and -. The group of a [crowd] is called as people call
it, in 1 to 64 characters, but all of its hosts have to spell it alike.
";
BadJoin = "takt::policy::bad_join": "
join, in [beats], says who besides root may reserve members while a policy is in force:
\"none\", \"all\", or the name of a group, such as \"audio\". Without it that is the group \"takt\",
which no host has before its administrator makes it: groupadd --system takt; usermod -aG takt USER.
The group is looked up when a thread asks, by name and not by number. A group that is called none or
all cannot be named.
";
DuplicateClass = "takt::policy::duplicate_class": "
Within a link every class has a name of its own; statistics, and packets that wait while a policy is
replaced, are carried over by name. To give one class several kinds of traffic, list several entries
in its match: any of them is enough.
";
TooManyClasses = "takt::policy::too_many_classes": "
A link holds 4094 classes and tenants besides the implicit default class. One class may match any
number of prefixes and ports; only traffic that needs a pace of its own needs a class of its own.
";
TooManyLinks = "takt::policy::too_many_links": "
A host has slots for 64 links, all network namespaces together; one whose class in the background
receives takes two. A device that needs neither pace nor priorities needs no link.
";
DuplicateTenant = "takt::policy::duplicate_tenant": "
Within a link every tenant has a name of its own; classes refer to it by that name, and its state is
carried over by it while a policy is replaced. Tenants and classes have separate names: a tenant may
be called as a class is.
";
UnknownTenant = "takt::policy::unknown_tenant": "
A class belongs to the tenant that its key `tenant` names, and the link has no tenant of that name.
Tenants are described in the same link, before or after the class:

    [[link.eth0.tenant]]
    name = \"acme\"
    rate = \"300mbit\"
";
EmptyTenant = "takt::policy::empty_tenant": "
No class of the link names this tenant, so nothing shares its guarantee and its ceiling. A class
belongs to a tenant by its key: tenant = \"acme\".
";
TooManyTenants = "takt::policy::too_many_tenants": "
A link holds 63 tenants. A tenant is worth its slot where several classes share one guarantee or
one ceiling; a class that shares with no other has a rate and a ceil of its own.
";
DefaultMatch = "takt::policy::default_match": "
The class named \"default\" takes whatever no other class matches: unmatched IP traffic, fragments,
ARP and everything else that is not IP. A match would leave that traffic without a class. If you
want a class with a match, give it another name.
";
BadDevice = "takt::policy::bad_device": "
The kernel's rules for a device name: 1 to 15 bytes, or 127 of an alternative name (altname in
`ip link`); no '/', no ':', no blanks, neither \".\" nor \"..\". A name with a dot in it, as VLAN
devices have, needs quotes in TOML, or the dot separates two keys: [link.\"eth0.100\"].

Takt refuses '*', '?' and '[' as well. A name with one of them is meant as a pattern, such as eth*,
and a link is one device with a rate of its own. Write a table for each device; a bond or a bridge
is one device.
";
BadValue = "takt::policy::bad_value": "
The key takes one of a few words or a certain form, and this is none of them. The help of the
message lists what it takes.
";
BadAddress = "takt::policy::bad_address": "
src and dst take an IPv4 or IPv6 address or a prefix in CIDR form: \"192.0.2.10\", \"192.0.2.0/24\",
\"2001:db8::/32\". Names are not resolved, because what a name means may change while the policy
stands. Bits beyond the prefix length must be zero: \"192.0.2.10/24\" could mean the host or its
network, and guessing would pace the wrong one.
";
BadPort = "takt::policy::bad_port": "
src_port and dst_port take an integer, or text with a port, a range or a list of both: 80, \"80\",
\"5004-5100\", \"80,443,8000-8100\". Ports are numbers from 0 to 65535; service names are not
resolved.
";
BadOwner = "takt::policy::bad_owner": "
Four keys of a match ask who owns the socket that a packet comes from:

    app      name of the thread or process, as `ps -o comm` shows it: 1 to 15 bytes
    user     a user's name or number; names are resolved when the policy is applied
    cgroup   path from the root of cgroup2, as `systemd-cgls` shows it; holds for all below
    unit     name of a systemd unit with its ending: \"nginx.service\", \"user-1000.slice\"

A name that no thread can have would leave the entry there without ever being true.

A fifth, registered = true, takes what was registered while takt runs: destinations that
`takt background add` named for the owner's user, and programs that `takt run --background` started.
There is no registered = false: what was not registered goes to the classes below.

The match of a task says which thread it is, by four keys that all have to hold:

    thread   the thread's own name: 1 to 15 bytes, set by pthread_setname_np() or prctl(2)
    command  the name of its process, which is that of the first thread
    cgroup   as above
    unit     as above

Names of members of a group are names of threads, and so is the name of a task without a match.
";
TooManyQuestions = "takt::policy::too_many_questions": "
Each app, user, cgroup and unit that a policy asks for, and `registered`, takes one of 32 slots
that a socket's answers are kept in, over all links of the policy; asking the same again takes none.
Collect programs in one cgroup or one systemd slice and ask for that, or tell their traffic apart by
ports.
";
NeverMatches = "takt::policy::never_matches": "
The conditions of one match entry all have to hold at once, and these exclude each other: ports with
a protocol that has none, an IPv4 source with an IPv6 destination, ICMPv6 over IPv4, a range that
ends before it starts, a mark with bits outside its mask. The entry would stand there without ever
being true. If either of two conditions should do, write them as two entries:
match = [{ … }, { … }].
";
CoveredMatch = "takt::policy::covered_match": "
Classes are tried in the order of the file and the first match wins. An earlier class has an entry
that holds for every packet this one holds for, so no packet ever gets here. Put the narrower class
first, or narrow the earlier entry.

Takt compares entries one by one: it finds an entry that is covered by one earlier entry, not one
that is covered only by several earlier entries together.
";
DuplicateMatch = "takt::policy::duplicate_match": "
Two classes match exactly the same traffic; the later one would never see a packet. Entries are
compared by what they mean, so { proto = \"tcp\" } and { proto = 6 } are the same. Remove one of the
two, or add the condition that tells their traffic apart.
";
Oversubscribed = "takt::policy::oversubscribed": "
The rates of a link's classes and tenants add up to more than the link has, or those of a tenant's
classes to more than the tenant may take. This is allowed: classes are rarely active all at once.
When they are, each gets its share in proportion to its rate, so 4, 4, 4, 2 and 2 on a link of 10
become 2.5, 2.5, 2.5, 1.25 and 1.25; but none has its full rate then. A per_flow class counts once
here, with the rate of one flow.
";
Outranked = "takt::policy::outranked": "
Priorities are strict: a class takes what it may before anything ranked behind it gets its turn.
Here one that may take all the link or the tenant has stands before one that names a rate. Whenever
it has enough to send, it takes what the other counts on. Classes without a rate have priority 6 by
default and classes with one have 3, so that what is promised goes before what is left over. Within
one priority guarantees come first. A ceil for the one, or a floor for the other, settles it too.
";
NoDownload = "takt::policy::no_download": "
[link.DEV.download] divides what a device receives. Packets wait before the host has looked at them:
neither their socket nor the firewall's mark is known, so app, user, cgroup, unit, registered and
mark can match none, and no task is known that they would have to wait for. Only the backends takt
and tree carry it out.

Without classes of its own a download has those of its link, with source and destination exchanged
and the same rates: what leaves to port 443 comes in from port 443. A ceil as high as the link means
the whole download. Where rates are higher than the download, or a class matches nothing that comes
in, give it classes of its own: [[link.DEV.download.class]], whose matches are those of packets as
they come in.
";
RateRange = "takt::policy::rate_range": "
A line that changes (LTE, 5G, a satellite, cable in the evening) has three rates: min, which it
always has, base, which it mostly has, and max. Its link starts at base. taktd asks the reflectors
for the delay of the line, and sets the rate between min and max by it: up while the line is used
and delay does not grow, down at once when it does. docs/autorate.md has the rules.

    [link.wan0]
    rate = { min = \"5mbit\", base = \"20mbit\", max = \"60mbit\" }
    reflectors = [\"9.9.9.9\", \"1.1.1.1\", \"8.8.8.8\"]

Guarantees and floors of classes are compared with base, ceilings with max. Guarantees that are more
than min together shrink while the line has no more: each class then has its part of what there is.
Reflectors are hosts beyond the line that answer ping. Three or more tell one that lies, or is gone,
from a line that is full. Without taktd, or without answers, the rate is base. A wire that is to be
filled with gap frames has one rate.
";
LineRate = "takt::policy::line_rate": "
rate = \"line\" says that a link has no number: its device decides. A driver stops its queue while
enough is on its way, by the kernel's limit of bytes (BQL), and asks for the next packet when it has
room. Takt answers with the one that is to go first, so the order holds at any speed of the wire.

That takes a device that pushes back. A modem behind Ethernet does not: Ethernet takes packets at
its own rate, and they wait in the modem. Such a line has a rate, or one that changes:

    [link.wan0]
    rate = { min = \"5mbit\", base = \"20mbit\", max = \"60mbit\" }
    reflectors = [\"9.9.9.9\", \"1.1.1.1\", \"8.8.8.8\"]

Rates, ceilings and floors of classes are numbers as ever, and weights divide what there is. What is
a part of the link's own rate cannot be had: the shares of a preset, and gap frames, which fill what
the rate leaves. What a device receives is never pushed back, so a download has a rate.
";
Capped = "takt::policy::capped": "
A rate without a ceil is a pace: it is guaranteed, and nothing is sent faster, however much of the
link is free. That is right for streams. Here a priority says besides that others are to wait, and
yet they get what the pace does not let through: in a class of 4 Mbit/s three calls of 3 Mbit/s are
late and lose packets while uploads behind them fill the line.

With a ceil the class or tenant borrows what is free. The ceil in the message leaves the others
their rates. A ceil that is the rate says that the pace is meant, and the warning goes away.

Only a priority that the file states is taken for such a wish. A rate of each flow (per_flow) or
each station is a pace always, and so is one where backend is \"departure\" or \"flow\".
";
ByteRate = "takt::policy::byte_rate": "
As in tc, bps, kbps, mbps and gbps are BYTES per second: \"25mbps\" is 200 Mbit/s. Elsewhere the
same letters mostly mean bits, so Takt says how it reads them. Written in bits, the rate is beyond
doubt and the warning goes away.
";
RedundantMatch = "takt::policy::redundant_match": "
An entry of a class's match is covered by another entry of the same class, so it changes nothing.
Remove it, or correct it if it was meant to say something else.
";
NotFullyChecked = "takt::policy::not_fully_checked": "
Looking for entries that an earlier class covers is bounded, so that checking a policy never takes
long. This policy has so many entries of so many different forms that the search ended early. It is
valid; but some entry may never match, and Takt would not have noticed. Entries that are exactly
equal are found in any case.
";
NotFound = "takt::file::not_found": "
There is no file of that name. A relative path starts at the current directory.
";
IsDirectory = "takt::file::is_directory": "
The path leads to a directory that has neither a policy.toml nor a policy.d with *.toml files. Takt
reads those of a directory, in this order and those of policy.d by their names, as one policy. For
any other file, name the file.
";
SectionTwice = "takt::file::section_twice": "
Two files of a directory describe the same part of the host: the same link, or [radio], [crowd] or
[beats]. Which of them would win could only be guessed, so each part of a policy is in one file.
Tasks are a list, and may be in several files.
";
TooManyFiles = "takt::file::too_many": "
A directory's policy.d has more files than one policy may have: 256. Most often it is the wrong
directory. If it is not, put several links into one file.
";
Unreadable = "takt::file::unreadable": "
The file is there, but the operating system would not let Takt read it; the message has its reason.
";
NotUtf8 = "takt::file::not_utf8": "
TOML is UTF-8 text, and this file has bytes that are not. Most often it was saved in Latin-1 or
UTF-16 (`file NAME` tells), or it is not text at all. To convert it:

    iconv -f LATIN1 -t UTF-8 old.toml > new.toml
";
KeyFile = "takt::policy::key_file": "
The key of a group is read by taktd, and all who have it can speak for the group. So the file must
be there before a policy goes by it, hold a key, belong to root (or to the user who asks), and let
its owner alone read and write it: chmod 600. `takt crowd key FILE` and `takt radio key FILE` make
one; on the other hosts of the group it has to be a copy of the first. A user who may not read the
key can check a policy all the same: what that user cannot see is only warned of.
";
CrowdCosts = "takt::policy::crowd_costs": "
Members of a crowd keep a small queue together, and a terminal without Takt takes what they leave.
Uploads notice it by the rates of their frames on the air and compete as CUBIC does, so joining
costs them little (docs/crowd.md, \"Beside terminals without Takt\"). Two things get less than without
a crowd while others at the same access point are no members: uploads by a device that reports no
such rates, as a wire does not, and downloads with a bound, where the access point has one queue for
all. Where all join, or the access point divides by itself, nothing is lost.
";
}

impl Code {
    /// The code of that name, with or without its leading `takt::`.
    pub fn find(name: &str) -> Option<Code> {
        let is_named = |code: &&Code| {
            let full = code.as_str();
            full == name || full.strip_prefix("takt::") == Some(name)
        };
        Code::ALL.iter().find(is_named).copied()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
