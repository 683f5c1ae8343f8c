//! Reading compressed files: gzip and zstd.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Recognised by the first four bytes of a file; `None` if it is not compressed.
    pub(crate) fn of(start: &[u8]) -> Option<Compression> {
        match start {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd] => Some(Compression::Zstd),
            _ => None,
        }
    }
}

/// Decompresses gzip. A file may have several members, one after the other.
pub(crate) fn gzip(source: impl Read) -> impl Read {
    Explained("gzip", MultiGzDecoder::new(buffered(source)))
}

/// Decompresses zstd. A file may have several frames, one after the other.
pub(crate) fn zstd(source: impl Read) -> impl Read {
    let frames = Frames {
        source: buffered(source),
        frame: FrameDecoder::new(),
    };
    Explained("zstd", frames)
}

fn buffered<R: Read>(source: R) -> BufReader<R> {
    BufReader::with_capacity(1 << 16, source)
}

/// Adds to each error the format and what the user can do about it.
struct Explained<R>(&'static str, R);

impl<R: Read> Read for Explained<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.1.read(room).map_err(|error| {
            io::Error::other(format!(
                "the {} data is damaged or ends too early ({error}); copy or download it again",
                self.0
            ))
        })
    }
}

/// Reads frame after frame until the source ends.
struct Frames<R> {
    source: R,
    frame: FrameDecoder,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Frames { source, frame } = self;
        loop {
            while frame.can_collect() < room.len() && !frame.is_finished() {
                let wanted = BlockDecodingStrategy::UptoBytes(room.len() - frame.can_collect());
                let decoded = frame.decode_blocks(&mut *source, wanted);
                decoded.map_err(io::Error::other)?;
            }
            let count = frame.read(room)?;
            if count > 0 || room.is_empty() || source.fill_buf()?.is_empty() {
                return Ok(count);
            }
            frame.init(&mut *source).map_err(io::Error::other)?;
        }
    }
}
