use tracing_sdk::{Annotate, categories, instant, traced};

use crate::events::recorded;
use crate::trace::events;

categories! { D = "derive"; }

#[derive(Annotate)]
struct Job<'a, T> {
    id: u64,
    parts: Vec<Part>,
    #[annotate(skip)]
    #[allow(dead_code, reason = "left out")]
    raw: Hidden,
    #[annotate(debug, rename = "why")]
    reason: Reason,
    #[annotate(display)]
    letter: char,
    value: T,
    name: &'a str,
    r#type: Option<u8>,
}

struct Hidden;

/// What its type parameters must implement depends on how their fields are shown.
#[derive(Annotate)]
struct Shown<R, D, S, A> {
    #[annotate(skip)]
    #[allow(dead_code, reason = "left out")]
    raw: R,
    #[annotate(debug)]
    debug: Vec<D>,
    #[annotate(display)]
    display: S,
    value: Option<A>,
}

#[derive(Annotate)]
enum Choice<R, D> {
    #[allow(dead_code, reason = "left out")]
    Raw(#[annotate(skip)] R, u32),
    Debug {
        #[annotate(debug)]
        of: D,
    },
}

/// Nothing is asked of the iterator itself.
#[derive(Annotate)]
struct Peek<I: Iterator> {
    #[annotate(skip)]
    #[allow(dead_code, reason = "left out")]
    rest: I,
    next: Option<I::Item>,
    last: Vec<<I as Iterator>::Item>,
}

/// All its variants may be those of features.
#[derive(Annotate)]
enum Never {}

#[derive(Debug)]
enum Reason {
    Late,
}

#[derive(Annotate)]
struct Part(u32);

#[derive(Annotate)]
struct Pair(u32, bool);

#[derive(Annotate)]
struct User(Option<u32>);

#[derive(Annotate)]
struct Unit;

#[derive(Annotate)]
enum Message {
    Quit,
    #[annotate(rename = "move")]
    Move {
        x: i32,
        y: i32,
    },
    Write(String),
    Color(u8, u8),
}

#[test]
fn type_parameters_need_what_their_fields_show() {
    /// It formats itself, and does nothing else.
    struct Displayed;

    impl std::fmt::Display for Displayed {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("displayed")
        }
    }

    let trace = recorded("derive", || {
        let debug = vec![Reason::Late];
        let shown = Shown { raw: Hidden, debug, display: Displayed, value: Some(1_u8) };
        let raw = Choice::<_, Reason>::Raw(Hidden, 2);
        let debug = Choice::<Hidden, _>::Debug { of: Reason::Late };
        instant!(D, "event", shown = shown, raw = raw, debug = debug);
    });
    let shown = "shown={debug=[Late],display=displayed,value=1}";
    let choices = "raw={Raw=[2]} debug={Debug={of=Late}}";
    assert_eq!(events(&trace), [format!("instant derive event {shown} {choices}")]);
}

#[test]
fn a_struct_of_one_field_is_left_out_where_its_field_would_be() {
    let trace = recorded("derive", || {
        instant!(D, "event", known = User(Some(1)), unknown = User(None));
    });
    assert_eq!(events(&trace), ["instant derive event known=1"]);
}

#[test]
fn types_are_annotations() {
    let trace = recorded("derive", || {
        let job = Job {
            id: 1,
            parts: vec![Part(2), Part(3)],
            raw: Hidden,
            reason: Reason::Late,
            letter: 'c',
            value: 0.5,
            name: "n",
            r#type: Some(7),
        };
        instant!(D, "job", job = &job, pair = Pair(1, true), unit = Unit);
        let messages = [
            Message::Quit,
            Message::Move { x: 1, y: -1 },
            Message::Write("w".to_owned()),
            Message::Color(1, 2),
        ];
        instant!(D, "messages", all = messages);
    });
    let expected = [
        "instant derive job job={id=1,parts=[2,3],why=Late,letter=c,value=0.5,name=n,type=7} pair=[1,true] unit=Unit",
        "instant derive messages all=[Quit,{move={x=1,y=-1}},{Write=w},{Color=[1,2]}]",
    ];
    assert_eq!(events(&trace), expected);
}

struct Server {
    port: u16,
}

impl Server {
    #[traced(D, args(port = self.port, %path))]
    fn handle<'a, T: std::fmt::Debug>(&self, path: &'a str, _more: T) -> &'a str {
        path
    }

    #[traced(D, name = "fetch", args(id))]
    async fn fetch(&self, id: u32) -> u32 {
        id + u32::from(self.port)
    }
}

#[traced(D, name = "half", args(n), ret, err)]
fn half(n: u32) -> Result<u32, String> {
    if n % 2 == 1 {
        return Err(format!("{n} is odd"));
    }
    Ok(n / 2)
}

#[traced(D, name = "parsed", args(text), ret, err)]
async fn parse(text: &str) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
    let n: u32 = text.parse()?;
    if n > 9 {
        return Err("too large".into());
    }
    Ok(n)
}

#[traced(D, name = "tested", err)]
async fn test(text: &str) -> Result<(), std::num::ParseIntError> {
    text.parse::<u32>().map(drop)
}

#[traced(D, name = "length", ret)]
async fn length(text: &str) -> usize {
    text.len()
}

#[traced(D)]
fn iterate() -> impl Iterator<Item = u32> {
    0..3
}

/// The names of the macro's own variables are free.
#[traced(D, name = "sum", args(output), ret)]
fn sum(slice: &[u32], output: u32) -> u32 {
    slice.iter().sum::<u32>() + output
}

#[traced(D, name = "checked", err)]
fn checked(n: u32) -> Result<impl Iterator<Item = u32>, String> {
    if n > 3 { Err("too many".to_owned()) } else { Ok(0..n) }
}

/// Runs a future that is ready at once.
fn run<F: Future>(future: F) -> F::Output {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn results_of_futures() {
    let spawnable = |future| -> Box<dyn Future<Output = usize> + Send> { Box::new(future) };
    let trace = recorded("derive", || {
        assert!(run(parse("7")).is_ok());
        assert!(run(parse("x")).is_err());
        assert!(run(parse("10")).is_err());
        assert!(run(test("8")).is_ok());
        assert!(run(test("y")).is_err());
        assert_eq!(run(Box::into_pin(spawnable(length("abc")))), 3);
    });
    let events = events(&trace);
    let ends: Vec<&str> = events.iter().filter_map(|event| event.strip_prefix("end")).collect();
    let expected = [
        "",
        " return=7",
        "",
        " error=invalid digit found in string",
        "",
        " error=too large",
        "",
        "",
        "",
        " error=invalid digit found in string",
        "",
        " return=3",
    ];
    assert_eq!(ends, expected);
}

#[test]
fn names_of_the_function_are_its_own() {
    let trace = recorded("derive", || {
        assert_eq!(sum(&[1, 2], 3), 6);
        assert_eq!(checked(2).map(Iterator::count), Ok(2));
        assert!(checked(4).is_err());
    });
    let expected = [
        "begin derive sum output=3",
        "end return=6",
        "begin derive checked",
        "end",
        "begin derive checked",
        "end error=too many",
    ];
    assert_eq!(events(&trace), expected);
}

#[traced(D, name = "breaks")]
fn breaks() {
    std::panic::resume_unwind(Box::new(()));
}

#[traced(D, name = "breaks with results", ret, err)]
fn breaks_with_results() -> Result<u32, String> {
    std::panic::resume_unwind(Box::new(()));
}

#[traced(D, name = "breaks later", ret, err)]
async fn breaks_later() -> Result<u32, String> {
    std::panic::resume_unwind(Box::new(()));
}

/// A panic ends the slice of a function. Otherwise all later slices of the thread would be in it.
#[test]
fn a_panic_ends_the_slice_of_a_function() {
    let trace = recorded("derive", || {
        assert!(std::panic::catch_unwind(breaks).is_err());
        assert!(std::panic::catch_unwind(breaks_with_results).is_err());
        assert!(std::panic::catch_unwind(|| run(breaks_later())).is_err());
        assert_eq!(half(2), Ok(1));
    });
    let expected = [
        "begin derive breaks",
        "end",
        "begin derive breaks with results",
        "end",
        "begin derive breaks later",
        "begin derive breaks later",
        "end",
        "end cancelled=true",
        "begin derive half n=2",
        "end return=1",
    ];
    assert_eq!(events(&trace), expected);
}

#[test]
fn functions_are_slices() {
    let trace = recorded("derive", || {
        let server = Server { port: 80 };
        assert_eq!(server.handle("/", ()), "/");
        assert_eq!((half(4), half(3)), (Ok(2), Err("3 is odd".to_owned())));
        assert_eq!(iterate().count(), 3);
        let mut fetched = std::pin::pin!(server.fetch(1));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(fetched.as_mut().poll(&mut context).is_ready());
    });
    let expected = [
        "begin derive it::derive::Server::handle port=80 path=/",
        "end",
        "begin derive half n=4",
        "end return=2",
        "begin derive half n=3",
        "end error=3 is odd",
        "begin derive it::derive::iterate",
        "end",
        "begin derive fetch id=1",
        "begin derive fetch",
        "end",
        "end",
    ];
    assert_eq!(events(&trace), expected);
}

#[test]
fn types_that_belong_to_a_parameter_are_shown() {
    let trace = recorded("derive", || {
        let peek = Peek { rest: [1_u8, 2].into_iter(), next: Some(1), last: vec![2] };
        instant!(D, "event", peek = peek, never = None::<Never>);
    });
    assert_eq!(events(&trace), ["instant derive event peek={next=1,last=[2]}"]);
}
