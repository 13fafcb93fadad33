//! Numbers for keys. When transactions are executed serially (`serial`), every key that a transaction met has a number;
//! otherwise only the keys whose history can matter have one: keys that a transaction installed, saw absent, or may
//! have missed in a scan.

use stdx::history::Key;

/// The number of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyId(pub(crate) u32);

impl KeyId {
    /// No key.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The index in vectors of keys.
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// A bucket of the hash table: it holds the whole of a one-word key, so that the lookup of such a key is one cache
/// miss.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    word: u64,
    table: u16,
    width: u16,
    id: KeyId,
}

const EMPTY: Bucket = Bucket { word: 0, table: 0, width: 0, id: KeyId::NONE };

impl Bucket {
    #[inline]
    fn new(key: Key<'_>, id: KeyId) -> Self {
        let word = key.words.first().copied().unwrap_or_default();
        Self { word, table: key.table, width: key.words.len() as u16, id }
    }
}

/// Whether two keys are equal; for short keys this is faster than a comparison of slices.
#[inline]
pub(crate) fn is_same(one: Key<'_>, other: Key<'_>) -> bool {
    one.table == other.table
        && one.words.len() == other.words.len()
        && one.words.iter().zip(other.words).all(|(one, other)| one == other)
}

/// The location of a key's words.
#[derive(Clone, Copy, Debug)]
struct Span {
    at: u32,
    table: u16,
    width: u16,
}

/// All numbered keys, with copies of their words side by side.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    buckets: Vec<Bucket>,
    spans: Vec<Span>,
    words: Vec<u64>,
}

/// The number of buckets of the smallest hash table.
const BUCKETS_MIN: usize = 32;

/// A well-mixed hash; its upper half is the tag that versions keep of their key.
#[inline]
pub(crate) fn hash(key: Key<'_>) -> u64 {
    // The multiplier of Fibonacci hashing; each fold brings the high bits down.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = (u64::from(key.table) + 1).wrapping_mul(GOLDEN);
    for &word in key.words {
        hash = (hash ^ word).wrapping_mul(GOLDEN);
        hash ^= hash >> 32;
    }
    hash = hash.wrapping_mul(GOLDEN);
    hash ^ hash >> 29
}

/// The part of a key's hash that its versions keep, to detect accesses under another key.
#[inline]
pub(crate) const fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl Keys {
    /// Removes all keys, and keeps the memory. A table that has grown starts small again, so that a small history does
    /// not pay for a large one before it.
    pub(crate) fn clear(&mut self) {
        self.buckets.clear();
        self.buckets.resize(BUCKETS_MIN, EMPTY);
        self.spans.clear();
        self.words.clear();
    }

    /// The number of keys.
    pub(crate) const fn len(&self) -> usize {
        self.spans.len()
    }

    /// The key with this number.
    #[inline]
    pub(crate) fn key(&self, id: KeyId) -> Key<'_> {
        let Span { at, table, width } = self.spans[id.at()];
        Key::new(table, &self.words[at as usize..at as usize + usize::from(width)])
    }

    /// The table of the key with this number.
    #[inline]
    pub(crate) fn table(&self, id: KeyId) -> u16 {
        self.spans[id.at()].table
    }

    /// Reads the bucket at which the search for a key with this hash starts, which brings it into the cache.
    #[inline]
    pub(crate) fn touch(&self, hash: u64) -> u32 {
        self.buckets[hash as usize & (self.buckets.len() - 1)].id.0
    }

    /// The key's number; `None` if it has none.
    #[inline]
    pub(crate) fn get(&self, key: Key<'_>, hash: u64) -> Option<KeyId> {
        self.find(key, hash).ok()
    }

    /// The key's number; assigns a new one if the key has none.
    #[inline]
    pub(crate) fn intern(&mut self, key: Key<'_>, hash: u64) -> KeyId {
        match self.find(key, hash) {
            Ok(id) => id,
            Err(place) => self.add(key, place),
        }
    }

    /// The key's number, or the index of the free bucket for it.
    #[inline]
    fn find(&self, key: Key<'_>, hash: u64) -> Result<KeyId, usize> {
        let mask = self.buckets.len() - 1;
        let wanted = Bucket::new(key, KeyId::NONE);
        let mut place = hash as usize & mask;
        loop {
            let bucket = self.buckets[place];
            if bucket.id == KeyId::NONE {
                return Err(place);
            }
            let is_alike =
                (bucket.word, bucket.table, bucket.width) == (wanted.word, wanted.table, wanted.width);
            if is_alike && (wanted.width <= 1 || is_same(self.key(bucket.id), key)) {
                return Ok(bucket.id);
            }
            place = (place + 1) & mask;
        }
    }

    fn add(&mut self, key: Key<'_>, place: usize) -> KeyId {
        let id = KeyId(self.spans.len() as u32);
        let at =
            u32::try_from(self.words.len()).expect("a history has fewer than four billion words of keys");
        assert!(id.0 < 1 << 30, "a history has at most a billion keys");
        self.buckets[place] = Bucket::new(key, id);
        self.spans.push(Span { at, table: key.table, width: key.words.len() as u16 });
        self.words.extend_from_slice(key.words);
        if self.spans.len() * 2 > self.buckets.len() {
            self.grow();
        }
        id
    }

    fn grow(&mut self) {
        let size = self.buckets.len() * 4;
        self.buckets.clear();
        self.buckets.resize(size, EMPTY);
        for id in (0..self.spans.len() as u32).map(KeyId) {
            let key = self.key(id);
            let mut place = hash(key) as usize & (size - 1);
            while self.buckets[place].id != KeyId::NONE {
                place = (place + 1) & (size - 1);
            }
            self.buckets[place] = Bucket::new(key, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_anywhere_have_different_numbers_and_keep_them() {
        let words: Vec<[u64; 3]> = (0..1_000).map(|n| [n % 10, n / 10 % 10, n / 100]).collect();
        let all: Vec<Key<'_>> =
            (0..3).flat_map(|table| words.iter().map(move |w| Key::new(table, w))).collect();
        let mut keys = Keys::default();
        keys.clear();
        for (nth, &key) in all.iter().enumerate() {
            assert_eq!(keys.get(key, hash(key)), None);
            assert_eq!(keys.intern(key, hash(key)).at(), nth);
        }
        assert!(all.iter().enumerate().all(|(nth, &key)| keys.intern(key, hash(key)).at() == nth));
        assert_eq!(keys.len(), 3_000);
        keys.clear();
        assert_eq!((keys.len(), keys.get(all[0], hash(all[0]))), (0, None));
    }
}
