//! A published crate, copied from the registry to a folder where it can be changed and built.

use crate::functions;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A crate to test, its version and the features that its tests need.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    pub name: &'static str,
    pub version: &'static str,
    pub features: &'static [&'static str],
    /// Arguments of `cargo add` for a crate that the tests need and that is not in the published manifest: cargo leaves
    /// out those that have only a path.
    pub for_tests: &'static [&'static str],
    /// Builds with optimisation, for tests that would take hours without it.
    pub optimised: bool,
    /// Part of the short selection.
    pub short: bool,
}

/// A copy of a published crate.
#[derive(Debug)]
pub struct Project {
    pub folder: PathBuf,
}

impl Project {
    /// Copies the crate's source from the registry to `folder`, and replaces an earlier copy.
    pub fn copy(published: Published, folder: &Path) -> Result<Project, String> {
        let source = source_of(published, &folder.with_extension("fetch"))?;
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        copy_folder(&source, folder).map_err(|error| format!("{}: {error}", source.display()))?;
        // Makes the copy independent of the workspace around it, and of the lock file of its authors.
        let manifest = folder.join("Cargo.toml");
        let mut text = read(&manifest)?;
        if !text.contains("[workspace]") {
            text.push_str("\n[workspace]\n");
        }
        let mut text = without_exact_versions(&text);
        // A crate that only the tests need may depend on the published crate. It must use this copy; otherwise its
        // types would differ from those of the tests.
        let _ = write!(
            text,
            "\n[patch.crates-io]\n\"{}\" = {{ path = \".\" }}\n",
            published.name
        );
        write(&manifest, &text)?;
        let _ = fs::remove_file(folder.join("Cargo.lock"));
        if !published.for_tests.is_empty() {
            run(Command::new("cargo")
                .args(["add", "--quiet", "--dev"])
                .args(published.for_tests)
                .current_dir(folder))?;
        }
        Ok(Project {
            folder: folder.to_owned(),
        })
    }

    /// Adds the crate at `path` to the dependencies.
    pub fn depend_on(&self, path: &Path) -> Result<(), String> {
        run(Command::new("cargo")
            .args(["add", "--quiet", "--path"])
            .arg(path)
            .current_dir(&self.folder))
        .map(drop)
    }

    /// Puts the attribute on every function below `src/`; returns the number of functions.
    pub fn annotate(&self) -> Result<usize, String> {
        let mut count = 0;
        for path in rust_files(&self.folder.join("src")) {
            let text = read(&path)?;
            // Some files are included into others and do not consist of items.
            let Ok((annotated, functions)) =
                functions::annotate(&text, "#[::trace_core::traced_op]")
            else {
                continue;
            };
            write(&path, &annotated)?;
            count += functions;
        }
        Ok(count)
    }

    /// Links a crate that no code names, by an item at the start of the library.
    pub fn link(&self, crate_name: &str) -> Result<(), String> {
        let path = self.folder.join("src/lib.rs");
        let mut text = read(&path)?;
        let offset = functions::first_item(&text)
            .map_err(|error| format!("{}: {error}", path.display()))?
            .unwrap_or(text.len());
        text.insert_str(
            offset,
            &format!("#[doc(hidden)] extern crate {crate_name} as _;\n"),
        );
        write(&path, &text)
    }
}

/// The manifest without `=` before the versions of crates that only the tests need. Those are pinned for an old
/// compiler, and may conflict with the versions that the recorder needs.
fn without_exact_versions(manifest: &str) -> String {
    let mut is_for_tests = false;
    let lines = manifest.lines().map(|line| {
        if line.starts_with('[') {
            is_for_tests = line.contains("dev-dependencies");
        }
        if is_for_tests {
            line.replace("version = \"=", "version = \"")
        } else {
            line.to_owned()
        }
    });
    lines.flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// Asks cargo for the folder into which it unpacked the crate.
fn source_of(published: Published, scratch: &Path) -> Result<PathBuf, String> {
    let error = |error: std::io::Error| format!("{}: {error}", scratch.display());
    fs::create_dir_all(scratch.join("src")).map_err(error)?;
    fs::write(scratch.join("src/lib.rs"), "").map_err(error)?;
    write(
        &scratch.join("Cargo.toml"),
        &format!(
            "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
             [dependencies]\n\"{}\" = \"={}\"\n",
            published.name, published.version
        ),
    )?;
    let text = run(Command::new("cargo")
        .args(["metadata", "--format-version=1"])
        .current_dir(scratch))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("`cargo metadata`: {error}"))?;
    metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| {
            package["name"] == published.name && package["version"] == published.version
        })
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .map(Path::to_owned)
        .ok_or_else(|| {
            format!(
                "`cargo metadata` does not list {} {}",
                published.name, published.version
            )
        })
}

/// Runs a command and returns what it wrote to standard output.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!(
            "{command:?} failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_for_tests_are_relaxed() {
        let manifest =
            "[dependencies.a]\nversion = \"=1.0\"\n[dev-dependencies.b]\nversion = \"=2.0\"\n";
        let relaxed =
            "[dependencies.a]\nversion = \"=1.0\"\n[dev-dependencies.b]\nversion = \"2.0\"\n";
        assert_eq!(without_exact_versions(manifest), relaxed);
    }
}
