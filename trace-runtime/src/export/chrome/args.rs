//! What an event of a Chrome trace says beside its name and its times.

use crate::export::json_text::{comma, number, printable, shapes, string};
use crate::model::{DType, EntryView, Outcome, Tensors};
use std::io::{self, Write};

/// Writes the members of `args`, without the braces. The keys `Input Dims`, `Input type` and
/// `External id` are Kineto's; the others follow their style.
///
/// What follows from an entry's signature is put together once per signature.
#[derive(Debug, Default)]
pub(super) struct Args {
    by_signature: Vec<Option<Box<[u8]>>>,
}

impl Args {
    pub(super) fn write<W: Write>(&mut self, out: &mut W, view: &EntryView<'_>) -> io::Result<()> {
        out.write_all(b"\"External id\":")?;
        number(out, view.step() as u64)?;
        let mut member = |key: &[u8], value: Option<u64>| match value {
            Some(value) => out.write_all(key).and_then(|()| number(out, value)),
            None => Ok(()),
        };
        let not_zero = |value: u64| Some(value).filter(|&value| value > 0);
        member(b",\"parent\":", view.parent().map(|parent| parent as u64))?;
        let elements = not_zero(view.output_elements() as u64);
        member(b",\"Output elements\":", elements)?;
        member(b",\"Output bytes\":", not_zero(view.memory_bytes() as u64))?;
        member(b",\"suspended ns\":", not_zero(view.suspended_ns()))?;
        if view.outcome() != Outcome::Ok {
            write!(out, ",\"outcome\":\"{}\"", view.outcome())?;
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
        let Some(signature) = view.signature() else {
            return write_signature(out, view);
        };
        let signature = signature as usize;
        if signature >= self.by_signature.len() {
            self.by_signature.resize(signature + 1, None);
        }
        if let Some(known) = &self.by_signature[signature] {
            return out.write_all(known);
        }
        let mut text = Vec::new();
        write_signature(&mut text, view)?;
        out.write_all(&text)?;
        self.by_signature[signature] = Some(text.into());
        Ok(())
    }
}

fn write_signature<W: Write>(out: &mut W, view: &EntryView<'_>) -> io::Result<()> {
    tensors(out, "Input", view.inputs())?;
    tensors(out, "Output", view.outputs())?;
    if let Some(device) = view.device_id() {
        out.write_all(b",\"device id\":")?;
        printable(out, device)?;
    }
    if let Some(kind) = view.kind() {
        write!(out, ",\"kind\":\"{kind}\"")?;
    }
    if let Some(flops) = view.flops() {
        write!(out, ",\"flops\":{flops}")?;
    }
    if let Some(bytes) = view.bytes_moved() {
        write!(out, ",\"bytes moved\":{bytes}")?;
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
