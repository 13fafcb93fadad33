//! The check that the facade over atomics and waiting costs nothing in a native build. The example `facade` of
//! `sync` has one commit path over `sync` and over the machine's own atomics. The compiler must produce the same
//! code for both.

use std::collections::BTreeMap;
use std::fs;

use crate::house::{Checked, House, run};

/// The modules of the two functions of the example, which their symbol names contain.
const SIDES: [&str; 2] = ["through_sync", "by_hand"];

/// Compiles the example to assembly and compares the two functions.
pub(crate) fn facade(house: &House) -> Checked {
    let (members, target) = house.members()?;
    let member = members.iter().find(|member| member.folder.ends_with("crates/sync"));
    let package = &member.ok_or("crates/sync is no package of the workspace")?.name;
    let path = target.join("facade.s");
    let emit = format!("--emit=asm={}", path.display());
    let mut cargo = house.cargo(&["rustc", "--release", "--package", package, "--example", "facade", "--"]);
    // One codegen unit: several units would produce several files. Static relocation: otherwise a call to
    // another crate would go through a table, regardless of the callee.
    cargo.args([&emit, "-Cdebuginfo=0", "-Ccodegen-units=1", "-Crelocation-model=static"]);
    run(&mut cargo)?;
    let assembly = fs::read_to_string(&path)
        .map_err(|e| format!("cannot read {}: {e}; `cargo clean` brings it back", path.display()))?;
    println!("{}", compare(&assembly)?);
    Ok(())
}

/// Returns a sentence which states that the two functions are equal, or where they differ.
fn compare(assembly: &str) -> Result<String, String> {
    let [through_sync, by_hand] = SIDES.map(|side| function(assembly, side));
    let (through_sync, by_hand) = (through_sync?, by_hand?);
    let is_label = |line: &&String| line.ends_with(':');
    let count = |lines: &[String]| lines.iter().filter(|line| !is_label(line)).count();
    let counts = (count(&through_sync), count(&by_hand));
    if through_sync == by_hand {
        return Ok(format!("{} instructions through `sync`, and the same by hand", counts.0));
    }
    let same = through_sync.iter().zip(&by_hand).take_while(|(one, other)| one == other).count();
    let shown = |lines: &[String]| lines.get(same).map_or("the end".to_owned(), |line| format!("`{line}`"));
    Err(format!(
        "{} instructions through `sync`, {} by hand; the first difference: {} is {} by hand. Look at both in \
         target/facade.s: what `sync` adds is missing `#[inline]`, or not free",
        counts.0,
        counts.1,
        shown(&through_sync),
        shown(&by_hand)
    ))
}

/// Returns the instructions and labels of `attempt` in a module, with every name replaced by the number of names
/// before it. Functions that differ only in names are then equal.
fn function(assembly: &str, module: &str) -> Result<Vec<String>, String> {
    let is_start = |line: &&str| {
        line.ends_with(':') && !line.starts_with('.') && line.contains(module) && line.contains("attempt")
    };
    let mut lines = assembly.lines().skip_while(|line| !is_start(line));
    lines.next().ok_or_else(|| format!("no function `{module}::attempt` in the assembly of the example"))?;
    let body = lines.take_while(|line| !line.contains(".cfi_endproc") && !line.contains("func_end"));
    let mut names = BTreeMap::new();
    let is_code = |line: &&str| line.ends_with(':') || !(line.is_empty() || line.starts_with(['.', '#']));
    Ok(body.map(str::trim).filter(is_code).map(|line| renamed(line, &mut names)).collect())
}

/// Returns a line with numbers in place of names. Only names contain capitals; registers and instructions do
/// not.
fn renamed<'a>(line: &'a str, names: &mut BTreeMap<&'a str, usize>) -> String {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || "._$".contains(c);
    let replaced = line.split_inclusive(|c| !is_of_word(c)).flat_map(|word| {
        let (word, end) = word.split_at(word.trim_end_matches(|c| !is_of_word(c)).len());
        let is_name = word.contains(|c: char| c.is_ascii_uppercase());
        let count = names.len();
        let number = is_name.then(|| *names.entry(word).or_insert(count));
        [number.map_or(word.to_owned(), |number| format!("name{number}")), end.to_owned()]
    });
    replaced.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an assembly file with two functions of these bodies.
    fn file(through_sync: &str, by_hand: &str) -> String {
        let function = |side: &str, body: &str| {
            format!("_ZN6facade{side}7attempt17h0E:\n\t.cfi_startproc\n{body}\n\t.cfi_endproc\n")
        };
        function("12through_sync", through_sync) + &function("7by_hand", by_hand)
    }

    #[test]
    fn functions_that_differ_in_names_are_the_same() {
        let outcome = compare(&file(
            "\tmovl\t$.Lanon.1, %ecx\n\t#MEMBARRIER\n.LBB6_2:\n\tcallq\t_ZN4sync4wait17h1E\n\tjne\t.LBB6_2",
            "\tmovl\t$.Lanon.4, %ecx\n.LBB9_7:\n\tcallq\t_ZN7by_hand4wait17h2E\n\tjne\t.LBB9_7",
        ));
        assert_eq!(outcome, Ok("3 instructions through `sync`, and the same by hand".to_owned()));
    }

    #[test]
    fn a_function_that_does_more_is_told() {
        let says = compare(&file("\tmfence\n\tnop\n\tretq", "\tmfence\n\tretq")).expect_err("one has a nop");
        assert!(says.starts_with("3 instructions through `sync`, 2 by hand"), "{says}");
        assert!(says.contains("`nop` is `retq`"), "{says}");
        let says = compare(&file("\tmfence\n\tretq", "\tmfence")).expect_err("one returns");
        assert!(says.contains("`retq` is the end"), "{says}");
    }

    #[test]
    fn other_registers_constants_and_targets_are_differences() {
        for (one, other) in [
            ("\tmovq\t%rax, %rbx", "\tmovq\t%rax, %rcx"),
            ("\taddq\t$2, %rax", "\taddq\t$1, %rax"),
            (".LBB0_1:\n.LBB0_2:\n\tjne\t.LBB0_1", ".LBB1_1:\n.LBB1_2:\n\tjne\t.LBB1_2"),
        ] {
            assert!(compare(&file(one, other)).is_err(), "{one:?} is not {other:?}");
        }
    }

    #[test]
    fn a_function_that_is_not_there_is_no_success() {
        let says = compare("").expect_err("nothing is there");
        assert!(says.contains("through_sync::attempt"), "{says}");
    }
}
