#[derive(Clone, PartialEq, Debug, Default, MessageView)]
#[pb(crate = my_sdk::protozero, skip_unknown, name = "Line")]
struct Line<'a> {
    #[pb(string, 1)]
    name: &'a str,
    #[pb(message, 2, repeated)]
    parts: Vec<Part<'a>>,
}
