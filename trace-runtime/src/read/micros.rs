//! Converts microseconds in decimal text to whole nanoseconds, without a float in between.

/// A time or a duration read from decimal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Micros {
    pub(super) ns: i64,
    /// The fraction of a nanosecond in picoseconds, 0 to 999; digits after the sixth are cut off.
    pub(super) ps: u16,
}

impl Micros {
    /// Reads `12`, `-12.345`, `1.5e3`; `None` for text that is not a number or does not fit.
    #[inline]
    pub(super) fn parse(text: &[u8]) -> Option<Micros> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        let (mut whole, mut at) = (0_u64, 0);
        // Times since 1970 have two groups of eight digits.
        while at < 16
            && let Some(eight) = digits[at..].first_chunk().copied().and_then(eight_digits)
        {
            whole = whole * 100_000_000 + eight;
            at += 8;
        }
        while let Some(digit) = digit(digits, at) {
            // 64 bits of nanoseconds hold fewer than 18 digits of microseconds.
            if at >= 18 {
                return Micros::parse_slowly(text);
            }
            whole = whole * 10 + digit;
            at += 1;
        }
        if at == 0 {
            return None;
        }
        let mut parts = 0_u64;
        match digits.get(at) {
            None => {}
            Some(b'.') => {
                at += 1;
                let start = at;
                while let Some(digit) = digit(digits, at) {
                    if at - start < 6 {
                        parts = parts * 10 + digit;
                    }
                    at += 1;
                }
                for _ in at - start..6 {
                    parts *= 10;
                }
                if at < digits.len() {
                    return Micros::parse_slowly(text);
                }
            }
            Some(_) => return Micros::parse_slowly(text),
        }
        Micros::new(negative, whole, parts)
    }

    /// The end of an interval. Both ends are rounded down to whole nanoseconds, so intervals that nest in the text also
    /// nest here.
    pub(super) fn end(self, duration: Micros) -> Option<i64> {
        let carry = i64::from(self.ps + duration.ps >= 1000);
        self.ns.checked_add(duration.ns)?.checked_add(carry)
    }

    fn new(negative: bool, whole: u64, millionths: u64) -> Option<Micros> {
        let ns = i64::try_from(whole)
            .ok()?
            .checked_mul(1000)?
            .checked_add((millionths / 1000) as i64)?;
        let ps = (millionths % 1000) as u16;
        Some(match (negative, ps) {
            (false, ps) => Micros { ns, ps },
            (true, 0) => Micros { ns: -ns, ps: 0 },
            (true, ps) => Micros {
                ns: -ns - 1,
                ps: 1000 - ps,
            },
        })
    }

    /// For numbers with an exponent: moves the decimal point and reads the digits again.
    fn parse_slowly(text: &[u8]) -> Option<Micros> {
        let text = std::str::from_utf8(text).ok()?;
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        if !all().all(|byte| byte.is_ascii_digit()) || all().next().is_none() {
            return None;
        }
        // In picoseconds, the decimal point is six places further to the right.
        let places = i64::from(exponent) + whole.len() as i64 + 6;
        let mut value = 0_u128;
        for place in 0..places.clamp(0, 400) {
            let digit = all().nth(place as usize).map_or(0, |byte| byte - b'0');
            value = value.checked_mul(10)?.checked_add(u128::from(digit))?;
        }
        let whole = u64::try_from(value / 1_000_000).ok()?;
        Micros::new(negative, whole, (value % 1_000_000) as u64)
    }
}

/// The value of eight digits.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let values = u64::from_le_bytes(text) ^ (LOW * 0x30);
    if (values.wrapping_add(LOW * 0x76) | values) & (LOW * 0x80) != 0 {
        return None;
    }
    // Adjacent digits are joined into pairs, pairs into groups of four, and these into the number. The first digit is
    // in the lowest byte.
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours & 0xffff) * 10_000 + (fours >> 32))
}

#[inline]
fn digit(digits: &[u8], at: usize) -> Option<u64> {
    let value = digits.get(at)?.wrapping_sub(b'0');
    (value < 10).then_some(u64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str) -> Option<(i64, u16)> {
        Micros::parse(text.as_bytes()).map(|micros| (micros.ns, micros.ps))
    }

    #[test]
    fn numbers_that_a_double_would_round_are_exact() {
        assert_eq!(
            ns("1661203462598738.123"),
            Some((1_661_203_462_598_738_123, 0))
        );
        assert_eq!(ns("4458676522690.655"), Some((4_458_676_522_690_655, 0)));
        assert_eq!(ns("9007199254740993"), Some((9_007_199_254_740_993_000, 0)));
    }

    #[test]
    fn every_way_to_write_a_number_is_read() {
        assert_eq!(ns("0"), Some((0, 0)));
        assert_eq!(ns("12.5"), Some((12_500, 0)));
        assert_eq!(ns("0.0001"), Some((0, 100)));
        assert_eq!(ns("0.1234567"), Some((123, 456)));
        assert_eq!(ns("-1.5"), Some((-1500, 0)));
        assert_eq!(ns("-0.0001"), Some((-1, 900)));
        assert_eq!(ns("1.5e3"), Some((1_500_000, 0)));
        assert_eq!(ns("15E-1"), Some((1500, 0)));
        assert_eq!(ns("1e-400"), Some((0, 0)));
        assert_eq!(ns("000000000000000000012.5"), Some((12_500, 0)));
    }

    #[test]
    fn any_number_of_digits_gives_the_right_value() {
        let mut text = String::new();
        for digit in "9182736450918273".chars() {
            text.push(digit);
            let expected = text.parse::<i64>().unwrap().checked_mul(1000);
            assert_eq!(ns(&text), expected.map(|ns| (ns, 0)), "{text}");
            for other in ['/', ':', 'x', '\u{e9}'] {
                assert_eq!(ns(&format!("{text}{other}12345678")), None);
            }
        }
    }

    #[test]
    fn text_that_is_not_a_number_or_does_not_fit_gives_none() {
        for text in [
            "",
            "-",
            "nan",
            ".5",
            "1.2.3",
            "1e",
            "e5",
            "12x",
            "9223372036854776",
            "1e300",
        ] {
            assert_eq!(ns(text), None, "{text}");
        }
    }

    #[test]
    fn ends_are_cut_off_so_that_nesting_stays() {
        let at = |text: &str| Micros::parse(text.as_bytes()).unwrap();
        assert_eq!(at("1.0006").end(at("0.0004")), Some(1001));
        assert_eq!(at("1.0006").end(at("0.0003")), Some(1000));
        assert_eq!(at("1").end(at("0.5")), Some(1500));
    }
}
