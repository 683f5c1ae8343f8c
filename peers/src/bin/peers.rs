//! Measures everything and prints it, or one subject for callgrind to count.

use std::process::ExitCode;
use trace_peers::alone::{self, Finishing, Memory};
use trace_peers::bounds;
use trace_peers::lengths::{self, Lengths};
use trace_peers::rounds::Rounds;
use trace_peers::subject::Column;
use trace_peers::subjects;
use trace_peers::threads::Threads;

const USAGE: &str = "usage: peers [--rounds N]
       peers list
       peers calls SUBJECT COLUMN N";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => Some(measure(101)),
        ["--rounds", rounds] => rounds.parse().ok().map(measure),
        ["alone", part] => alone::part(part).map(|answer| println!("{answer}")),
        ["length", calls] => calls.parse().ok().map(|calls| {
            let (ours, floor) = lengths::length(calls);
            println!("{ours} {floor}");
        }),
        ["list"] => Some(list()),
        ["calls", subject, column, calls] => calls
            .parse()
            .ok()
            .and_then(|calls| call(subject, column, calls)),
        _ => None,
    };
    if done.is_none() {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn measure(rounds: usize) {
    let subjects = subjects::all();
    // The other processes run first, because this one will use memory that they may need.
    let finishing = Finishing::run();
    let memory = Memory::run();
    let rounds = Rounds::run(&subjects, rounds.max(31));
    rounds.print();
    let threads = Threads::run(&subjects);
    threads.print();
    let lengths = Lengths::run();
    lengths.print();
    finishing.print();
    memory.print();
    bounds::print(&rounds, &threads, &lengths, &memory, &finishing);
}

/// Prints every argument that `calls` accepts.
fn list() {
    for subject in subjects::all() {
        for column in Column::ALL {
            if column.measure(&*subject, 1).is_some() {
                println!("{}\t{}", subject.name(), column.name());
            }
        }
    }
}

fn call(subject: &str, column: &str, calls: usize) -> Option<()> {
    let subjects = subjects::all();
    let subject = subjects.iter().find(|known| known.name() == subject)?;
    let column = Column::ALL
        .into_iter()
        .find(|known| known.name() == column)?;
    column.measure(&**subject, calls).map(|_| ())
}
