//! The `args` of an entry's event in a Chrome trace.

use super::rows::Spot;
use crate::export::json_text::{comma, is_printable, nested, number, printable, shapes, string};
use crate::model::pause::pauses_text;
use crate::model::wire::chrome::{self, member};
use crate::model::{DType, EntryView, Outcome, Tensors};
use std::io::{self, Write};

/// Writes the members of `args`, without the braces. The keys `Input Dims`, `Input type` and
/// `External id` are Kineto's; the others follow their style.
///
/// With the event's name, row and times they contain the whole entry. If they cannot express an entry without loss, its
/// exact JSON is added.
///
/// The part that depends only on an entry's signature is made once per signature.
#[derive(Debug)]
pub(super) struct Args {
    origin_ns: i64,
    by_signature: Vec<Option<Shared>>,
}

/// The part that all entries of a signature share.
#[derive(Debug, Clone)]
struct Shared {
    members: Box<[u8]>,
    /// True if its names have no control characters.
    printable: bool,
}

impl Shared {
    fn of(view: &EntryView<'_>) -> io::Result<Shared> {
        let mut members = Vec::new();
        write_signature(&mut members, view)?;
        Ok(Shared {
            members: members.into(),
            printable: is_printable(view.operation())
                && view.device_id().is_none_or(is_printable)
                // A missing key means that there is no value, so an empty text needs the exact form.
                && [view.label(), view.location()]
                    .into_iter()
                    .flatten()
                    .all(|text| !text.is_empty() && is_printable(text)),
        })
    }
}

impl Args {
    /// The writer for events whose times count from `origin_ns`.
    pub(super) fn new(origin_ns: i64) -> Args {
        Args {
            origin_ns,
            by_signature: Vec::new(),
        }
    }

    pub(super) fn write<W: Write>(
        &mut self,
        out: &mut W,
        at: Spot,
        view: &EntryView<'_>,
    ) -> io::Result<()> {
        write_own(out, view)?;
        let printable = self.write_shared(out, view)?;
        if view.start_ns().is_none() {
            out.write_all(member!(chrome::UNTIMED))?;
            out.write_all(b"true")?;
        }
        if !(printable && self.is_exact(at, view)) {
            out.write_all(member!(chrome::EXACT))?;
            nested(out, &view.to_entry())?;
        }
        Ok(())
    }

    /// Returns whether the names have no control characters.
    fn write_shared<W: Write>(&mut self, out: &mut W, view: &EntryView<'_>) -> io::Result<bool> {
        let Some(signature) = view.signature() else {
            let shared = Shared::of(view)?;
            return out.write_all(&shared.members).map(|()| shared.printable);
        };
        let signature = signature as usize;
        if signature >= self.by_signature.len() {
            self.by_signature.resize(signature + 1, None);
        }
        let known = &mut self.by_signature[signature];
        let shared = match known {
            Some(shared) => shared,
            None => known.insert(Shared::of(view)?),
        };
        out.write_all(&shared.members).map(|()| shared.printable)
    }

    /// True if the event can express the times and the `meta` of the entry without loss.
    fn is_exact(&self, at: Spot, view: &EntryView<'_>) -> bool {
        let place = at.place;
        let printable = |meta: (&str, &str)| is_printable(meta.0) && is_printable(meta.1);
        let starts_there =
            |start| self.origin_ns.checked_add_unsigned(place.start_ns) == Some(start);
        view.start_ns().is_none_or(starts_there)
            && i64::try_from(place.end_ns).is_ok()
            && view.times_are_whole()
            && view.meta().is_none_or(|meta| meta.iter().all(printable))
    }
}

/// Writes the part that differs between entries of one signature.
fn write_own<W: Write>(out: &mut W, view: &EntryView<'_>) -> io::Result<()> {
    out.write_all(&member!(chrome::STEP)[1..])?;
    number(out, view.step() as u64)?;
    let mut member = |key: &[u8], value: Option<u64>| match value {
        Some(value) => out.write_all(key).and_then(|()| number(out, value)),
        None => Ok(()),
    };
    let not_zero = |value: u64| Some(value).filter(|&value| value > 0);
    member(
        member!(chrome::PARENT),
        view.parent().map(|parent| parent as u64),
    )?;
    let elements = not_zero(view.output_elements() as u64);
    member(member!(chrome::OUTPUT_ELEMENTS), elements)?;
    member(
        member!(chrome::OUTPUT_BYTES),
        not_zero(view.memory_bytes() as u64),
    )?;
    member(member!(chrome::SUSPENDED_NS), not_zero(view.suspended_ns()))?;
    if !view.pauses().is_empty() {
        out.write_all(member!(chrome::PAUSES))?;
        write!(out, "\"{}\"", pauses_text(view.pauses()))?;
    }
    if view.outcome() != Outcome::Ok {
        out.write_all(member!(chrome::OUTCOME))?;
        write!(out, "\"{}\"", view.outcome())?;
    }
    if let Some(meta) = view.meta() {
        out.write_all(member!(chrome::META))?;
        out.write_all(b"{")?;
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

fn write_signature<W: Write>(out: &mut W, view: &EntryView<'_>) -> io::Result<()> {
    let keys: (&[u8], &[u8]) = (member!(chrome::INPUT_DIMS), member!(chrome::INPUT_TYPES));
    tensors(out, keys, view.inputs())?;
    let keys: (&[u8], &[u8]) = (member!(chrome::OUTPUT_DIMS), member!(chrome::OUTPUT_TYPES));
    tensors(out, keys, view.outputs())?;
    if let Some(device) = view.device_id() {
        out.write_all(member!(chrome::DEVICE_ID))?;
        printable(out, device)?;
    }
    if let Some(kind) = view.kind() {
        out.write_all(member!(chrome::KIND))?;
        write!(out, "\"{kind}\"")?;
    }
    if let Some(label) = view.label() {
        out.write_all(member!(chrome::LABEL))?;
        printable(out, label)?;
    }
    if let Some(location) = view.location() {
        out.write_all(member!(chrome::LOCATION))?;
        printable(out, location)?;
    }
    if let Some(flops) = view.flops() {
        out.write_all(member!(chrome::FLOPS))?;
        number(out, flops)?;
    }
    if let Some(bytes) = view.bytes_moved() {
        out.write_all(member!(chrome::BYTES_MOVED))?;
        number(out, bytes)?;
    }
    Ok(())
}

fn tensors<W: Write>(
    out: &mut W,
    (dims, types): (&[u8], &[u8]),
    tensors: Tensors<'_>,
) -> io::Result<()> {
    if tensors.clone().next().is_none() {
        return Ok(());
    }
    out.write_all(dims)?;
    shapes(out, tensors.clone().map(|tensor| tensor.dims))?;
    out.write_all(types)?;
    out.write_all(b"[")?;
    for (index, tensor) in tensors.enumerate() {
        comma(out, index)?;
        string(out, kineto_type(tensor.dtype))?;
    }
    out.write_all(b"]")
}

/// The name of an element type in `PyTorch`'s profiler, or our name if it has none.
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
