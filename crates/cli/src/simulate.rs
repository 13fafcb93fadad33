//! `contend simulate`: simulates schemes on different numbers of cores of a machine, several points side by side.

use lab::{Catalogue, Machine, Record, Refusal, Scaling};
use sync::atomic::{AtomicUsize, Ordering};
use sync::{Latched, clock, workers};

use crate::args::{Format, Simulate};
use crate::out::{Folder, Out, complain};
use crate::{CHECK_FAILED, INTERRUPTED, REFUSED, exit_code, live};

/// The maximum number of points side by side.
const JOBS_MAX: usize = 1_024;

pub(crate) fn simulate(catalogue: Catalogue, args: &Simulate, out: &mut Out) -> Result<u8, Refusal> {
    let study = Scaling::new(catalogue, &args.question())?;
    let jobs = jobs(args.jobs, &study)?;
    let folder = args.out.as_deref().map(Folder::open).transpose()?;
    live::take_interrupts();
    if args.format == Format::Text {
        out.print(&study.header());
    }
    let board = Board {
        format: args.format,
        folder,
        host: Machine::of_this_process(),
        records: (0..study.points()).map(|_| None).collect(),
        printed: 0,
        refusal: None,
        unwritten: None,
        out,
        study: &study,
    };
    let (board, next) = (Latched::new(board), AtomicUsize::new(0));
    let begun_ns = clock::now_ns();
    let work = |_: usize| {
        while !live::is_stopped() {
            // Relaxed: each point is taken once, and the number orders nothing else.
            let point = next.fetch_add(1, Ordering::Relaxed);
            if point >= study.points() {
                break;
            }
            let record = study.measure(point);
            if board.lock().take(point, record).is_none() {
                break;
            }
        }
    };
    let line = || study.progress(&board.lock().records, (clock::now_ns() - begun_ns) as f64 / 1e9);
    // A simulation cannot be ended early: the points that are under way are lost.
    let interrupt = || {
        board.lock().end();
        std::process::exit(i32::from(INTERRUPTED));
    };
    live::watched(|| workers::run(jobs, false, work), line, interrupt);
    let code = board.lock().end();
    let refusal = board.lock().refusal.take();
    refusal.map_or(Ok(code), Err)
}

/// Returns the number of points that are simulated side by side.
fn jobs(asked: Option<usize>, study: &Scaling) -> Result<usize, Refusal> {
    let fits = study.side_by_side();
    match asked {
        None => Ok(workers::cores().min(fits).min(study.points())),
        Some(jobs) if (1..=JOBS_MAX).contains(&jobs) => Ok(jobs.min(study.points())),
        Some(jobs) => Err(Refusal(format!("`--jobs {jobs}`: must be a whole number from 1 to {JOBS_MAX}"))),
    }
}

/// The results so far, and the places where they go.
struct Board<'b> {
    study: &'b Scaling,
    out: &'b mut Out,
    format: Format,
    folder: Option<Folder>,
    host: Machine,
    records: Vec<Option<Record>>,
    /// The number of points whose lines are printed: all before this one.
    printed: usize,
    refusal: Option<Refusal>,
    unwritten: Option<String>,
}

impl Board<'_> {
    /// Takes the result of a point; `None` if no further point is to be simulated.
    fn take(&mut self, point: usize, record: Result<Record, Refusal>) -> Option<()> {
        match record {
            Ok(record) => {
                if let Some(folder) = &self.folder {
                    let (workload, scheme) = self.study.names(point);
                    let line = self.study.line(point, &record, &self.host);
                    let written = folder.write(&format!("{workload}-{scheme}"), &line);
                    self.unwritten = written.err().or(self.unwritten.take());
                }
                self.records[point] = Some(record);
                self.print_first();
            }
            Err(refusal) => self.refusal = Some(refusal),
        }
        (self.refusal.is_none() && !self.out.is_closed()).then_some(())
    }

    /// Prints the lines of the points that are done before the first that is not, so that lines are in order.
    fn print_first(&mut self) {
        while let Some(Some(_)) = self.records.get(self.printed) {
            self.print(self.printed);
            self.printed += 1;
        }
    }

    fn print(&mut self, point: usize) {
        let record = self.records[point].as_ref().filter(|_| self.format == Format::Json);
        let line = record.map(|record| self.study.line(point, record, &self.host));
        line.iter().for_each(|line| self.out.print(line));
    }

    /// Prints all results that were not printed before, and returns the exit code.
    fn end(&mut self) -> u8 {
        match self.format {
            Format::Text => self.out.print(&self.study.tables(&self.records)),
            Format::Json => (self.printed..self.records.len()).for_each(|point| self.print(point)),
        }
        let code = exit_code(self.records.iter().flatten().any(Record::is_failed));
        let Some(error) = &self.unwritten else { return code };
        complain(&format!("contend: {error}\n"));
        // A failed check is worse than a file that was not written, so its exit code stays.
        if code == CHECK_FAILED { code } else { REFUSED }
    }
}
