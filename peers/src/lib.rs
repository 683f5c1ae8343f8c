//! Measures the cost of recording an op: here, in other tracers, and the lowest possible cost.

pub mod alone;
pub mod bounds;
pub mod lengths;
pub mod rounds;
pub mod statistics;
pub mod subject;
pub mod subjects;
pub mod table;
pub mod threads;
