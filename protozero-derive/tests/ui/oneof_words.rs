#[derive(Clone, PartialEq, Debug, Oneof)]
enum Words {
    #[pb(uint32, 1, default = 3)]
    Default(u32),
    #[pb(uint32, 2, required)]
    Required(u32),
    #[pb(uint32, 3, or_unknown)]
    Checked(u32),
    #[pb(map(uint32, uint32), 4)]
    Map(BTreeMap<u32, u32>),
    #[pb(unknown)]
    Unknown(UnknownFields),
    #[pb(string, 5)]
    Borrowed(&'static str),
}
