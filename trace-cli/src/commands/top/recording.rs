//! Finds the recording that a command line names: a file, or a process.

use crate::failure::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// The file of a recording. A number is a process, unless there is a file with that name.
pub(in crate::commands) fn recording_of(text: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(text);
    match text.parse::<u32>() {
        Ok(pid) if !path.exists() => recording_of_process(pid),
        _ => Ok(path),
    }
}

fn recording_of_process(pid: u32) -> Result<PathBuf, Failure> {
    if !Path::new("/proc/self/maps").exists() {
        return Err(Failure::Message(
            "this system does not list the files that a process has mapped; name the recording instead"
                .to_owned(),
        ));
    }
    let maps = fs::read(format!("/proc/{pid}/maps")).map_err(|error| {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such process".to_owned(),
            _ => error.to_string(),
        };
        Failure::Message(format!("process {pid}: {reason}"))
    })?;
    mapped_recording(&String::from_utf8_lossy(&maps)).ok_or_else(|| {
        Failure::Message(format!(
            "process {pid} has no recording open; start it with `OPTRACE=run.optrace`, or name a file"
        ))
    })
}

/// The file with the ending `.optrace` in a list of mapped files.
fn mapped_recording(maps: &str) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        // Address, permissions, offset, device and inode, then the path, which may have spaces.
        let path = &line[line.find('/')?..];
        path.ends_with(".optrace").then(|| PathBuf::from(path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapped_recording_is_found() {
        let maps = "\
55d0-55d1 r-xp 00000000 fe:00 12 /usr/bin/train
7f10-7f50 rw-s 00000000 fe:00 99 /data/my runs/run.optrace
7f50-7f60 rw-p 00000000 00:00 0
7f60-7f70 rw-s 00000000 fe:00 98 /data/old.optrace (deleted)
";
        let expected = Some(PathBuf::from("/data/my runs/run.optrace"));
        assert_eq!(mapped_recording(maps), expected);
        assert_eq!(mapped_recording("7f60-7f70 rw-p 0 00:00 0 [heap]\n"), None);
    }

    #[test]
    fn a_process_without_a_recording_is_an_error() {
        let error = recording_of(&std::process::id().to_string()).expect_err("an error");
        assert!(error.to_string().contains("OPTRACE=run.optrace"), "{error}");
        let error = recording_of("4294967295").expect_err("an error");
        assert!(error.to_string().contains("no such process"), "{error}");
    }
}
