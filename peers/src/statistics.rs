//! Summary of many measurements of one thing.

/// On a machine with other load, the smallest value is the cost of the code, and the median includes the
/// noise of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub minimum: f64,
}

impl Spread {
    /// # Panics
    /// If there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Spread {
            median: values[values.len() / 2],
            minimum: values[0],
        }
    }

    pub fn over(self, other: Spread) -> Spread {
        Spread {
            median: self.median / other.median,
            minimum: self.minimum / other.minimum,
        }
    }
}
