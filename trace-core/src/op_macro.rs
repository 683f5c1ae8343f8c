//! `op!`: records a block.

/// Records a block, for code that cannot have `#[traced_op]`: a part of a function, a foreign call.
///
/// The first argument is the name, the last the block; its value is the op's output and the value of the
/// whole. In between are the options of [`#[traced_op]`](crate::traced_op). Give `inputs`: a block has no signature
/// to find them in.
///
/// ```
/// use trace_runtime::{op, record};
///
/// let x = vec![1.0_f32, 2.0, 3.0];
/// let (y, trace) = record(|| {
///     op!("softmax", inputs = [&x], {
///         let sum: f32 = x.iter().map(|x| x.exp()).sum();
///         x.iter().map(|x| x.exp() / sum).collect::<Vec<f32>>()
///     })
/// });
/// assert_eq!(y.len(), 3);
/// assert_eq!(trace.entries[0].operation, "softmax");
/// assert_eq!(trace.entries[0].input_shapes, [[3]]);
/// assert_eq!(trace.entries[0].output_shape, [3]);
/// ```
///
/// | option | |
/// |---|---|
/// | `inputs = [&x, &y]` | the input tensors, read before the block |
/// | `output = [&x]` | the output tensors if they are not the block's value, read after it |
/// | `kind = compute` | the kind of work: `compute`, `communication`, `memory`, `io`, `other` |
/// | `device = "cuda:0"` | the device that runs it, if that is not the device of its tensors |
/// | `label = &layer.name` | the instance of the op, such as `layers.3.attn`: text |
/// | `flops = n`, `bytes = n` | the work it does |
/// | `meta = [layer = 3]` | text that is kept with the entry |
/// | `group = "dp"`, `peer = rank`, `tag = 7` | for communication: the process group, the rank at the other end, the tag |
/// | `sync = device.synchronize()` | runs before the end time is taken |
///
/// All values are evaluated only while recording.
///
/// ```
/// # use trace_runtime::{op, record};
/// extern "C" fn scale(x: *mut f32, len: usize) { /* elsewhere */ }
///
/// let mut x = vec![0.0_f32; 8];
/// let ((), trace) = record(|| {
///     op!("scale_", kind = compute, inputs = [&x], flops = x.len(), output = [&x], {
///         scale(x.as_mut_ptr(), x.len());
///     })
/// });
/// assert_eq!(trace.entries[0].output_shape, [8]);
/// assert_eq!(trace.entries[0].flops, Some(8));
/// ```
///
/// A block that is left early, through `?`, `return` or `break`, is recorded with the outcome `error`, as is
/// one whose value is an `Err`. With the feature `enabled` off, `op!` only runs its block.
#[macro_export]
macro_rules! op {
    ($name:literal, $($rest:tt)+) => {
        $crate::__op!(
            @parse [::core::concat!($name, "\0", ::core::module_path!(), "\0", ::core::file!(), ":", ::core::line!())]
            [] [] [] [] $($rest)+
        )
    };
    ($name:expr, $($rest:tt)+) => {
        $crate::__op!(
            @parse [($name, ::core::concat!(::core::module_path!(), "\0", ::core::file!(), ":", ::core::line!()))]
            [] [] [] [] $($rest)+
        )
    };
    ($($anything:tt)*) => {
        ::core::compile_error!("write `op!(\"name\", inputs = [&x], { … })`: a name first, the block last")
    };
}

/// Takes the options one by one: `[name] [kind] [inputs and facts] [output] [sync] remaining options`.
#[doc(hidden)]
#[macro_export]
macro_rules! __op {
    (@parse $n:tt $k:tt [$($facts:tt)*] $o:tt $s:tt inputs = [$($input:expr),* $(,)?], $($rest:tt)+) => {
        $crate::__op!(@parse $n $k [$($facts)* $([input $input])*] $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt $f:tt [] $s:tt output = [$($output:expr),* $(,)?], $($rest:tt)+) => {
        $crate::__op!(@parse $n $k $f [output $([$output])*] $s $($rest)+)
    };
    (@parse $n:tt [] $f:tt $o:tt $s:tt kind = $kind:ident, $($rest:tt)+) => {
        $crate::__op!(@parse $n [$crate::__op!(@kind $kind)] $f $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt [$($facts:tt)*] $o:tt $s:tt device = $device:expr, $($rest:tt)+) => {
        $crate::__op!(@parse $n $k [$($facts)* [device $device]] $o $s $($rest)+)
    };
    (@parse [$name:expr] $k:tt $f:tt $o:tt $s:tt label = $label:expr, $($rest:tt)+) => {
        $crate::__op!(@parse [$name, $label] $k $f $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt [$($facts:tt)*] $o:tt $s:tt flops = $flops:expr, $($rest:tt)+) => {
        $crate::__op!(@parse $n $k [$($facts)* [flops $flops]] $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt [$($facts:tt)*] $o:tt $s:tt bytes = $bytes:expr, $($rest:tt)+) => {
        $crate::__op!(@parse $n $k [$($facts)* [bytes $bytes]] $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt [$($facts:tt)*] $o:tt $s:tt
        meta = [$($key:ident = $value:expr),* $(,)?], $($rest:tt)+
    ) => {
        $crate::__op!(@parse $n $k [$($facts)* $([meta $key $value])*] $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt [$($facts:tt)*] $o:tt $s:tt group = $group:expr, $($rest:tt)+) => {
        $crate::__op!(@parse $n $k [$($facts)* [meta process_group $group]] $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt [$($facts:tt)*] $o:tt $s:tt peer = $peer:expr, $($rest:tt)+) => {
        $crate::__op!(@parse $n $k [$($facts)* [meta peer $peer]] $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt [$($facts:tt)*] $o:tt $s:tt tag = $tag:expr, $($rest:tt)+) => {
        $crate::__op!(@parse $n $k [$($facts)* [meta tag $tag]] $o $s $($rest)+)
    };
    (@parse $n:tt $k:tt $f:tt $o:tt [] sync = $sync:expr, $($rest:tt)+) => {
        $crate::__op!(@parse $n $k $f $o [$sync] $($rest)+)
    };
    (@parse $n:tt $k:tt $f:tt $o:tt $s:tt $body:block) => {
        $crate::__op!(@emit $n $k $f $o $s $body)
    };
    (@parse $n:tt $k:tt $f:tt $o:tt $s:tt $key:ident = $value:expr) => {
        ::core::compile_error!("`op!` ends with the block that it records: `op!(\"name\", inputs = [&x], { … })`")
    };
    (@parse $n:tt $k:tt $f:tt $o:tt $s:tt $key:ident = $($rest:tt)+) => {
        ::core::compile_error!(::core::concat!(
            "`op!` does not take `", ::core::stringify!($key), "` here; its options are `inputs`, `output`, \
             `kind`, `device`, `label`, `flops`, `bytes`, `meta`, `group`, `peer`, `tag` and `sync`, each given once and followed by a comma"
        ))
    };
    (@parse $n:tt $k:tt $f:tt $o:tt $s:tt $($rest:tt)+) => {
        ::core::compile_error!("`op!` ends with the block that it records: `op!(\"name\", inputs = [&x], { … })`")
    };

    (@begin [$name:expr, $label:expr] $kind:tt $inputs:expr) => {
        $crate::__op!(@begin [$name] $kind $crate::__private::labelled(|| $label, $inputs))
    };
    (@begin [$name:expr] [] $inputs:expr) => { $crate::__private::begin($name, $inputs) };
    (@begin [$name:expr] [$kind:expr] $inputs:expr) => {
        $crate::__private::begin_kind($name, $kind, $inputs)
    };

    (@kind compute) => { $crate::__private::OpKind::Compute };
    (@kind communication) => { $crate::__private::OpKind::Communication };
    (@kind memory) => { $crate::__private::OpKind::Memory };
    (@kind io) => { $crate::__private::OpKind::Io };
    (@kind other) => { $crate::__private::OpKind::Other };
    (@kind $kind:ident) => {
        ::core::compile_error!(::core::concat!(
            "`", ::core::stringify!($kind),
            "` is not a kind of op; there are `compute`, `communication`, `memory`, `io` and `other`"
        ))
    };

    (@fact $sink:ident input $input:expr) => {
        $crate::__private::Describe::describe($crate::__private::probe(&$input).__tensors(), $sink)
    };
    (@fact $sink:ident device $device:expr) => {
        $sink.__device(|| $crate::__private::device($device))
    };
    (@fact $sink:ident flops $flops:expr) => { $sink.__flops(|| $crate::__private::count($flops)) };
    (@fact $sink:ident bytes $bytes:expr) => { $sink.__bytes(|| $crate::__private::count($bytes)) };
    (@fact $sink:ident meta $key:ident $value:expr) => {
        $sink.__meta(::core::stringify!($key), || $crate::__private::text(&$value))
    };

    (@outputs $result:ident $sink:ident) => {
        $crate::__private::Describe::describe($crate::__private::outcome($result).__tensors(), $sink)
    };
    (@outputs $result:ident $sink:ident output $([$output:expr])*) => {
        $crate::__private::Describe::describe(
            $crate::__private::success($result).__describe(|_, _sink| {
                $($crate::__private::Describe::describe(
                    $crate::__private::probe(&$output).__tensors(),
                    _sink,
                );)*
            }),
            $sink,
        )
    };

    (@unused) => {};
    (@unused output $([$output:expr])*) => { $(let _ = &$output;)* };

    (@emit $($anything:tt)*) => { $crate::__op_emit!($($anything)*) };
}

#[cfg(feature = "enabled")]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_emit {
    ($name:tt [$($kind:tt)*] [$([$($fact:tt)*])*] [$($output:tt)*] [$($sync:expr)?] $body:block) => {{
        let op = $crate::__op!(@begin $name [$($kind)*]
            $crate::__private::described_by(|_sink| { $($crate::__op!(@fact _sink $($fact)*);)* }));
        $crate::__private::finish(
            op,
            // The block has no label: an unlabelled `break` in it may belong to a loop around it.
            if false { $crate::__private::unreached() } else $body,
            |_op| { $(if $crate::__private::Op::begin_sync(_op) { let _ = $sync; })? },
            |_result, _sink| $crate::__op!(@outputs _result _sink $($output)*),
        )
    }};
}

/// With recording compiled out, the options are type-checked, so that their variables count as used, and never
/// evaluated.
#[cfg(not(feature = "enabled"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_emit {
    ($name:tt [$($kind:tt)*] [$([$($fact:tt)*])*] [$($output:tt)*] [$($sync:expr)?] $body:block) => {{
        if false {
            let _ = $crate::__op!(@begin $name [$($kind)*] ());
            let _ = |_sink: &mut $crate::TensorSink| {
                $($crate::__op!(@fact _sink $($fact)*);)*
                $(let _ = $sync;)?
                $crate::__op!(@unused $($output)*);
            };
        }
        $body
    }};
}
