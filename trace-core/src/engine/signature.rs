//! Packs an op and its tensors into words: the *signature* that an entry refers to.
//!
//! A signature is `[op, header, dims…, header, dims…]`. Entries whose op, shapes, dtypes and devices are equal share
//! one, so a shape is stored once, even if many entries have it.

use crate::DType;
use crate::Device;
use crate::library::Library;

/// The meaning of the words after a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    Input = 0,
    Output = 1,
    Fact = 2,
}

/// A fact about the call that is not a tensor. Its code takes the place of a dtype in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fact {
    Device = 1,
    Flops = 2,
    BytesMoved = 3,
    /// The op has a tensor that is not recorded. The header has the tensor's library in place of a device.
    Unrecorded = 4,
}

/// From this rank on, the header has this number and the word after it has the rank.
pub const LONG_RANK: usize = 63;

/// A role that no tensor has.
const END: usize = 3 << 6;

/// One word in front of a tensor's dims: rank (6 bits), role (2), dtype or fact (8), device (16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header(pub usize);

impl Header {
    #[inline]
    pub fn tensor(role: Role, rank: usize, dtype: DType, device: Device) -> Header {
        Header::pack(role, rank, dtype.code(), device.code())
    }

    pub fn fact(fact: Fact, words: usize, device: Device) -> Header {
        Header::pack(Role::Fact, words, fact as u8, device.code())
    }

    pub(crate) fn unrecorded(library: Library) -> Header {
        Header::pack(Role::Fact, 0, Fact::Unrecorded as u8, library as u16)
    }

    /// The library of a tensor that is not recorded, if this is such a fact.
    pub fn unrecorded_library(self) -> Option<Library> {
        let code = (self.0 >> 16) as u16;
        self.is_fact(Fact::Unrecorded)
            .then(|| Library::from_code(code))
            .flatten()
    }

    #[inline]
    fn pack(role: Role, rank: usize, tag: u8, device: u16) -> Header {
        Header(
            rank.min(LONG_RANK)
                | (role as usize) << 6
                | usize::from(tag) << 8
                | usize::from(device) << 16,
        )
    }

    fn rank(self) -> usize {
        self.0 & LONG_RANK
    }

    pub fn role(self) -> Role {
        match (self.0 >> 6) & 3 {
            0 => Role::Input,
            1 => Role::Output,
            _ => Role::Fact,
        }
    }

    pub fn dtype(self) -> DType {
        DType::from_code((self.0 >> 8) as u8)
    }

    /// The word after a signature: its number.
    pub fn end(number: u32) -> Header {
        Header(END | (number as usize) << 8)
    }

    /// The number of the signature that ends here, if one does.
    #[inline]
    pub fn ended(self) -> Option<u32> {
        (self.0 & END == END).then_some((self.0 >> 8) as u32)
    }

    pub fn is_fact(self, fact: Fact) -> bool {
        self.role() == Role::Fact && (self.0 >> 8) as u8 == fact as u8
    }

    pub fn device(self) -> Device {
        Device::from_code((self.0 >> 16) as u16)
    }
}

/// Walks the headers of a signature, each with the words after it.
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    words: &'a [usize],
}

impl<'a> Parts<'a> {
    /// `words` start at the first header, after the op.
    pub fn new(words: &'a [usize]) -> Parts<'a> {
        Parts { words }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = (Header, &'a [usize]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&first, rest) = self.words.split_first()?;
        let header = Header(first);
        let (rank, rest) = match header.rank() {
            LONG_RANK => rest.split_first().map(|(&rank, rest)| (rank, rest))?,
            rank => (rank, rest),
        };
        let (dims, rest) = rest.split_at_checked(rank)?;
        self.words = rest;
        Some((header, dims))
    }
}

/// Appends one tensor.
pub fn push_tensor(
    words: &mut Vec<usize>,
    role: Role,
    dims: &[usize],
    dtype: DType,
    device: Device,
) {
    words.push(Header::tensor(role, dims.len(), dtype, device).0);
    if dims.len() >= LONG_RANK {
        words.push(dims.len());
    }
    words.extend_from_slice(dims);
}

/// Replaces the codes of named devices, which differ between processes.
pub fn rename_devices(words: &mut [usize], find: impl Fn(u16) -> Option<Device>) {
    let mut at = 0;
    while let Some((header, dims)) = words.get(at..).and_then(|words| Parts::new(words).next()) {
        let len = 1 + dims.len() + usize::from(header.rank() == LONG_RANK);
        let is_of_device = header.role() != Role::Fact || header.is_fact(Fact::Device);
        if is_of_device && matches!(header.device(), Device::Named(_)) {
            let device = find((header.0 >> 16) as u16).unwrap_or_default();
            words[at] = header.0 & 0xffff | usize::from(device.code()) << 16;
        }
        at += len;
    }
}

/// Appends one number.
pub fn push_number(words: &mut Vec<usize>, fact: Fact, value: u64) {
    words.push(Header::fact(fact, 1, Device::Unknown).0);
    words.push(usize::try_from(value).unwrap_or(usize::MAX));
}

/// Number of elements of a tensor with these dims, saturating.
pub fn elements(dims: &[usize]) -> usize {
    // With a zero anywhere the product is 0, even if the dims before it overflow.
    if dims.contains(&0) {
        return 0;
    }
    dims.iter()
        .fold(1, |product: usize, dim| product.saturating_mul(*dim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_of_any_rank_are_read_back() {
        let long: Vec<usize> = (1..=70).collect();
        let mut words = Vec::new();
        for dims in [&[][..], &[3], &[4, 5], &long[..62], &long[..63], &long] {
            push_tensor(&mut words, Role::Output, dims, DType::BF16, Device::Cuda(3));
        }
        push_number(&mut words, Fact::Flops, 7);
        let parts: Vec<_> = Parts::new(&words).collect();
        let ranks: Vec<_> = parts.iter().map(|(_, dims)| dims.len()).collect();
        assert_eq!(ranks, [0, 1, 2, 62, 63, 70, 1]);
        assert_eq!(parts[5].1, long);
        assert_eq!(parts[5].0.dtype(), DType::BF16);
        assert_eq!(parts[5].0.device(), Device::Cuda(3));
        assert!(parts[6].0.is_fact(Fact::Flops));
    }

    #[test]
    fn a_zero_dim_has_no_elements_even_past_an_overflow() {
        assert_eq!(elements(&[usize::MAX, 2, 0]), 0);
        assert_eq!(elements(&[usize::MAX, 2]), usize::MAX);
        assert_eq!(elements(&[]), 1);
    }
}
