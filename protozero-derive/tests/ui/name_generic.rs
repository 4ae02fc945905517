#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(name = "shop.Order", skip_unknown)]
struct Order<M: Message> {
    #[pb(message, 1)]
    inner: Option<M>,
}
