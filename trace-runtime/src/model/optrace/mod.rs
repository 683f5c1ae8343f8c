//! The format of `.optrace` files: `docs/optrace-format.md` describes it.
//!
//! A file has a header, a ring that a recording process maps and writes to, and a tail of records with checksums.
//! Everything here works on bytes; the ring's writer is in `record`.

#![cfg_attr(
    not(all(unix, feature = "stream", not(loom))),
    allow(
        dead_code,
        reason = "files are read in every build, and written with the feature"
    )
)]

mod collect;
pub(crate) mod follow;
pub(crate) mod header;
mod input;
mod packing;
mod parts;
mod restore;
pub(crate) mod ring_block;
pub(crate) mod tables;
pub(crate) mod tail_record;

pub(crate) use collect::read;
pub(crate) use header::MAGIC;
pub(crate) use parts::open;
