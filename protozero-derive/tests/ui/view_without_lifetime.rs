#[derive(Clone, PartialEq, Debug, Default, MessageView)]
struct View {
    #[pb(string, 1)]
    text: String,
}
