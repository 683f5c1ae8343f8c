//! What recording an op costs: here, in other tracers, and at the least.

pub mod alone;
pub mod bounds;
pub mod lengths;
pub mod rounds;
pub mod statistics;
pub mod subject;
pub mod subjects;
pub mod table;
pub mod threads;
