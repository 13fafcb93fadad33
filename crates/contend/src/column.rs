//! Columns: the types that fields of a row may have. The bytes of a key column compare as its values do, so that rows
//! and keys hold the same bytes.

use core::cmp::Ordering;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

/// The kind of value in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `bool`
    Bool,
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `u128`
    U128,
    /// `i8`
    I8,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `i128`
    I128,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// [`Sum`]
    Sum,
    /// `[u8; N]`, with this `N`.
    Bytes(u16),
    /// [`Text<N>`](Text), with this `N`.
    Text(u16),
}

impl Kind {
    /// The width of a value in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::Sum => 8,
            Self::U128 | Self::I128 => 16,
            Self::Bytes(bytes) | Self::Text(bytes) => bytes as usize,
        }
    }

    /// Whether columns of this kind may be part of a key, that is, whether their bytes compare as their values do.
    pub const fn is_key(self) -> bool {
        !matches!(self, Self::F32 | Self::F64 | Self::Sum)
    }
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// The kind of the column's values.
    pub kind: Kind,
    /// Whether the column is nullable: an `Option` of a column.
    pub is_nullable: bool,
}

impl Type {
    /// The type of a column that always holds a value.
    pub const fn of(kind: Kind) -> Self {
        Self { kind, is_nullable: false }
    }

    /// The same type, but nullable.
    ///
    /// # Panics
    /// If the type is nullable already.
    #[must_use]
    pub const fn or_nothing(self) -> Self {
        assert!(!self.is_nullable, "an `Option` of an `Option` is no column");
        Self { is_nullable: true, ..self }
    }

    /// The width of a value in bytes.
    pub const fn bytes(self) -> usize {
        self.kind.bytes() + self.is_nullable as usize
    }

    /// Whether columns of this type may be part of a key.
    pub const fn is_key(self) -> bool {
        self.kind.is_key() && !self.is_nullable
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            Kind::Bytes(bytes) => format!("[u8; {bytes}]"),
            Kind::Text(bytes) => format!("Text<{bytes}>"),
            Kind::Sum => "Sum".into(),
            other => format!("{other:?}").to_ascii_lowercase(),
        };
        if self.is_nullable { write!(f, "Option<{name}>") } else { f.write_str(&name) }
    }
}

/// A type that a field of a row may have: numbers, `bool`, `[u8; N]`, [`Text<N>`](Text), [`Sum`], and `Option` of
/// those.
///
/// Another type becomes a column by an implementation that writes it as one of these types:
///
/// ```
/// use contend::{Column, Type};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum State {
///     Ready = 0,
///     Done = 1,
/// }
///
/// impl Column for State {
///     const TYPE: Type = u8::TYPE;
///
///     fn write(&self, to: &mut [u8]) {
///         (*self as u8).write(to);
///     }
///
///     fn read(from: &[u8]) -> Self {
///         if u8::read(from) == 0 { Self::Ready } else { Self::Done }
///     }
/// }
///
/// let mut bytes = [7];
/// State::Done.write(&mut bytes);
/// assert_eq!(State::read(&bytes), State::Done);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no column of a table",
    label = "the field of this type cannot be a column",
    note = "columns are integers of 8 to 128 bits, `f32`, `f64`, `bool`, `[u8; N]`, `contend::Text<N>`, \
            `contend::Sum`, and `Option` of these: all have a fixed width, so take `Text<N>` for a text and \
            `[u8; N]` for bytes",
    note = "a type of your own is a column if it implements `contend::Column`; a struct that derives \
            `contend::ColumnGroup` is the type of a field that is marked `#[group]`"
)]
pub trait Column: Sized + 'static {
    /// The type under which the column is stored.
    const TYPE: Type;

    /// Writes the value to `to`, which has the width of the type.
    fn write(&self, to: &mut [u8]);

    /// Reads the value that was written to these bytes. Any bytes must give some value.
    fn read(from: &[u8]) -> Self;
}

/// A column that may be part of a key: its bytes compare as its values do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "the field of this type is in the key, or in an index",
    note = "of the key, and of indexes, are integers, `bool`, `[u8; N]` and `contend::Text<N>`, whose bytes compare as \
            values do; floating-point numbers, `Sum` and `Option` are not",
    note = "a type of your own can be if it implements `contend::Column`, `contend::KeyColumn` and `Clone`"
)]
pub trait KeyColumn: Column + Clone {
    /// A constant that the derive names for each field of a key or an index, so that the compiler checks the trait
    /// there.
    #[doc(hidden)]
    const IS_ONE: () = ();
}

macro_rules! numbers {
    ($($number:ty: $kind:ident, $flipped:expr;)+) => {
        $(
            impl Column for $number {
                const TYPE: Type = Type::of(Kind::$kind);

                #[inline]
                fn write(&self, to: &mut [u8]) {
                    to.copy_from_slice(&(*self ^ $flipped).to_be_bytes());
                }

                #[inline]
                fn read(from: &[u8]) -> Self {
                    Self::from_be_bytes(from.try_into().expect("as many bytes as the type takes")) ^ $flipped
                }
            }

            impl KeyColumn for $number {}
        )+
    };
}

// With the sign bit flipped, the bytes of negative numbers compare below the bytes of the others.
numbers! {
    u8: U8, 0;
    u16: U16, 0;
    u32: U32, 0;
    u64: U64, 0;
    u128: U128, 0;
    i8: I8, i8::MIN;
    i16: I16, i16::MIN;
    i32: I32, i32::MIN;
    i64: I64, i64::MIN;
    i128: I128, i128::MIN;
}

impl Column for bool {
    const TYPE: Type = Type::of(Kind::Bool);

    #[inline]
    fn write(&self, to: &mut [u8]) {
        u8::from(*self).write(to);
    }

    #[inline]
    fn read(from: &[u8]) -> Self {
        u8::read(from) != 0
    }
}

impl KeyColumn for bool {}

impl Column for f32 {
    const TYPE: Type = Type::of(Kind::F32);

    #[inline]
    fn write(&self, to: &mut [u8]) {
        self.to_bits().write(to);
    }

    #[inline]
    fn read(from: &[u8]) -> Self {
        Self::from_bits(u32::read(from))
    }
}

impl Column for f64 {
    const TYPE: Type = Type::of(Kind::F64);

    #[inline]
    fn write(&self, to: &mut [u8]) {
        self.to_bits().write(to);
    }

    #[inline]
    fn read(from: &[u8]) -> Self {
        Self::from_bits(u64::read(from))
    }
}

/// A number that transactions add to. If all columns of a table beside its key are sums, and the table has no secondary
/// index, [`Txn::add`](crate::Txn::add) adds to a row without reading it. Under schemes that add at commit, the
/// standard scheme among them, transactions that add to the same row then do not conflict. Sums wrap at 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sum(pub i64);

// Stored in the machine's byte order, as a word to which the engine adds.
impl Column for Sum {
    const TYPE: Type = Type::of(Kind::Sum);

    #[inline]
    fn write(&self, to: &mut [u8]) {
        to.copy_from_slice(&self.0.to_ne_bytes());
    }

    #[inline]
    fn read(from: &[u8]) -> Self {
        Self(i64::from_ne_bytes(from.try_into().expect("as many bytes as the type takes")))
    }
}

/// The length of a column of bytes.
const fn length(bytes: usize) -> u16 {
    assert!(
        bytes <= u16::MAX as usize,
        "a column has 65,535 bytes at most: keep what is longer in several rows"
    );
    bytes as u16
}

impl<const N: usize> Column for [u8; N] {
    const TYPE: Type = Type::of(Kind::Bytes(length(N)));

    #[inline]
    fn write(&self, to: &mut [u8]) {
        to.copy_from_slice(self);
    }

    #[inline]
    fn read(from: &[u8]) -> Self {
        from.try_into().expect("as many bytes as the type takes")
    }
}

impl<const N: usize> KeyColumn for [u8; N] {}

impl<C: Column> Column for Option<C> {
    const TYPE: Type = C::TYPE.or_nothing();

    #[inline]
    fn write(&self, to: &mut [u8]) {
        to[0] = u8::from(self.is_some());
        match self {
            Some(value) => value.write(&mut to[1..]),
            None => to[1..].fill(0),
        }
    }

    #[inline]
    fn read(from: &[u8]) -> Self {
        (from[0] != 0).then(|| C::read(&from[1..]))
    }
}

/// Text of at most `N` bytes, without a zero byte: a column of fixed width. Longer texts are refused, not cut.
///
/// ```
/// use contend::Text;
///
/// let name: Text<8> = "Ann".parse()?;
/// assert_eq!(name, "Ann");
/// assert!("too long a name".parse::<Text<8>>().is_err());
/// # Ok::<(), contend::TextError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: usize>([u8; N]);

/// The error for a text that does not fit a column: the text is too long, or has a zero byte. Shorten the text, or
/// widen the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Length of the text in bytes.
    pub bytes: usize,
    /// Greatest length of a text in the column, in bytes.
    pub bytes_max: usize,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, bytes_max } = self;
        if bytes > bytes_max {
            write!(f, "a text of {bytes} bytes is too long for a column of {bytes_max}")
        } else {
            f.write_str("a text in a column has no zero byte")
        }
    }
}

impl core::error::Error for TextError {}

/// Returns the bytes of a text if it fits a column of `bytes_max` bytes.
pub(crate) fn check_text(text: &str, bytes_max: usize) -> Result<&[u8], TextError> {
    let bytes = text.as_bytes();
    let is_text = bytes.len() <= bytes_max && !bytes.contains(&0);
    is_text.then_some(bytes).ok_or(TextError { bytes: bytes.len(), bytes_max })
}

/// Returns the text in the bytes of a column.
pub(crate) fn text_of(column: &[u8]) -> &str {
    let end = column.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    core::str::from_utf8(&column[..end]).unwrap_or_default()
}

impl<const N: usize> Text<N> {
    /// The empty text.
    pub const EMPTY: Self = Self([0; N]);

    /// Makes a column value of a text.
    ///
    /// # Errors
    /// If the text is longer than `N` bytes, or has a zero byte.
    pub fn new(text: &str) -> Result<Self, TextError> {
        let mut bytes = [0; N];
        let given = check_text(text, N)?;
        bytes[..given.len()].copy_from_slice(given);
        Ok(Self(bytes))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        text_of(&self.0)
    }
}

impl<const N: usize> Column for Text<N> {
    const TYPE: Type = Type::of(Kind::Text(length(N)));

    #[inline]
    fn write(&self, to: &mut [u8]) {
        to.copy_from_slice(&self.0);
    }

    #[inline]
    fn read(from: &[u8]) -> Self {
        Self(from.try_into().expect("as many bytes as the type takes"))
    }
}

impl<const N: usize> KeyColumn for Text<N> {}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> FromStr for Text<N> {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        Self::new(text)
    }
}

impl<const N: usize> TryFrom<&str> for Text<N> {
    type Error = TextError;

    fn try_from(text: &str) -> Result<Self, TextError> {
        Self::new(text)
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl<const N: usize> PartialEq<str> for Text<N> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl<const N: usize> PartialEq<&str> for Text<N> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl<const N: usize> PartialOrd<str> for Text<N> {
    fn partial_cmp(&self, other: &str) -> Option<Ordering> {
        self.as_str().partial_cmp(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<C: Column>(value: &C) -> Vec<u8> {
        let mut bytes = vec![0xee; C::TYPE.bytes()];
        value.write(&mut bytes);
        bytes
    }

    #[track_caller]
    fn ascends<C: KeyColumn + PartialEq + fmt::Debug>(values: &[C]) {
        for pair in values.windows(2) {
            assert!(bytes(&pair[0]) < bytes(&pair[1]), "{pair:?}");
        }
        for value in values {
            assert_eq!(C::read(&bytes(value)), *value);
        }
    }

    #[test]
    fn bytes_compare_as_values_do_and_give_them_back() {
        ascends(&[0_u8, 1, 200, u8::MAX]);
        ascends(&[0_u16, 255, 256, u16::MAX]);
        ascends(&[0_u32, 65_536, u32::MAX]);
        ascends(&[0_u64, 1 << 40, u64::MAX]);
        ascends(&[0_u128, 1 << 90, u128::MAX]);
        ascends(&[i8::MIN, -1, 0, 1, i8::MAX]);
        ascends(&[i16::MIN, -256, -1, 0, 255, i16::MAX]);
        ascends(&[i32::MIN, -1, 0, 1, i32::MAX]);
        ascends(&[i64::MIN, -1, 0, 1, i64::MAX]);
        ascends(&[i128::MIN, -1, 0, 1, i128::MAX]);
        ascends(&[false, true]);
        ascends(&[[0_u8, 9], [1, 0]]);
        ascends(&["", "a", "ab", "b", "\u{e9}"].map(|text| Text::<4>::new(text).unwrap()));
    }

    #[test]
    fn what_is_no_key_gives_its_values_back() {
        for value in [0.0, -1.5, f64::INFINITY] {
            assert!((f64::read(&bytes(&value)) - value).abs() < 1e-9 || value.is_infinite());
        }
        assert!(f32::read(&bytes(&f32::NAN)).is_nan());
        for value in [Sum(i64::MIN), Sum(-1), Sum(7)] {
            assert_eq!(Sum::read(&bytes(&value)), value);
        }
        for value in [None, Some(0), Some(u64::MAX)] {
            assert_eq!(Option::<u64>::read(&bytes(&value)), value);
        }
        assert_eq!(bytes(&None::<u16>), [0, 0, 0], "nothing is nothing, whatever stood there before");
    }

    #[test]
    fn a_text_is_not_cut() {
        assert_eq!(Text::<3>::new("abcd"), Err(TextError { bytes: 4, bytes_max: 3 }));
        assert!(Text::<3>::new("a\0").is_err());
        assert_eq!(Text::<3>::new("abc").unwrap().as_str(), "abc");
        assert_eq!(Text::<3>::default().len(), 0);
    }

    #[test]
    fn types_are_named_as_in_rust() {
        let names = [u8::TYPE, Text::<5>::TYPE, Option::<[u8; 2]>::TYPE].map(|it| it.to_string());
        assert_eq!(names, ["u8", "Text<5>", "Option<[u8; 2]>"]);
    }
}
