//! Rust text split line by line into code, comments and strings, so that a rule about one of them is
//! not deceived by another. The module is a scanner and not a parser: the rules need no more.

/// One line of a Rust file.
#[derive(Default)]
pub(crate) struct Line {
    /// The code, with comments removed and the contents of strings and characters emptied.
    pub(crate) code: String,
    /// The text of the comments on this line, without markers, documentation included.
    pub(crate) comment: String,
    /// The contents of the string literals that start on this line.
    pub(crate) strings: Vec<String>,
}

/// A Rust file, split into lines.
pub(crate) struct Source {
    /// The lines, the first at index 0.
    pub(crate) lines: Vec<Line>,
    /// The index of the line where the unit tests at the bottom begin, or the line count if there are
    /// none.
    pub(crate) tests_at: usize,
}

impl Source {
    /// Splits `text`. Text that does not compile also gives lines.
    pub(crate) fn new(text: &str) -> Self {
        let lines = Scanner::new(text).scan();
        let tests_at = tests_at(&lines);
        Self { lines, tests_at }
    }

    /// Returns the lines above the unit tests, with their numbers from 1.
    pub(crate) fn above_tests(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.numbered().take(self.tests_at)
    }

    /// Returns all lines with their numbers from 1.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Returns the attributes that open a line, across line breaks.
    pub(crate) fn attributes(&self) -> Vec<Attribute> {
        let mut found = Vec::new();
        let mut open: Option<(Attribute, i32)> = None;
        for (number, line) in self.numbered() {
            let starts =
                line.code.trim_start().starts_with("#[") || line.code.trim_start().starts_with("#![");
            if open.is_none() && starts {
                open = Some((Attribute { line: number, last_line: number, ..Attribute::default() }, 0));
            }
            let Some((attribute, depth)) = &mut open else { continue };
            attribute.last_line = number;
            attribute.strings.extend(line.strings.iter().cloned());
            for c in line.code.trim_start().chars() {
                attribute.code.push(c);
                *depth += i32::from(c == '[') - i32::from(c == ']');
                if c == ']' && *depth == 0 {
                    break;
                }
            }
            if *depth == 0 {
                found.extend(open.take().map(|(attribute, _)| attribute));
            }
        }
        found
    }
}

/// An attribute, inner or outer.
#[derive(Default)]
pub(crate) struct Attribute {
    /// The number of the attribute's first line.
    pub(crate) line: usize,
    /// The number of the attribute's last line.
    pub(crate) last_line: usize,
    /// The attribute's code, with strings emptied.
    pub(crate) code: String,
    /// The contents of the strings on the attribute's lines.
    pub(crate) strings: Vec<String>,
}

/// Returns `true` if `code` contains `word` with no letter, digit or underscore on either side.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(word).any(|(at, _)| {
        !joins(code[..at].chars().next_back()) && !joins(code[at + word.len()..].chars().next())
    })
}

/// Returns the index of the line where the unit tests begin: at a `#[cfg(test)]`, or another `cfg`
/// that asks for `test`, above `mod tests`.
fn tests_at(lines: &[Line]) -> usize {
    let is_attribute = |line: &Line| line.code.trim_start().starts_with("#[");
    let Some(module) = lines.iter().position(|line| line.code.trim_start().starts_with("mod tests {")) else {
        return lines.len();
    };
    let attributes = lines[..module].iter().rev().take_while(|line| is_attribute(line)).count();
    let first = module - attributes;
    let asks_for_test = |line: &Line| line.code.contains("cfg(") && has_word(&line.code, "test");
    if lines[first..module].iter().any(asks_for_test) { first } else { lines.len() }
}

struct Scanner {
    text: Vec<char>,
    at: usize,
    lines: Vec<Line>,
    line: Line,
}

impl Scanner {
    fn new(text: &str) -> Self {
        Self { text: text.chars().collect(), at: 0, lines: Vec::new(), line: Line::default() }
    }

    fn scan(mut self) -> Vec<Line> {
        while let Some(c) = self.peek(0) {
            match c {
                '/' if self.peek(1) == Some('/') => self.line_comment(),
                '/' if self.peek(1) == Some('*') => self.block_comment(),
                '"' => self.string(),
                'r' | 'b' | 'c' if self.starts_raw_string() => self.raw_string(),
                '\'' => self.quote(),
                '\n' => self.end_line(),
                _ => {
                    self.line.code.push(c);
                    self.at += 1;
                }
            }
        }
        if !self.line.code.is_empty() || !self.line.comment.is_empty() {
            self.lines.push(self.line);
        }
        self.lines
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn end_line(&mut self) {
        self.at += 1;
        self.lines.push(std::mem::take(&mut self.line));
    }

    fn line_comment(&mut self) {
        self.at += 2;
        while matches!(self.peek(0), Some('/' | '!')) {
            self.at += 1;
        }
        while let Some(c) = self.peek(0).filter(|c| *c != '\n') {
            self.line.comment.push(c);
            self.at += 1;
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('*')) => {
                    depth += 1;
                    self.at += 2;
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                ('\n', _) => self.end_line(),
                _ => {
                    self.line.comment.push(c);
                    self.at += 1;
                }
            }
        }
    }

    fn string(&mut self) {
        self.line.code.push('"');
        self.at += 1;
        let mut inside = String::new();
        let first_line = self.lines.len();
        while let Some(c) = self.peek(0).filter(|c| *c != '"') {
            if c == '\\' && self.peek(1) != Some('\n') {
                inside.push(c);
                inside.extend(self.peek(1));
                self.at += 2;
            } else {
                self.string_char(c, &mut inside);
            }
        }
        self.at += 1;
        self.end_string(inside, first_line);
    }

    /// Returns `true` if a raw string starts here, and not a name that ends in `r` or a raw name
    /// (`r#type`).
    fn starts_raw_string(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        if before.is_some_and(|c| c.is_alphanumeric() || *c == '_') {
            return false;
        }
        let prefix = usize::from(self.peek(0) != Some('r'));
        if self.peek(prefix) != Some('r') {
            return false;
        }
        let rest = self.text[self.at + prefix + 1..].iter();
        rest.copied().find(|c| *c != '#') == Some('"')
    }

    fn raw_string(&mut self) {
        while self.peek(0) != Some('#') && self.peek(0) != Some('"') {
            self.at += 1;
        }
        let mut hashes = 0;
        while self.peek(0) == Some('#') {
            hashes += 1;
            self.at += 1;
        }
        self.line.code.push('"');
        self.at += 1;
        let mut inside = String::new();
        let first_line = self.lines.len();
        while let Some(c) = self.peek(0) {
            if c == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                break;
            }
            self.string_char(c, &mut inside);
        }
        self.at += 1 + hashes;
        self.end_string(inside, first_line);
    }

    /// Adds a character to a string. A string that spans lines leaves a quote on both lines, so that
    /// neither seems blank.
    fn string_char(&mut self, c: char, inside: &mut String) {
        inside.push(c);
        if c == '\n' {
            self.line.code.push('"');
            self.end_line();
            self.line.code.push('"');
        } else {
            self.at += 1;
        }
    }

    fn end_string(&mut self, inside: String, first_line: usize) {
        self.line.code.push('"');
        match self.lines.get_mut(first_line) {
            Some(line) => line.strings.push(inside),
            None => self.line.strings.push(inside),
        }
    }

    /// Scans a quote, which opens a character or a lifetime. A lifetime stays code.
    fn quote(&mut self) {
        let width = match (self.peek(1), self.peek(2)) {
            (Some('\\'), _) => self.text.iter().skip(self.at + 3).position(|c| *c == '\'').map(|n| n + 4),
            (Some(_), Some('\'')) => Some(3),
            _ => None,
        };
        if let Some(width) = width {
            self.line.code.push_str("''");
            self.at += width;
        } else {
            self.line.code.push('\'');
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        Source::new(text).lines.into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        let source =
            Source::new("let a = \"std::sync // no\"; // yes, unsafe\n/* a /* nested */ unsafe\n*/ b();\n");
        assert_eq!(source.lines[0].code, "let a = \"\"; ");
        assert_eq!(source.lines[0].comment, " yes, unsafe");
        assert_eq!(source.lines[0].strings, ["std::sync // no"]);
        assert_eq!(source.lines[1].code, "");
        assert_eq!(source.lines[2].code, " b();");
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        let source = Source::new("f(r#\"a \" // \"#, br\"\\\", r#type, for_r\"\");");
        assert_eq!(source.lines[0].code, "f(\"\", \"\", r#type, for_r\"\");");
        assert_eq!(source.lines[0].strings, ["a \" // ", "\\", ""]);
    }

    #[test]
    fn quotes_open_characters_or_lifetimes() {
        assert_eq!(
            code("m('\"', '\\'', '\\u{e9}', 'a', &'a x, 'b: loop {})"),
            ["m('', '', '', '', &'a x, 'b: loop {})"]
        );
    }

    #[test]
    fn lines_inside_a_string_are_not_blank() {
        let source = Source::new("a(\"one\n\nthree\\\"\");\nb\n");
        assert_eq!(
            source.lines.iter().map(|line| line.code.as_str()).collect::<Vec<_>>(),
            ["a(\"\"", "\"\"", "\"\");", "b"]
        );
        assert_eq!(source.lines[0].strings, ["one\n\nthree\\\""]);
    }

    #[test]
    fn the_tests_at_the_bottom_are_found_under_any_cfg() {
        let text = "a\n#[cfg(all(test, not(loom)))]\n#[allow(x)]\nmod tests {\n}\n";
        assert_eq!(Source::new(text).tests_at, 1);
        assert_eq!(Source::new("a\nmod tests {\n}\n").tests_at, 3);
        assert_eq!(Source::new("#[cfg(test)]\nfn helper() {}\nb\n").tests_at, 3);
    }

    #[test]
    fn an_attribute_may_span_lines() {
        let found =
            Source::new("#[allow(\n    dead_code,\n    reason = \"so\"\n)]\nfn f() {}\n").attributes();
        assert_eq!(found.len(), 1);
        assert!(found[0].code.contains("reason"));
        assert_eq!((found[0].line, found[0].last_line), (1, 4));
        assert_eq!(found[0].strings, ["so"]);
    }

    #[test]
    fn words_have_edges() {
        assert!(has_word("a.Instant::now", "Instant"));
        assert!(!has_word("Instantiate", "Instant"));
        assert!(!has_word("an_Instant", "Instant"));
    }
}
