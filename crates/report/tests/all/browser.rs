//! Pages in a real browser, in a phone's and a desktop's width, light and dark: no errors, every plot
//! is drawn, nothing is cut off, no text lies on another one or is hard to read. Skipped where there is no Chromium.

use std::{env, fs, path::Path, path::PathBuf, process::Command};

use takt_report::{Report, Row, html, simulation};

const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
/// Widths of a phone and a desktop, in CSS pixels.
const WIDTHS: [u32; 2] = [400, 1200];
/// Light and dark, as Blink numbers them.
const SCHEMES: [&str; 2] = ["1", "0"];

/// Looks at the page in a frame of the given width.
const LOOK: &str = include_str!("browser.html");

#[test]
fn a_browser_shows_all_of_the_page_at_every_width() {
    shows_all_of(&html(&shown_reports()));
}

#[test]
fn a_browser_shows_all_of_a_simulation() {
    let rows = |class: &str| {
        ["takt", "takt-departure", "takt-tree", "cake", "fifo"].map(|scheduler| Row {
            scheduler: scheduler.to_owned(),
            case: format!("home-gateway/{class}"),
            metrics: serde_json::from_value(serde_json::json!({
                "rate_curve_bps": [[0, 0], [500_000_000, 30e6], [9e9, 12e6]],
                "throughput_bps": 12_345_678,
                "delay_p50_ns": 12_000, "delay_p99_ns": 410_000, "delay_max_ns": 2_000_000,
            }))
            .unwrap(),
        })
    };
    let classes = [
        "calls",
        "default",
        "a-class-with-a-rather-long-name",
        "backup",
    ];
    let rows = classes.iter().flat_map(|class| rows(class)).collect();
    shows_all_of(&simulation(
        "home-gateway.toml with the traffic of a home",
        rows,
    ));
}

fn shows_all_of(page: &str) {
    let Some(browser) = find_browser() else {
        println!("skipped: there is no Chromium on the path (Debian: apt-get install chromium)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.html"), page).unwrap();
    fs::write(folder.path().join("look.html"), LOOK).unwrap();
    let plots = page.matches("<svg").count();
    for width in WIDTHS {
        for scheme in SCHEMES {
            let seen = look(&browser, folder.path(), width, scheme);
            assert_eq!(seen, format!("{plots} plots"), "at {width} px");
        }
    }
}

/// The browser's output.
fn look(browser: &Path, folder: &Path, width: u32, scheme: &str) -> String {
    let done = Command::new(browser)
        // The page is our own, and a browser that runs as root has no sandbox. Its profile is
        // removed with the directory.
        .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
        .args(["--hide-scrollbars", "--allow-file-access-from-files"])
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        // The browser's virtual time: it ends as soon as nothing is pending.
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!(
            "file://{}#{width}",
            folder.join("look.html").display()
        ))
        .output()
        .unwrap();
    let page = String::from_utf8_lossy(&done.stdout);
    let seen = page
        .split_once("<pre id=\"seen\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"));
    let Some((seen, _)) = seen else {
        let said = String::from_utf8_lossy(&done.stderr);
        panic!("the browser has seen nothing ({}):\n{said}", done.status);
    };
    seen.to_owned()
}

fn find_browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
}

/// The results in docs/: as much as a full run of everything shows.
fn shown_reports() -> Vec<Report> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    ["pacing", "background", "beats", "radio", "crowd", "cost"]
        .map(|name| {
            let json = fs::read(results.join(name).with_extension("json")).unwrap();
            serde_json::from_slice(&json).unwrap()
        })
        .into()
}
