//! Parses the shapes and element types of tensors as profilers write them.

use super::scanner::{Fault, Raw, Scanner};
use crate::model::DType;

/// The deepest level at which lists of tensors are read; deeper ones are skipped.
const LIST_DEPTH: usize = 4;

/// The dims and element types of a list of tensors, in one allocation each.
#[derive(Debug, Default)]
pub(super) struct TensorList {
    dims: Vec<usize>,
    /// The end of the dims of each tensor, and its element type.
    ends: Vec<(usize, DType)>,
}

impl TensorList {
    /// Reads `Input Dims` and `Input type`. An argument that is not a tensor is a tensor without dims, as in the text;
    /// a list of tensors is one tensor for each element. Reading stops at unexpected text.
    pub(super) fn read(dims: Raw<'_>, types: Raw<'_>) -> TensorList {
        let mut tensors = TensorList::default();
        let mut types = Types(Scanner::new(types.0), None);
        let mut scanner = Scanner::new(dims.0);
        // The event with this text was read completely, so the text is valid JSON, but may have an unexpected form.
        let _ = tensors.read_list(&mut scanner, &mut types);
        tensors
    }

    /// One tensor of `elements` elements.
    pub(super) fn flat(elements: Raw<'_>, element_type: Raw<'_>) -> TensorList {
        let mut tensors = TensorList::default();
        if let Some(elements) = elements.number() {
            tensors.dims.push(elements);
            tensors.ends.push((1, dtype(&element_type.text())));
        }
        tensors
    }

    pub(super) fn views(&self) -> Vec<(&[usize], DType)> {
        let mut start = 0;
        self.ends
            .iter()
            .map(|&(end, dtype)| (&self.dims[std::mem::replace(&mut start, end)..end], dtype))
            .collect()
    }

    fn read_list(&mut self, scanner: &mut Scanner<'_>, types: &mut Types<'_>) -> Result<(), Fault> {
        let mut items = scanner.open_array()?;
        while scanner.next_item(&mut items)? {
            let dtype = types.next();
            if scanner.peek() == Some(b'[') {
                self.read_tensor(scanner, dtype, LIST_DEPTH)?;
            } else {
                scanner.skip()?;
                self.ends.push((self.dims.len(), dtype));
            }
        }
        Ok(())
    }

    fn read_tensor(
        &mut self,
        scanner: &mut Scanner<'_>,
        dtype: DType,
        depth: usize,
    ) -> Result<(), Fault> {
        let mut items = scanner.open_array()?;
        let mut listed = false;
        while scanner.next_item(&mut items)? {
            if scanner.peek() == Some(b'[') {
                listed = true;
                match depth.checked_sub(1) {
                    Some(depth) => self.read_tensor(scanner, dtype, depth)?,
                    None => scanner.skip()?,
                }
            } else {
                let dim = scanner.scalar()?.and_then(Raw::number);
                self.dims.push(dim.unwrap_or(0));
            }
        }
        if !listed {
            self.ends.push((self.dims.len(), dtype));
        }
        Ok(())
    }
}

/// The strings of `Input type`, one after the other; the type is unknown after the last one.
struct Types<'a>(Scanner<'a>, Option<super::scanner::Members>);

impl Types<'_> {
    fn next(&mut self) -> DType {
        self.try_next().ok().flatten().unwrap_or_default()
    }

    fn try_next(&mut self) -> Result<Option<DType>, Fault> {
        let Types(scanner, members) = self;
        let members = match members {
            Some(members) => members,
            None => members.insert(scanner.open_array()?),
        };
        if !scanner.next_item(members)? {
            return Ok(None);
        }
        Ok(scanner.scalar()?.map(|name| dtype(&name.text())))
    }
}

/// The element type by the names that C++, torch and this crate give it.
fn dtype(name: &str) -> DType {
    let name = name.strip_prefix("c10::").unwrap_or(name);
    match name {
        "float" | "Float" => DType::F32,
        "double" | "Double" => DType::F64,
        "Half" => DType::F16,
        "BFloat16" => DType::BF16,
        "long" | "long int" | "long long" | "Long" | "Int64" => DType::I64,
        "int" | "Int" => DType::I32,
        "short" | "short int" | "Short" => DType::I16,
        "signed char" | "Char" => DType::I8,
        "unsigned char" | "Byte" => DType::U8,
        "unsigned short" | "UInt16" => DType::U16,
        "unsigned int" | "UInt32" => DType::U32,
        "unsigned long" | "UInt64" => DType::U64,
        "bool" | "Bool" => DType::Bool,
        "complex<float>" | "ComplexFloat" => DType::C64,
        "complex<double>" | "ComplexDouble" => DType::C128,
        "Float8_e4m3fn" | "Float8_e4m3fnuz" => DType::F8E4M3,
        "Float8_e5m2" | "Float8_e5m2fnuz" => DType::F8E5M2,
        "Float8_e8m0fnu" => DType::F8E8M0,
        "qint8" | "quint8" | "qint32" | "quint4x2" | "quint2x4" => DType::Quantized,
        _ => DType::from_name(name).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dims: &str, types: &str) -> Vec<(Vec<usize>, DType)> {
        TensorList::read(Raw(dims.as_bytes()), Raw(types.as_bytes()))
            .views()
            .into_iter()
            .map(|(dims, dtype)| (dims.to_vec(), dtype))
            .collect()
    }

    #[test]
    fn every_argument_keeps_its_position() {
        assert_eq!(
            read(
                "[[4, 64], [], [0]]",
                r#"["float", "Scalar", "c10::BFloat16"]"#
            ),
            [
                (vec![4, 64], DType::F32),
                (vec![], DType::Unknown),
                (vec![0], DType::BF16)
            ]
        );
    }

    #[test]
    fn a_list_of_tensors_gives_one_for_each() {
        assert_eq!(
            read("[[[2, 3], [4]], []]", r#"["TensorList", "Scalar"]"#),
            [
                (vec![2, 3], DType::Unknown),
                (vec![4], DType::Unknown),
                (vec![], DType::Unknown)
            ]
        );
    }

    #[test]
    fn unexpected_text_loses_the_shape_and_not_the_trace() {
        assert_eq!(read("\"none\"", ""), []);
        assert_eq!(read("[1, [2]]", "[\"int\"]").len(), 2);
        assert_eq!(read("[[-1]]", "[7, {}]"), [(vec![0], DType::Unknown)]);
        assert_eq!(read("", ""), []);
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(read(&deep, ""), []);
    }
}
