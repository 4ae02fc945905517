#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
enum Values {
    None,
    Some(u32),
    #[pb(nam = "X")]
    Misspelt,
    #[pb(values(A = 1))]
    Nested,
    #[pb(name = "A")]
    #[pb(name = "B")]
    Twice,
    #[pb(name = A)]
    NotText,
}
