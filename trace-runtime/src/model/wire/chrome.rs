//! The keys and names of the Chrome traces that this crate writes and reads back.
//!
//! Chrome's own seven keys (`ph`, `cat`, `name`, `pid`, `tid`, `ts`, `dur`) are not here: they are the
//! same in every such file. Constants are bytes, because the reader compares bytes.

/// The key of the top-level object that marks a file as written by this crate.
pub(crate) const OWN: &[u8] = b"trace-runtime";
/// The version of our dialect. A file of a later version is read like a trace of another profiler.
pub(crate) const VERSION: u32 = 1;

// The keys of the object of `OWN`.
pub(crate) const OWN_VERSION: &[u8] = b"version";
pub(crate) const ORIGIN_NS: &[u8] = b"origin_ns";
pub(crate) const TOTAL_DURATION_US: &[u8] = b"total_duration_us";
/// In `OWN`: the exact metadata as JSON in a string. At the top level: metadata for viewers.
pub(crate) const METADATA: &[u8] = b"metadata";
/// The runtime calls, one per line.
pub(crate) const RUNTIME_CALLS: &[u8] = b"calls";

/// The category of the one event that each entry has.
pub(crate) const OP: &[u8] = b"cpu_op";
/// The category of the event of a step.
pub(crate) const ANNOTATION: &[u8] = b"user_annotation";
/// The name of a step's event, before its number.
pub(crate) const STEP_PREFIX: &[u8] = b"ProfilerStep#";
/// The category of the arrow from a parent to a child on another thread.
pub(crate) const HANDOFF: &[u8] = b"handoff";
/// The name of an instant event that is an allocation or a free.
pub(crate) const MEMORY: &[u8] = b"[memory]";
pub(crate) const PROCESS_NAME: &[u8] = b"process_name";
pub(crate) const THREAD_NAME: &[u8] = b"thread_name";
/// A process of this name followed by a number is that rank.
pub(crate) const RANK_PREFIX: &[u8] = b"rank ";

// Arguments that Kineto has too.
pub(crate) const STEP: &[u8] = b"External id";
pub(crate) const INPUT_DIMS: &[u8] = b"Input Dims";
pub(crate) const INPUT_TYPES: &[u8] = b"Input type";
pub(crate) const CORRELATION: &[u8] = b"correlation";
pub(crate) const STREAM: &[u8] = b"stream";
pub(crate) const DEVICE: &[u8] = b"device";
pub(crate) const BYTES: &[u8] = b"Bytes";
pub(crate) const ADDRESS: &[u8] = b"Addr";
pub(crate) const ALLOCATED: &[u8] = b"Total Allocated";
pub(crate) const CONTEXT: &[u8] = b"context";
pub(crate) const DEVICE_TYPE: &[u8] = b"Device Type";
pub(crate) const DEVICE_NUMBER: &[u8] = b"Device Id";
pub(crate) const NAME: &[u8] = b"name";

// Arguments that Kineto does not have, named in its style.
pub(crate) const OUTPUT_DIMS: &[u8] = b"Output Dims";
pub(crate) const OUTPUT_TYPES: &[u8] = b"Output type";
pub(crate) const OUTPUT_ELEMENTS: &[u8] = b"Output elements";
pub(crate) const OUTPUT_BYTES: &[u8] = b"Output bytes";
pub(crate) const PARENT: &[u8] = b"parent";
pub(crate) const SUSPENDED_NS: &[u8] = b"suspended ns";
pub(crate) const PAUSES: &[u8] = b"pauses";
pub(crate) const OUTCOME: &[u8] = b"outcome";
pub(crate) const META: &[u8] = b"meta";
pub(crate) const DEVICE_ID: &[u8] = b"device id";
pub(crate) const KIND: &[u8] = b"kind";
pub(crate) const LABEL: &[u8] = b"label";
pub(crate) const LOCATION: &[u8] = b"location";
pub(crate) const FLOPS: &[u8] = b"flops";
pub(crate) const BYTES_MOVED: &[u8] = b"bytes moved";
pub(crate) const THREAD: &[u8] = b"thread";
pub(crate) const RANK: &[u8] = b"rank";
pub(crate) const DURING: &[u8] = b"during";
/// True for an entry without a start: the event's time is only its position in the viewer.
pub(crate) const UNTIMED: &[u8] = b"untimed";
/// The exact entry, device or thread name as JSON in a string, if the other keys cannot express it.
pub(crate) const EXACT: &[u8] = b"exact";

/// `,"key":` as bytes, made at compile time.
macro_rules! member {
    ($key:expr) => {
        const {
            const KEY: &[u8] = $key;
            const LEN: usize = KEY.len() + 4;
            const BYTES: [u8; LEN] = $crate::model::wire::chrome::member_bytes::<LEN>(KEY);
            &BYTES
        }
    };
}
pub(crate) use member;

pub(crate) const fn member_bytes<const LEN: usize>(key: &[u8]) -> [u8; LEN] {
    let mut bytes = [b'"'; LEN];
    bytes[0] = b',';
    let mut at = 0;
    while at < key.len() {
        bytes[at + 2] = key[at];
        at += 1;
    }
    bytes[LEN - 1] = b':';
    bytes
}

/// A key as text.
pub(crate) const fn text(key: &'static [u8]) -> &'static str {
    match std::str::from_utf8(key) {
        Ok(text) => text,
        Err(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_a_comma_and_a_quoted_key() {
        assert_eq!(member!(PARENT), b",\"parent\":");
        assert_eq!(text(STEP), "External id");
    }
}
