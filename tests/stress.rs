//! Many threads, short and long, panics and restarts: the recorded and the dropped ops add up exactly. The sanitizers
//! run this file too.
#![cfg(feature = "enabled")]

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_runtime::{Outcome, Session, TraceStore, TraceView, current_op, in_op, traced_op};

/// How often [`tile`] ran to its end or panicked.
static TILES: AtomicUsize = AtomicUsize::new(0);

#[traced_op]
fn tile(x: &[f32], fail: bool) -> f32 {
    TILES.fetch_add(1, Ordering::Relaxed);
    assert!(!fail, "on purpose");
    x.iter().sum()
}

#[traced_op(meta(seed = seed))]
fn layer(seed: usize) -> f32 {
    let data = vec![1.0; seed % 17];
    let mut sum = 0.0;
    for round in 0..4 {
        let fail = (seed + round).is_multiple_of(13);
        sum += catch_unwind(|| tile(&data, fail)).unwrap_or(0.0);
    }
    sum
}

const SHORT_THREADS: usize = 64;
const LAYERS_PER_THREAD: usize = 20;
const POOL_LAYERS: usize = 400;

fn run() -> usize {
    let before = TILES.load(Ordering::Relaxed);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(16)
        .build()
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..SHORT_THREADS {
            scope.spawn(move || {
                for seed in 0..LAYERS_PER_THREAD {
                    layer(thread * 31 + seed);
                }
            });
        }
        let here = current_op();
        pool.install(|| {
            use rayon::prelude::*;
            (0..POOL_LAYERS).into_par_iter().for_each(|seed| {
                in_op(&here, || layer(seed));
            });
        });
    });
    TILES.load(Ordering::Relaxed) - before
}

/// Ops in the trace and ops that were dropped.
fn counts(store: &TraceStore) -> (usize, usize) {
    (store.len(), store.metadata()["dropped"].parse().unwrap())
}

#[test]
fn everything_adds_up() {
    std::panic::set_hook(Box::new(|_| {}));
    for (round, limit) in [usize::MAX, 1 << 18, usize::MAX, 1 << 16, 0]
        .into_iter()
        .enumerate()
    {
        let session = Session::builder().memory_limit(limit).start().unwrap();
        let tiles = run();
        let store = session.finish_store();
        let layers = SHORT_THREADS * LAYERS_PER_THREAD + POOL_LAYERS;
        let (recorded, dropped) = counts(&store);
        assert_eq!(recorded + dropped, tiles + layers, "round {round}");
        assert_eq!(dropped > 0, limit != usize::MAX, "round {round}");
        if limit == usize::MAX {
            check_links(&store, tiles, layers);
        }
    }
    let _ = std::panic::take_hook();
}

fn check_links(store: &TraceStore, tiles: usize, layers: usize) {
    let mut seen = (0, 0, 0);
    let mut start = i64::MIN;
    for (step, view) in store.views().enumerate() {
        assert_eq!(view.step(), step);
        assert!(
            view.start_ns().unwrap() >= start,
            "in the order in which they began"
        );
        start = view.start_ns().unwrap();
        let parent = view.parent().map(|step| store.view(step));
        if view.operation() == "layer" {
            seen.1 += 1;
            assert!(parent.is_none());
            assert!(view.meta().unwrap()["seed"].parse::<usize>().is_ok());
        } else {
            seen.0 += 1;
            let parent = parent.expect("a tile runs inside of a layer");
            assert_eq!(
                (parent.operation(), parent.thread()),
                ("layer", view.thread())
            );
            assert!(parent.start_ns() <= view.start_ns() && parent.end_ns() >= view.end_ns());
            seen.2 += usize::from(view.outcome() == Outcome::Panicked);
        }
    }
    assert_eq!((seen.0, seen.1), (tiles, layers));
    assert!(seen.2 > 0, "some panicked");
}
