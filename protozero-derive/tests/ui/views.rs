#[derive(Clone, PartialEq, Debug, Default, MessageView)]
struct View<'a> {
    #[pb(uint32, 1)]
    number: &'a u32,
    #[pb(message, 2)]
    message: Option<&'a Other>,
    #[pb(string, 3)]
    list: Vec<&'a str>,
    #[pb(map(uint32, enumeration), 4)]
    map: BTreeMap<u32, &'a Color>,
}
