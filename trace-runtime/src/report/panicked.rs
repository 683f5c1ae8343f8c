//! Notes about panics in the code that describes ops.

use super::printable;
use crate::model::wire::metadata::PANICKED_PREFIX;
use crate::units::count;
use std::collections::{BTreeMap, HashMap};

/// One note per op and option, from the metadata of a trace.
pub(super) fn notes(metadata: &HashMap<String, String>) -> Vec<String> {
    let panicked: BTreeMap<&str, &str> = metadata
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(PANICKED_PREFIX)?, value.as_str())))
        .collect();
    panicked
        .into_iter()
        .filter_map(|(key, value)| {
            let (expression, op) = key.split_once('.')?;
            let (times, message) = value.split_once(' ').unwrap_or((value, "no message"));
            let times = match times.parse() {
                Ok(1) => "once".to_owned(),
                Ok(times) => format!("{} times", count(times)),
                Err(_) => return None,
            };
            Some(format!(
                "`{}` of `{}` panicked {times}, so those entries lack its value; first panic: {}",
                printable(expression),
                printable(op),
                printable(message),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_option_the_op_and_the_first_message() {
        let metadata = HashMap::from([
            (
                "panicked.flops.Linear::forward".to_owned(),
                "1200 attempt to multiply with overflow at src/lib.rs:3:5".to_owned(),
            ),
            ("panicked.broken".to_owned(), String::new()),
        ]);
        assert_eq!(
            notes(&metadata),
            [
                "`flops` of `Linear::forward` panicked 1,200 times, so those entries lack its value; \
                 first panic: attempt to multiply with overflow at src/lib.rs:3:5"
            ]
        );
    }
}
