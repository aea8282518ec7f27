//! How joins wait for each other, so that nobody else waits for them.
//!
//! A connection brings its next request when it has the answer to the last one. So joins that wait here cost no processor's time, and few of
//! them at work leave a short row of tasks in front of a redemption. Refusing them instead would bring their next tries at once.

use std::time::Duration;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// The joins of a server: some at work, the others behind them in the order in which they came.
#[derive(Debug)]
pub(super) struct Joins {
    here: Semaphore,
    at_work: Semaphore,
    wait_max: Duration,
}

/// A join that may go on.
#[derive(Debug)]
pub(super) struct JoinPermit<'a> {
    _at_work: Option<SemaphorePermit<'a>>,
    _here: SemaphorePermit<'a>,
}

impl Joins {
    /// So many at once, those at work among them; whoever waits longer than `wait_max` is refused.
    pub(super) fn new(joins_max: usize, at_work_max: usize, wait_max: Duration) -> Self {
        Self { here: Semaphore::new(joins_max), at_work: Semaphore::new(at_work_max), wait_max }
    }

    /// Waits behind those who came before; `None` where too many are here, or it takes too long.
    pub(super) async fn take(&self) -> Option<JoinPermit<'_>> {
        let here = self.here.try_acquire().ok()?;
        let at_work = match self.at_work.try_acquire() {
            Ok(permit) => permit,
            Err(_) => timeout(self.wait_max, self.at_work.acquire()).await.ok()?.ok()?,
        };
        Some(JoinPermit { _at_work: Some(at_work), _here: here })
    }

    /// For a join that another server answers: it waits there, and here it only takes a place. `None` where too many are here.
    pub(super) fn pass_on(&self) -> Option<JoinPermit<'_>> {
        Some(JoinPermit { _at_work: None, _here: self.here.try_acquire().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const PATIENT: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn joins_go_on_in_their_order_and_one_too_many_is_refused() {
        let joins = Joins::new(3, 1, PATIENT);
        let first = joins.take().await.unwrap();
        let (mut second, mut third) = (Box::pin(joins.take()), Box::pin(joins.take()));
        assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
        assert!(joins.take().await.is_none(), "three are here");
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.now_or_never().unwrap().unwrap();
        let last = joins.take().now_or_never();
        assert!(last.is_none(), "a place is free, behind the third");
        drop(second);
        assert!(third.now_or_never().unwrap().is_some());
    }

    #[tokio::test]
    async fn a_join_that_goes_on_to_another_server_waits_for_none_at_work_here() {
        let joins = Joins::new(3, 1, PATIENT);
        let (_working, _first, second) =
            (joins.take().await.unwrap(), joins.pass_on().unwrap(), joins.pass_on());
        assert!(second.is_some() && joins.pass_on().is_none(), "three are here");
        drop(second);
        assert!(joins.pass_on().is_some());
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let joins = Joins::new(2, 1, Duration::ZERO);
        let _first = joins.take().await.unwrap();
        assert!(joins.take().await.is_none());
    }
}
