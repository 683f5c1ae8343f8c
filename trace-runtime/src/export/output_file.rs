//! Writes a trace to a file in the format that the file's ending names.

use super::file::with_infix;
use super::{
    ChakraTrace, ChromeTrace, CollapsedStacks, CsvTable, Exporter, PerfettoTrace, Speedscope,
    TorchMemory, TraceJson,
};
use crate::model::whole_file::{FileIdentity, write_unless_taken, write_whole};
use crate::model::{TraceError, TraceErrorKind, TraceView};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A file format, named by the ending of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// [`TraceJson`].
    Json,
    /// [`ChromeTrace`].
    Chrome,
    /// [`PerfettoTrace`].
    Perfetto,
    /// [`ChakraTrace`].
    Chakra,
    /// [`Speedscope`].
    Speedscope,
    /// [`CollapsedStacks`].
    Collapsed,
    /// [`CsvTable::ByShape`].
    Csv,
    /// [`TorchMemory`].
    TorchMemory,
    /// `FlameGraph`, with the feature `flamegraph`.
    Svg,
    /// `HtmlPage`, with the feature `html`.
    Html,
    /// `ParquetEntries`, with the feature `parquet`.
    Parquet,
    /// `ParquetShapes`, with the feature `parquet`.
    ParquetShapes,
}

/// If one ending is part of another, the longer one comes first.
const ENDINGS: [(&str, FileFormat); 16] = [
    (".speedscope.json", FileFormat::Speedscope),
    (".chrome.json", FileFormat::Chrome),
    (".pt.trace.json", FileFormat::Chrome),
    (".json", FileFormat::Json),
    (".pftrace", FileFormat::Perfetto),
    (".perfetto-trace", FileFormat::Perfetto),
    (".et", FileFormat::Chakra),
    (".collapsed", FileFormat::Collapsed),
    (".folded", FileFormat::Collapsed),
    (".svg", FileFormat::Svg),
    (".html", FileFormat::Html),
    (".csv", FileFormat::Csv),
    (".pickle", FileFormat::TorchMemory),
    (".shapes.parquet", FileFormat::ParquetShapes),
    (".parquet", FileFormat::Parquet),
    (".pq", FileFormat::Parquet),
];

impl FileFormat {
    /// Every format.
    pub const ALL: [FileFormat; 12] = [
        FileFormat::Json,
        FileFormat::Chrome,
        FileFormat::Perfetto,
        FileFormat::Chakra,
        FileFormat::Speedscope,
        FileFormat::Collapsed,
        FileFormat::Svg,
        FileFormat::Html,
        FileFormat::Csv,
        FileFormat::TorchMemory,
        FileFormat::Parquet,
        FileFormat::ParquetShapes,
    ];

    /// The name on a command line: `json`, `parquet-shapes`.
    pub const fn name(self) -> &'static str {
        match self {
            FileFormat::Json => "json",
            FileFormat::Chrome => "chrome",
            FileFormat::Perfetto => "perfetto",
            FileFormat::Chakra => "chakra",
            FileFormat::Speedscope => "speedscope",
            FileFormat::Collapsed => "collapsed",
            FileFormat::Svg => "svg",
            FileFormat::Html => "html",
            FileFormat::Csv => "csv",
            FileFormat::TorchMemory => "torch-memory",
            FileFormat::Parquet => "parquet",
            FileFormat::ParquetShapes => "parquet-shapes",
        }
    }

    /// The endings that name a format, with their dot. `.gz` may follow each.
    pub fn endings() -> impl Iterator<Item = (&'static str, FileFormat)> {
        ENDINGS.into_iter()
    }

    /// The format of a file name, by its ending without `.gz`; upper and lower case are the same.
    ///
    /// # Errors
    /// [`UnknownFormat`](TraceErrorKind::UnknownFormat), with a list of all endings.
    pub fn of(path: impl AsRef<Path>) -> Result<FileFormat, TraceError> {
        let path = path.as_ref();
        let name = lower_case(path);
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        let found = ENDINGS.iter().find(|(ending, _)| plain.ends_with(ending));
        found.map(|&(_, format)| format).ok_or_else(|| {
            let known = ENDINGS.map(|(ending, _)| format!("`{ending}`")).join(", ");
            unknown_format(format!(
                "the ending of the file name does not name a format; use one of {known}, \
                 and `.gz` after it to compress"
            ))
            .in_file(path)
        })
    }

    /// The exporter of the format.
    ///
    /// # Errors
    /// [`UnknownFormat`](TraceErrorKind::UnknownFormat) if this build does not have the format's feature.
    pub fn exporter(self) -> Result<Box<dyn Exporter>, TraceError> {
        Ok(match self {
            FileFormat::Json => Box::new(TraceJson),
            FileFormat::Chrome => Box::new(ChromeTrace::new()),
            FileFormat::Perfetto => Box::new(PerfettoTrace::new()),
            FileFormat::Chakra => Box::new(ChakraTrace),
            FileFormat::Speedscope => Box::new(Speedscope),
            FileFormat::Collapsed => Box::new(CollapsedStacks),
            FileFormat::Csv => Box::new(CsvTable::ByShape),
            FileFormat::TorchMemory => Box::new(TorchMemory),
            #[cfg(feature = "flamegraph")]
            FileFormat::Svg => Box::new(super::FlameGraph::new()),
            #[cfg(not(feature = "flamegraph"))]
            FileFormat::Svg => return Err(without_feature("flame graphs", "flamegraph")),
            #[cfg(feature = "html")]
            FileFormat::Html => Box::new(super::HtmlPage::new()),
            #[cfg(not(feature = "html"))]
            FileFormat::Html => return Err(without_feature("HTML pages", "html")),
            #[cfg(feature = "parquet")]
            FileFormat::Parquet => Box::new(super::parquet::ParquetEntries),
            #[cfg(feature = "parquet")]
            FileFormat::ParquetShapes => Box::new(super::parquet::ParquetShapes),
            #[cfg(not(feature = "parquet"))]
            FileFormat::Parquet | FileFormat::ParquetShapes => {
                return Err(without_feature("Parquet", "parquet"));
            }
        })
    }
}

/// A file to write a trace to, checked before there is a trace: its ending names a format that this build
/// can write, and its directory exists.
///
/// Make one at the start of a long run, so that a mistake in the path is found at the start and not at the end.
/// [`write_file`] makes one and writes at once.
///
/// ```
/// use trace_runtime::RecordedExecutionTrace;
/// use trace_runtime::export::OutputFile;
/// use trace_runtime::model::TraceErrorKind;
///
/// let file = OutputFile::new(std::env::temp_dir().join("run.pftrace"))?;
/// file.write(&RecordedExecutionTrace::new())?;
///
/// let error = OutputFile::new("run.txt").unwrap_err();
/// assert_eq!(error.kind(), TraceErrorKind::UnknownFormat);
/// # Ok::<(), trace_runtime::TraceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    path: PathBuf,
    format: FileFormat,
}

impl OutputFile {
    /// Checks the path.
    ///
    /// # Errors
    /// [`UnknownFormat`](TraceErrorKind::UnknownFormat) for an ending that names no format of this build,
    /// [`Directory`](TraceErrorKind::Directory) for a directory, and [`Write`](TraceErrorKind::Write) if the
    /// file's directory does not exist.
    pub fn new(path: impl Into<PathBuf>) -> Result<OutputFile, TraceError> {
        let path = path.into();
        if path.is_dir() {
            return Err(TraceError::directory("name a file in it").in_file(&path));
        }
        let folder = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let message = format!(
                "cannot be written: there is no directory `{}`; create it first",
                folder.display()
            );
            return Err(TraceError::new(TraceErrorKind::Write, message).in_file(&path));
        }
        let format = FileFormat::of(&path)?;
        let file = OutputFile { path, format };
        file.exporter()?;
        Ok(file)
    }

    /// Writes the trace. The file is written under another name in the same folder, and renamed when it is complete. So
    /// an old file is never partly overwritten.
    ///
    /// The whole trace is written, even if it has more events than the viewers of the format open: such a file is
    /// better than none. [`write`](super::write()) returns an error instead.
    ///
    /// # Errors
    /// [`Write`](TraceErrorKind::Write).
    pub fn write(&self, trace: &dyn TraceView) -> Result<(), TraceError> {
        let exporter = self.exporter()?;
        write_whole(&self.path, |file| exporter.export(trace, file))
    }

    /// Writes the trace as [`write`](Self::write) does. But if another process has written the file since it had the
    /// identity `before`, the name gets `rank-3` or `pid-1234` before its ending, and a number if that name is taken
    /// too. Returns the path that was written.
    pub(crate) fn write_unless_taken(
        &self,
        trace: &dyn TraceView,
        before: Option<&FileIdentity>,
        rank: Option<u32>,
    ) -> Result<PathBuf, TraceError> {
        let own = match rank {
            Some(rank) => format!("rank-{rank}"),
            None => format!("pid-{}", std::process::id()),
        };
        let exporter = self.exporter()?;
        let others = self.beside(exporter.extension(), &own);
        write_unless_taken(&self.path, before, others, |file| {
            exporter.export(trace, file)
        })
    }

    /// The file's path with `infix` before its ending, then with a number after the infix.
    fn beside(&self, extension: &str, infix: &str) -> impl Iterator<Item = PathBuf> {
        let numbered = (2..1000).map(move |number| format!("{infix}-{number}"));
        std::iter::once(infix.to_owned())
            .chain(numbered)
            .map(move |infix| with_infix(&self.path, extension, &infix))
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format that the ending names.
    pub fn format(&self) -> FileFormat {
        self.format
    }

    fn exporter(&self) -> Result<Box<dyn Exporter>, TraceError> {
        self.format
            .exporter()
            .and_then(|exporter| compressed(&self.path, exporter))
            .map_err(|error| error.in_file(&self.path))
    }
}

/// Writes a trace to a file in the format of its ending: `.json`, `.chrome.json`, `.pftrace`, `.et`, `.collapsed`,
/// `.speedscope.json`, `.csv`, `.pickle`, `.svg`, `.html`, `.parquet`, and others in [`FileFormat::endings`];
/// compressed if `.gz` follows, with the feature `gzip`.
///
/// See [`OutputFile`] for the guarantees and errors, and to check the path in advance.
pub fn write_file(trace: &dyn TraceView, path: impl Into<PathBuf>) -> Result<(), TraceError> {
    OutputFile::new(path)?.write(trace)
}

/// The exporter, compressed with gzip if the path ends in `.gz`.
#[cfg_attr(
    feature = "gzip",
    expect(clippy::unnecessary_wraps, reason = "fails only without the feature")
)]
fn compressed(path: &Path, exporter: Box<dyn Exporter>) -> Result<Box<dyn Exporter>, TraceError> {
    let is_gzip = |extension: &OsStr| extension.eq_ignore_ascii_case("gz");
    if !path.extension().is_some_and(is_gzip) {
        return Ok(exporter);
    }
    #[cfg(feature = "gzip")]
    return Ok(Box::new(super::Gzip(exporter)));
    #[cfg(not(feature = "gzip"))]
    Err(without_feature("gzip", "gzip"))
}

#[cfg(not(all(
    feature = "gzip",
    feature = "parquet",
    feature = "flamegraph",
    feature = "html"
)))]
fn without_feature(format: &str, feature: &str) -> TraceError {
    unknown_format(format!(
        "this build cannot write {format}; enable the feature `{feature}` of `trace-runtime`, \
         or use another ending"
    ))
}

fn unknown_format(message: String) -> TraceError {
    TraceError::new(TraceErrorKind::UnknownFormat, message)
}

fn lower_case(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_ascii_lowercase()
}
