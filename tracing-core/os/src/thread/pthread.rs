//! Threads of the C library.
//!
//! The standard library takes a lock of its own when one of its threads starts, and when it ends. A process that is
//! forked at such a moment can have no thread of the standard library: each would wait for that lock for ever. The C
//! library releases its locks in a forked process.
#![allow(unsafe_code)]
#![allow(clippy::unnecessary_cast, reason = "the type of an id differs between C libraries")]

use std::ffi::c_void;
use std::io;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

thread_local! {
    /// What a thread has whose code is in a library that may be unloaded. The C library keeps a library loaded while
    /// a thread has a destructor in it, so the last instructions of the thread are still there.
    static LOADED: Loaded = const { Loaded };
}

struct Loaded;

impl Drop for Loaded {
    fn drop(&mut self) {}
}

/// What a thread runs.
type Run = Box<dyn FnOnce() + Send>;

/// A thread that was started, until it is joined or detached.
#[derive(Debug)]
pub(super) struct Started(usize);

/// `pthread_create`.
///
/// # Errors
/// When the system has no thread left.
pub(super) fn start(run: Run) -> io::Result<Started> {
    extern "C" fn main(argument: *mut c_void) -> *mut c_void {
        LOADED.with(|_| ());
        // SAFETY: the caller of `pthread_create` made it from such a box, and only this thread has it.
        let run = unsafe { Box::from_raw(argument.cast::<Run>()) };
        // A panic cannot pass a function of C. The panic hook has told of it.
        let _ = panic::catch_unwind(AssertUnwindSafe(run));
        ptr::null_mut()
    }
    let attributes = Attributes::new()?;
    let argument = Box::into_raw(Box::new(run));
    let mut id = mem::MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: `id` and the attributes are ours alone and live until the call returns. `main` takes `argument`.
    let error =
        unsafe { libc::pthread_create(id.as_mut_ptr(), attributes.get(), main, argument.cast()) };
    if error != 0 {
        // SAFETY: there is no thread that could have taken it.
        drop(unsafe { Box::from_raw(argument) });
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the call has written it.
    Ok(Started(unsafe { id.assume_init() } as usize))
}

impl Started {
    /// `pthread_join`.
    pub(super) fn join(self) {
        let id = mem::ManuallyDrop::new(self).0 as libc::pthread_t;
        // SAFETY: the thread was neither joined nor detached, as both take the value. It returns no pointer that
        // must live.
        let _ = unsafe { libc::pthread_join(id, ptr::null_mut()) };
    }

    /// Whether it is the calling thread.
    pub(super) fn is_current(&self) -> bool {
        // SAFETY: the call has no condition. No other thread can have this id before this one is joined or detached.
        unsafe { libc::pthread_self() as usize == self.0 }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // SAFETY: the thread was neither joined nor detached, as both take the value.
        let _ = unsafe { libc::pthread_detach(self.0 as libc::pthread_t) };
    }
}

/// The size of a stack, as the standard library has it.
#[cfg(not(miri))]
const STACK_BYTES: usize = 2 << 20;

/// Attributes of a new thread.
struct Attributes {
    #[cfg(not(miri))]
    inner: libc::pthread_attr_t,
}

impl Attributes {
    /// Miri has none.
    #[cfg(miri)]
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(miri))]
    fn new() -> io::Result<Self> {
        let mut inner = mem::MaybeUninit::uninit();
        // SAFETY: `inner` is ours alone and lives until the call returns.
        let error = unsafe { libc::pthread_attr_init(inner.as_mut_ptr()) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: the call has written it.
        let mut this = Self { inner: unsafe { inner.assume_init() } };
        // SAFETY: as above. An error leaves the size that the C library takes.
        let _ = unsafe { libc::pthread_attr_setstacksize(&raw mut this.inner, STACK_BYTES) };
        Ok(this)
    }

    fn get(&self) -> *const libc::pthread_attr_t {
        #[cfg(miri)]
        return ptr::null();
        #[cfg(not(miri))]
        &raw const self.inner
    }
}

#[cfg(not(miri))]
impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: `new` has initialised them.
        let _ = unsafe { libc::pthread_attr_destroy(&raw mut self.inner) };
    }
}
