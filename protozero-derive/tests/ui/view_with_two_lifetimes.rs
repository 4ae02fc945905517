#[derive(Clone, PartialEq, Debug, Default, MessageView)]
struct View<'a, 'b> {
    #[pb(string, 1)]
    text: &'a str,
    #[pb(string, 2)]
    more: &'b str,
}
