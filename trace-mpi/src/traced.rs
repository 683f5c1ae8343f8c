//! A communicator whose calls are recorded.

use mpi::collective::{CommunicatorCollectives as _, Operation, Root as _};
use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination as _, Source as _};
use mpi::traits::Communicator;
use std::cell::RefCell;
use std::collections::HashMap;
use trace_runtime::{Element, op};

/// A communicator whose calls are recorded as ops of kind `communication`.
///
/// Ranks in the arguments are those of the communicator, as in MPI; the trace has ranks of the world. Messages match
/// only if both sides use a `Traced` of the same group name. Buffers are slices of numbers. Without a session a call
/// takes a few nanoseconds more than in MPI.
#[derive(Debug)]
pub struct Traced<'c, C> {
    comm: &'c C,
    name: String,
    /// The rank in the world of each rank of the communicator.
    members: Vec<i32>,
    /// The same as text.
    ranks: String,
    /// Calls so far: collectives, and messages by direction, peer and tag.
    counts: RefCell<HashMap<(Call, i32, i32), u64>>,
}

/// The kinds of calls that are numbered separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Collective,
    Send,
    Receive,
}

impl<'c, C: Communicator> Traced<'c, C> {
    /// The world, or another communicator whose ranks are those of the trace.
    pub fn world(world: &'c C) -> Self {
        Traced::with_members(world, "world", (0..world.size()).collect())
    }

    /// A part of the world with a name. The name must be the same on all ranks of the part, and differ from those of
    /// other groups that a rank is in. All ranks of `comm` must call it.
    pub fn group(comm: &'c C, name: impl Into<String>, world: &impl Communicator) -> Self {
        let mut members = vec![0; usize::try_from(comm.size()).unwrap_or(0)];
        comm.all_gather_into(&world.rank(), &mut members[..]);
        Traced::with_members(comm, name, members)
    }

    fn with_members(comm: &'c C, name: impl Into<String>, members: Vec<i32>) -> Self {
        Traced {
            comm,
            name: name.into(),
            ranks: format!("{members:?}"),
            members,
            counts: RefCell::default(),
        }
    }

    /// The communicator itself, for calls that are not recorded.
    pub fn inner(&self) -> &'c C {
        self.comm
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn ranks(&self) -> &str {
        &self.ranks
    }

    pub(crate) fn number(&self, call: Call, peer: i32, tag: i32) -> u64 {
        let mut counts = self.counts.borrow_mut();
        let count = counts.entry((call, peer, tag)).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn collective(&self) -> u64 {
        self.number(Call::Collective, 0, 0)
    }

    pub(crate) fn in_world(&self, rank: i32) -> i32 {
        let member = usize::try_from(rank)
            .ok()
            .and_then(|rank| self.members.get(rank));
        member.copied().unwrap_or(rank)
    }

    /// `MPI_Barrier`.
    pub fn barrier(&self) {
        let number = self.collective();
        op!(
            "mpi::barrier",
            kind = communication,
            group = &self.name,
            meta = [
                collective = "barrier",
                process_group_ranks = &self.ranks,
                sequence = number
            ],
            {
                self.comm.barrier();
            }
        );
    }

    /// `MPI_Allreduce`: every rank gets the reduction of the buffers of all ranks.
    pub fn all_reduce_into<T: Equivalence + Element>(
        &self,
        send: &[T],
        receive: &mut [T],
        operation: impl Operation,
    ) {
        let number = self.collective();
        op!(
            "mpi::all_reduce",
            kind = communication,
            inputs = [send],
            output = [&receive],
            group = &self.name,
            meta = [
                collective = "all_reduce",
                process_group_ranks = &self.ranks,
                sequence = number
            ],
            {
                self.comm.all_reduce_into(send, receive, operation);
            }
        );
    }

    /// `MPI_Allgather`: every rank gets the buffers of all ranks, in the order of ranks.
    pub fn all_gather_into<T: Equivalence + Element>(&self, send: &[T], receive: &mut [T]) {
        let number = self.collective();
        op!(
            "mpi::all_gather",
            kind = communication,
            inputs = [send],
            output = [&receive],
            group = &self.name,
            meta = [
                collective = "all_gather",
                process_group_ranks = &self.ranks,
                sequence = number
            ],
            {
                self.comm.all_gather_into(send, receive);
            }
        );
    }

    /// `MPI_Alltoall`: every rank sends an equal part of its buffer to each rank.
    pub fn all_to_all_into<T: Equivalence + Element>(&self, send: &[T], receive: &mut [T]) {
        let number = self.collective();
        op!(
            "mpi::all_to_all",
            kind = communication,
            inputs = [send],
            output = [&receive],
            group = &self.name,
            meta = [
                collective = "all_to_all",
                process_group_ranks = &self.ranks,
                sequence = number
            ],
            {
                self.comm.all_to_all_into(send, receive);
            }
        );
    }

    /// `MPI_Reduce_scatter_block`: every rank gets its equal part of the reduction.
    pub fn reduce_scatter_block_into<T: Equivalence + Element>(
        &self,
        send: &[T],
        receive: &mut [T],
        operation: impl Operation,
    ) {
        let number = self.collective();
        op!(
            "mpi::reduce_scatter",
            kind = communication,
            inputs = [send],
            output = [&receive],
            group = &self.name,
            meta = [
                collective = "reduce_scatter",
                process_group_ranks = &self.ranks,
                sequence = number
            ],
            {
                self.comm
                    .reduce_scatter_block_into(send, receive, operation);
            }
        );
    }

    /// `MPI_Bcast`: every rank gets the buffer of the root.
    pub fn broadcast_into<T: Equivalence + Element>(&self, root: i32, buffer: &mut [T]) {
        let number = self.collective();
        op!(
            "mpi::broadcast",
            kind = communication,
            inputs = [&buffer],
            output = [&buffer],
            group = &self.name,
            meta = [
                collective = "broadcast",
                process_group_ranks = &self.ranks,
                sequence = number,
                root = self.in_world(root)
            ],
            {
                self.comm.process_at_rank(root).broadcast_into(buffer);
            }
        );
    }

    /// `MPI_Reduce`: the root gets the reduction of the buffers of all ranks. `receive` is not used on other ranks.
    pub fn reduce_into<T: Equivalence + Element>(
        &self,
        root: i32,
        send: &[T],
        receive: &mut [T],
        operation: impl Operation,
    ) {
        let number = self.collective();
        op!(
            "mpi::reduce",
            kind = communication,
            inputs = [send],
            output = [&receive],
            group = &self.name,
            meta = [
                collective = "reduce",
                process_group_ranks = &self.ranks,
                sequence = number,
                root = self.in_world(root)
            ],
            {
                let process = self.comm.process_at_rank(root);
                if self.comm.rank() == root {
                    process.reduce_into_root(send, receive, operation);
                } else {
                    process.reduce_into(send, operation);
                }
            }
        );
    }

    /// `MPI_Gather`: the root gets the buffers of all ranks, in the order of ranks. `receive` is not used on other
    /// ranks.
    pub fn gather_into<T: Equivalence + Element>(&self, root: i32, send: &[T], receive: &mut [T]) {
        let number = self.collective();
        op!(
            "mpi::gather",
            kind = communication,
            inputs = [send],
            output = [&receive],
            group = &self.name,
            meta = [
                collective = "gather",
                process_group_ranks = &self.ranks,
                sequence = number,
                root = self.in_world(root)
            ],
            {
                let process = self.comm.process_at_rank(root);
                if self.comm.rank() == root {
                    process.gather_into_root(send, receive);
                } else {
                    process.gather_into(send);
                }
            }
        );
    }

    /// `MPI_Scatter`: every rank gets its equal part of the root's buffer. `send` is not used on other ranks.
    pub fn scatter_into<T: Equivalence + Element>(&self, root: i32, send: &[T], receive: &mut [T]) {
        let number = self.collective();
        op!(
            "mpi::scatter",
            kind = communication,
            inputs = [send],
            output = [&receive],
            group = &self.name,
            meta = [
                collective = "scatter",
                process_group_ranks = &self.ranks,
                sequence = number,
                root = self.in_world(root)
            ],
            {
                let process = self.comm.process_at_rank(root);
                if self.comm.rank() == root {
                    process.scatter_into_root(send, receive);
                } else {
                    process.scatter_into(receive);
                }
            }
        );
    }

    /// `MPI_Send`: returns when the buffer can be used again, which may be before the receive begins.
    pub fn send<T: Equivalence + Element>(&self, to: i32, tag: i32, buffer: &[T]) {
        let number = self.number(Call::Send, to, tag);
        op!(
            "mpi::send",
            kind = communication,
            inputs = [buffer],
            group = &self.name,
            peer = self.in_world(to),
            tag = tag,
            meta = [sequence = number],
            {
                self.comm.process_at_rank(to).send_with_tag(buffer, tag);
            }
        );
    }

    /// `MPI_Ssend`: returns when the receive has begun.
    pub fn synchronous_send<T: Equivalence + Element>(&self, to: i32, tag: i32, buffer: &[T]) {
        let number = self.number(Call::Send, to, tag);
        op!(
            "mpi::ssend",
            kind = communication,
            inputs = [buffer],
            group = &self.name,
            peer = self.in_world(to),
            tag = tag,
            meta = [sequence = number],
            {
                self.comm
                    .process_at_rank(to)
                    .synchronous_send_with_tag(buffer, tag);
            }
        );
    }

    /// `MPI_Recv` from one rank with one tag. Returns the number of elements received, which may be below the length of
    /// the buffer.
    pub fn receive_into<T: Equivalence + Element>(
        &self,
        from: i32,
        tag: i32,
        buffer: &mut [T],
    ) -> usize {
        let number = self.number(Call::Receive, from, tag);
        op!(
            "mpi::recv",
            kind = communication,
            output = [&buffer],
            group = &self.name,
            peer = self.in_world(from),
            tag = tag,
            meta = [sequence = number],
            {
                let status = self
                    .comm
                    .process_at_rank(from)
                    .receive_into_with_tag(buffer, tag);
                usize::try_from(status.count(T::equivalent_datatype())).unwrap_or(0)
            }
        )
    }
}
