//! Rows in fewer bytes: about 8 instead of 24.
//!
//! A row is a word of 16 bits with the lengths of its five numbers, three bits each, and then their bytes without
//! leading zeros. Numbers are differences to the row before: rows of a thread are in the order in which ops ended.

use crate::model::chunk::{PackedRow, Steps};

const NUMBERS: usize = 5;
/// The most bytes of one row.
pub(super) const MOST_BYTES: usize = 2 + NUMBERS * 8;
const DURATION_BITS: u32 = 36;
/// The code 7 means eight bytes, so a number of seven bytes is stored with a zero.
const LENGTHS: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 8];

/// Appends rows.
pub(super) fn pack(rows: &[PackedRow], bytes: &mut Vec<u8>) {
    let start_at = bytes.len();
    // Eight bytes more, because a number is stored with all of its bytes, and the next number overwrites those that are
    // not needed.
    bytes.resize(start_at + rows.len() * MOST_BYTES + 8, 0);
    let mut at = start_at;
    let mut last = Last::default();
    for row in rows {
        let lengths_at = at;
        at += 2;
        let mut lengths = 0;
        for (index, number) in last.differences(row).into_iter().enumerate() {
            let used = (64 - number.leading_zeros()).div_ceil(8) as usize;
            let code = used.min(7);
            lengths |= (code as u16) << (3 * index);
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            at += LENGTHS[code];
        }
        bytes[lengths_at..lengths_at + 2].copy_from_slice(&lengths.to_le_bytes());
    }
    bytes.truncate(at);
}

/// Reads this many rows. `None` if there are fewer bytes.
pub(super) fn unpack(count: usize, mut bytes: &[u8]) -> Option<Vec<PackedRow>> {
    // A row takes at least two bytes. So a wrong count is found before anything is allocated.
    if count > bytes.len() / 2 {
        return None;
    }
    let mut rows = Vec::with_capacity(count);
    let mut last = Last::default();
    for _ in 0..count {
        let (lengths, rest) = bytes.split_first_chunk::<2>()?;
        let lengths = u16::from_le_bytes(*lengths);
        bytes = rest;
        let mut numbers = [0; NUMBERS];
        for (index, number) in numbers.iter_mut().enumerate() {
            let (own, rest) =
                bytes.split_at_checked(LENGTHS[usize::from(lengths >> (3 * index) & 7)])?;
            bytes = rest;
            let mut whole = [0; 8];
            whole[..own.len()].copy_from_slice(own);
            *number = u64::from_le_bytes(whole);
        }
        rows.push(last.row(numbers));
    }
    Some(rows)
}

/// The previous row. The next row is stored as the difference to it.
#[derive(Debug, Default)]
struct Last {
    start: u64,
    step: u32,
}

impl Last {
    fn differences(&mut self, &[start, facts, steps]: &PackedRow) -> [u64; NUMBERS] {
        let steps = Steps(steps);
        let (step, parent) = (steps.step(), steps.parent());
        let numbers = [
            zigzag(start.wrapping_sub(self.start) as i64),
            facts & ((1 << DURATION_BITS) - 1),
            facts >> DURATION_BITS,
            // 0 if the op is the next one in the order of beginning, which most ops are.
            u64::from(zigzag_32(
                step.wrapping_sub(self.step).wrapping_sub(1) as i32
            )),
            // 0 if there is no parent. Otherwise the distance to the parent, which is often 1.
            if parent == u32::MAX {
                0
            } else {
                u64::from(step.wrapping_sub(parent)) + 1
            },
        ];
        *self = Last { start, step };
        numbers
    }

    fn row(&mut self, [start, duration, facts, step, parent]: [u64; NUMBERS]) -> PackedRow {
        let start = self.start.wrapping_add(unzigzag(start) as u64);
        let step = self
            .step
            .wrapping_add(1)
            .wrapping_add(unzigzag_32(step as u32) as u32);
        let parent = match parent {
            0 => u32::MAX,
            back => step.wrapping_sub((back - 1) as u32),
        };
        *self = Last { start, step };
        let facts = duration & ((1 << DURATION_BITS) - 1) | facts << DURATION_BITS;
        [start, facts, Steps::new(step, parent).0]
    }
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn zigzag_32(number: i32) -> u32 {
    (number << 1 ^ number >> 31) as u32
}

fn unzigzag_32(number: u32) -> i32 {
    (number >> 1) as i32 ^ -((number & 1) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(rows: &[PackedRow]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(rows, &mut bytes);
        bytes
    }

    #[test]
    fn any_rows_are_read_back() {
        // A few extreme values in every position, and random words.
        let values = [
            0,
            1,
            255,
            1 << 35,
            (1 << 55) - 1,
            1 << 55,
            1 << 63,
            u64::MAX,
        ];
        let mut rows: Vec<PackedRow> = Vec::new();
        for a in values {
            for b in values {
                for c in values {
                    rows.push([a, b, c]);
                }
            }
        }
        let mut seed = 1u64;
        for _ in 0..5000 {
            rows.push([0; 3].map(|_| {
                seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                seed >> (seed % 60)
            }));
        }
        assert_eq!(unpack(rows.len(), &packed(&rows)), Some(rows));
    }

    #[test]
    fn usual_rows_take_few_bytes() {
        let rows: Vec<PackedRow> = (0..1000u32)
            .map(|op| {
                let facts = (350 + u64::from(op % 100)) | 3 << DURATION_BITS;
                [
                    (1 << 60) | (u64::from(op) * 1000),
                    facts,
                    Steps::new(op, u32::MAX).0,
                ]
            })
            .collect();
        assert!(packed(&rows).len() <= 8 * 1000, "{}", packed(&rows).len());
    }

    #[test]
    fn bytes_that_end_too_early_are_refused() {
        let rows = [[1 << 40, 1 << 50, 7]; 3];
        let bytes = packed(&rows);
        for len in 0..bytes.len() {
            assert_eq!(unpack(3, &bytes[..len]), None);
        }
        assert_eq!(unpack(usize::MAX, &bytes), None);
    }
}
