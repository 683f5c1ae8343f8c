//! Recordings that are split into several files.

use super::collect::{read, read_with};
use super::header::{FileHeader, HEADER_BYTES};
use crate::model::{TraceError, TraceStore};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Reads the recording in a file, and its parts in the same folder: `run.1.optrace` is a part of
/// `run.optrace`. A part can also be read without the other files.
pub(crate) fn open(path: &Path) -> Result<TraceStore, TraceError> {
    let read = || {
        let mut main = File::open(path).map_err(TraceError::reading)?;
        let own = header_of(&mut main);
        main.seek(SeekFrom::Start(0)).map_err(TraceError::reading)?;
        let parts: Vec<File> = own.map_or_else(Vec::new, |own| {
            let named = named_parts(path).into_iter();
            named
                .filter_map(|(_, path)| open_part(&path, &own))
                .collect()
        });
        if parts.is_empty() {
            return read(main);
        }
        read_with(main, parts)
    };
    read().map_err(|error| error.in_file(path))
}

/// The files that are named as parts of a recording, with their numbers, in order.
pub(super) fn named_parts(path: &Path) -> Vec<(u64, PathBuf)> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let Ok(files) = fs::read_dir(folder.unwrap_or(Path::new("."))) else {
        return Vec::new();
    };
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for file in files.flatten() {
        let number = path.file_stem().and_then(|stem| {
            let name = file.file_name();
            let name = name.to_str()?.strip_prefix(stem.to_str()?)?;
            name.strip_prefix('.')?
                .strip_suffix(".optrace")?
                .parse()
                .ok()
        });
        found.extend(number.map(|number| (number, file.path())));
    }
    found.sort_unstable();
    found
}

/// Opens a part. `None` if it belongs to another recording, or has been removed.
pub(super) fn open_part(path: &Path, own: &FileHeader) -> Option<File> {
    let mut file = File::open(path).ok()?;
    let header = header_of(&mut file)?;
    let is_same = header.pid == own.pid && header.start_unix_ns == own.start_unix_ns;
    file.seek(SeekFrom::Start(0)).ok()?;
    is_same.then_some(file)
}

fn header_of(file: &mut File) -> Option<FileHeader> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64)
        .read_to_end(&mut bytes)
        .ok()?;
    FileHeader::parse(&bytes).ok().map(|(header, _)| header)
}
