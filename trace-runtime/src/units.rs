//! Numbers as text for people: three significant figures and a unit, aligned in columns.
//!
//! Used by findings and reports; public as part of [`report`](crate::report).

/// A duration in nanoseconds: `12.3 ms`, `450 ns`. The unit takes two columns, so that numbers align.
pub fn duration(ns: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, " s")];
    scaled(ns as f64, &UNITS)
}

/// Bytes: `1.50 MB`, in powers of a thousand.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(f64, &str); 6] = [
        (1.0, " B"),
        (1e3, "kB"),
        (1e6, "MB"),
        (1e9, "GB"),
        (1e12, "TB"),
        (1e15, "PB"),
    ];
    scaled(bytes as f64, &UNITS)
}

/// A rate per second of a unit such as `FLOP` or `B`: `1.20 GFLOP/s`.
pub fn rate(per_second: f64, of: &str) -> String {
    const UNITS: [(f64, &str); 6] = [
        (1.0, " "),
        (1e3, "k"),
        (1e6, "M"),
        (1e9, "G"),
        (1e12, "T"),
        (1e15, "P"),
    ];
    format!("{}{of}/s", scaled(per_second, &UNITS))
}

/// A share from 0 to 1 as a percentage: `61 %`, with one decimal below ten.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 && percent > 0.0 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// The shapes of an op's inputs: `[64×32]·[32×8]`; empty for none. Scalars at the end, which profilers
/// list for every argument that is not a tensor, are left out.
pub fn shapes(shapes: &[Vec<usize>]) -> String {
    let tensors = shapes.iter().rposition(|dims| !dims.is_empty());
    all_shapes(&shapes[..tensors.map_or(0, |last| last + 1)])
}

/// Shapes as text for a sentence: only the first ones, and no scalars.
pub(crate) fn few_shapes(list: &[Vec<usize>]) -> String {
    const MOST: usize = 4;
    let tensors: Vec<Vec<usize>> = list
        .iter()
        .filter(|dims| !dims.is_empty())
        .cloned()
        .collect();
    let more = if tensors.len() > MOST { "·…" } else { "" };
    format!("{}{more}", shapes(&tensors[..tensors.len().min(MOST)]))
}

/// Shapes as text, with every scalar.
pub(crate) fn all_shapes(shapes: &[Vec<usize>]) -> String {
    let list: Vec<String> = shapes
        .iter()
        .map(|dims| {
            let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
            format!("[{}]", dims.join("×"))
        })
        .collect();
    list.join("·")
}

/// The text of a value, or empty text for zero, so that other values are easier to see.
pub(crate) fn unless_zero(value: u64, shown: fn(u64) -> String) -> String {
    if value == 0 {
        String::new()
    } else {
        shown(value)
    }
}

/// A figure for a sentence: without the extra space that aligns units in a column.
pub fn prose(figure: &str) -> String {
    figure.replace("  ", " ")
}

/// A count with thousands separated: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut apart = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// A count with its noun: `1 op`, `2 ops`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let (mut size, mut unit) = units.first().copied().unwrap_or((1.0, ""));
    for &(next, name) in units {
        // 999.6 of a unit would round to 1000, so it is written as 1.00 of the next.
        if value >= next * 0.9995 {
            (size, unit) = (next, name);
        }
    }
    let number = value / size;
    let text = match number {
        _ if size <= 1.0 && number.fract() <= 0.0 => format!("{number:.0}"),
        n if n < 9.995 => format!("{n:.2}"),
        n if n < 99.95 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_figures_and_a_unit() {
        let shown: Vec<String> = [
            0,
            7,
            999,
            1000,
            12_345,
            999_499,
            999_600,
            61_000_000,
            1_500_000_000,
        ]
        .map(duration)
        .into();
        assert_eq!(
            shown,
            [
                "0 ns", "7 ns", "999 ns", "1.00 µs", "12.3 µs", "999 µs", "1.00 ms", "61.0 ms",
                "1.50  s"
            ]
        );
        assert_eq!(bytes(1536), "1.54 kB");
        assert_eq!(rate(1.2e9, "FLOP"), "1.20 GFLOP/s");
        assert_eq!(percent(0.614), "61 %");
        assert_eq!(percent(0.0042), "0.4 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(count(1_234_567), "1,234,567");
    }
}
