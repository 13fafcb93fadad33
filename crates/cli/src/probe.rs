//! `contend probe`: describes this machine, compares it with a simulated one, or writes it as a machine to simulate.

use std::path::Path;

use lab::{Machine, Refusal, calibration, probe};

use crate::args::{Format, Probe};
use crate::out::Out;

pub(crate) fn probe(args: &Probe, out: &mut Out) -> Result<u8, Refusal> {
    if args.pairs {
        return pairs(args, out);
    }
    if let Some(path) = &args.write {
        return write(path, out);
    }
    let machine = Machine::of_this_process();
    match args.format {
        Format::Text => out.print(&probe::text(&machine)),
        Format::Json => out.print(&format!("{}\n", probe::json(&machine))),
    }
    Ok(0)
}

fn pairs(args: &Probe, out: &mut Out) -> Result<u8, Refusal> {
    let machine = calibration::machine_of(&args.machine)?;
    let pairs = calibration::run(&machine);
    match args.format {
        Format::Text => out.print(&calibration::text(&machine, &pairs)),
        Format::Json => out.print(&format!("{}\n", calibration::json(&machine, &pairs))),
    }
    Ok(0)
}

fn write(path: &Path, out: &mut Out) -> Result<u8, Refusal> {
    let refused = |error: std::io::Error| {
        Refusal(format!("`--write {}`: cannot be written to ({error}): give another file", path.display()))
    };
    // Opened before the measurements, which take a while. A file that is there is not overwritten: it may have been
    // corrected by hand.
    let file = std::fs::File::create_new(path).map_err(refused)?;
    let name = path.file_stem().map_or_else(|| "measured".into(), |stem| stem.to_string_lossy());
    let measured = calibration::measured_machine(&name).and_then(|machine| {
        std::io::Write::write_all(&mut &file, machine.text().as_bytes()).map_err(refused)
    });
    if let Err(refusal) = measured {
        // An empty file would look like a machine. A refusal to remove it changes nothing about the first one.
        let _ = std::fs::remove_file(path);
        return Err(refusal);
    }
    out.print(&format!("{}: written\n", path.display()));
    Ok(0)
}
