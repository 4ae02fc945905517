#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
#[repr(i64)]
enum Closed {
    #[default]
    None = 0,
    Large = 0x8000_0000,
    Small = -2147483649,
    Largest = 2147483647,
    Smallest = -2147483648,
}
