//! How an op and its tensors are packed into words: the *signature* that an entry refers to.
//!
//! A signature is `[op, header, dims…, header, dims…]`. Entries whose op, shapes, dtypes and devices
//! are equal share one, so a shape is stored once however often it is seen.

use super::device::Device;
use super::dtype::DType;

/// What the words behind a header are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    Input = 0,
    Output = 1,
    Fact = 2,
}

/// A fact about the call that is no tensor; stands where a tensor has its dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fact {
    Device = 1,
    Flops = 2,
    BytesMoved = 3,
}

/// Dims past this rank are folded into the last one, which keeps the element count.
pub(crate) const MAX_RANK: usize = 63;

/// One word in front of a tensor's dims: rank (6 bits), role (2), dtype or fact (8), device (16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header(pub(crate) usize);

impl Header {
    #[inline]
    pub(crate) fn tensor(role: Role, rank: usize, dtype: DType, device: Device) -> Header {
        Header::pack(role, rank, dtype.code(), device.code())
    }

    pub(crate) fn fact(fact: Fact, words: usize, device: Device) -> Header {
        Header::pack(Role::Fact, words, fact as u8, device.code())
    }

    #[inline]
    fn pack(role: Role, rank: usize, tag: u8, device: u16) -> Header {
        debug_assert!(rank <= MAX_RANK);
        Header(rank | (role as usize) << 6 | usize::from(tag) << 8 | usize::from(device) << 16)
    }

    pub(crate) fn rank(self) -> usize {
        self.0 & MAX_RANK
    }

    pub(crate) fn role(self) -> Role {
        match (self.0 >> 6) & 3 {
            0 => Role::Input,
            1 => Role::Output,
            _ => Role::Fact,
        }
    }

    pub(crate) fn dtype(self) -> DType {
        DType::from_code((self.0 >> 8) as u8)
    }

    pub(crate) fn is_fact(self, fact: Fact) -> bool {
        self.role() == Role::Fact && (self.0 >> 8) as u8 == fact as u8
    }

    pub(crate) fn device(self) -> Device {
        Device::from_code((self.0 >> 16) as u16)
    }
}

/// Walks the headers of a signature, each with the words behind it.
#[derive(Debug, Clone)]
pub(crate) struct Parts<'a> {
    words: &'a [usize],
}

impl<'a> Parts<'a> {
    /// `words` start at the first header, behind the op.
    pub(crate) fn new(words: &'a [usize]) -> Parts<'a> {
        Parts { words }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = (Header, &'a [usize]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&first, rest) = self.words.split_first()?;
        let header = Header(first);
        let (dims, rest) = rest.split_at_checked(header.rank())?;
        self.words = rest;
        Some((header, dims))
    }
}
