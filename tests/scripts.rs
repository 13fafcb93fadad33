//! Claims that the folder of scripts and the compiled list are equal: a script that is in no list is never executed.

use std::fs;
use std::path::Path;

use proof::script::SCRIPTS;

#[test]
fn every_script_of_the_folder_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/proof/scripts");
    let mut files: Vec<String> = fs::read_dir(&folder)
        .expect("the folder of scripts")
        .map(|file| file.expect("a file of it").file_name().into_string().expect("names are ASCII"))
        .collect();
    files.sort_unstable();
    let mut listed: Vec<String> = SCRIPTS.iter().map(|(name, _)| format!("{name}.txt")).collect();
    listed.sort_unstable();
    assert_eq!(
        files, listed,
        "crates/proof/src/script/list.rs lists the files of crates/proof/scripts, each once"
    );
}
