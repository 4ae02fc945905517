//! Requests of a session as futures, for any runtime: a thread carries the request out and wakes the task.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::SessionError;

/// A request that a thread of the library carries out, from the call on: it is a future, but need not be polled. If it
/// is dropped, the request goes on.
///
/// ```
/// use tracing_sdk::session::{Operation, Session, SessionError};
///
/// async fn stop(session: &Session) -> Result<(), SessionError> {
///     // The session is stopped from here on, also while this task does other things.
///     let stopped: Operation<()> = session.stop_async();
///     println!("the session ends");
///     stopped.await
/// }
/// ```
#[derive(Debug)]
#[must_use = "it tells whether the request succeeded"]
pub struct Operation<T> {
    outcome: Arc<Mutex<Outcome<T>>>,
}

#[derive(Debug)]
struct Outcome<T> {
    result: Option<Result<T, SessionError>>,
    waker: Option<Waker>,
}

fn lock<T>(outcome: &Mutex<Outcome<T>>) -> MutexGuard<'_, Outcome<T>> {
    outcome.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Send + 'static> Operation<T> {
    pub(super) fn new(run: impl FnOnce() -> Result<T, SessionError> + Send + 'static) -> Self {
        let outcome = Arc::new(Mutex::new(Outcome { result: None, waker: None }));
        let shared = outcome.clone();
        let work = move || {
            let result = run();
            let waker = {
                let mut outcome = lock(&shared);
                outcome.result = Some(result);
                outcome.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        };
        if let Err(error) = os::thread::spawn("tracing-session", Box::new(work)) {
            lock(&outcome).result = Some(Err(SessionError::Thread(error)));
        }
        Self { outcome }
    }
}

impl<T> Future for Operation<T> {
    type Output = Result<T, SessionError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut outcome = lock(&self.outcome);
        if let Some(result) = outcome.result.take() {
            outcome.waker = None;
            return Poll::Ready(result);
        }
        outcome.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
