//! Tables in which each item stands once.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// The first index of each key in a list, as far as it has been counted: items that a text declares
/// are not looked up as they come.
#[derive(Clone, Debug)]
pub(super) struct Index<K> {
    ids: HashMap<K, u32>,
    n_counted: usize,
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self {
            ids: HashMap::new(),
            n_counted: 0,
        }
    }
}

impl<K: Eq + Hash> Index<K> {
    /// The index of a key, if it has been counted.
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        self.ids.get(key).copied()
    }

    /// The index of the first item in the list with the key of `item`, which is added when there
    /// is none.
    pub(super) fn intern<T>(
        &mut self,
        list: &mut Vec<T>,
        item: T,
        key_of: impl Fn(&T) -> K,
    ) -> u32 {
        for known in &list[self.n_counted..] {
            let next = self.n_counted as u32;
            self.ids.entry(key_of(known)).or_insert(next);
            self.n_counted += 1;
        }
        *self.ids.entry(key_of(&item)).or_insert_with(|| {
            list.push(item);
            self.n_counted += 1;
            self.n_counted as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::hash::Hasher;

    thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// A key that counts with how many others it is compared.
    #[derive(Clone, Debug)]
    struct Counted(u32);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn an_item_is_compared_with_few_others() {
        const COUNT: u32 = 10_000;
        let (mut index, mut list) = (Index::default(), Vec::new());
        for _ in 0..2 {
            for item in 0..COUNT {
                let id = index.intern(&mut list, item, |&item| Counted(item));
                assert_eq!(id, item);
            }
        }
        assert_eq!(list.len(), COUNT as usize);
        let compared = COMPARED.get();
        assert!(compared < 4 * COUNT as usize, "{compared} comparisons");
    }

    #[test]
    fn items_that_a_text_put_there_are_found() {
        let (mut index, mut list) = (Index::default(), vec!["a", "b", "a"]);
        assert_eq!(index.intern(&mut list, "b", |&item| item), 1);
        assert_eq!(index.intern(&mut list, "a", |&item| item), 0);
        assert_eq!(index.intern(&mut list, "c", |&item| item), 3);
    }
}
