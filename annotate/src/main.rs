//! Annotates every function of published crates, and compares their own tests plain, annotated and recording.
//!
//! `annotate FOLDER [--short | NAME…]`: copies, builds and tests below FOLDER, prints a row for each crate and
//! exits with 1 if a crate has an error or a warning that it does not have plain, or a test that fails only
//! annotated.

mod functions;
mod outcome;
mod project;

use outcome::{Mode, Outcome, Parts};
use project::{Project, Published};
use std::path::Path;
use std::process::ExitCode;

const fn published(
    name: &'static str,
    version: &'static str,
    features: &'static [&'static str],
) -> Published {
    Published {
        name,
        version,
        features,
        for_tests: &[],
        optimised: false,
        short: false,
    }
}

const fn short(published: Published) -> Published {
    Published {
        short: true,
        ..published
    }
}

/// Tensor libraries, models, numerical code, and the asynchronous code that is hardest to wrap.
const ALL: &[Published] = &[
    short(published("ndarray", "0.17.2", &[])),
    short(published("tower", "0.5.3", &["full"])),
    published("smartcore", "0.7.0", &[]),
    published("candle-nn", "0.11.1", &[]),
    published("candle-transformers", "0.11.1", &[]),
    published("nalgebra", "0.35.0", &[]),
    published("futures-util", "0.3.34", &[]),
    published("tokio-util", "0.7.20", &["full"]),
    published("reqwest-middleware", "0.5.2", &[]),
    Published {
        for_tests: &["linfa-datasets@0.8.1", "--features", "generate"],
        ..published("linfa", "0.8.1", &[])
    },
    published("itertools", "0.15.0", &[]),
    Published {
        optimised: true,
        ..published("rustfft", "6.4.1", &[])
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: annotate FOLDER [--short | NAME…]");
        return ExitCode::from(2);
    };
    let wanted: Vec<String> = arguments.collect();
    if let Some(unknown) = wanted
        .iter()
        .find(|name| *name != "--short" && ALL.iter().all(|published| published.name != **name))
    {
        eprintln!("`{unknown}` is not in the list of crates in src/main.rs");
        return ExitCode::from(2);
    }
    let is_wanted = |published: &&Published| {
        wanted.is_empty()
            || wanted.iter().any(|name| name == published.name)
            || (published.short && wanted.iter().any(|name| name == "--short"))
    };
    println!(
        "| crate | functions | errors | new warnings | tests plain | idle: broken | recording: broken |"
    );
    println!("|---|---|---|---|---|---|---|");
    let (mut passed, mut failed) = (0, 0);
    for &published in ALL.iter().filter(is_wanted) {
        match compare(published, Path::new(&folder)) {
            Ok(true) => passed += 1,
            Ok(false) => failed += 1,
            Err(reason) => {
                println!(
                    "| {} {} | {} |",
                    published.name,
                    published.version,
                    reason.trim()
                );
                failed += 1;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Prints the row of one crate; true if annotating it breaks nothing.
fn compare(published: Published, folder: &Path) -> Result<bool, String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("this program is not inside the repository")?;
    let target = folder.join("target");
    let plain_project = Project::copy(published, &folder.join(published.name).join("plain"))?;
    let project = Project::copy(published, &folder.join(published.name).join("annotated"))?;
    project.depend_on(&repository.join("trace-core"))?;
    project.depend_on(&repository.join("annotate/session"))?;
    let functions = project.annotate()?;
    project.link("annotated_session")?;

    let mut plain = Outcome::default();
    let mut parts = Parts::WithTests;
    plain.check(&plain_project, published, &target, parts)?;
    if plain.errors > 0 {
        parts = Parts::Library;
        plain = Outcome::default();
        plain.check(&plain_project, published, &target, parts)?;
    }
    if plain.errors > 0 {
        return Err(format!("{} does not build plain", published.name));
    }
    let mut idle = Outcome::default();
    idle.check(&project, published, &target, parts)?;
    if idle.errors > 0 {
        println!(
            "| {} {} | {functions} | {} | the annotated crate does not compile |",
            published.name, published.version, idle.errors
        );
        for message in idle.new_messages(&plain) {
            println!("    {message}");
        }
        return Ok(false);
    }
    let mut recording = Outcome::default();
    if parts == Parts::WithTests {
        plain.test(&plain_project, published, &target, Mode::Idle)?;
        idle.test(&project, published, &target, Mode::Idle)?;
        recording.test(&project, published, &target, Mode::Recording)?;
    }

    let new_warnings = idle
        .new_messages(&plain)
        .filter(|message| message.starts_with("warning"));
    let new_warnings = new_warnings.count();
    let (broken_idle, broken_recording) = (
        idle.broken(&plain).count(),
        recording.broken(&plain).count(),
    );
    println!(
        "| {} {} | {functions} | {} | {new_warnings} | {} of {} | {broken_idle} | {broken_recording} |",
        published.name,
        published.version,
        idle.errors,
        plain.passed.len(),
        plain.passed.len() + plain.failed.len(),
    );
    for message in idle.new_messages(&plain).take(20) {
        println!("    {message}");
    }
    for (mode, outcome) in [("idle", &idle), ("recording", &recording)] {
        for test in outcome.broken(&plain).take(20) {
            println!("    {mode}: {test}");
        }
    }
    if parts == Parts::Library {
        println!("    its tests do not build from the published package");
    }
    Ok(idle.errors + new_warnings + broken_idle + broken_recording == 0)
}
