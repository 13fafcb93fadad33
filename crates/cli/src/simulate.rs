//! `contend simulate`: simulates schemes on different numbers of cores of a machine, several points side by side.

use lab::{Catalogue, Refusal, Scaling};
use results::Run;
use sync::atomic::{AtomicUsize, Ordering};
use sync::{Latched, clock, workers};

use crate::args::{Format, Simulate};
use crate::out::{Folder, Out, complain};
use crate::process::{Points, side_by_side};
use crate::{CHECK_FAILED, REFUSED, exit_code, live};

pub(crate) fn simulate(catalogue: Catalogue, args: &Simulate, out: &mut Out) -> Result<u8, Refusal> {
    let study = Scaling::new(catalogue, &args.question())?;
    let jobs = side_by_side(args.jobs.jobs, study.side_by_side(), study.points());
    let folder = args.out.as_deref().map(Folder::open).transpose()?;
    live::take_interrupts();
    if args.format == Format::Text {
        out.print(&study.header());
        if args.is_tuned() {
            out.print(&study.tuned());
        }
    }
    let board = Board {
        study: &study,
        out,
        format: args.format,
        folder,
        results: (0..study.points()).map(|_| None).collect(),
        printed: 0,
        refusal: None,
        unwritten: None,
    };
    let (board, next, points) = (Latched::new(board), AtomicUsize::new(0), Points::default());
    let begun_ns = clock::now_ns();
    let work = |_: usize| {
        while !live::is_stopped() {
            // Relaxed: each point is taken once, and the number orders nothing else.
            let point = next.fetch_add(1, Ordering::Relaxed);
            if point >= study.points() {
                break;
            }
            let result = points.simulate(point, &study.command(point));
            if board.lock().take(point, result).is_none() {
                break;
            }
        }
    };
    let line = || study.progress(&board.lock().results, (clock::now_ns() - begun_ns) as f64 / 1e9);
    live::watched(|| workers::run(jobs, false, work), line, || points.end());
    let mut board = board.lock();
    let code = board.end();
    board.refusal.take().map_or(Ok(code), Err)
}

/// The results so far, and the places where they go.
struct Board<'b> {
    study: &'b Scaling,
    out: &'b mut Out,
    format: Format,
    folder: Option<Folder>,
    results: Vec<Option<Run>>,
    /// The number of points whose lines are printed: all before this one.
    printed: usize,
    refusal: Option<Refusal>,
    unwritten: Option<String>,
}

impl Board<'_> {
    /// Takes the result of a point; `None` if no further point is to be simulated.
    fn take(&mut self, point: usize, result: Result<Option<Run>, Refusal>) -> Option<()> {
        match result {
            Ok(Some(run)) => {
                if let Some(folder) = &self.folder {
                    let name = format!("{}-{}", run.choices.workload, run.choices.scheme);
                    self.unwritten = folder.write(&name, &format!("{run}\n")).err().or(self.unwritten.take());
                }
                self.results[point] = Some(run);
                self.print_first();
            }
            Ok(None) => return None,
            Err(refusal) => self.refusal = Some(refusal),
        }
        (self.refusal.is_none() && !self.out.is_closed()).then_some(())
    }

    /// Prints the lines of the points that are done before the first that is not, so that lines are in order.
    fn print_first(&mut self) {
        while let Some(Some(_)) = self.results.get(self.printed) {
            self.print(self.printed);
            self.printed += 1;
        }
    }

    fn print(&mut self, point: usize) {
        if let Some(run) = self.results[point].as_ref().filter(|_| self.format == Format::Json) {
            self.out.print(&format!("{run}\n"));
        }
    }

    /// Prints all results that were not printed before, and returns the exit code.
    fn end(&mut self) -> u8 {
        match self.format {
            Format::Text => self.out.print(&self.study.tables(&self.results)),
            Format::Json => (self.printed..self.results.len()).for_each(|point| self.print(point)),
        }
        let code = exit_code(self.results.iter().flatten().any(Run::is_failed));
        let Some(error) = &self.unwritten else { return code };
        complain(&format!("contend: {error}\n"));
        // A failed check is worse than a file that was not written, so its exit code stays.
        if code == CHECK_FAILED { code } else { REFUSED }
    }
}
