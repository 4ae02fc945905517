//! The macros of call sites.
//!
//! All event macros share one grammar. `__event!` takes the argument list apart, one argument at a time. It puts the
//! value of each into a variable, so that it is evaluated once, before anything is written, and collects what to do
//! with it. The category is an expression, too, which may contain a static (`cat!`): each macro names it once, in front
//! of everything else. Names of items in an expansion begin with two underscores, because arguments of the caller can
//! see them:
//!
//! ```text
//!   __event!(@args verb category name [what to do with the site] [what to write] remaining arguments)
//! ```
//!
//! To add a key with a meaning of its own, as `correlation` has: an arm of `__event!` below "arguments with a meaning
//! of their own", in front of those for annotations; a method of `Event` for `(call METHOD value)`, or of `Site` if it
//! must be known before the event is written; a row in the table of `instant!`, and a word in `docs/sdk.md` ("A few
//! keys have a meaning"). The key is reserved from then on: a caller that wants an annotation of that name writes
//! `"key" = value`.

/// Declares categories, as statics.
///
/// ```
/// tracing_sdk::categories! {
///     /// Everything on the wire.
///     pub NET = "net";
///     pub(crate) GPU = "gpu", tags: ["slow"], description: "Work of the GPU";
/// }
/// ```
#[macro_export]
macro_rules! categories {
    ($($(#[$meta:meta])* $vis:vis $name:ident = $text:literal
        $(, tags: [$($tag:literal),* $(,)?])? $(, description: $description:literal)?);* $(;)?) => {$(
        $(#[$meta])*
        $vis static $name: $crate::Category = $crate::Category::new($text)
            $(.tags(&[$($tag),*]))? $(.description($description))?;
    )*};
    ($($other:tt)*) => {
        ::core::compile_error!(
            "write each category as `pub NET = \"net\";`, with a literal; `tags: [..]` and `description: ..` \
             may follow. A name that is made at run time is for `Category::dynamic`"
        );
    };
}

/// A category by its name, for call sites that were ported from C++: `slice!(cat!("net"), "fetch")`.
#[macro_export]
macro_rules! cat {
    ($name:literal) => {
        *{
            static __CATEGORY: $crate::Category = $crate::Category::new($name);
            &__CATEGORY
        }
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "`cat!` takes a literal: `cat!(\"net\")`. A name that is made at run time is for `Category::dynamic`"
        )
    };
}

/// The place in the source where this stands, for [`Event::location`](crate::Event::location).
#[macro_export]
macro_rules! here {
    () => {
        $crate::Location { file: ::core::file!(), function: "", line: ::core::line!() }
    };
}

/// Records one moment.
///
/// After the category and the name come annotations, in any number and order:
///
/// | argument | what |
/// |---|---|
/// | `key = value` | an annotation; the type of the value implements [`Annotate`](crate::Annotate) |
/// | `key = ?value`, `key = %value` | formatted with `Debug`, with `Display` |
/// | `key = @value` | a text that repeats: written once for each sequence |
/// | `"any key" = value` | for keys that are no identifiers, or are reserved |
/// | `track = track` | on this [`Track`](crate::Track), not on that of the thread |
/// | `ts = time` | at this time: an `Instant`, or any other [`EventTime`](crate::EventTime) |
/// | `flow = flow`, `end_flow = flow` | a [`Flow`](crate::Flow) goes through here, or ends here |
/// | `location = location` | a place in the source: [`here!`](crate::here) |
/// | `correlation = id` | a number that related events share |
/// | `\|event\| ...` | last: anything else, on the open [`Event`](crate::Event) |
///
/// Nothing is evaluated while no session records the category. Otherwise each value is evaluated once, also if several
/// sessions record; a closure runs once for each. In place of a literal, `name = text` is a name that was made at run
/// time, and `name = @text` one that repeats.
///
/// ```
/// use tracing_sdk::{Flow, categories, instant};
/// # #[derive(Debug)] struct Why;
/// categories! { NET = "net"; }
///
/// let (url, attempt, why) = ("https://example.com", 3, Why);
/// instant!(NET, "retry", url = url, attempt = attempt, why = ?why, flow = Flow::process(7));
/// instant!(NET, name = format!("retry {attempt}"), "track" = "the word is reserved");
/// ```
#[macro_export]
macro_rules! instant {
    ($category:expr, $($rest:tt)*) => {
        if $crate::__private::ON {
            match &$category {
                category => if $crate::__private::CategoryRef::is_on(category) {
                    $crate::__event!(@name instant category, $($rest)*)
                },
            }
        }
    };
    ($($other:tt)*) => {
        ::core::compile_error!("an event needs a category and a name: `instant!(NET, \"name\")`")
    };
}

/// Begins a slice, and returns a guard that ends it.
///
/// The grammar is that of [`instant!`](crate::instant!). With `in` and a closure after all arguments, the slice lasts
/// as long as the call, and the macro returns its result.
///
/// ```
/// use tracing_sdk::{categories, end, slice};
///
/// categories! { NET = "net"; }
///
/// fn fetch(url: &str) -> usize {
///     let _slice = slice!(NET, "fetch", url = url);
///     // ... until the end of the block, or:
///     let send = slice!(NET, "send");
///     end!(send, sent = 17);
///     slice!(NET, "read", url = url, in || 42)
/// }
/// # fetch("x");
/// ```
#[macro_export]
macro_rules! slice {
    ($category:expr, $($rest:tt)*) => {
        $crate::__event!(@slice slice [$category] [] $($rest)*)
    };
    ($($other:tt)*) => {
        ::core::compile_error!("a slice needs a category and a name: `slice!(NET, \"name\")`")
    };
}

/// A slice for the rest of the function, with the path of the function as its name. After the category come arguments,
/// in the grammar of [`instant!`](crate::instant!).
///
/// ```
/// use tracing_sdk::{categories, function};
///
/// categories! { NET = "net"; }
///
/// fn resolve(host: &str) {
///     function!(NET, host = host);
///     // ...
/// }
/// # resolve("x");
/// ```
#[macro_export]
macro_rules! function {
    ($category:expr $(, $($rest:tt)*)?) => {
        let _slice = $crate::__event!(@function slice [$category] $($($rest)*)?);
    };
}

/// Begins the slice of a future, for [`Traced::traced`](crate::Traced::traced), or one that ends when its guard is
/// dropped, which may be after an `.await`. The grammar is that of [`instant!`](crate::instant!), with a literal name
/// and without `track`.
#[macro_export]
macro_rules! async_slice {
    ($category:expr, $name:literal $(, $($rest:tt)*)?) => {
        $crate::__event!(@slice async_slice [$category] [$name,] $($($rest)*)?)
    };
    ($($other:tt)*) => {
        ::core::compile_error!("write `async_slice!(NET, \"name\")`, with a literal; arguments may follow")
    };
}

/// Ends a slice with annotations, in the grammar of [`instant!`](crate::instant!) without names and tracks.
#[macro_export]
macro_rules! end {
    ($slice:expr $(, $($rest:tt)*)?) => {{
        let slice = $slice;
        if $crate::__private::ON && slice.is_recorded() {
            $crate::__event!(@args end [slice] [] [] [] $($($rest)*)? ,)
        }
    }};
}

/// Records the value of a counter, while a session records its category. Meanwhile the value is remembered: sessions
/// that start then begin with it, and so does what is left of a ring buffer. A static [`Counter`](crate::Counter) also
/// remembers what it is set to while no session records.
///
/// ```
/// use tracing_sdk::{Unit, categories, counter};
///
/// categories! { NET = "net"; }
///
/// counter!(NET, "queue depth", 17);
/// counter!(NET, "buffered", 1.5e6, unit = Unit::Bytes);
/// ```
#[macro_export]
macro_rules! counter {
    ($category:expr, $name:literal, $value:expr $(, $option:ident = $setting:expr)* $(,)?) => {
        if $crate::__private::ON {
            match &$category {
                category => {
                    if $crate::__private::CategoryRef::is_on(category) {
                        let counter = $crate::__static!($crate::__private::CounterSite =
                            $crate::__private::CounterSite::new(
                                $crate::Counter::new($name)$(.$option($setting))*));
                        counter.set(category, $value);
                    }
                }
            }
        }
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "write `counter!(NET, \"name\", value)`, with a literal; methods of `Counter` may follow, \
             such as `unit = Unit::Bytes`. A name that is made at run time is for `Counter::dynamic`"
        )
    };
}

/// Records a state, while a session records its category; `None` is no state. It is remembered as the value of
/// [`counter!`](crate::counter) is. A static [`State`](crate::State) also remembers what it is set to while no session
/// records.
///
/// ```
/// use tracing_sdk::{categories, state};
///
/// categories! { GPU = "gpu"; }
///
/// state!(GPU, "power", "busy");
/// state!(GPU, "power", None,);
/// ```
#[macro_export]
macro_rules! state {
    ($category:expr, $name:literal, $value:expr $(,)?) => {
        if $crate::__private::ON {
            match &$category {
                category => {
                    if $crate::__private::CategoryRef::is_on(category) {
                        let state = $crate::__static!(
                            $crate::__private::StateSite =
                                $crate::__private::StateSite::new($crate::State::new($name))
                        );
                        state.set(category, $crate::__private::StateValue::text(&$value));
                    }
                }
            }
        }
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "write `state!(NET, \"name\", value)`, with a literal; the value is a text, or `None`. A name that is made \
             at run time is for `State::dynamic`"
        )
    };
}

/// A static of a call site.
#[cfg(not(feature = "off"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __static {
    ($type:ty = $value:expr) => {{
        static __STATIC: $type = $value;
        &__STATIC
    }};
}

/// In code that never runs, and that must not leave a static behind.
#[cfg(feature = "off")]
#[doc(hidden)]
#[macro_export]
macro_rules! __static {
    ($type:ty = $value:expr) => {{
        const __STATIC: $type = $value;
        $crate::__private::leak(__STATIC)
    }};
}

/// The machinery of the event macros: see the module.
#[doc(hidden)]
#[macro_export]
macro_rules! __event {
    // ---- the name is the path of the function around it
    (@function $verb:ident $category:tt $($rest:tt)*) => {{
        fn __item() {}
        fn __path() -> &'static str {
            ::core::any::type_name_of_val(&__item)
        }
        $crate::__event!(@slice $verb $category [fn __path,] $($rest)*)
    }};

    // ---- a slice is on the thread's track, unless `track = ...` is among the arguments; `in` comes last
    (@slice $verb:ident $category:tt [fn $($before:tt)*] in $($rest:tt)*) => {
        ::core::compile_error!("this slice ends with the function: write `slice!(NET, \"read\", in || read(url))`")
    };
    (@slice async_slice $category:tt $before:tt in $($rest:tt)*) => {
        ::core::compile_error!("`in` is for `slice!`: write `future.traced(async_slice!(NET, \"read\"))`")
    };
    (@slice async_slice $category:tt $before:tt track = $($rest:tt)*) => {
        ::core::compile_error!(
            "the slice of a future has a track of its own, as futures overlap: leave `track` out, or write \
             `\"track\" = value` for an annotation of that name"
        )
    };
    (@slice $verb:ident $category:tt [$($before:tt)*] in $body:expr $(,)?) => {{
        let slice = $crate::__event!(@slice $verb $category [$($before)*]);
        let result = ($body)();
        ::core::mem::drop(slice);
        result
    }};
    (@slice $verb:ident $category:tt $before:tt in $($rest:tt)*) => {
        ::core::compile_error!("`in` and its closure come last: `slice!(NET, \"read\", url = url, in || read(url))`")
    };
    (@slice $verb:ident $category:tt [$($before:tt)*] track = $value:expr $(, $($rest:tt)*)?) => {
        $crate::__event!(@slice track_slice $category [$($before)* track = $value,] $($($rest)*)?)
    };
    // An argument at a time: the compiler has a limit for the number of steps.
    (@slice $verb:ident $category:tt [$($before:tt)*] $key:tt = ? $value:expr $(, $($rest:tt)*)?) => {
        $crate::__event!(@slice $verb $category [$($before)* $key = ? $value,] $($($rest)*)?)
    };
    (@slice $verb:ident $category:tt [$($before:tt)*] $key:tt = % $value:expr $(, $($rest:tt)*)?) => {
        $crate::__event!(@slice $verb $category [$($before)* $key = % $value,] $($($rest)*)?)
    };
    (@slice $verb:ident $category:tt [$($before:tt)*] $key:tt = @ $value:expr $(, $($rest:tt)*)?) => {
        $crate::__event!(@slice $verb $category [$($before)* $key = @ $value,] $($($rest)*)?)
    };
    (@slice $verb:ident $category:tt [$($before:tt)*] $key:tt = $value:expr $(, $($rest:tt)*)?) => {
        $crate::__event!(@slice $verb $category [$($before)* $key = $value,] $($($rest)*)?)
    };
    // The name, a comma, a closure, or a mistake.
    (@slice $verb:ident $category:tt [$($before:tt)*] $first:tt $($rest:tt)*) => {
        $crate::__event!(@slice $verb $category [$($before)* $first] $($rest)*)
    };
    (@slice slice [$category:expr] [$($all:tt)*]) => {
        if !$crate::__private::ON {
            $crate::__private::Slice::OFF
        } else {
            match &$category {
                category => if !$crate::__private::CategoryRef::is_on(category) {
                    $crate::__private::Slice::OFF
                } else {
                    $crate::__event!(@name slice category, $($all)*)
                },
            }
        }
    };
    (@slice track_slice [$category:expr] [$($all:tt)*]) => {
        if !$crate::__private::ON {
            $crate::__private::TrackSlice::off()
        } else {
            match &$category {
                category => if !$crate::__private::CategoryRef::is_on(category) {
                    $crate::__private::TrackSlice::off()
                } else {
                    $crate::__event!(@name track_slice category, $($all)*)
                },
            }
        }
    };
    (@slice async_slice [$category:expr] [$($all:tt)*]) => {
        if !$crate::__private::ON {
            $crate::AsyncSlice::OFF
        } else {
            match &$category {
                category => if !$crate::__private::CategoryRef::is_on(category) {
                    $crate::AsyncSlice::OFF
                } else {
                    $crate::__event!(@async category, $($all)*)
                },
            }
        }
    };
    (@async $category:ident, fn $path:ident $(, $($rest:tt)*)?) => {
        $crate::__event!(@async $category [function($path)] $($($rest)*)?)
    };
    (@async $category:ident, $name:literal $(, $($rest:tt)*)?) => {
        $crate::__event!(@async $category [event($name)] $($($rest)*)?)
    };
    (@async $category:ident [$($name:tt)*] $($rest:tt)*) => {{
        let name = $crate::__static!($crate::__private::StaticName =
            $crate::__private::StaticName::$($name)*);
        let (track, flow) = $crate::AsyncSlice::track_and_flow(name);
        let slice = $crate::__event!(@args track_slice [$category]
            [$crate::__private::Name::Static(name)] [] []
            track = track, flow = flow, $($rest)* ,);
        $crate::AsyncSlice::new(slice, flow, $category, name)
    }};

    // ---- the name
    (@name $verb:ident $category:ident, name = @ $name:expr $(, $($rest:tt)*)?) => {
        match $name {
            ref name => $crate::__event!(@args $verb [$category]
                [$crate::__private::Name::interned(::core::convert::AsRef::<str>::as_ref(name))]
                [] [] $($($rest)*)? ,),
        }
    };
    (@name $verb:ident $category:ident, name = $name:expr $(, $($rest:tt)*)?) => {
        match $name {
            ref name => $crate::__event!(@args $verb [$category]
                [$crate::__private::Name::Dynamic(::core::convert::AsRef::<str>::as_ref(name))]
                [] [] $($($rest)*)? ,),
        }
    };
    (@name $verb:ident $category:ident, $name:literal $(, $($rest:tt)*)?) => {{
        let name = $crate::__static!($crate::__private::StaticName =
            $crate::__private::StaticName::event($name));
        $crate::__event!(@args $verb [$category] [$crate::__private::Name::Static(name)]
            [] [] $($($rest)*)? ,)
    }};
    (@name $verb:ident $category:ident, fn $path:ident $(, $($rest:tt)*)?) => {{
        let name = $crate::__static!($crate::__private::StaticName =
            $crate::__private::StaticName::function($path));
        $crate::__event!(@args $verb [$category] [$crate::__private::Name::Static(name)]
            [] [] $($($rest)*)? ,)
    }};
    (@name $($other:tt)*) => {
        ::core::compile_error!("the name is a literal; for one that is made at run time, write `name = expression`")
    };

    // ---- no arguments are left
    (@args end [$slice:ident] [] [.when($time:ident)] $write:tt $(,)*) => {
        $slice.end_with($time, $crate::__event!(@fill $write))
    };
    (@args end [$slice:ident] [] [] $write:tt $(,)*) => {
        $slice.end_with($crate::__private::When::NOW, $crate::__event!(@fill $write))
    };
    (@args end [$slice:ident] [] [$($site:tt)+] $write:tt $(,)*) => {
        ::core::compile_error!("a slice ends where it began: `end!` takes no `track`, and `ts` once")
    };
    (@args $verb:ident [$category:ident] [$name:expr] [$($site:tt)*] $write:tt $(,)*) => {
        $crate::__private::Site::new($category, $name)$($site)*.$verb($crate::__event!(@fill $write))
    };

    // ---- nothing, annotations alone, or what a closure writes
    (@fill []) => {
        ::core::option::Option::None
    };
    (@fill [$((annotate $key:tt $($value:tt)*))+]) => {
        ::core::option::Option::Some($crate::__private::Arguments::Annotations(
            $crate::__static!([$crate::__private::StaticName; [$(::core::stringify!($key)),+].len()] =
                [$($crate::__private::StaticName::key($crate::__event!(@key $key))),+]),
            &[$($crate::__private::annotation_value(&$($value)*)),+],
        ))
    };
    (@fill [$($write:tt)*]) => {
        ::core::option::Option::Some($crate::__private::Arguments::Closure(
            &mut $crate::__private::closure(|event| { $($crate::__event!(@write event $write);)* }),
        ))
    };
    (@key $key:ident) => {
        $crate::__private::key_of(::core::stringify!($key))
    };
    (@key $key:literal) => {
        $key
    };

    // ---- arguments with a meaning of their own
    (@args $verb:ident $category:tt $name:tt [$($site:tt)*] $write:tt track = $value:expr, $($rest:tt)*) => {
        match $crate::__private::TrackRef::track(&$value) {
            ref value => $crate::__event!(
                @args $verb $category $name [$($site)* .track(value)] $write $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt [$($site:tt)*] $write:tt ts = $value:expr, $($rest:tt)*) => {
        match $crate::__private::EventTime::when(&$value) {
            value => $crate::__event!(
                @args $verb $category $name [$($site)* .when(value)] $write $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] flow = $value:expr, $($rest:tt)*) => {
        match &$value {
            value => $crate::__event!(
                @args $verb $category $name $site [$($write)* (flow value)] $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] end_flow = $value:expr, $($rest:tt)*) => {
        match &$value {
            value => $crate::__event!(
                @args $verb $category $name $site [$($write)* (end_flow value)] $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] location = $value:expr, $($rest:tt)*) => {
        match $value {
            value => $crate::__event!(
                @args $verb $category $name $site [$($write)* (call location value)] $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] correlation = $value:expr, $($rest:tt)*) => {
        match $value {
            value => $crate::__event!(
                @args $verb $category $name $site [$($write)* (call correlation value)] $($rest)*),
        }
    };

    // ---- annotations
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] $key:tt = ? $value:expr, $($rest:tt)*) => {
        match &$value {
            value => $crate::__event!(@args $verb $category $name $site
                [$($write)* (annotate $key &$crate::__private::ByDebug(value))] $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] $key:tt = % $value:expr, $($rest:tt)*) => {
        match &$value {
            value => $crate::__event!(@args $verb $category $name $site
                [$($write)* (annotate $key &$crate::__private::ByDisplay(value))] $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] $key:tt = @ $value:expr, $($rest:tt)*) => {
        match &$value {
            value => $crate::__event!(@args $verb $category $name $site
                [$($write)* (annotate $key &$crate::__private::Interned(value))] $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] $key:tt = $value:expr, $($rest:tt)*) => {
        match &$value {
            value => $crate::__event!(
                @args $verb $category $name $site [$($write)* (annotate $key value)] $($rest)*),
        }
    };

    // ---- a closure, last
    (@args $verb:ident $category:tt $name:tt $site:tt [$($write:tt)*] | $event:tt | $body:expr, $($rest:tt)*) => {
        match $crate::__private::closure(|$event| { $body; }) {
            mut value => $crate::__event!(
                @args $verb $category $name $site [$($write)* (closure value)] $($rest)*),
        }
    };
    (@args $verb:ident $category:tt $name:tt $site:tt $write:tt , $($rest:tt)*) => {
        $crate::__event!(@args $verb $category $name $site $write $($rest)*)
    };
    (@args $verb:ident $category:tt $name:tt $site:tt $write:tt $key:ident, $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "an argument needs a key: `", ::core::stringify!($key), " = ", ::core::stringify!($key), "`"
        ))
    };
    (@args $verb:ident $category:tt $name:tt $site:tt $write:tt $($other:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "an argument is `key = value` (or `?value`, `%value`, `@value`), and `|event| ...` may come last; not `",
            ::core::stringify!($($other)*), "`"
        ))
    };

    // ---- what to write
    (@write $event:ident (annotate $key:tt $($value:tt)*)) => {{
        let key = $crate::__static!($crate::__private::StaticName =
            $crate::__private::StaticName::key($crate::__event!(@key $key)));
        $event.annotate_static(key, $($value)*);
    }};
    (@write $event:ident (flow $value:ident)) => {
        $crate::__private::Flows::each($value, |flow| { $event.flow(flow); })
    };
    (@write $event:ident (end_flow $value:ident)) => {
        $crate::__private::Flows::each($value, |flow| { $event.end_flow(flow); })
    };
    (@write $event:ident (call $method:ident $value:ident)) => {
        $event.$method($value)
    };
    (@write $event:ident (closure $value:ident)) => {
        $value($event)
    };
}
