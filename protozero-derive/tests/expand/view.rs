#[derive(Clone, PartialEq, Debug, Default, MessageView)]
#[pb(skip_unknown)]
pub struct Line<'a> {
    #[pb(string, 1)]
    pub text: &'a str,
    #[pb(bytes, 2)]
    pub raw: Option<Cow<'a, [u8]>>,
    #[pb(string, 3)]
    pub copied: String,
    #[pb(message, 4, boxed)]
    pub next: Option<Box<Line<'a>>>,
}
