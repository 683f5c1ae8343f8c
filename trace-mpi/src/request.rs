//! Calls that return before their communication is done.

use crate::Traced;
use crate::traced::Call;
use mpi::collective::{CommunicatorCollectives as _, Operation, Root as _};
use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination as _, Source as _, Status};
use mpi::request::{Request, Scope, StaticScope};
use mpi::traits::Communicator;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_runtime::{Element, op};

/// Number of requests of this process so far. All communicators of a rank share these numbers.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

fn new_request() -> u64 {
    REQUESTS.fetch_add(1, Ordering::Relaxed)
}

/// A call that has begun, and that [`wait`](Self::wait) or [`wait_all`] completes.
///
/// The call and the op that waits for it are two entries of the trace, with the same request number. A rank waits for
/// others only in the second one.
#[must_use = "a call that is not completed must not go out of scope"]
pub struct TracedRequest<'a, D: ?Sized, S: Scope<'a> = StaticScope> {
    request: Request<'a, D, S>,
    number: u64,
}

impl<'a, D: ?Sized, S: Scope<'a>> fmt::Debug for TracedRequest<'a, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracedRequest")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> TracedRequest<'a, D, S> {
    /// `MPI_Wait`: returns when the communication is done.
    pub fn wait(self) -> Status {
        op!(
            "mpi::wait",
            kind = communication,
            meta = [completes = self.number],
            { self.request.wait() }
        )
    }

    /// `MPI_Test`: the status if the communication is done, otherwise the request.
    ///
    /// # Errors
    /// The request, if the communication is not done.
    pub fn test(self) -> Result<Status, Self> {
        let number = self.number;
        op!(
            "mpi::test",
            kind = communication,
            meta = [completes = number],
            {
                self.request
                    .test()
                    .map_err(|request| TracedRequest { request, number })
            }
        )
    }
}

/// `MPI_Waitall`: returns when all requests are done, with their statuses in the same order.
pub fn wait_all<'a, D: ?Sized + 'a, S: Scope<'a>>(
    requests: impl IntoIterator<Item = TracedRequest<'a, D, S>>,
) -> Vec<Status> {
    let requests: Vec<TracedRequest<'a, D, S>> = requests.into_iter().collect();
    let numbers: Vec<String> = requests.iter().map(|one| one.number.to_string()).collect();
    op!(
        "mpi::wait_all",
        kind = communication,
        meta = [completes = numbers.join(",")],
        { requests.into_iter().map(|one| one.request.wait()).collect() }
    )
}

impl<C: Communicator> Traced<'_, C> {
    /// `MPI_Isend`: the buffer can be used again when the request is done.
    pub fn immediate_send<'a, T: Equivalence + Element, S: Scope<'a>>(
        &self,
        scope: S,
        to: i32,
        tag: i32,
        buffer: &'a [T],
    ) -> TracedRequest<'a, [T], S> {
        let (sequence, number) = (self.number(Call::Send, to, tag), new_request());
        op!(
            "mpi::isend",
            kind = communication,
            inputs = [buffer],
            group = self.name(),
            peer = self.in_world(to),
            tag = tag,
            meta = [sequence = sequence, request = number],
            {
                let process = self.inner().process_at_rank(to);
                let request = process.immediate_send_with_tag(scope, buffer, tag);
                TracedRequest { request, number }
            }
        )
    }

    /// `MPI_Irecv` from one rank with one tag.
    pub fn immediate_receive_into<'a, T: Equivalence + Element, S: Scope<'a>>(
        &self,
        scope: S,
        from: i32,
        tag: i32,
        buffer: &'a mut [T],
    ) -> TracedRequest<'a, [T], S> {
        let (sequence, number) = (self.number(Call::Receive, from, tag), new_request());
        op!(
            "mpi::irecv",
            kind = communication,
            inputs = [&*buffer],
            group = self.name(),
            peer = self.in_world(from),
            tag = tag,
            meta = [sequence = sequence, request = number],
            {
                let process = self.inner().process_at_rank(from);
                let request = process.immediate_receive_into_with_tag(scope, buffer, tag);
                TracedRequest { request, number }
            }
        )
    }

    /// `MPI_Ibarrier`.
    pub fn immediate_barrier(&self) -> TracedRequest<'static, ()> {
        let (sequence, number) = (self.collective(), new_request());
        op!(
            "mpi::ibarrier",
            kind = communication,
            group = self.name(),
            meta = [
                collective = "barrier",
                process_group_ranks = self.ranks(),
                sequence = sequence,
                request = number
            ],
            {
                let request = self.inner().immediate_barrier();
                TracedRequest { request, number }
            }
        )
    }

    /// `MPI_Iallreduce`: when the request is done, `receive` has the reduction of the buffers of all ranks.
    pub fn immediate_all_reduce_into<'a, T: Equivalence + Element, S: Scope<'a>>(
        &self,
        scope: S,
        send: &'a [T],
        receive: &'a mut [T],
        operation: impl Operation + 'a,
    ) -> TracedRequest<'a, [T], S> {
        let (sequence, number) = (self.collective(), new_request());
        op!(
            "mpi::iall_reduce",
            kind = communication,
            inputs = [send],
            group = self.name(),
            meta = [
                collective = "all_reduce",
                process_group_ranks = self.ranks(),
                sequence = sequence,
                request = number
            ],
            {
                let comm = self.inner();
                let request = comm.immediate_all_reduce_into(scope, send, receive, operation);
                TracedRequest { request, number }
            }
        )
    }

    /// `MPI_Iallgather`: when the request is done, `receive` has the buffers of all ranks, in the order of ranks.
    pub fn immediate_all_gather_into<'a, T: Equivalence + Element, S: Scope<'a>>(
        &self,
        scope: S,
        send: &'a [T],
        receive: &'a mut [T],
    ) -> TracedRequest<'a, [T], S> {
        let (sequence, number) = (self.collective(), new_request());
        op!(
            "mpi::iall_gather",
            kind = communication,
            inputs = [send],
            group = self.name(),
            meta = [
                collective = "all_gather",
                process_group_ranks = self.ranks(),
                sequence = sequence,
                request = number
            ],
            {
                let comm = self.inner();
                let request = comm.immediate_all_gather_into(scope, send, receive);
                TracedRequest { request, number }
            }
        )
    }

    /// `MPI_Ibcast`: every rank has the buffer of the root when the request is done.
    pub fn immediate_broadcast_into<'a, T: Equivalence + Element, S: Scope<'a>>(
        &self,
        scope: S,
        root: i32,
        buffer: &'a mut [T],
    ) -> TracedRequest<'a, [T], S> {
        let (sequence, number) = (self.collective(), new_request());
        op!(
            "mpi::ibroadcast",
            kind = communication,
            inputs = [&*buffer],
            group = self.name(),
            meta = [
                collective = "broadcast",
                process_group_ranks = self.ranks(),
                sequence = sequence,
                root = self.in_world(root),
                request = number
            ],
            {
                let process = self.inner().process_at_rank(root);
                let request = process.immediate_broadcast_into(scope, buffer);
                TracedRequest { request, number }
            }
        )
    }
}
