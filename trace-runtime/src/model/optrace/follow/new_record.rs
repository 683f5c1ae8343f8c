//! Records of the tail, as a follower reads them.

use crate::model::chunk::PackedRow;
use crate::model::optrace::tail_record::{RecordContent, RecordHeader, words_of};

/// A record as it was read.
pub(super) enum NewRecord {
    Tables {
        position: u64,
        words: Vec<u64>,
    },
    Rows {
        log: u32,
        sequence: u64,
        rows: Vec<PackedRow>,
        extras: Vec<u64>,
    },
    /// Rows that are not counted.
    Passed {
        log: u32,
        sequence: u64,
    },
    Damaged {
        rows: u64,
    },
}

pub(super) fn keep_records(new: &mut Vec<NewRecord>) -> impl FnMut(RecordContent, Option<&[u8]>) {
    |content, payload| {
        new.push(match (content, payload) {
            (RecordContent::Tables { position }, Some(payload)) => NewRecord::Tables {
                position,
                words: words_of(payload),
            },
            (RecordContent::Tables { .. }, None) => NewRecord::Damaged { rows: 0 },
            (RecordContent::Rows { sequence, log, .. }, None) => {
                NewRecord::Passed { log, sequence }
            }
            (
                RecordContent::Rows {
                    sequence,
                    log,
                    rows,
                    extra_words,
                },
                Some(payload),
            ) => match RecordHeader::unpack(rows, extra_words, payload) {
                Some((rows, extras)) => NewRecord::Rows {
                    log,
                    sequence,
                    rows,
                    extras,
                },
                None => NewRecord::Damaged {
                    rows: u64::from(rows),
                },
            },
        });
    }
}
