//! Words that are nearly other words.

/// How many letters must be inserted, removed or replaced to turn `a` into `b`.
#[must_use]
pub fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The names that `word` may mean, the nearest first: at most three.
#[must_use]
pub fn near<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    // Of a short word, half of the letters may be wrong.
    let limit = (word.len() / 2).clamp(1, 3);
    let distance = |name: &'n str| {
        let begins = word.len() > 2 && (name.starts_with(word) || word.starts_with(name));
        let distance = edit_distance(word, name);
        (begins || distance <= limit).then_some((!begins, distance, name))
    };
    let mut near: Vec<_> = names.into_iter().filter_map(distance).collect();
    near.sort_unstable();
    near.into_iter().map(|(.., name)| name).take(3).collect()
}

#[cfg(test)]
mod tests;
