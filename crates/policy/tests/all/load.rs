//! What a path may lead to.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use takt_policy::{Loaded, load};

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
    let path = file(&folder, text.as_bytes());
    let Loaded {
        name,
        text: read,
        folder: stands_in,
        policy,
    } = load(&path).unwrap();
    assert_eq!(name, path.to_str().unwrap());
    assert_eq!(stands_in, folder.path());
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
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(code(empty.path()), "takt::file::is_directory");
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
    let policy = load(&file(&folder, text.as_bytes())).unwrap().policy;
    let crowd = policy.crowd.unwrap();
    assert_eq!(crowd.key_file, folder.path().join("crowd.key"));
    let radio = policy.radio.unwrap();
    assert_eq!(radio.key_file, Some(folder.path().join("radio.key")));
    let absolute = takt_policy::RadioSource::File("/run/snr.txt".into());
    assert_eq!(radio.source, absolute);
}

/// A directory with these files, the first of which is `policy.toml`.
fn folder(main: Option<&str>, more: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    if let Some(text) = main {
        fs::write(folder.path().join("policy.toml"), text).unwrap();
    }
    fs::create_dir(folder.path().join("policy.d")).unwrap();
    for (name, text) in more {
        fs::write(folder.path().join("policy.d").join(name), text).unwrap();
    }
    folder
}

const ETH0: &str = "[link.eth0]\nrate = \"1gbit\"\n";
const ETH1: &str = "# the other\n[link.eth1]\nrate = \"1gbit\"";
const TASK: &str = "[[task]]\nname = \"NAME\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n";

#[test]
fn a_directorys_only_file_is_the_policy() {
    let folder = folder(Some(ETH0), &[(".swp.toml", "x"), ("old.toml~", "x")]);
    let loaded = load(folder.path()).unwrap();
    assert_eq!(loaded.text, ETH0);
    let file = folder.path().join("policy.toml");
    assert_eq!(loaded.name, file.to_str().unwrap());
    assert_eq!(loaded.folder, folder.path());
}

#[test]
fn a_directorys_files_are_one_policy() {
    let [a, b] = ["a", "b"].map(|name| TASK.replace("NAME", name));
    let folder = folder(
        Some(ETH0),
        &[("20.toml", &a), ("10.toml", ETH1), ("30.toml", &b)],
    );
    let Loaded { text, policy, .. } = load(folder.path()).unwrap();
    let devices: Vec<_> = policy.links.iter().map(|link| &link.device).collect();
    assert_eq!(devices, ["eth0", "eth1"]);
    let tasks = &policy.beats.as_ref().unwrap().tasks;
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[1].line, 1);
    // As it is kept with what was applied.
    let again = takt_policy::parse_in(folder.path(), "kept", &text).unwrap();
    assert_eq!(again.links, policy.links);
}

#[test]
fn an_error_is_in_its_own_file() {
    let wrong = ETH1.replace("1gbit", "1gbitt");
    let folder = folder(Some(ETH0), &[("10.toml", &wrong)]);
    let found = refused(folder.path());
    let file = folder.path().join("policy.d/10.toml");
    assert_eq!(found["file"], file.to_str().unwrap());
    assert_eq!((&found["line"], &found["column"]), (&json!(3), &json!(8)));
}

#[test]
fn errors_of_files_together_are_in_their_files() {
    let task = TASK.replace("NAME", "a");
    let folder = folder(
        None,
        &[("10.toml", &task), ("20.toml", &format!("\n{task}"))],
    );
    let found = load(folder.path()).expect_err("the name is there twice");
    let json = &found.to_json()[0];
    let [first, second] =
        ["10.toml", "20.toml"].map(|name| folder.path().join("policy.d").join(name));
    assert_eq!(json["code"], "takt::policy::duplicate_task");
    assert_eq!(json["file"], second.to_str().unwrap());
    assert_eq!(json["line"], 3);
    let text = found.render(false);
    assert!(text.contains(&format!("{}:2:", first.display())), "{text}");
    assert!(text.contains(&format!("{}:3:", second.display())), "{text}");
}

#[test]
fn a_link_in_two_files_names_both() {
    let again = "\n[link.\"eth0\"]\nrate = \"2gbit\"\n";
    let folder = folder(Some(ETH0), &[("10.toml", ETH1), ("20.toml", again)]);
    let found = refused(folder.path());
    assert_eq!(found["code"], "takt::file::section_twice");
    let message = found["message"].as_str().unwrap();
    for name in ["policy.toml", "20.toml"] {
        assert!(message.contains(name), "{message}");
    }
    assert_eq!(found["line"], 2);
    assert_eq!(found["offending"], "\"eth0\"");
}

#[test]
fn a_file_that_is_no_policy_changes_no_other() {
    let found = |text: &str| {
        let found = load(folder(Some(ETH0), &[("10.toml", text)]).path());
        found.expect_err("refused").to_json()[0].clone()
    };
    // Behind eth0's table this would be one of its keys.
    assert_eq!(
        found("overhead = 24\n")["code"],
        "takt::policy::unknown_key"
    );
    assert_eq!(found("")["code"], "takt::policy::empty");
    let class = "[[link.eth0.class]]\nname = \"a\"\nrate = \"1mbit\"\n";
    assert!(found(class)["file"].as_str().unwrap().ends_with("10.toml"));
}

#[test]
fn a_directory_without_a_policy() {
    for folder in [folder(None, &[]), folder(None, &[("a.conf", ETH0)])] {
        assert_eq!(refused(folder.path())["code"], "takt::file::is_directory");
    }
    let texts: Vec<_> = (0..257).map(|n| format!("{n}.toml")).collect();
    let files: Vec<_> = texts.iter().map(|name| (name.as_str(), ETH0)).collect();
    assert_eq!(
        refused(folder(None, &files).path())["code"],
        "takt::file::too_many"
    );
}

#[test]
fn comments_that_look_like_the_ones_between_files_are_comments() {
    for text in [
        "#@ file b\n",
        "#@ file \n#@ file c",
        "#@ file b\n[link.eth0]\nrate = 1\n",
    ] {
        let found = takt_policy::parse("a", text).expect_err("refused");
        assert!(!found.render(false).is_empty());
    }
    let text = format!("#@ file b\n{ETH0}#@ file c\n");
    assert_eq!(takt_policy::parse("a", &text).unwrap().links.len(), 1);
}

/// takt-fuzz found it: the position had line 0.
#[test]
fn an_error_before_the_first_line_is_in_the_first_line() {
    let found = takt_policy::parse("p.toml", "#@ file \"\u{1a}").unwrap_err();
    assert_eq!(found.to_json()[0]["line"], 1);
}
