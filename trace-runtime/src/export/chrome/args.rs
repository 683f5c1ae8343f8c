//! What an event of a Chrome trace says beside its name and its times.

use crate::export::json_text::{comma, printable, shapes, string};
use crate::model::{DType, EntryView, Outcome, Tensors};
use std::io::{self, Write};

/// Writes the members of `args`, without the braces. The keys `Input Dims`, `Input type` and
/// `External id` are Kineto's; the others follow their style.
pub(super) fn entry_args<W: Write>(out: &mut W, view: &EntryView<'_>) -> io::Result<()> {
    write!(out, "\"External id\":{}", view.step())?;
    if let Some(parent) = view.parent() {
        write!(out, ",\"parent\":{parent}")?;
    }
    tensors(out, "Input", view.inputs())?;
    tensors(out, "Output", view.outputs())?;
    if view.output_elements() > 0 {
        write!(out, ",\"Output elements\":{}", view.output_elements())?;
    }
    if view.memory_bytes() > 0 {
        write!(out, ",\"Output bytes\":{}", view.memory_bytes())?;
    }
    if let Some(device) = view.device_id() {
        out.write_all(b",\"device id\":")?;
        printable(out, device)?;
    }
    if let Some(kind) = view.kind() {
        write!(out, ",\"kind\":\"{kind}\"")?;
    }
    if view.outcome() != Outcome::Ok {
        write!(out, ",\"outcome\":\"{}\"", view.outcome())?;
    }
    if let Some(flops) = view.flops() {
        write!(out, ",\"flops\":{flops}")?;
    }
    if let Some(bytes) = view.bytes_moved() {
        write!(out, ",\"bytes moved\":{bytes}")?;
    }
    if view.suspended_ns() > 0 {
        write!(out, ",\"suspended ns\":{}", view.suspended_ns())?;
    }
    if let Some(meta) = view.meta() {
        out.write_all(b",\"meta\":{")?;
        for (index, (key, value)) in meta.iter().enumerate() {
            comma(out, index)?;
            printable(out, key)?;
            out.write_all(b":")?;
            printable(out, value)?;
        }
        out.write_all(b"}")?;
    }
    Ok(())
}

fn tensors<W: Write>(out: &mut W, which: &str, tensors: Tensors<'_>) -> io::Result<()> {
    if tensors.clone().next().is_none() {
        return Ok(());
    }
    write!(out, ",\"{which} Dims\":")?;
    shapes(out, tensors.clone().map(|tensor| tensor.dims))?;
    write!(out, ",\"{which} type\":[")?;
    for (index, tensor) in tensors.enumerate() {
        comma(out, index)?;
        string(out, kineto_type(tensor.dtype))?;
    }
    out.write_all(b"]")
}

/// The name that `PyTorch`'s profiler has for an element type; ours where it has none.
fn kineto_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Unknown => "",
        DType::Bool => "bool",
        DType::U8 => "unsigned char",
        DType::I8 => "signed char",
        DType::I16 => "short int",
        DType::I32 => "int",
        DType::I64 => "long int",
        DType::F16 => "c10::Half",
        DType::BF16 => "c10::BFloat16",
        DType::F32 => "float",
        DType::F64 => "double",
        DType::F8E4M3 => "c10::Float8_e4m3fn",
        DType::F8E5M2 => "c10::Float8_e5m2",
        DType::C64 => "c10::complex<float>",
        DType::C128 => "c10::complex<double>",
        other => other.name(),
    }
}
