//! A sweep as a job array: a script for `sbatch` (<https://slurm.schedmd.com/job_array.html>), whose tasks make blocks
//! of runs.

use std::path::Path;

use super::measuring::ATTEMPTS_MAX;
use super::{Unit, digest};
use crate::Refusal;

/// The maximum number of tasks of an array: the limit of Slurm unless its administrator allows more.
const TASKS_MAX: usize = 1_000;
/// Minutes that a task may take in addition to its runs.
const SPARE_MINUTES: f64 = 5.0;

/// The paths that a task needs: a program and a recipe that every host finds under the same path, and the directory of
/// the results.
#[derive(Clone, Copy, Debug)]
pub struct Places<'p> {
    /// The command `contend`.
    pub program: &'p Path,
    /// The recipe.
    pub recipe: &'p Path,
    /// The directory of the results.
    pub folder: &'p Path,
}

/// A script and the list of blocks that it reads.
#[derive(Debug)]
pub struct JobArray {
    /// The beginning of the two files' names: a digest of the blocks.
    pub name: String,
    /// The script.
    pub script: String,
    /// One line for each block: the ids of its runs, with commas between them.
    pub blocks: String,
    /// The number of tasks.
    pub tasks: usize,
}

impl JobArray {
    /// Returns the array that makes some blocks of runs. Its files belong in the folder `slurm` of the directory of the
    /// results.
    ///
    /// # Errors
    /// Paths that a script cannot contain.
    pub fn new(blocks: &[Vec<&Unit>], places: Places<'_>) -> Result<Self, Refusal> {
        let ids = |block: &Vec<&Unit>| {
            let ids: Vec<&str> = block.iter().map(|unit| unit.id.as_str()).collect();
            ids.join(",") + "\n"
        };
        let lines: String = blocks.iter().map(ids).collect();
        let name = digest(lines.as_bytes());
        let tasks = blocks.len().min(TASKS_MAX);
        let [program, recipe, folder] = [places.program, places.recipe, places.folder].map(plain);
        let (program, recipe, folder) = (program?, recipe?, folder?);
        let (count, minutes) = (blocks.len(), minutes(blocks, tasks));
        let script = format!(
            "#!/usr/bin/env bash\n\
             # Makes runs of a sweep, a block of them a task, each task alone on its host: sbatch {name}.sh\n\
             # A run whose result is there is not made again, so that it can be submitted again as it is.\n\
             #SBATCH --job-name=contend\n\
             #SBATCH --array=1-{tasks}\n\
             #SBATCH --nodes=1\n\
             #SBATCH --exclusive\n\
             #SBATCH --time={minutes}\n\
             #SBATCH --output=\"{folder}/slurm/%A_%a.log\"\n\
             set -euo pipefail\n\
             code=0\n\
             for ((line = SLURM_ARRAY_TASK_ID; line <= {count}; line += {tasks})); do\n\
             \x20   ids=$(sed -n \"${{line}}p\" '{folder}/slurm/{name}.blocks')\n\
             \x20   '{program}' sweep '{recipe}' --only \"$ids\" --out '{folder}' || code=$?\n\
             done\n\
             exit \"$code\"\n"
        );
        Ok(Self { name, script, blocks: lines, tasks })
    }
}

/// Returns the minutes that the longest task may take, with all its runs starved.
fn minutes(blocks: &[Vec<&Unit>], tasks: usize) -> u64 {
    let lasts_s = |block: &Vec<&Unit>| block.iter().map(|unit| unit.lasts_s).sum::<f64>();
    let of_task = |task| blocks.iter().skip(task).step_by(tasks).map(lasts_s).sum::<f64>();
    let longest_s = (0..tasks).map(of_task).fold(0.0, f64::max);
    (f64::from(ATTEMPTS_MAX) * longest_s / 60.0 + SPARE_MINUTES).ceil() as u64
}

/// Returns a path as text that is valid between quotes, both in the shell and in a directive of Slurm, which has its
/// own rules.
fn plain(path: &Path) -> Result<String, Refusal> {
    let text = path.display().to_string();
    let is_plain = path.to_str().is_some()
        && path.is_absolute()
        && !text.chars().any(|c| c.is_control() || "'\"%\\".contains(c));
    if is_plain {
        return Ok(text);
    }
    Err(Refusal(format!(
        "`{text}`: a job script cannot carry quotes, percent signs, backslashes or control characters in a path: \
         rename it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    fn unit(id: usize, lasts_s: f64) -> Unit {
        let (point, request) = (Vec::new(), Request::new("ycsb"));
        Unit {
            id: format!("id{id}"),
            scheme: "silo",
            point,
            repetition: 0,
            request,
            lasts_s,
            needed_bytes: 0,
            is_log_in_memory: false,
        }
    }

    fn array(count: usize, folder: &str) -> Result<JobArray, Refusal> {
        let units: Vec<Unit> = (0..2 * count).map(|id| unit(id, 30.0)).collect();
        let blocks: Vec<Vec<&Unit>> = units.chunks(2).map(|pair| pair.iter().collect()).collect();
        let path = Path::new;
        JobArray::new(
            &blocks,
            Places { program: path("/bin/c"), recipe: path("/a.toml"), folder: path(folder) },
        )
    }

    #[test]
    fn each_block_is_a_line_and_each_task_has_a_host_alone_and_time_for_starved_runs() {
        let array = array(3, "/a folder").expect("plain");
        assert_eq!((array.tasks, array.blocks.as_str()), (3, "id0,id1\nid2,id3\nid4,id5\n"));
        for part in ["--array=1-3\n", "--exclusive\n", "--time=8\n", "--out '/a folder'", "line += 3"] {
            assert!(array.script.contains(part), "no `{part}`: {}", array.script);
        }
    }

    #[test]
    fn an_array_has_no_more_tasks_than_slurm_takes_and_they_share_the_blocks() {
        let array = array(1_500, "/f").expect("plain");
        assert_eq!((array.tasks, array.blocks.lines().count()), (1_000, 1_500));
        for part in ["--array=1-1000\n", "line <= 1500; line += 1000", "--time=11\n"] {
            assert!(array.script.contains(part), "no `{part}`: {}", array.script);
        }
    }

    #[test]
    fn paths_that_a_script_would_misread_are_refused() {
        for folder in ["/it's", "/100%", "/a\nb", "/a\"b", "relative"] {
            assert!(array(1, folder).expect_err(folder).0.contains("rename it"));
        }
    }
}
