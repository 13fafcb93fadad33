//! Writing of report files. A report can be made again at any time, so a new file replaces an older report. A file that
//! is no report is never touched.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use crate::{Partial, Refusal};

/// Writes a file atomically, and replaces an older one only if that begins with the same `mark`. Missing parent
/// directories are created.
///
/// # Errors
/// The path is a directory, another file is there, or the system refuses.
pub fn write(path: &Path, mark: &str, bytes: &[u8]) -> Result<(), Refusal> {
    let shown = path.display();
    let refused = |error: io::Error| {
        Refusal(format!(
            "`--out {shown}`: cannot be written to ({error}): make room there, or give another `--out`"
        ))
    };
    if path.is_dir() {
        return Err(Refusal(format!("`--out {shown}`: is a directory: give the name of a file in it")));
    }
    if !may_replace(path, mark).map_err(refused)? {
        return Err(Refusal(format!(
            "`--out {shown}`: is there already, and is nothing that `contend report` wrote: give another name, or move \
             it away"
        )));
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(refused)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{}.partial", std::process::id()));
    let mut partial = Partial::create(path.with_file_name(name), path).map_err(refused)?;
    partial.fill(|file| file.write_all(bytes)).and_then(|()| partial.replace()).map_err(refused)
}

/// Whether the path is free, or holds a file that begins with `mark`.
fn may_replace(path: &Path, mark: &str) -> io::Result<bool> {
    let mut beginning = vec![0; mark.len()];
    match File::open(path).and_then(|mut file| file.read_exact(&mut beginning)) {
        Ok(()) => Ok(beginning == mark.as_bytes()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_replaced_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("contend-file-{}", std::process::id()));
        let path = folder.join("deep").join("a.html");
        let write = |text: &str| write(&path, "<!-- ours -->", text.as_bytes());
        write("<!-- ours --> 1").expect("nothing is there");
        write("<!-- ours --> 2").expect("it is ours");
        let read = || fs::read_to_string(&path).expect("there");
        assert_eq!(read(), "<!-- ours --> 2");
        for foreign in ["<!-- mine --> thesis", "short"] {
            fs::write(&path, foreign).expect("writable");
            assert!(write("<!-- ours --> 3").expect_err("it is another's").0.contains("move it away"));
            assert_eq!(read(), foreign);
        }
        assert_eq!(fs::read_dir(folder.join("deep")).expect("there").count(), 1, "nothing partial is left");
        fs::remove_dir_all(folder).expect("its own directory");
    }
}
