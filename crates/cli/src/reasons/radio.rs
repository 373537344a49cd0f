//! Why a station has its weight, and what happens to reports.

super::reasons! {
STALE = "takt::radio::stale" ["fresh"]: "
The stations' weights were not refreshed for 5 s. taktd is not running in this network namespace, or
its source reports no station at all: its log says why. All stations then have weight 1, except
those set by hand.
";
MISSED_SAMPLES = "takt::radio::missed_samples" ["missed_samples"]: "
Intervals in which a known station was not heard. Its signal decays with each (`decay`), and with it
its weight; after a minute it is forgotten and has weight 1.
";
BY_HAND = "takt::radio::by_hand" ["by hand", "by_hand"]: "
The weight was set with `takt station set`. It stays until `takt station forget`, whatever is
reported about the station.
";
FORGED = "takt::radio::forged" ["forged"]: "
Datagrams that were not sealed with the group's key, or were changed on the way. A client with
another key file looks the same: all members need the same key.
";
REPLAYED = "takt::radio::replayed" ["replayed"]: "
Datagrams that were received before, or are older than the last one. A network that duplicates
packets causes a few; a client whose clock was set back is refused until the clock has caught up.
";
UNKNOWN = "takt::radio::unknown_sender" ["unknown"]: "
As a station: its signal is not known, so it has weight 1. As a datagram: its sender is new, and
there were more new senders than taktd examines or stores.
";
TOO_OFTEN = "takt::radio::too_often" ["too_often"]: "
A client may report once per interval; more reports are ignored. Two programs that report for the
same address look the same.
";
NOT_ITS_OWN = "takt::radio::not_its_own" ["not_its_own"]: "
The report was sealed with the key, but is about an address that is not its sender's, or that
another station has. A station may report only about itself.
";
}
