//! Follows a recording while its process writes it: each update reads only the new rows.

mod figures;
mod growing_file;
mod new_record;
mod op_totals;
mod recent_rows;
mod ring_reader;
mod tail_reader;

use super::header::{FINISHED, FileHeader, HEADER_BYTES, MAGIC, RECORDING, live};
use super::parts::{named_parts, open_part};
use super::restore::Restored;
use super::tables;
use crate::model::chunk::{PackedRow, Row};
use crate::model::ticks::TickScale;
use crate::model::{TraceError, TraceErrorKind};
use growing_file::GrowingFile;
use new_record::{NewRecord, keep_records};
pub use op_totals::LiveOp;
use op_totals::OpTotals;
use recent_rows::{Part, RecentRows};
use ring_reader::{NewInRing, RingReader, read_open_ops};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use tail_reader::TailReader;
use trace_core::__engine::extra_words;
use trace_core::__engine::rows::RawExtra;

/// Bytes that one update reads of the tail: about a million ops.
const BUDGET: usize = 8 << 20;
/// An op that has no number, because its table entry is missing.
const UNKNOWN: u32 = u32::MAX;

/// Follows a recording that a process is writing to an `.optrace` file.
///
/// Each call of [`update`](Self::update) reads what was recorded since the last one, so its cost does not grow with the
/// file. Memory grows with the number of names and shapes only.
///
/// ```
/// use trace_runtime::read::{Follower, FollowState};
/// use trace_runtime::{Session, traced_op};
///
/// #[traced_op]
/// fn scale(x: &mut [f32]) { x.iter_mut().for_each(|x| *x *= 2.0); }
///
/// # if cfg!(not(all(unix, feature = "enabled"))) { return Ok(()); }
/// let path = std::env::temp_dir().join(format!("follow-{}.optrace", std::process::id()));
/// let session = Session::builder().stream_to(&path).start()?;
/// // Any process can do this.
/// let mut follower = Follower::open(&path)?;
/// scale(&mut [1.0, 2.0]);
/// assert_eq!(follower.update()?, FollowState::UpToDate);
/// assert_eq!(follower.ops()[0].calls, 1);
/// drop(session);
/// assert_eq!(follower.update()?, FollowState::Finished);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    header: FileHeader,
    live: [u64; live::WORDS],
    /// The file with the ring, and with the records unless the recording is split.
    main: TailReader,
    /// The file of a split recording that is being read, with its number.
    part: Option<(u64, TailReader)>,
    /// For the files of a split recording that existed when following began: the position from which rows are read, by
    /// file number.
    part_rows_from: HashMap<u64, u64>,
    ring: RingReader,
    tables: Restored,
    /// The number of the op of each signature.
    op_of: Vec<u32>,
    totals: OpTotals,
    recent: RecentRows,
    /// Open ops by log, with the numbers of their ops.
    open: Vec<(u32, Vec<(u32, PackedRow)>)>,
    ended: u64,
    lost: u64,
    /// The latest end of an op, in ticks.
    last_end: u64,
    state: FollowState,
}

/// Whether a recording has been read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowState {
    /// More can be read now: this many bytes.
    Behind(u64),
    /// Everything so far has been read. The recording continues, or its process has ended without finishing it.
    UpToDate,
    /// The recording was finished, and all of it has been read.
    Finished,
}

/// An op that a thread is in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOp {
    /// The op's name.
    pub operation: String,
    /// The shapes of its inputs.
    pub input_shapes: Vec<Vec<usize>>,
    /// The time since the op began, in nanoseconds.
    pub duration_ns: u64,
}

/// A thread and the ops that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenThread {
    /// The name of the thread, if it has one.
    pub name: Option<String>,
    /// The number of the thread.
    pub thread: Option<u64>,
    /// The outermost first.
    pub ops: Vec<OpenOp>,
}

impl Follower {
    /// Follows a recording from its beginning. Nothing is read before the first [`update`](Self::update).
    ///
    /// # Errors
    /// The file cannot be read, or is not a recording.
    pub fn open(path: impl AsRef<Path>) -> Result<Follower, TraceError> {
        let path = path.as_ref();
        Follower::of(path).map_err(|error| error.in_file(path))
    }

    /// Follows a recording from now on. Ops that have ended and are no longer in its ring are skipped, so that a large
    /// file need not be read as a whole.
    ///
    /// # Errors
    /// The file cannot be read, or is not a recording.
    pub fn open_at_end(path: impl AsRef<Path>) -> Result<Follower, TraceError> {
        let path = path.as_ref();
        let mut follower = Follower::open(path)?;
        follower
            .main
            .pass_rows_before(follower.live[live::TAIL_END]);
        follower.part_rows_from = named_parts(path)
            .into_iter()
            .filter_map(|(number, path)| Some((number, std::fs::metadata(path).ok()?.len())))
            .collect();
        Ok(follower)
    }

    fn of(path: &Path) -> Result<Follower, TraceError> {
        let metadata = std::fs::metadata(path).map_err(TraceError::reading)?;
        if metadata.is_dir() {
            return Err(TraceError::directory("name a recording in it"));
        }
        let not_a_recording = || {
            TraceError::new(
                TraceErrorKind::NotATrace,
                "is not a recording that can be followed; \
                 record with `stream_to(\"run.optrace\")` or `OPTRACE=run.optrace`",
            )
        };
        if !metadata.is_file() {
            return Err(not_a_recording());
        }
        let mut file = GrowingFile::new(File::open(path).map_err(TraceError::reading)?);
        let mut bytes = [0; HEADER_BYTES];
        let bytes = file.read_at(0, &mut bytes).map_err(TraceError::reading)?;
        if !bytes.starts_with(&MAGIC) {
            return Err(not_a_recording());
        }
        let (header, live) = FileHeader::parse(bytes)?;
        let file = File::open(path).map_err(TraceError::reading)?;
        Ok(Follower {
            path: path.to_owned(),
            header,
            live,
            main: TailReader::new(file, header.tail_at()),
            part: None,
            part_rows_from: HashMap::new(),
            ring: RingReader::default(),
            tables: Restored::default(),
            op_of: Vec::new(),
            totals: OpTotals::default(),
            recent: RecentRows::default(),
            open: Vec::new(),
            ended: 0,
            lost: 0,
            last_end: 0,
            state: FollowState::UpToDate,
        })
    }

    /// Keeps about this many of the latest ops, for [`recent`](Self::recent).
    #[must_use]
    pub fn keeping(mut self, ops: usize) -> Follower {
        self.recent = RecentRows::new(ops);
        self
    }

    /// Reads new rows, up to a limit that takes about a tenth of a second.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn update(&mut self) -> Result<FollowState, TraceError> {
        let read = self.read_new();
        read.map_err(|error| error.in_file(&self.path))
    }

    fn read_new(&mut self) -> Result<FollowState, TraceError> {
        self.live = read_live(self.main.file())?;
        let is_finished = self.live[live::STATE] == FINISHED;
        // Rows that disappear from the ring after it was read are in the tail. So the ring is read first, and its rows
        // are used only if the tail is then read to its end.
        let (ring, open) = if is_finished || self.behind() >= BUDGET as u64 {
            Default::default()
        } else {
            let file = self.main.file();
            let ring = self.ring.read(file, &self.header);
            let open = read_open_ops(file, &self.header);
            (
                ring.map_err(TraceError::reading)?,
                open.map_err(TraceError::reading)?,
            )
        };
        self.live = read_live(self.main.file())?;
        let mut budget = BUDGET;
        let is_at_end = self.read_main(&mut budget)? && self.read_parts(&mut budget)?;
        self.state = if !is_at_end {
            FollowState::Behind(self.behind().max(1))
        } else if is_finished {
            FollowState::Finished
        } else {
            FollowState::UpToDate
        };
        if is_at_end {
            self.add_ring(&ring);
            self.set_open(open);
        }
        Ok(self.state)
    }

    /// Bytes of records that have not been read.
    fn behind(&self) -> u64 {
        self.live[live::TAIL_END].saturating_sub(self.main.position())
    }

    /// Reads new records. True if there are no more.
    fn read_main(&mut self, budget: &mut usize) -> Result<bool, TraceError> {
        let mut new = Vec::new();
        let tail_end = self.live[live::TAIL_END];
        let read = self.main.read(tail_end, budget, keep_records(&mut new));
        let is_at_end = read.map_err(TraceError::reading)?;
        self.add_records(new);
        Ok(is_at_end)
    }

    /// Reads new records of a recording that is split. True if there are no more.
    fn read_parts(&mut self, budget: &mut usize) -> Result<bool, TraceError> {
        // A split recording has no records in its main file.
        if self.main.position() > self.header.tail_at() {
            return Ok(true);
        }
        loop {
            let Some((_, part)) = &mut self.part else {
                if self.take_next_part() {
                    continue;
                }
                return Ok(true);
            };
            let live = read_live(part.file())?;
            let mut new = Vec::new();
            let read = part.read(live[live::TAIL_END], budget, keep_records(&mut new));
            let is_at_end = read.map_err(TraceError::reading)?;
            self.add_records(new);
            if !is_at_end {
                return Ok(false);
            }
            if live[live::STATE] == RECORDING || !self.take_next_part() {
                return Ok(true);
            }
        }
    }

    /// Continues with the next file of a split recording, if there is one.
    fn take_next_part(&mut self) -> bool {
        let last = self.part.as_ref().map_or(0, |(number, _)| *number);
        let later = named_parts(&self.path).into_iter();
        let mut later = later.filter(|(number, _)| *number > last);
        let next = later.find_map(|(number, path)| Some((number, open_part(&path, &self.header)?)));
        let Some((number, file)) = next else {
            return false;
        };
        if let Some((_, before)) = &self.part {
            self.lost = self.lost.saturating_add(before.lost_ops());
        }
        let mut part = TailReader::new(file, self.header.without_ring().tail_at());
        part.pass_rows_before(self.part_rows_from.get(&number).copied().unwrap_or(0));
        self.part = Some((number, part));
        true
    }

    fn add_records(&mut self, records: Vec<NewRecord>) {
        for record in records {
            match record {
                NewRecord::Tables { position, words } => self.add_tables(position, &words),
                NewRecord::Rows {
                    log,
                    sequence,
                    rows,
                    extras,
                } => {
                    let read = self.ring.take_from_tail(log, sequence);
                    if let Some(new) = rows.get(read..) {
                        self.add_rows(log, new, &extras);
                    }
                }
                NewRecord::Passed { log, sequence } => {
                    self.ring.take_from_tail(log, sequence);
                }
                NewRecord::Damaged { rows } => self.lost = self.lost.saturating_add(rows),
            }
        }
    }

    fn add_ring(&mut self, new: &NewInRing) {
        for (position, words) in &new.tables {
            self.add_tables(*position, words);
        }
        for (sequence, chunk) in &new.chunks {
            // A chunk that is also in the tail was counted when the tail was read.
            if !self.ring.is_in_tail(chunk.log, *sequence) {
                self.add_rows(chunk.log, &chunk.rows, &chunk.extras);
            }
        }
        self.ring.finish(new);
    }

    fn add_tables(&mut self, position: u64, words: &[u64]) {
        for entry in tables::decode(words) {
            self.tables.add_entry(position, entry);
        }
    }

    fn add_rows(&mut self, log: u32, rows: &[PackedRow], extras: &[u64]) {
        let mut of_rows: HashMap<u32, RawExtra> = HashMap::new();
        if rows.iter().any(|row| Row::unpack(*row).extra) {
            let mut words = extras;
            while let Some((extra, rest)) = extra_words::decode(words) {
                of_rows.insert(extra.step, extra);
                words = rest;
            }
        }
        let scale = TickScale::new(self.header.base_ticks, self.header.rate);
        for row in rows.iter().map(|row| Row::unpack(*row)) {
            let op = self.op_of(row.signature);
            if op == UNKNOWN {
                self.lost = self.lost.saturating_add(1);
                continue;
            }
            let extra = of_rows.get(&row.step).filter(|_| row.extra);
            let duration = extra.and_then(|extra| extra.duration);
            let end = row.start.saturating_add(duration.unwrap_or(row.duration));
            self.last_end = self.last_end.max(end);
            self.ended += 1;
            self.totals.add(log, op, row, extra, scale);
        }
        self.recent.add(Part {
            log,
            rows: rows.to_vec(),
            extras: of_rows.into_values().collect(),
        });
    }

    /// The number of the op of a signature.
    fn op_of(&mut self, signature: u32) -> u32 {
        let at = signature as usize;
        if let Some(known) = self.op_of.get(at).filter(|known| **known != UNKNOWN) {
            return *known;
        }
        let Some(name) = self.tables.operation_of(signature) else {
            return UNKNOWN;
        };
        let op = self.totals.number_of(name);
        if self.op_of.len() <= at {
            self.op_of.resize(at + 1, UNKNOWN);
        }
        self.op_of[at] = op;
        op
    }

    fn set_open(&mut self, open: Vec<(u32, Vec<PackedRow>)>) {
        self.open = open
            .into_iter()
            .map(|(log, rows)| {
                let numbered = rows
                    .into_iter()
                    .map(|row| (self.op_of(Row::unpack(row).signature), row));
                (log, numbered.collect())
            })
            .collect();
    }
}

/// The words of a file's header that change.
fn read_live(file: &mut GrowingFile) -> Result<[u64; live::WORDS], TraceError> {
    let mut bytes = [0; HEADER_BYTES];
    let bytes = file.read_at(0, &mut bytes).map_err(TraceError::reading)?;
    FileHeader::parse(bytes).map(|(_, live)| live)
}
