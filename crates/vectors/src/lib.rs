#[allow(non_camel_case_types, non_upper_case_globals, dead_code, clippy::all)]
mod sys {
    include!(concat!(env!("OUT_DIR"), "/sys.rs"));
}
#[allow(clippy::all, dead_code, unused)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/vectors.skel.rs"));
}
