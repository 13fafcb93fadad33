//! Errors of the derives for structs that cannot be tables. Each error is at the wrong field or word, in the terms of
//! the struct's author, says what to write instead, and is the only error.
//!
//! All cases are compiled as one program, by the compiler that has built the library: each is a module, and its errors
//! are those within its lines.

use core::ops::Range;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first lines of each case.
const PRELUDE: &str = "#[allow(unused_imports)] use contend::{Column, ColumnGroup, Sum, Table, Text};\n";

/// A message of the compiler: its line, and its text with all labels and notes.
struct Said {
    line: usize,
    column: usize,
    text: String,
}

/// A case: a name, the source, and for each expected error the source text at its place, and parts of its message.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static [&'static str])]);

/// Returns the newest library in the test's folder, which cargo has built before the test.
fn library(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).expect("the test is in a folder").filter_map(Result::ok);
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libcontend-") && path.extension().is_some_and(|extension| extension == "rlib")
    };
    let libraries = files.map(|file| file.path()).filter(is_library);
    let newest = libraries.max_by_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok());
    newest.expect("cargo has built the library beside its tests")
}

/// Compiles a program, and returns its errors and warnings.
fn compile(name: &str, source: &str) -> Vec<Said> {
    let test = env::current_exe().expect("a test is a file");
    let folder = test.parent().expect("a file is in a folder");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = place.join(format!("{name}.rs"));
    fs::write(&file, source).expect("the system works");
    let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    compiler.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--color=never", "-Wunused"]);
    compiler.arg("--extern").arg(format!("contend={}", library(folder).display()));
    compiler.arg("-L").arg(format!("dependency={}", folder.display()));
    // If cargo has built for an explicit target, the derive is in the host's folder.
    let profile = folder.parent().and_then(Path::file_name);
    if let (Some(host), Some(profile)) = (folder.ancestors().nth(3), profile) {
        compiler.arg("-L").arg(format!("dependency={}", host.join(profile).join("deps").display()));
    }
    let ended = compiler.arg("--out-dir").arg(place).arg(&file).output().expect("there is a compiler");
    let text = String::from_utf8(ended.stderr).expect("the compiler writes text");
    let said = split(&text, &format!("{name}.rs:"));
    assert_eq!(ended.status.success(), !text.contains("\nerror") && !text.starts_with("error"), "{text}");
    said
}

/// Splits the output of a compiler into its errors, without the summary at its end.
fn split(text: &str, file: &str) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    let mut current = String::new();
    for line in text.lines().chain(["error: end"]) {
        let is_head = ["error:", "error[", "warning:", "warning["].iter().any(|head| line.starts_with(head));
        if is_head {
            all.extend(said(&current, file));
            current.clear();
        }
        current.push_str(line);
        current.push('\n');
    }
    all
}

/// Parses a message of the compiler, if it names a place in the file, in its first line or in its first note with such
/// a place.
fn said(text: &str, file: &str) -> Option<Said> {
    let mut places = text.lines().filter_map(|line| line.trim_start().strip_prefix("--> "));
    let at = places.find(|at| at.contains(file))?;
    let mut numbers = at.rsplitn(3, ':').map(str::parse::<usize>);
    let (column, line) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(Said { line, column, text: text.to_owned() })
}

/// Compiles cases together, and compares the errors of each with the expected errors.
fn judge(name: &str, cases: &[Case]) {
    let mut source = String::from("#![allow(dead_code)]\n");
    let mut lines: Vec<Range<usize>> = Vec::new();
    for (name, text, _) in cases {
        let first = source.lines().count() + 1;
        source.extend(["mod ", name, " {\n", PRELUDE, text, "\n}\n"]);
        lines.push(first..source.lines().count() + 1);
    }
    let mut said = compile(name, &source);
    let texts: Vec<&str> = source.lines().collect();
    for ((name, _, expected), lines) in cases.iter().zip(lines) {
        let (own, others) = said.into_iter().partition(|said| lines.contains(&said.line));
        let own: Vec<Said> = own;
        said = others;
        let all: String = own.iter().map(|said| said.text.as_str()).collect();
        for (at, says) in *expected {
            let is_it = |said: &&Said| {
                texts[said.line - 1].get(said.column - 1..).is_some_and(|rest| rest.starts_with(at))
                    && says.iter().all(|part| said.text.contains(part))
            };
            assert!(own.iter().any(|said| is_it(&said)), "{name}: at `{at}` nothing says {says:?}:\n{all}");
        }
        assert_eq!(own.len(), expected.len(), "{name}: so much is said, and no more:\n{all}");
        let inside = ["__", "`Definition::", "`Index::", "`Group::", "tuples!", "IS_ONE"];
        let told = inside.iter().find(|inside| all.contains(**inside));
        assert_eq!(told, None, "{name}: nothing of the inside is told:\n{all}");
    }
    let others: String = said.iter().map(|said| said.text.as_str()).collect();
    assert!(said.is_empty(), "of no case:\n{others}");
}

#[test]
fn what_is_no_table_is_told_at_the_word_that_is_wrong() {
    judge("words", WORDS);
}

#[test]
fn what_is_no_column_is_told_at_the_field() {
    judge("fields", FIELDS);
}

#[test]
fn what_only_the_compiler_knows_is_told_at_the_field_once() {
    judge("types", TYPES);
}

#[test]
fn a_key_that_is_too_wide_is_told_before_the_program_runs() {
    judge("widths", WIDTHS);
}

#[test]
fn of_tables_nothing_is_said() {
    judge("tables", TABLES);
}

/// Errors about the struct and its attributes.
const WORDS: &[Case] = &[
    (
        "keyless",
        "#[derive(Table)] struct A { id: u64 }",
        &[("A {", &["struct `A`: no field is marked `#[key]`: mark"])],
    ),
    (
        "five",
        "#[derive(Table)] struct A { #[key] a: u8, #[key] b: u8, #[key] c: u8, #[key] d: u8, #[key] e: u8 }",
        &[("e: u8", &["field `e`: a key has four fields at most: leave one out, or make one column"])],
    ),
    (
        "generic",
        "#[derive(Table)] struct B<T> { #[key] id: u64, x: T }",
        &[("<T>", &["`B` has parameters, and a row of a table is of one type: write a struct without them"])],
    ),
    (
        "borrowed",
        "#[derive(ColumnGroup)] struct B<'a> { x: &'a u64 }",
        &[("<'a>", &["`B` has parameters, and a column group is of one type"])],
    ),
    (
        "enumerated",
        "#[derive(Table)] enum C { A, B }",
        &[(
            "C {",
            &["`C` is an enum, and a row of a table is a struct with named fields", "`contend::Column`"],
        )],
    ),
    (
        "unnamed",
        "#[derive(Table)] struct D(u64, u8);",
        &[("D(", &["the fields of `D` have no names", "write `struct D { id: u64, ... }`"])],
    ),
    ("empty", "#[derive(Table)] struct D;", &[("D;", &["`D` has no fields", "add some"])]),
    ("united", "#[derive(Table)] union U { a: u8 }", &[("U {", &["`U` is a union", "write `struct`"])]),
    (
        "misspelt",
        "#[derive(Table)] #[table(nme = \"x\")] struct E { #[key] id: u64 }",
        &[("nme", &["there is no `nme` in `#[table(...)]`: did you mean `name`?"])],
    ),
    (
        "unknown",
        "#[derive(Table)] #[table(unlogged)] struct E { #[key] id: u64 }",
        &[("unlogged", &["there is no `unlogged` in `#[table(...)]`: write `name = \"...\"`, `point`"])],
    ),
    (
        "key_above",
        "#[derive(Table)] #[table(key = id)] struct E { id: u64 }",
        &[
            ("key", &["`key` is said of fields: mark them `#[key]`"]),
            ("E {", &["no field is marked `#[key]`"]),
        ],
    ),
    (
        "marks_above",
        "#[derive(Table)] #[index(x)] struct E { #[key] id: u64, x: u8 }",
        &[("#[index(x)]", &["`#[index]` is said of a field: put it before one, or write `#[table(index("])],
    ),
    (
        "twice",
        "#[derive(Table)] #[table(name = \"x\", rows = 5)] #[table(name = \"y\", point, point, rows = 6)]\n\
         struct F { #[key] id: u64 }",
        &[
            ("name = \"y\"", &["`name` is said twice of the table: leave one of them out"]),
            ("point, rows", &["`point` is said twice"]),
            ("rows = 6", &["`rows` is said twice"]),
        ],
    ),
    (
        "marked_twice",
        "#[derive(Table)] struct F { #[key] #[key ] id: u64, #[index] #[index ] x: u8 }",
        &[
            ("#[key ]", &["field `id`: `#[key]` is there twice: leave one out"]),
            ("#[index ]", &["field `x`: `#[index]` is there twice"]),
        ],
    ),
    (
        "arguments",
        "#[derive(Table)] struct G { #[key(auto)] id: u64, #[index(unique)] v: u8, #[table(point)] w: u8 }",
        &[
            ("#[key(auto)]", &["field `id`: `#[key]` stands alone"]),
            (
                "#[index(unique)]",
                &["field `v`: `#[index]` stands alone", "`#[table(index(by_x = (field, field)))]`"],
            ),
            ("#[table(point)]", &["field `w`: `#[table(...)]` is said of the struct"]),
        ],
    ),
    (
        "values",
        "#[derive(Table)] #[table(name = 5)] struct A { #[key] id: u64 }\n\
         #[derive(Table)] #[table(rows = \"many\")] struct B { #[key] id: u64 }\n\
         #[derive(Table)] #[table(rows = 99999999999999999999999)] struct C { #[key] id: u64 }\n\
         #[derive(Table)] #[table(point = true)] struct D { #[key] id: u64 }\n\
         #[derive(Table)] #[table] struct E { #[key] id: u64 }\n\
         #[derive(Table)] #[table = \"x\"] struct F { #[key] id: u64 }\n\
         #[derive(Table)] #[table(name = \"\")] struct G { #[key] id: u64 }",
        &[
            ("5)", &["`name` is a text: `name = \"jobs\"`"]),
            ("\"many\"", &["`rows` is how many rows are expected: `rows = 1_000_000`"]),
            ("99999999999999999999999", &["`rows` is how many", "number too large"]),
            ("= true", &["`point` stands alone: `#[table(point)]`"]),
            ("#[table] struct E", &["`#[table(...)]` says of the struct, in parentheses: `name = \"...\"`"]),
            ("#[table = \"x\"]", &["`#[table(...)]` says of the struct, in parentheses"]),
            ("\"\")", &["a table's name is not empty"]),
        ],
    ),
    (
        "indexes",
        "#[derive(Table)] #[table(index(by_x = x))] struct A { #[key] id: u64, x: u8 }\n\
         #[derive(Table)] #[table(index(by_x = (x, lenght)))] struct B { #[key] id: u64, x: u8, length: u8 }\n\
         #[derive(Table)] #[table(index(by_x = ()))] struct C { #[key] id: u64, x: u8 }\n\
         #[derive(Table)] #[table(index(by_x = (x, x)))] struct D { #[key] id: u64, x: u8 }\n\
         #[derive(Table)] struct E { #[key] id: u64, #[index] x: u8, #[index] y: u8, #[index] z: u8 }\n\
         #[derive(Table)] #[table(index(by_x = (x)))] struct F { #[key] id: u64, #[index] x: u8 }\n\
         #[derive(Table)] #[table(index(by_x = (xylophone)))] struct G { #[key] id: u64, x: u8 }",
        &[
            ("x)", &["an index has a name and its fields: `index(by_state = (state, due))`"]),
            ("lenght", &["index `by_x`: there is no field `lenght`: did you mean `length`?"]),
            ("by_x = ()", &["index `by_x`: it is over one to four fields, and 0 are named"]),
            ("x)))] struct D", &["index `by_x`: field `x` is named twice: name it once"]),
            ("z: u8", &["index `by_z`: a table has two secondary indexes at most: leave one out"]),
            ("by_x = (x)))] struct F", &["`by_x` and `by_x` would both be the constant `BY_X`: rename one"]),
            ("xylophone", &["there is no field `xylophone`: name another"]),
        ],
    ),
    (
        "prefixes",
        "#[derive(Table)] #[table(prefix = 1)] struct A { #[key] id: u64 }\n\
         #[derive(Table)] #[table(point, prefix = 1)] struct B { #[key] a: u64, #[key] b: u64 }",
        &[
            ("prefix = 1)] struct A", &["a prefix is of fewer fields than the key, which has 1"]),
            ("prefix = 1)] struct B", &["leave `prefix` or `point` out"]),
        ],
    ),
    (
        "groups",
        "#[derive(Clone, Copy, ColumnGroup)] struct Own { x: u8 }\n\
         #[derive(Table)] struct A { #[key] #[group] id: Own }\n\
         #[derive(Table)] #[table(index(by_x = (x, g)))] struct B { #[key] id: u64, x: u8, #[group] g: Own }\n\
         #[derive(Table)] struct C { #[key] id: u64, #[group] #[index] g: Own }\n\
         #[derive(Table)] #[table(index(g = (x)))] struct D { #[key] id: u64, x: u8, #[group] g: Own }\n\
         #[derive(ColumnGroup)] struct E { #[key] x: u8 }\n\
         #[derive(ColumnGroup)] struct F {}\n\
         #[derive(ColumnGroup)] enum G { A }",
        &[
            (
                "id: Own",
                &[
                    "field `id`: a column group is neither of the key nor of an index",
                    "leave `#[group]` or `#[key]` out",
                ],
            ),
            ("g)))]", &["index `by_x`: field `g` is a column group, and indexes are over columns in none"]),
            (
                "g: Own }\n".trim_ascii_end(),
                &["field `g`: a column group is neither", "leave `#[group]` or `#[index]` out"],
            ),
            ("g: Own", &["`g` and `g` would both be the constant `G`: rename one"]),
            ("#[key] x", &["`#[key]` is said of a table and not of a column group: leave it out"]),
            ("F {", &["`F` has no fields, and a column group has one at least: add it"]),
            ("G {", &["`G` is an enum, and a column group is a struct with named fields"]),
        ],
    ),
    (
        "all_at_once",
        "#[derive(Table)] #[table(nam = \"x\", point)] struct A { id: u64, #[index(x)] name: String, size: usize }",
        &[
            ("nam", &["did you mean `name`?"]),
            ("A {", &["no field is marked `#[key]`"]),
            ("#[index(x)]", &["stands alone"]),
            ("String", &["field `name`: `String` is no column"]),
            ("usize", &["field `size`: `usize` is no column"]),
        ],
    ),
];

/// Types that the derive itself recognizes not to be columns, or not to be key columns.
const FIELDS: &[Case] = &[
    (
        "texts",
        "#[derive(Table)] struct A { #[key] id: u64, a: String, b: &'static str, c: Option<String> }",
        &[
            (
                "String, b",
                &["field `a`: `String` is no column: a text in a row has a fixed width: take `Text<N>`"],
            ),
            ("&'static str", &["field `b`: `&'static str` is no column: a reference", "`Text<N>`"]),
            ("Option<String>", &["field `c`: `Option<String>` is no column", "take `Text<N>`"]),
        ],
    ),
    (
        "lists",
        "#[derive(Table)]\n\
         struct A { #[key] id: u64, a: Vec<u8>, b: [u64; 4], c: Box<u8>, d: HashMap<u8, u8>, e: (u8, u8) }",
        &[
            ("Vec<u8>", &["field `a`: `Vec<u8>` is no column: a row has a fixed width: take `[u8; N]`"]),
            ("[u64; 4]", &["field `b`: `[u64; 4]` is no column", "a field for each element"]),
            ("Box<u8>", &["field `c`: `Box<u8>` is no column", "take the type within"]),
            ("HashMap<u8, u8>", &["field `d`", "a table with a row for each element"]),
            ("(u8, u8)", &["field `e`: `(u8, u8)` is no column: a tuple is several columns"]),
        ],
    ),
    (
        "numbers",
        "#[derive(Table)] struct A { #[key] id: usize, a: char, b: Option<Option<u8>> }",
        &[
            ("usize", &["field `id`: `usize` is no column", "take `u64` or `i64`"]),
            ("char", &["field `a`: `char` is no column: take `u32`"]),
            ("Option<Option<u8>>", &["field `b`: `Option<Option<u8>>` is no column", "take one `Option`"]),
        ],
    ),
    (
        "lengths",
        "#[derive(Table)] struct A { #[key] id: u64, a: [u8; 70_000], b: Text<65536>, c: [u8; 65_535] }",
        &[
            (
                "[u8; 70_000]",
                &["field `a`", "a column has 65,535 bytes at most: keep what is longer in several rows"],
            ),
            ("Text<65536>", &["field `b`: `Text<65536>` is no column", "65,535 bytes at most"]),
        ],
    ),
    (
        "keys",
        "#[derive(Table)] #[table(index(by_b = (b)))] struct A { #[key] id: f64, #[index] a: Option<u8>, b: f32 }",
        &[
            ("f64", &["field `id`: `f64` cannot be part of the key", "take an integer"]),
            (
                "Option<u8>",
                &["field `a`: `Option<u8>` cannot be part of index `by_a`: a key always holds a value"],
            ),
            ("f32", &["field `b`: `f32` cannot be part of index `by_b`"]),
        ],
    ),
    (
        "groups",
        "#[derive(Table)] struct A { #[key] id: u64, #[group] g: u64 }\n\
         #[derive(ColumnGroup)] struct B { a: String, b: u8 }",
        &[
            (
                "u64 }",
                &["field `g`: `u64` is no column group: leave `#[group]` out, or take a struct that derives"],
            ),
            ("String", &["field `a`: `String` is no column", "take `Text<N>`"]),
        ],
    ),
];

/// Types that only the compiler recognizes.
const TYPES: &[Case] = &[
    (
        "columns",
        "struct Own(u8);\n#[derive(Table)] struct A { #[key] id: u64, x: Own }",
        &[(
            "Own }",
            &[
                "`columns::Own` is no column of a table",
                "the field of this type cannot be a column",
                "`contend::Text<N>`",
                "implements `contend::Column`",
            ],
        )],
    ),
    (
        "standard",
        "#[derive(Table)] struct A { #[key] id: u64, x: std::string::String, y: Option<std::net::Ipv4Addr> }",
        &[
            ("std::string::String", &["`String` is no column of a table", "take `Text<N>` for a text"]),
            ("Option<std::net::Ipv4Addr>", &["`Ipv4Addr` is no column of a table"]),
        ],
    ),
    (
        "grouped",
        "struct Own(u8);\n#[derive(ColumnGroup)] struct B { x: Own }\n\
         #[derive(Table)] struct A { #[key] id: u64, #[group] g: Own }\n\
         #[derive(ColumnGroup)] struct Good { x: u8 }\n\
         #[derive(Table)] struct C { #[key] id: u64, g: Good }",
        &[
            ("Own }", &["`grouped::Own` is no column of a table"]),
            (
                "Own }",
                &[
                    "`grouped::Own` is no column group",
                    "`#[derive(contend::ColumnGroup)]`",
                    "leave `#[group]` out",
                ],
            ),
            (
                "Good }",
                &["`Good` is no column of a table", "is the type of a field that is marked `#[group]`"],
            ),
        ],
    ),
    (
        "keyed",
        "#[derive(Clone)] struct Own(u8);\n#[derive(Table)] struct A { #[key] id: Own }\n\
         #[derive(Table)] struct B { #[key] a: u64, #[key] b: Own }",
        &[
            ("Own }", &["`keyed::Own` is no key of a table", "implement `contend::KeyColumn`"]),
            ("Own }", &["`keyed::Own` is no column of a table"]),
            ("u64, #[key] b", &["`(u64, keyed::Own)` is no key of a table"]),
            ("Own }", &["`keyed::Own` is no column of a table"]),
            ("Own }", &["`keyed::Own` cannot be part of a key", "`contend::KeyColumn` and `Clone`"]),
        ],
    ),
    (
        "indexed",
        "#[derive(Table)] struct A { #[key] id: u64, #[index] x: Sum }",
        &[(
            "Sum }",
            &[
                "`contend::Sum` cannot be part of a key",
                "the field of this type is in the key, or in an index",
            ],
        )],
    ),
];

/// Errors found when constants are computed, in programs that are correct otherwise.
const WIDTHS: &[Case] = &[
    (
        "keys",
        "#[derive(Table)] struct A { #[key] id: Text<40>, #[key] number: u128 }",
        &[("Text<40>", &["struct `A`: the key (`id`, `number`) has more than 48 bytes: shorten a field"])],
    ),
    (
        "lengths",
        "const LONG: usize = 70_000;\n#[derive(Table)] struct A { #[key] id: u64, text: [u8; LONG] }",
        &[("[u8; LONG]", &["a column has 65,535 bytes at most: keep what is longer in several rows"])],
    ),
    (
        "indexes",
        "#[derive(Table)] struct A { #[key] id: [u8; 20], #[index] name: Text<29> }",
        &[(
            "Text<29>",
            &["struct `A`: index `by_name` (`name`) with the key (`id`) has more than 48 bytes: shorten"],
        )],
    ),
];

/// Structs that are tables, in unusual spellings.
const TABLES: &[Case] = &[
    (
        "plain",
        "#[derive(Clone)] pub struct String(u8);\n\
         impl Column for String {\n\
         const TYPE: contend::Type = u8::TYPE;\n\
         fn write(&self, to: &mut [u8]) { self.0.write(to) }\n\
         fn read(from: &[u8]) -> Self { Self(u8::read(from)) }\n}\n\
         impl contend::KeyColumn for String {}\n\
         #[derive(Table)] #[table(name = \"x\", rows = 1_000u32, prefix = 1,)]\n\
         pub struct A {\n\
         #[key] r#type: u64, x: u8, #[key] pub id: Text<4>, #[index] y: self::String, #[group] pub own: Own,\n}\n\
         #[derive(ColumnGroup)] pub struct Own { a: [u8; 3], b: Option<Sum>, r#match: u8 }\n\
         #[derive(Table)] #[table(point, index(by_a = (a, id)), index(by_b = (b, a)))]\n\
         struct B { #[key] id: u64, a: u8, b: bool }\n\
         fn all() { let _ = (A::BY_Y, A::OWN, B::BY_A, B::BY_B); }",
        &[],
    ),
    (
        "repeated",
        "macro_rules! totals {\n\
         ($($row:ident $name:literal $key:literal $kind:ty, $group:ident)+) => {$(\n\
         #[derive(ColumnGroup)] struct $group { bytes: [u8; $key] }\n\
         #[derive(Table)] #[table(name = $name, point, rows = $key)]\n\
         struct $row { #[key] key: [u8; $key], #[key] second: u8, total: Sum, other: $kind, #[group] own: $group }\n\
         )+};\n}\n\
         totals! { One \"one\" 2 u8, Own Two \"two\" 3 Option<u64>, Other }",
        &[],
    ),
    (
        "marked",
        "#[derive(Table)] pub struct A { #[key] id: u64, #[index] r#type: u8, #[group] r#match: Own }\n\
         #[derive(ColumnGroup)] pub struct Own { a: u8 }\n\
         fn all() { let _ = (A::BY_TYPE, A::MATCH); }",
        &[],
    ),
];
