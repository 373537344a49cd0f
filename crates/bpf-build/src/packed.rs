//! BPF objects within programs are compressed to a quarter of their size; they were a tenth of `takt`.

use miniz_oxide::deflate::compress_to_vec;

/// What libbpf-cargo writes before the object's bytes, and after them.
const BEGIN: &str = "#[unsafe(link_section = \".bpf.objs\")]\n";
const END: &str = "];";
/// The best, and the slowest.
const LEVEL: u8 = 10;

/// The skeleton with its object in a file of this name beside it, and that file. libbpf is given the
/// object as it was, once a process.
///
/// # Panics
/// If libbpf-cargo writes skeletons in another way.
pub fn pack(skeleton: &str, file: &str) -> (String, Vec<u8>) {
    let (before, rest) = skeleton
        .split_once(BEGIN)
        .expect("a skeleton has an object");
    let (object, after) = rest.split_once(END).expect("the object ends");
    let (_, numbers) = object.split_once("= [").expect("the object has bytes");
    let numbers = numbers.split(',').map(str::trim);
    let bytes: Vec<u8> = numbers
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().expect("a byte"))
        .collect();
    // libbpf refuses an empty object.
    let unpacked = format!(
        "static DATA: std::sync::LazyLock<std::vec::Vec<u8>> = std::sync::LazyLock::new(|| {{\n\
         miniz_oxide::inflate::decompress_to_vec(include_bytes!(\"{file}\")).unwrap_or_default()\n\
         }});"
    );
    (
        before.to_owned() + &unpacked + after,
        compress_to_vec(&bytes, LEVEL),
    )
}
