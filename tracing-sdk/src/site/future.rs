//! Slices of futures. A future has two views in a trace: one slice for its whole life, on a track of its own, and a
//! slice on the thread for each time it is polled. A flow joins them:
//!
//! ```text
//!   track "GET"    [ GET ---------------------------------------- ]
//!                    \            \                    \
//!   thread 1         [GET]         \                   [GET]
//!   thread 2                       [GET]
//! ```

use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::sync::atomic::{AtomicU64, Ordering};

use super::Site;
use super::guard::TrackSlice;
use super::kept::Kept;
use crate::category::{CategoryRef, Members};
use crate::clock::event_time::When;
use crate::event::annotate::{Annotate, ByDebug, ByDisplay};
use crate::flow::Flow;
use crate::intern::{EventName, StaticName};
use crate::sequence::Arguments;
use crate::track::Track;

/// The slice of a future, or of a part of an `async fn`, from [`async_slice!`](crate::async_slice!).
///
/// ```
/// use tracing_sdk::{AsyncSlice, Traced, async_slice, categories};
///
/// categories! { NET = "net"; }
///
/// async fn fetch(url: &str) -> usize {
///     // The life of the future begins here, not when it is polled first.
///     let slice: AsyncSlice = async_slice!(NET, "fetch", url = url);
///     async { 42 }.traced(slice).await
/// }
/// ```
///
/// As a guard it may live while the task waits, and end on another thread. Then polls are not recorded:
///
/// ```
/// # use tracing_sdk::{async_slice, categories, end};
/// # categories! { NET = "net"; }
/// # async fn fetch(url: &str) -> usize { url.len() }
/// async fn fetch_both() -> usize {
///     let slice = async_slice!(NET, "both");
///     let bytes = fetch("a").await + fetch("b").await;
///     if slice.is_recorded() {
///         println!("{bytes} bytes, and a session records it");
///     }
///     end!(slice, bytes = bytes);
///     bytes
/// }
/// ```
#[must_use = "the slice ends when this is dropped: pass it on, `future.traced(async_slice!(..))`, or name it"]
#[derive(Debug)]
pub struct AsyncSlice {
    /// None if no session records it.
    open: Kept<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    slice: TrackSlice<'static>,
    flow: Flow,
    members: Members,
    name: &'static StaticName,
    has_future: bool,
}

impl AsyncSlice {
    /// A slice that no session records.
    #[doc(hidden)]
    pub const OFF: Self = Self { open: Kept::new(None) };

    /// The track and the flow of a new slice.
    #[doc(hidden)]
    #[must_use]
    pub fn track_and_flow(name: &'static StaticName) -> (Track<'static>, Flow) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let flow = Flow::of_copy("tracing-sdk async", number);
        // Spread, so that it meets no id that the program gave to a track of this name. Without the uuid of the process
        // in the flow, which would remove that of the track: the tracks of all processes would be the same.
        let id = flow.id() ^ Track::process().uuid();
        (Track::named(name.text()).id(id), flow)
    }

    /// After the beginning was written.
    #[doc(hidden)]
    pub fn new(
        slice: TrackSlice<'static>,
        flow: Flow,
        category: impl CategoryRef,
        name: &'static StaticName,
    ) -> Self {
        let members = category.members();
        let open = Open { slice, flow, members, name, has_future: false };
        Self { open: Kept::new(Some(open).filter(|open| open.slice.is_recorded())) }
    }

    /// Ends the slice.
    pub fn end(self) {}

    /// Whether a session records this slice.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.open.get().is_some_and(Option::is_some)
    }

    /// Ends the slice with arguments: see [`end!`](crate::end).
    #[doc(hidden)]
    pub fn end_with(mut self, when: When<'_>, arguments: Option<Arguments<'_>>) {
        if let Some(open) = self.take() {
            open.slice.end_with(when, arguments);
        }
    }

    #[cfg(not(feature = "off"))]
    fn of_future(mut self) -> Self {
        if let Some(open) = self.open.get_mut().and_then(Option::as_mut) {
            open.has_future = true;
        }
        self
    }

    #[cfg_attr(feature = "off", inline)]
    fn take(&mut self) -> Option<Open> {
        self.open.get_mut()?.take()
    }
}

impl Drop for AsyncSlice {
    /// Its future, if it has one, was dropped before it was ready.
    #[cfg_attr(feature = "off", inline)]
    fn drop(&mut self) {
        static KEY: StaticName = StaticName::key("cancelled");
        if let Some(open) = self.take()
            && open.has_future
        {
            annotate_end(open.slice, &KEY, &true);
        }
    }
}

/// Records futures.
pub trait Traced: Future + Sized {
    /// Records this future as `slice`: from now until it is ready, and each time it is polled. If it is dropped before,
    /// its slice ends with the annotation `cancelled`.
    ///
    /// ```
    /// use tracing_sdk::{Traced, async_slice, categories};
    ///
    /// categories! { NET = "net"; }
    ///
    /// async fn get(url: &str) -> usize {
    ///     url.len()
    /// }
    ///
    /// async fn page(url: &str) -> usize {
    ///     get(url).traced(async_slice!(NET, "GET", url = url)).await
    /// }
    /// ```
    fn traced(self, slice: AsyncSlice) -> impl Future<Output = Self::Output> {
        traced_until(self, slice, |slice, _| slice.end())
    }
}

impl<F: Future> Traced for F {}

/// Records `future`; `end` ends its slice when it is ready.
#[doc(hidden)]
pub fn traced_until<F: Future>(
    future: F,
    slice: AsyncSlice,
    end: impl FnOnce(TrackSlice<'static>, &F::Output),
) -> impl Future<Output = F::Output> {
    #[cfg(feature = "off")]
    {
        let _ = (slice, end);
        future
    }
    #[cfg(not(feature = "off"))]
    traced(future, slice.of_future(), end)
}

/// Ends the slice of a function with its result: `ret` of `#[traced]`.
#[doc(hidden)]
pub fn end_return<T: fmt::Debug>(slice: TrackSlice<'static>, output: &T) {
    static KEY: StaticName = StaticName::key("return");
    annotate_end(slice, &KEY, &ByDebug(output));
}

/// Ends the slice of a function with its error: `err` of `#[traced]`.
#[doc(hidden)]
pub fn end_error<T, E: fmt::Display>(slice: TrackSlice<'static>, output: &Result<T, E>) {
    static KEY: StaticName = StaticName::key("error");
    match output {
        Ok(_) => slice.end(),
        Err(error) => annotate_end(slice, &KEY, &ByDisplay(error)),
    }
}

/// Ends the slice of a function with its value or its error: `ret, err` of `#[traced]`.
#[doc(hidden)]
pub fn end_result<T, E>(slice: TrackSlice<'static>, output: &Result<T, E>)
where
    T: fmt::Debug,
    E: fmt::Display,
{
    match output {
        Ok(value) => end_return(slice, value),
        Err(_) => end_error(slice, output),
    }
}

fn annotate_end(slice: TrackSlice<'_>, key: &'static StaticName, value: &impl Annotate) {
    slice.end_with(
        When::NOW,
        Some(Arguments::Closure(&mut |event| {
            event.annotate_static(key, value);
        })),
    );
}

#[cfg_attr(feature = "off", expect(dead_code, reason = "futures are not recorded"))]
async fn traced<F: Future>(
    future: F,
    mut slice: AsyncSlice,
    end: impl FnOnce(TrackSlice<'static>, &F::Output),
) -> F::Output {
    let mut future = pin!(future);
    let output = poll_fn(|context| {
        let _poll = slice.open.get().and_then(Option::as_ref).map(|open| {
            let site = Site::of(open.members, EventName::Static(open.name));
            site.slice(Some(Arguments::Closure(&mut |event| {
                event.flow(open.flow);
            })))
        });
        future.as_mut().poll(context)
    })
    .await;
    if let Some(open) = slice.take() {
        end(open.slice, &output);
    }
    output
}
