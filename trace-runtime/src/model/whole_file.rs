//! Files that are complete or not there.

use super::error::TraceError;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes a file that takes its name only once `fill` is done with it.
pub(crate) fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), TraceError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let written = (|| {
        let mut writer = BufWriter::new(File::create(&partial)?);
        fill(&mut writer)?;
        writer.into_inner()?;
        fs::rename(&partial, path)
    })();
    written.map_err(|error| {
        // Nothing more can be done about a leftover than to say why it is there.
        drop(fs::remove_file(&partial));
        TraceError::write(path, error)
    })
}
