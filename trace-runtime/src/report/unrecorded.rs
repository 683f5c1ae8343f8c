//! Notes about tensors that were passed to ops but not recorded.

use super::printable;
use crate::model::wire::metadata::UNRECORDED_PREFIX;
use std::collections::{BTreeMap, HashMap};

/// The features for each tensor library, with the versions of the library that they support.
const SUPPORTED: [(&str, &str); 5] = [
    (
        "ndarray",
        "`ndarray` for ndarray 0.17 or `ndarray-0_16` for 0.16",
    ),
    ("candle", "`candle` for candle-core 0.11"),
    ("burn", "`burn` for burn-tensor 0.22"),
    ("nalgebra", "`nalgebra` for nalgebra 0.35"),
    ("faer", "`faer` for faer 0.24"),
];

/// One note per library whose tensors are missing, from the metadata of a trace.
pub(super) fn notes(metadata: &HashMap<String, String>) -> Vec<String> {
    let libraries: BTreeMap<&str, &str> = metadata
        .iter()
        .filter_map(|(key, operation)| {
            Some((key.strip_prefix(UNRECORDED_PREFIX)?, operation.as_str()))
        })
        .collect();
    libraries
        .into_iter()
        .map(|(library, operation)| {
            let supported = SUPPORTED.iter().find(|(name, _)| *name == library);
            let feature = supported.map_or("its feature", |(_, feature)| feature);
            format!(
                "tensors of {} in `{}` are not recorded: turn on the feature {feature}; another version has \
                 other types, and a generic parameter needs the bound `TensorLike`",
                printable(library),
                printable(operation),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_op_the_library_and_the_supported_versions() {
        let metadata = HashMap::from([
            ("unrecorded.ndarray".to_owned(), "matmul".to_owned()),
            ("rank".to_owned(), "0".to_owned()),
        ]);
        let notes = notes(&metadata);
        assert_eq!(notes.len(), 1);
        let beginning = "tensors of ndarray in `matmul` are not recorded: turn on the feature `ndarray` for \
                         ndarray 0.17 or `ndarray-0_16` for 0.16;";
        assert!(notes[0].starts_with(beginning), "{}", notes[0]);
    }
}
