#[derive(Clone, PartialEq, Debug, Default, Message)]
pub struct Place<M: protozero::Message> {
    #[pb(map(string, message), 1)]
    pub parts: BTreeMap<String, M>,
    #[pb(group, 2)]
    pub group: Option<Other>,
    #[pb(enumeration, 3, repeated)]
    pub shades: Vec<Shade>,
    #[pb(string, 4, default = "here")]
    pub r#where: Option<String>,
    #[pb(uint32, 5, required)]
    pub count: u32,
    #[pb(unknown, extensions)]
    pub rest: UnknownFields,
}
