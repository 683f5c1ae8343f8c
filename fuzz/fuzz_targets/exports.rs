//! Any bytes that are our JSON, or another trace, give a report and every export without a panic. Our JSON and
//! our Chrome trace are read back with the same number of entries.
//!
//! Start with `tests/data` as seeds: random bytes alone are rarely a trace.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trace_runtime::export::FileFormat;
use trace_runtime::{TraceView, read};

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = read::from_slice(bytes) else {
        return;
    };
    let report = trace.report();
    let _ = report.to_text(&Default::default());
    let _ = report.to_json().expect("a report is JSON");
    for (ending, format) in FileFormat::endings() {
        // An error means that this build does not have the format.
        let Ok(exporter) = format.exporter() else {
            continue;
        };
        let mut out = Vec::new();
        exporter
            .export(&trace, &mut out)
            .expect("writing to memory cannot fail");
        if matches!(format, FileFormat::Json | FileFormat::Chrome) {
            let again = read::from_slice(&out)
                .unwrap_or_else(|error| panic!("{ending}: our own file is not read: {error}"));
            assert_eq!(again.entry_count(), trace.entry_count(), "{ending}");
        }
    }
});
