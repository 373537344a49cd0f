//! Words of other tools as values: what a key calls the same.

/// A key, words that it does not take, and the one that it takes instead.
const WORDS: &[(&str, &[&str], &str)] = &[
    ("backend", &["htb", "hfsc", "cbq"], "tree"),
    ("backend", &["fq", "edt", "etf", "so_txtime"], "departure"),
    ("backend", &["so_max_pacing_rate"], "flow"),
    ("backend", &["bpf"], "takt"),
    ("aqm", &["cake", "fq", "sfq", "fq_pie", "drr"], "fq_codel"),
    ("aqm", &["pie", "red", "pi2"], "codel"),
    ("aqm", &["none", "no", "pfifo", "fifo", "droptail"], "off"),
    ("overrun", &["throttle", "block"], "wait"),
    ("overrun", &["sigxcpu"], "signal"),
];

pub(super) fn meant(key: &str, word: &str) -> Option<&'static str> {
    let word = super::folded(word);
    let is_meant =
        |(of, words, _): &&(&str, &[&str], &str)| *of == key && words.contains(&word.as_str());
    WORDS.iter().find(is_meant).map(|(.., meant)| *meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::keys::Takes;
    use crate::read::place::Place;

    #[test]
    fn what_is_meant_is_a_word_of_the_key() {
        for (key, words, meant) in WORDS {
            let keys = Place::ALL.iter().flat_map(|place| place.schema().keys);
            let choices: Vec<&[&str]> = keys
                .filter(|known| known.name == *key)
                .filter_map(|known| match known.takes {
                    Takes::Word(choices) => Some(choices),
                    _ => None,
                })
                .collect();
            assert!(!choices.is_empty(), "{key}");
            assert!(
                choices.iter().any(|choices| choices.contains(meant)),
                "{meant}"
            );
            for choices in choices {
                assert!(!words.iter().any(|word| choices.contains(word)), "{key}");
            }
            for word in *words {
                assert_eq!(super::meant(key, &word.to_uppercase()), Some(*meant));
            }
        }
    }
}
