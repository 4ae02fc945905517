//! `#[traced]`: names, tracks and results of functions.

use tracing_sdk::{Track, categories, instant, slice, traced};

use crate::events::{placed, recorded};
use crate::trace::events;

categories! { T = "traced"; }

/// Runs a future that is ready at once.
fn run<F: Future>(future: F) -> F::Output {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

mod names {
    use super::{T, traced};

    #[traced(T)]
    pub(super) fn plain() {}

    #[traced(T, args(n), ret)]
    pub(super) fn ret(n: u32) -> u32 {
        n
    }

    #[traced(T, err)]
    pub(super) fn err() -> Result<u32, String> {
        Ok(1)
    }

    #[traced(T, ret, err)]
    pub(super) fn both() -> Result<u32, String> {
        Ok(1)
    }

    #[traced(T, args(n))]
    pub(super) async fn later(n: u32) -> u32 {
        n
    }

    pub(super) struct Of<V>(pub(super) V);

    impl<V: std::fmt::Debug> Of<V> {
        #[traced(T, ret)]
        pub(super) fn method(&self) -> &V {
            &self.0
        }
    }
}

/// Whatever the attribute records of it, a function has its path as its name.
#[test]
fn a_name_is_a_path() {
    let trace = recorded("traced", || {
        names::plain();
        assert_eq!(names::ret(3), 3);
        assert_eq!((names::err(), names::both()), (Ok(1), Ok(1)));
        assert_eq!(run(names::later(2)), 2);
        assert_eq!(*names::Of(5).method(), 5);
    });
    let expected = [
        "begin traced it::traced::names::plain",
        "end",
        "begin traced it::traced::names::ret n=3",
        "end return=3",
        "begin traced it::traced::names::err",
        "end",
        "begin traced it::traced::names::both",
        "end return=1",
        "begin traced it::traced::names::later n=2",
        "begin traced it::traced::names::later",
        "end",
        "end",
        "begin traced it::traced::names::Of<_>::method",
        "end return=5",
    ];
    assert_eq!(events(&trace), expected);
}

static UPLOADS: Track<'_> = Track::named("Uploads");

#[traced(T, args(track = UPLOADS))]
fn put() {}

#[traced(T, name = "named", args(track = UPLOADS))]
fn put_named() {}

#[traced(T, args(track = UPLOADS, n), err)]
fn put_checked(n: u32) -> Result<u32, String> {
    Ok(n)
}

/// The slice of such a function ends on its track, and does not end the one of the thread.
#[test]
fn a_function_on_a_track() {
    let trace = recorded("traced", || {
        let _outer = slice!(T, "outer");
        put();
        put_named();
        assert_eq!(put_checked(1), Ok(1));
        instant!(T, "inside");
    });
    let expected = [
        (false, "begin traced outer"),
        (true, "begin traced it::traced::put"),
        (true, "end"),
        (true, "begin traced named"),
        (true, "end"),
        (true, "begin traced it::traced::put_checked n=1"),
        (true, "end"),
        (false, "instant traced inside"),
        (false, "end"),
    ];
    assert_eq!(placed(&trace, UPLOADS.uuid()), expected.map(|(on, text)| (on, text.to_owned())));
}

trait Shape: std::fmt::Debug {}

#[derive(Debug)]
struct Circle;

impl Shape for Circle {}

#[derive(Debug, PartialEq)]
struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

impl std::error::Error for Failed {}

struct Account {
    name: String,
    value: u32,
}

impl Account {
    #[traced(T)]
    async fn name(&self) -> &str {
        &self.name
    }

    #[traced(T, err)]
    fn value(&mut self, fails: bool) -> Result<&mut u32, Failed> {
        if fails {
            return Err(Failed);
        }
        Ok(&mut self.value)
    }

    #[traced(T, ret)]
    async fn value_later(&mut self) -> &mut u32 {
        &mut self.value
    }
}

#[traced(T)]
async fn shape() -> Result<Box<dyn Shape>, Failed> {
    Ok(Box::new(Circle))
}

#[traced(T, ret)]
async fn bytes() -> &'static [u8] {
    b"abc"
}

#[traced(T)]
async fn several() -> Result<impl Iterator<Item = u32>, Failed> {
    Ok(0..3)
}

#[traced(T, ret)]
fn same(value: &mut u32) -> &mut u32 {
    value
}

#[traced(T, err)]
fn boxed() -> Result<(), Box<dyn std::error::Error>> {
    Err(Box::new(Failed))
}

#[traced(T, ret)]
fn boxed_shape() -> Box<dyn Shape> {
    Box::new(Circle)
}

#[traced(T, ret)]
fn unit() {}

/// The name of the guard is free for the function.
#[traced(T, name = "own", args(_slice))]
fn own(_slice: u32) -> u32 {
    _slice + 1
}

/// A result becomes the type that the function returns where it is returned, as without the attribute.
#[test]
fn results_are_coerced() {
    let trace = recorded("traced", || {
        let mut account = Account { name: "n".to_owned(), value: 1 };
        assert_eq!(run(account.name()), "n");
        *account.value(false).expect("a value") += 1;
        assert_eq!(account.value(true), Err(Failed));
        *run(account.value_later()) += 1;
        assert_eq!(account.value, 3);
        assert!(run(shape()).is_ok());
        assert_eq!(run(bytes()), b"abc");
        assert_eq!(run(several()).map(Iterator::count), Ok(3));
        assert_eq!(*same(&mut 7), 7);
        assert_eq!(boxed().map_err(|error| error.to_string()), Err("failed".to_owned()));
        assert_eq!(format!("{:?}", boxed_shape()), "Circle");
        unit();
        assert_eq!(own(1), 2);
    });
    let events = events(&trace);
    let with_values = events.iter().filter(|event| event.contains('='));
    let expected = [
        "end error=failed",
        "end return=2",
        "end return=[97, 98, 99]",
        "end return=7",
        "end error=failed",
        "end return=Circle",
        "end return=()",
        "begin traced own _slice=1",
    ];
    assert_eq!(with_values.collect::<Vec<_>>(), expected);
}

type Boxed<'a, V> = std::pin::Pin<Box<dyn Future<Output = V> + Send + 'a>>;

/// As the macro `async_trait` writes the methods of [`Account`], with other names where those are not seen.
trait Fetch {
    fn fetch<'a, 'f>(&'a self, url: &'f str) -> Boxed<'f, u32>
    where
        'a: 'f,
        Self: 'f;

    fn parse<'f>(
        &'f self,
        text: &'f str,
    ) -> Boxed<'f, Result<u32, Box<dyn std::error::Error + Send>>>;
}

impl Fetch for Account {
    #[traced(T, args(value = self.value, url))]
    #[allow(clippy::let_unit_value, clippy::type_complexity)]
    fn fetch<'a, 'f>(
        &'a self,
        url: &'f str,
    ) -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = u32> + ::core::marker::Send + 'f>>
    where
        'a: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<u32> {
                #[allow(unreachable_code)]
                return __ret;
            }
            let __self = self;
            let url = url;
            let __ret: u32 = {
                instant!(T, "inside");
                __self.value + u32::try_from(url.len()).unwrap_or(0)
            };
            #[allow(unreachable_code)]
            __ret
        })
    }

    #[traced(T, name = "parse", ret, err)]
    fn parse<'f>(
        &'f self,
        text: &'f str,
    ) -> Boxed<'f, Result<u32, Box<dyn std::error::Error + Send>>> {
        let text = text.trim();
        if text == "7" {
            return Box::pin(async { Ok(7) });
        }
        std::boxed::Box::pin(async move {
            let number: Result<u32, _> = text.parse();
            number.map_err(|error| -> Box<dyn std::error::Error + Send> { Box::new(error) })
        })
    }
}

#[traced(T, args(n))]
#[allow(clippy::manual_async_fn)]
fn block(n: u32) -> impl Future<Output = u32> + Send {
    async move { n }
}

#[traced(T, args(n))]
fn runs(n: u32) -> u32 {
    run(async move { n })
}

/// No variable can be of the type `!`.
#[traced(T, name = "forever")]
async fn forever() -> ! {
    std::future::pending::<()>().await;
    unreachable!("it waits")
}

#[traced(T, name = "serve")]
async fn serve() -> std::convert::Infallible {
    std::future::pending().await
}

#[test]
fn functions_that_use_futures() {
    let trace = recorded("traced", || {
        assert_eq!(runs(3), 3);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(std::pin::pin!(forever()).poll(&mut context).is_pending());
        assert!(std::pin::pin!(serve()).poll(&mut context).is_pending());
    });
    let expected = [
        "begin traced it::traced::runs n=3",
        "end",
        "begin traced forever",
        "begin traced forever",
        "end",
        "end cancelled=true",
        "begin traced serve",
        "begin traced serve",
        "end",
        "end cancelled=true",
    ];
    assert_eq!(events(&trace), expected);
}

/// A function that returns an `async` block is recorded as an `async fn`: the life of the future, and each poll.
#[test]
fn functions_that_return_futures() {
    let trace = recorded("traced", || {
        let account = Account { name: String::new(), value: 2 };
        assert_eq!(run(account.fetch("abc")), 5);
        assert!(run(account.parse(" 8")).is_ok());
        assert!(run(account.parse("x")).is_err());
        assert!(run(account.parse("7")).is_ok());
        assert_eq!(run(block(4)), 4);
        drop(block(5));
    });
    let expected = [
        "begin traced <it::traced::Account as it::traced::Fetch>::fetch value=2 url=abc",
        "begin traced <it::traced::Account as it::traced::Fetch>::fetch",
        "instant traced inside",
        "end",
        "end",
        "begin traced parse",
        "begin traced parse",
        "end",
        "end return=8",
        "begin traced parse",
        "begin traced parse",
        "end",
        "end error=invalid digit found in string",
        // The other future is not that of the block.
        "begin traced parse",
        "end",
        "begin traced it::traced::block n=4",
        "begin traced it::traced::block",
        "end",
        "end",
        "begin traced it::traced::block n=5",
        "end cancelled=true",
    ];
    assert_eq!(events(&trace), expected);
}
