//! Lists the recipes that come along, so that the command has them wherever it is run.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../experiments");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = root.join("../../experiments").canonicalize().expect("recipes come along");
    let mut recipes: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("it is a folder")
        .map(|file| file.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    recipes.sort();
    let mut list = String::from("&[\n");
    for path in recipes {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("names are plain");
        let path = path.to_str().expect("folders are named in Unicode");
        writeln!(list, "({name:?}, include_str!({path:?})),").expect("a string takes any text");
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(Path::new(&out).join("recipes.rs"), list).expect("writable");
}
