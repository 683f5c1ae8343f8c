//! Searches sixteen bytes of text at once.
//!
//! SSE2 is part of every x86-64 processor, so nothing has to be detected there. On other machines the same masks come
//! from two words of eight bytes.

/// The number of bytes of a block.
pub(super) const BLOCK: usize = 16;

/// The bytes of a block that were found: bit `i` for byte `i`.
pub(super) type Mask = u32;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod masks {
    use super::{BLOCK, Mask};
    use std::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_loadu_si128, _mm_movemask_epi8,
        _mm_or_si128, _mm_set1_epi8,
    };

    #[inline]
    #[allow(unsafe_code, reason = "intrinsics take a pointer")]
    fn load(block: &[u8; BLOCK]) -> __m128i {
        // SAFETY: the pointer is to sixteen bytes that are borrowed for the call, and the load needs no alignment.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }

    #[inline]
    #[allow(
        unsafe_code,
        reason = "intrinsics of a feature that this module requires"
    )]
    pub(in super::super) fn quotes_and_backslashes(block: &[u8; BLOCK]) -> Mask {
        let block = load(block);
        // SAFETY: the module exists only where SSE2 is enabled.
        unsafe {
            let quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'"' as i8));
            let backslashes = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\\' as i8));
            _mm_movemask_epi8(_mm_or_si128(quotes, backslashes)) as Mask
        }
    }

    #[inline]
    #[allow(
        unsafe_code,
        reason = "intrinsics of a feature that this module requires"
    )]
    pub(in super::super) fn not_digits(block: &[u8; BLOCK]) -> Mask {
        let block = load(block);
        // SAFETY: the module exists only where SSE2 is enabled.
        unsafe {
            // Digits become the ten lowest signed bytes.
            let shifted = _mm_add_epi8(block, _mm_set1_epi8((0x80_u8 - b'0') as i8));
            _mm_movemask_epi8(_mm_cmpgt_epi8(shifted, _mm_set1_epi8(-128 + 9))) as Mask
        }
    }

    #[inline]
    #[allow(
        unsafe_code,
        reason = "intrinsics of a feature that this module requires"
    )]
    pub(in super::super) fn quotes_and_brackets(block: &[u8; BLOCK]) -> Mask {
        let block = load(block);
        // SAFETY: the module exists only where SSE2 is enabled.
        unsafe {
            let quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'"' as i8));
            // This bit is the difference between `[` and `{`, and between `]` and `}`.
            let curly = _mm_or_si128(block, _mm_set1_epi8(0x20));
            let open = _mm_cmpeq_epi8(curly, _mm_set1_epi8(b'{' as i8));
            let close = _mm_cmpeq_epi8(curly, _mm_set1_epi8(b'}' as i8));
            _mm_movemask_epi8(_mm_or_si128(quotes, _mm_or_si128(open, close))) as Mask
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
use portable as masks;

pub(super) use masks::{not_digits, quotes_and_backslashes, quotes_and_brackets};

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
mod portable {
    use super::{BLOCK, Mask};

    /// The low bit of each byte, the high bit of each byte, and all bits except the high bits.
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const REST: u64 = !HIGH;

    /// The high bit of every byte that is zero. It is exact, because no carry crosses a byte.
    fn zeros(word: u64) -> u64 {
        !(((word & REST) + REST) | word | REST)
    }

    /// One bit for each high bit.
    fn bits(high: u64) -> Mask {
        // Moves the eight bits, one per byte, into the top byte.
        ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as Mask
    }

    fn mask(block: &[u8; BLOCK], of_word: impl Fn(u64) -> u64) -> Mask {
        let (words, _) = block.as_chunks::<8>();
        let [low, high] = [words[0], words[1]].map(|word| bits(of_word(u64::from_le_bytes(word))));
        low | high << 8
    }

    pub(in super::super) fn quotes_and_backslashes(block: &[u8; BLOCK]) -> Mask {
        mask(block, |word| {
            zeros(word ^ (LOW * 0x22)) | zeros(word ^ (LOW * 0x5c))
        })
    }

    pub(in super::super) fn not_digits(block: &[u8; BLOCK]) -> Mask {
        mask(block, |word| {
            let values = word ^ (LOW * 0x30);
            (((values & REST) + LOW * 0x76) | values) & HIGH
        })
    }

    pub(in super::super) fn quotes_and_brackets(block: &[u8; BLOCK]) -> Mask {
        mask(block, |word| {
            let curly = word | (LOW * 0x20);
            zeros(word ^ (LOW * 0x22)) | zeros(curly ^ (LOW * 0x7b)) | zeros(curly ^ (LOW * 0x7d))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> Mask {
        let bits = block.iter().enumerate().filter(|byte| is(*byte.1));
        bits.fold(0, |mask, (at, _)| mask | 1 << at)
    }

    #[test]
    fn every_byte_is_found_at_every_position() {
        for at in 0..BLOCK {
            for byte in 0..=255 {
                for other in [b'a', b'"', b'7', b'[', 0, 255] {
                    let mut block = [other; BLOCK];
                    block[at] = byte;
                    let quote = |byte| matches!(byte, b'"' | b'\\');
                    let bracket = |byte| matches!(byte, b'"' | b'[' | b']' | b'{' | b'}');
                    let other = |byte: u8| !byte.is_ascii_digit();
                    assert_eq!(quotes_and_backslashes(&block), expected(&block, quote));
                    assert_eq!(
                        portable::quotes_and_backslashes(&block),
                        expected(&block, quote)
                    );
                    assert_eq!(quotes_and_brackets(&block), expected(&block, bracket));
                    assert_eq!(
                        portable::quotes_and_brackets(&block),
                        expected(&block, bracket)
                    );
                    assert_eq!(not_digits(&block), expected(&block, other));
                    assert_eq!(portable::not_digits(&block), expected(&block, other));
                }
            }
        }
    }
}
