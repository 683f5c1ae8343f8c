//! Files that are replaced only when their new content is complete.

use super::error::TraceError;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Writes a temporary file in the same folder, and renames it when `fill` returns. An old file is
/// kept if anything fails. Pipes, terminals and devices are written directly.
pub(crate) fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), TraceError> {
    let written = match fs::metadata(path) {
        Ok(existing) if existing.is_dir() => {
            let error = TraceError::directory("name a file in it");
            return Err(error.in_file(path));
        }
        Ok(existing) if !existing.is_file() => write_through(path, fill),
        Ok(existing) => write_renamed(path, Some(existing.permissions()), fill),
        Err(_) => write_renamed(path, None, fill),
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
    permissions: Option<fs::Permissions>,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    // A link is kept: the file that it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (temporary, created) = create_beside(&target)?;
    let written = (|| {
        let mut writer = BufWriter::new(created);
        fill(&mut writer)?;
        writer.into_inner()?;
        if let Some(permissions) = permissions {
            fs::set_permissions(&temporary, permissions)?;
        }
        fs::rename(&temporary, &target)
    })();
    if written.is_err() {
        // The error of the write is returned, not that of the cleanup.
        drop(fs::remove_file(&temporary));
    }
    written
}

/// Identifies the file at a path, to detect that another file has replaced it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    #[cfg(unix)]
    inode: (u64, u64),
    modified: Option<std::time::SystemTime>,
    len: u64,
}

impl FileIdentity {
    /// `None` if there is no file.
    pub(crate) fn of(path: &Path) -> Option<FileIdentity> {
        let file = fs::metadata(path).ok()?;
        Some(FileIdentity {
            #[cfg(unix)]
            inode: {
                use std::os::unix::fs::MetadataExt as _;
                (file.dev(), file.ino())
            },
            modified: file.modified().ok(),
            len: file.len(),
        })
    }
}

/// Writes a file as [`write_whole`] does, but only over the file that was there `before`. If another process has
/// written it since then, the new content goes to the first of `others` that does not exist. Returns the path that was
/// written.
pub(crate) fn write_unless_taken(
    path: &Path,
    before: Option<&FileIdentity>,
    others: impl Iterator<Item = PathBuf>,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<PathBuf, TraceError> {
    if fs::metadata(path).is_ok_and(|existing| !existing.is_file()) {
        return write_whole(path, fill).map(|()| path.to_owned());
    }
    place_unless_taken(path, before, others, fill).map_err(|error| TraceError::write(path, error))
}

fn place_unless_taken(
    path: &Path,
    before: Option<&FileIdentity>,
    others: impl Iterator<Item = PathBuf>,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (temporary, created) = create_beside(&target)?;
    let placed = (|| {
        let mut writer = BufWriter::new(created);
        fill(&mut writer)?;
        writer.into_inner()?;
        if replace(&target, before, &temporary)? {
            return Ok(path.to_owned());
        }
        for other in others {
            // Creating the file reserves the name. The content is written at once.
            match File::options().write(true).create_new(true).open(&other) {
                Ok(_) => return fs::rename(&temporary, &other).map(|()| other),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    })();
    if placed.is_err() {
        drop(fs::remove_file(&temporary));
    }
    placed
}

/// Replaces the file that was there before by `new`; false if another file is there now.
fn replace(target: &Path, before: Option<&FileIdentity>, new: &Path) -> io::Result<bool> {
    let Some(before) = before else {
        return match File::options().write(true).create_new(true).open(target) {
            Ok(_) => fs::rename(new, target).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        };
    };
    // Only one process can move the old file away. The name is free for a moment.
    let (old, _) = create_beside(target)?;
    match fs::rename(target, &old) {
        Ok(()) if FileIdentity::of(&old).as_ref() == Some(before) => {
            if let Ok(existing) = fs::metadata(&old) {
                fs::set_permissions(new, existing.permissions())?;
            }
            fs::rename(new, target)?;
            fs::remove_file(&old)?;
            Ok(true)
        }
        Ok(()) => {
            fs::rename(&old, target)?;
            Ok(false)
        }
        Err(error) => {
            fs::remove_file(&old)?;
            match error.kind() {
                io::ErrorKind::NotFound => Ok(false),
                _ => Err(error),
            }
        }
    }
}

/// Creates a file in the directory of `target`, under a new name that cannot be predicted. So two writers of one file
/// do not use the same temporary file, and a link that an attacker placed in advance is not followed.
pub(crate) fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    const ATTEMPTS: u32 = 16;
    let random = RandomState::new();
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{:016x}.partial", random.hash_one(attempt)));
        let partial = target.with_file_name(name);
        match File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&partial)
        {
            Ok(file) => return Ok((partial, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("whole-file-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_failed_write_keeps_the_old_file_and_leaves_nothing_else() {
        let folder = folder("failed");
        let path = folder.join("run.json");
        fs::write(&path, "old").unwrap();
        let failed = write_whole(&path, |file| {
            file.write_all(b"new")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn two_writers_of_one_file_use_different_names() {
        let folder = folder("two");
        let path = folder.join("run.json");
        let (first, _) = create_beside(&path).unwrap();
        let (second, _) = create_beside(&path).unwrap();
        assert_ne!(first, second);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder("permissions");
        let path = folder.join("run.json");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write_whole(&path, |file| file.write_all(b"new")).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::remove_dir_all(&folder).unwrap();
    }
}
