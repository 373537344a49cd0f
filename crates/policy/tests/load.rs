//! What a path may lead to.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use takt_policy::load;

fn refused(path: &Path) -> Value {
    let found = load(path).expect_err("refused").to_json();
    assert_eq!(found.as_array().unwrap().len(), 1);
    found[0].clone()
}

fn file(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("policy.toml");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_policy_comes_with_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[link.eth0]\nrate = \"1gbit\"\n";
    let (read, policy) = load(&file(&folder, text.as_bytes())).unwrap();
    assert_eq!(read, text);
    assert_eq!(policy.links[0].device, "eth0");
}

#[test]
fn no_file_a_directory_or_a_file_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, b"x");
    let code = |path: &Path| refused(path)["code"].clone();
    assert_eq!(
        code(&folder.path().join("none.toml")),
        "takt::file::not_found"
    );
    assert_eq!(code(folder.path()), "takt::file::is_directory");
    assert_eq!(code(&path.join("below")), "takt::file::not_found");
}

#[test]
fn ten_megabytes_are_refused_for_their_size() {
    let folder = tempfile::tempdir().unwrap();
    for filling in [b'#', 0xff] {
        let found = refused(&file(&folder, &vec![filling; 10 << 20]));
        assert_eq!(found["code"], "takt::policy::too_large");
        assert!(found["message"].as_str().unwrap().contains("1 MiB"));
    }
    assert_eq!(
        refused(Path::new("/dev/zero"))["code"],
        "takt::policy::too_large"
    );
}

#[test]
fn one_mebibyte_is_not_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("[link.eth0]\nrate = \"1gbit\"\n");
    text.push_str(&"#".repeat(takt_policy::POLICY_MAX_BYTES - text.len()));
    load(&file(&folder, text.as_bytes())).unwrap();
    text.push('#');
    assert_eq!(
        refused(&file(&folder, text.as_bytes()))["code"],
        "takt::policy::too_large"
    );
}

#[test]
fn what_is_not_utf8_is_pointed_at() {
    let folder = tempfile::tempdir().unwrap();
    let found = refused(&file(
        &folder,
        b"[link.eth0]\n# gr\xf6\xdfer\nrate = \"1gbit\"\n",
    ));
    assert_eq!(found["code"], "takt::file::not_utf8");
    assert_eq!((&found["line"], &found["column"]), (&json!(2), &json!(5)));
    assert!(
        found["message"]
            .as_str()
            .unwrap()
            .contains("byte 16 is 0xf6")
    );
}

#[test]
fn an_empty_file_is_not_a_policy() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(refused(&file(&folder, b""))["code"], "takt::policy::empty");
}

#[test]
fn paths_in_a_policy_start_at_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[link.wlan0]\nrate = \"20mbit\"\n[radio]\nkey_file = \"radio.key\"\n\
                report_to = \"192.0.2.1:7641\"\ndevice = \"wlan0\"\n\
                source = \"file\"\nfile = \"/run/snr.txt\"\n\
                [crowd]\ngroup = \"lab\"\nkey_file = \"crowd.key\"\ndevice = \"wlan0\"\n";
    let (_, policy) = load(&file(&folder, text.as_bytes())).unwrap();
    let crowd = policy.crowd.unwrap();
    assert_eq!(crowd.key_file, folder.path().join("crowd.key"));
    let radio = policy.radio.unwrap();
    assert_eq!(radio.key_file, Some(folder.path().join("radio.key")));
    let absolute = takt_policy::RadioSource::File("/run/snr.txt".into());
    assert_eq!(radio.source, absolute);
}
