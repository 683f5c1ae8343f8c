//! The subjects, one file each.

mod fastrace;
mod firestorm;
mod floor;
mod hotpath;
mod ours;
mod plain;
mod puffin;
mod tensorlogic;
mod tracing_chrome;

use crate::subject::Subject;

pub use floor::Floor;
pub use ours::Ours;
pub use plain::Plain;
pub use tensorlogic::TensorLogic;

/// In the order of the table; the plain call, the floor and ours come first.
pub fn all() -> Vec<Box<dyn Subject>> {
    vec![
        Box::new(Plain),
        Box::new(Floor),
        Box::new(Ours),
        Box::new(hotpath::Hotpath),
        Box::new(fastrace::Fastrace::new()),
        Box::new(firestorm::Firestorm),
        Box::new(puffin::Puffin),
        Box::new(TensorLogic),
        Box::new(tracing_chrome::TracingChrome::new()),
    ]
}
