//! FLOPs and bytes of one execution, if its op, kind and tensors determine them.

use super::flops::{OpClass, flops_of, output_elements};
use super::op_category::OpCategory;
use crate::model::hash::FastMap;
use crate::model::{EntryView, TensorView};

/// Torch ops that return a view of their input, only allocate, or leave the work to an op inside.
const MOVE_NOTHING: &str = "alias as_strided as_strided_ broadcast_tensors broadcast_to chunk \
    contiguous detach detach_ diagonal empty empty_like empty_strided expand expand_as flatten \
    lift_fresh movedim narrow new_empty new_empty_strided permute real imag reshape reshape_as \
    resize_ resolve_conj resolve_neg select set_ slice split split_with_sizes squeeze squeeze_ \
    swapaxes t t_ to transpose transpose_ type_as unbind unflatten unfold unsqueeze unsqueeze_ \
    unsafe_chunk unsafe_split view view_as view_as_complex view_as_real _conj _reshape_alias \
    _unsafe_view";

/// What an op moves itself, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moves {
    Tensors,
    Nothing,
    /// Only the outputs that the trace has: in other libraries than torch, a `transpose` may be a copy.
    Outputs,
}

impl Moves {
    fn of(name: &str) -> Moves {
        let (torch, last) = match name.rsplit_once("::") {
            Some((before, last)) => (before == "aten", last),
            None => (false, name),
        };
        let listed = MOVE_NOTHING.split_whitespace().any(|one| one == last);
        match (listed, torch) {
            (false, _) => Moves::Tensors,
            (true, true) => Moves::Nothing,
            (true, false) => Moves::Outputs,
        }
    }
}

/// Bytes read and written: as given, else every input and output once.
pub(crate) fn bytes_moved(view: &EntryView<'_>) -> u64 {
    Work::of(view, || Names::of(view)).bytes(view)
}

/// The facts that the name of an op determines.
#[derive(Clone, Copy)]
struct Names {
    class: Option<OpClass>,
    elementwise: bool,
    moves: Moves,
}

impl Names {
    fn of(view: &EntryView<'_>) -> Names {
        let name = view.operation();
        let class = OpClass::of(name);
        Names {
            class,
            elementwise: class.is_none()
                && OpCategory::of_op(name) == Some(OpCategory::Elementwise),
            moves: Moves::of(name),
        }
    }
}

/// FLOPs and bytes of one execution.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    given_bytes: Option<u64>,
    input_bytes: u64,
    /// Used if no output was recorded.
    inferred_output_bytes: u64,
    moves: Moves,
    pub(crate) flops: Option<u64>,
    pub(crate) inferred: bool,
}

impl Work {
    fn of(view: &EntryView<'_>, names: impl FnOnce() -> Names) -> Work {
        let mut inputs = view.inputs().peekable();
        let given = view.flops();
        let mut work = Work {
            given_bytes: view.bytes_moved(),
            input_bytes: 0,
            inferred_output_bytes: 0,
            moves: Moves::Tensors,
            flops: given,
            inferred: given.is_none(),
        };
        // The names of kernels are long, and without shapes they determine nothing.
        let Some(&first) = inputs.peek() else {
            return work;
        };
        let Names {
            class,
            elementwise,
            moves,
        } = names();
        work.moves = moves;
        work.input_bytes = inputs.fold(0, |sum, input| sum.saturating_add(input.bytes() as u64));
        work.flops = given.or_else(|| flops_of(class?, view));
        let largest = || view.inputs().max_by_key(TensorView::elements);
        work.inferred_output_bytes = match class {
            Some(class) => output_elements(class, view).map(|elements| first.dtype.bytes(elements)),
            None => largest().filter(|_| elementwise).map(|input| input.bytes()),
        }
        .unwrap_or(0) as u64;
        work
    }

    /// Bytes read and written.
    pub(crate) fn bytes(&self, view: &EntryView<'_>) -> u64 {
        if let Some(given) = self.given_bytes {
            return given;
        }
        let recorded = view.memory_bytes() as u64;
        match (self.moves, recorded) {
            (Moves::Nothing, _) | (Moves::Outputs, 0) => 0,
            (_, 0) => self.input_bytes.saturating_add(self.inferred_output_bytes),
            _ => self.input_bytes.saturating_add(recorded),
        }
    }
}

/// Computes the work once for each signature, if the storage numbers them, and examines each name once.
#[derive(Default)]
pub(crate) struct Works<'a> {
    names: FastMap<&'a str, Names>,
    by_signature: Vec<Option<Work>>,
}

impl<'a> Works<'a> {
    /// The work of an entry.
    pub(crate) fn of(&mut self, view: &EntryView<'a>) -> Work {
        let names = &mut self.names;
        let mut find = || {
            Work::of(view, || {
                let known = names.entry(view.operation());
                *known.or_insert_with(|| Names::of(view))
            })
        };
        let Some(signature) = view.signature() else {
            return find();
        };
        let signature = signature as usize;
        if signature >= self.by_signature.len() {
            self.by_signature.resize(signature + 1, None);
        }
        *self.by_signature[signature].get_or_insert_with(find)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RecordedTraceEntry;

    fn bytes(name: &str, inputs: &[&[usize]], output: Option<&[usize]>) -> u64 {
        let shapes = inputs.iter().map(|dims| dims.to_vec()).collect();
        let mut entry = RecordedTraceEntry::new(0, name).with_input_shapes(shapes);
        if let Some(output) = output {
            entry = entry.with_output_shape(output.to_vec());
        }
        // 8 bytes an element: no dtype is given.
        bytes_moved(&EntryView::from(&entry)) / 8
    }

    #[test]
    fn an_output_that_was_not_recorded_is_inferred() {
        assert_eq!(bytes("aten::mm", &[&[8, 1], &[1, 8]], None), 8 + 8 + 64);
        assert_eq!(bytes("aten::mm", &[&[8, 1], &[1, 8]], Some(&[8, 8])), 80);
        assert_eq!(
            bytes("aten::addmm", &[&[8], &[4, 2], &[2, 8]], None),
            8 + 8 + 16 + 32
        );
        assert_eq!(bytes("aten::add", &[&[4, 8], &[8]], None), 32 + 8 + 32);
        assert_eq!(bytes("aten::gelu_backward", &[&[4, 8], &[4, 8]], None), 96);
        assert_eq!(
            bytes("aten::layer_norm", &[&[4, 8], &[8]], None),
            32 + 8 + 32
        );
        let q: &[usize] = &[2, 3, 4];
        assert_eq!(bytes("attention", &[q, q, q], None), 4 * 24);
        // The destination of a copy is one of its inputs.
        assert_eq!(bytes("aten::copy_", &[&[4, 8], &[4, 8]], None), 64);
    }

    #[test]
    fn views_and_allocations_move_nothing() {
        for name in [
            "aten::transpose",
            "aten::slice",
            "aten::empty",
            "aten::_unsafe_view",
            "view",
        ] {
            assert_eq!(bytes(name, &[&[4, 8]], None), 0, "{name}");
        }
        // A function of this name that returns a tensor may copy it.
        assert_eq!(bytes("transpose", &[&[4, 8]], Some(&[8, 4])), 64);
        assert_eq!(bytes("aten::transpose", &[&[4, 8]], Some(&[8, 4])), 0);
        assert_eq!(bytes("aten::sum", &[&[4, 8]], None), 32);
    }
}
