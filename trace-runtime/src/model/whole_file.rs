//! Files that are complete or not there.

use super::error::TraceError;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// Writes a file that takes its name only once `fill` is done with it. What is no file but has a name,
/// a pipe or a terminal, is written to as it is.
pub(crate) fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), TraceError> {
    let written = match fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            let error = TraceError::directory("name a file in it");
            return Err(error.in_file(path));
        }
        Ok(there) if !there.is_file() => write_through(path, fill),
        _ => write_renamed(path, fill),
    };
    written.map_err(|error| TraceError::write(path, error))
}

fn write_through(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = BufWriter::new(File::options().write(true).open(path)?);
    fill(&mut writer)?;
    writer.flush()
}

fn write_renamed(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    // Behind a link lies the file that is meant.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut partial = target.as_os_str().to_owned();
    partial.push(".partial");
    let written = (|| {
        let mut writer = BufWriter::new(File::create(&partial)?);
        fill(&mut writer)?;
        writer.into_inner()?;
        fs::rename(&partial, &target)
    })();
    if written.is_err() {
        // Nothing more can be done about a leftover than to say why it is there.
        drop(fs::remove_file(&partial));
    }
    written
}
