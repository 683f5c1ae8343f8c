//! The headlines that an expert would give, for real traces and for the examples.
//!
//! The real traces are not part of the repository: those tests are skipped, with a note, if the folder is missing.
#![cfg(feature = "enabled")]
#![allow(clippy::duplicate_mod, reason = "the examples share files")]

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::path::Path;
use trace_runtime::TraceStore;
use trace_runtime::analyze::{Finding, FindingKind, Findings, findings};
use trace_runtime::read;

/// A finding of a headline: its kind, a part of its subject, its share and how exact that share is, and
/// the name of its first part, if that matters.
struct Expected {
    kind: FindingKind,
    subject: &'static str,
    share: (f64, f64),
    part: Option<&'static str>,
}

const fn expected(kind: FindingKind, subject: &'static str, share: f64) -> Expected {
    Expected {
        kind,
        subject,
        share: (share, 0.02),
        part: None,
    }
}

const fn naming(mut row: Expected, part: &'static str) -> Expected {
    row.part = Some(part);
    row
}

/// A trace, why its headline is the right one, and the first findings of that headline in order.
struct Case {
    files: &'static [&'static str],
    why: &'static str,
    headline: &'static [Expected],
}

const CASES: &[Case] = &[
    Case {
        files: &["bert_small_h100"],
        why: "one inference step of 4.43 ms in which 61 kernels run for 0.31 ms; the host needs 70 µs for \
              each launch, half of it in Python",
        headline: &[
            expected(FindingKind::HostBound, "cuda:0", 0.92),
            expected(FindingKind::LaunchBound, "cuda:0", 0.46),
        ],
    },
    Case {
        files: &["nccl_data"],
        why: "ResNet with DDP: kernels run for 158 of 667 ms, the host spends 33 µs on each `aten::empty`; \
              AllReduce runs for 47 ms, of which computation hides 16 %",
        headline: &[
            expected(FindingKind::HostBound, "cuda:0", 0.76),
            expected(FindingKind::ExposedCommunication, "AllReduce", 0.06),
        ],
    },
    Case {
        files: &["simple_add"],
        why: "41.6 s of which the first use of the device takes 24.6 s inside `aten::empty_strided` and the \
              first convolution 15.6 s; kernels and copies take 50 ms",
        headline: &[naming(
            expected(FindingKind::HostBound, "cuda:0", 1.0),
            "aten::empty_strided",
        )],
    },
    Case {
        files: &["triton_example"],
        why: "one step of 13.3 s in which a single kernel runs for 1.76 µs and ops take 1.4 ms: the rest is \
              compilation, which is outside of ops",
        headline: &[expected(FindingKind::HostBound, "cuda:0", 1.0)],
    },
    Case {
        files: &["torch_cpu_block"],
        why: "training a transformer block on the CPU: 27 calls of `aten::mm` in ten shapes take 11.1 of \
              35.3 ms, no single shape more than 7 %",
        headline: &[expected(FindingKind::HostOp, "aten::mm", 0.31)],
    },
    Case {
        files: &["cpu_only"],
        why: "a step of 210 ms, nearly all of it inside `gloo:all_reduce`; nothing computes",
        headline: &[expected(
            FindingKind::ExposedCommunication,
            "gloo:all_reduce",
            0.85,
        )],
    },
    Case {
        files: &["resnet50_old_dialect"],
        why: "each step begins with loading data in the training process, in which the device has nothing to \
              do; when it works, it convolves",
        headline: &[
            naming(
                expected(FindingKind::HostBound, "cuda:0", 0.43),
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            ),
            expected(FindingKind::DeviceCategory, "convolution", 0.35),
        ],
    },
    Case {
        files: &["diff_control"],
        why: "a recommendation model: embeddings are exchanged with SendRecv, 88 of 465 ms of communication \
              are hidden by nothing, and the device is idle for 76 ms",
        headline: &[
            expected(FindingKind::ExposedCommunication, "SendRecv", 0.19),
            expected(FindingKind::HostBound, "cuda:3", 0.16),
            expected(FindingKind::DeviceCategory, "matmul", 0.18),
        ],
    },
    Case {
        files: &["diff_test"],
        why: "the same model on another machine: the device is busy for 96 % of the time, with more products, \
              thousands of small copies that nothing hides, and SendRecv",
        headline: &[
            expected(FindingKind::DeviceCategory, "matmul", 0.27),
            expected(FindingKind::Copies, "Memcpy DtoD", 0.13),
            expected(FindingKind::ExposedCommunication, "SendRecv", 0.10),
        ],
    },
    Case {
        files: &["sampled_rank-0", "sampled_rank-1"],
        why: "two ranks of one job: both devices are idle for more than half of the time, and SendRecv takes a \
              quarter of it. Neither rank is a straggler: the trace is sampled, so that the n-th calls of both ranks are \
              not one call (6 of 10 do not even overlap), and where two calls end together rank 0 came at most 22 ms earlier",
        headline: &[
            expected(FindingKind::HostBound, "cuda:", 0.54),
            expected(
                FindingKind::ExposedCommunication,
                "ncclKernel_SendRecv",
                0.26,
            ),
        ],
    },
];

fn load(folder: &Path, name: &str) -> TraceStore {
    let file = File::open(folder.join(format!("{name}.json.gz"))).unwrap();
    read::from_reader(MultiGzDecoder::new(file)).unwrap()
}

/// Compares the first findings of a headline with those expected.
fn check(what: &str, why: &str, found: &Findings, headline: &[Expected]) -> Result<(), String> {
    let list = found.headline();
    let text = |finding: &Finding| {
        format!(
            "{} {} {:.3}: {}",
            finding.kind, finding.subject, finding.share, finding.sentence
        )
    };
    let all: Vec<String> = found.list.iter().map(text).collect();
    for (index, row) in headline.iter().enumerate() {
        let fits = list.get(index).is_some_and(|finding| {
            let (share, within) = row.share;
            let first_part = finding.parts.first().map(|part| part.name.as_str());
            finding.kind == row.kind
                && finding.subject.contains(row.subject)
                && (finding.share - share).abs() <= within
                && row.part.is_none_or(|part| first_part == Some(part))
        });
        if !fits {
            return Err(format!(
                "{what}: finding {} should be {} {} {:.2} ({why})\n  {}",
                index + 1,
                row.kind,
                row.subject,
                row.share.0,
                all.join("\n  ")
            ));
        }
    }
    Ok(())
}

#[test]
fn the_headlines_of_real_traces_are_those_of_an_expert() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    if !folder.is_dir() {
        println!("skipped: `{}` is not there", folder.display());
        return;
    }
    let mut wrong = Vec::new();
    for case in CASES {
        let traces: Vec<TraceStore> = case.files.iter().map(|name| load(&folder, name)).collect();
        let trace = match <[TraceStore; 1]>::try_from(traces) {
            Ok([trace]) => trace,
            Err(several) => TraceStore::merge(&several).unwrap(),
        };
        let found = findings(&trace);
        let what = case.files.join(" and ");
        wrong.extend(check(&what, case.why, &found, case.headline).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[allow(dead_code, reason = "the examples use more of it")]
#[path = "../examples/pipeline/graph.rs"]
mod pipeline;
#[allow(dead_code, reason = "the examples use more of it")]
#[path = "../examples/rayon_conv/graph.rs"]
mod rayon_conv;
#[allow(dead_code, reason = "the examples use more of it")]
#[path = "../examples/train_mlp/graph.rs"]
mod train_mlp;
#[allow(dead_code, reason = "the examples use more of it")]
#[path = "../examples/transformer/graph.rs"]
mod transformer;

/// Runs an example and checks that its first finding is of one of these kinds and about this subject.
/// Shares, and the order of findings about one op, depend on the machine and the build.
fn example(
    name: &str,
    why: &str,
    kinds: &[FindingKind],
    subjects: &[&str],
    run: impl FnOnce(),
) -> Option<String> {
    let session = trace_runtime::Session::start().unwrap();
    run();
    let found = findings(&session.finish_store());
    let first = found.list.first();
    let fits =
        first.is_some_and(|one| kinds.contains(&one.kind) && subjects.contains(&&*one.subject));
    (!fits).then(|| format!("{name}: expected {kinds:?} of {subjects:?} ({why}), found {found:#?}"))
}

/// One test for all of them, because a session records every thread of the process.
#[test]
fn the_headlines_of_the_examples_are_those_of_an_expert() {
    let wrong = [
        example(
            "pipeline",
            "`npu:2` has five times the rows of the others, which wait for its gradients",
            &[FindingKind::Straggler],
            &["npu:2"],
            || drop(pipeline::train(&pipeline::EXAMPLE_ROWS, 4)),
        ),
        example(
            "train_mlp",
            "a network of two layers: nearly all of its arithmetic is in products",
            &[FindingKind::HostOp, FindingKind::SlowProducts],
            &["matmul"],
            || drop(train_mlp::train(6, train_mlp::Walk::Rows)),
        ),
        example(
            "transformer",
            "after the prompt it reads one token at a time: products with one row read a whole matrix to \
             use each weight once",
            &[FindingKind::SlowProducts, FindingKind::HostOp],
            &["matmul"],
            || {
                let run = transformer::Run::EXAMPLE;
                let model = transformer::Transformer::new(run.config, 42);
                model.generate(&run.prompt(), 12, 7);
            },
        ),
        example(
            "rayon_conv",
            "each image is unfolded and multiplied with the filters; the product is most of it, and without \
             optimisation unfolding takes as long",
            &[FindingKind::HostOp, FindingKind::SlowProducts],
            &["matmul", "im2col"],
            || {
                let dims = rayon_conv::Dims {
                    images: 8,
                    channels: 16,
                    side: 32,
                    filters: 32,
                    kernel: 3,
                };
                let (images, filters) = dims.random_input(3);
                rayon_conv::conv2d(&images, &filters);
            },
        ),
    ];
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
