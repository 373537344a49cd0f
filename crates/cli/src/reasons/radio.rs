//! Why a station has its weight, and what happens to reports.

super::reasons! {
STALE = "takt::radio::stale" ["fresh"]: "
The stations' weights were not refreshed for 5 s. taktd does not run, or not in this network
namespace, or what it hears stations by is silent as a whole: its log says why. All stations weigh 1
then, but those set by hand.
";
MISSED_SAMPLES = "takt::radio::missed_samples" ["missed_samples"]: "
Intervals in which a station that was known was not heard. Its strength of connection decays with each
(`decay`), and with it its weight; after a minute it is forgotten and weighs 1.
";
BY_HAND = "takt::radio::by_hand" ["by hand", "by_hand"]: "
The weight was given with `takt station set`. It stays, whatever else is known of the station, until
`takt station forget`.
";
FORGED = "takt::radio::forged" ["forged"]: "
Datagrams that were not made with the group's key, or were changed on the way. A client with another
key file looks the same: all members need the same key.
";
REPLAYED = "takt::radio::replayed" ["replayed"]: "
Datagrams that came before, or are older than what came. A network that delivers twice makes a few;
a client whose clock was set back is refused until the clock has passed what it was.
";
UNKNOWN = "takt::radio::unknown_sender" ["unknown"]: "
As a station: its strength of connection is not known, so it weighs 1. As a datagram: its sender was not
heard yet, and more of those came than are looked at, or than there is room for.
";
TOO_OFTEN = "takt::radio::too_often" ["too_often"]: "
A client may report once in an interval; more is not looked at. Two programs that report for the same
address look the same.
";
NOT_ITS_OWN = "takt::radio::not_its_own" ["not_its_own"]: "
The report was made with the key, and is about another address than its sender's, or about one that
another station has. A station speaks for itself only.
";
}
