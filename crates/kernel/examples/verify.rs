use libbpf_rs::{MapCore, ObjectBuilder};
fn main() {
    let mut builder = ObjectBuilder::default();
    let mut open = builder.open_file(std::env::args().nth(1).unwrap()).unwrap();
    for mut m in open.maps_mut() {
        let n = m.name().to_string_lossy().into_owned();
        if n == "takt_alarms" || n == "takt_cpus" {
            m.set_max_entries(2).unwrap();
        }
        if n == "takt_tables" {
            m.set_max_entries(4).unwrap();
        }
    }
    let _ = builder;
    open.load().unwrap();
    println!("LOADED");
}
