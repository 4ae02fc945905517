#[derive(Clone, Copy, PartialEq, Debug, Default, Enumeration)]
enum Generic<T> {
    A,
}
