//! Opening of databases: a wrong path makes no new database, a log that was not closed is reported, a log that was cut
//! off is refused, and errors of the system are kept.

mod place;

use std::error::Error as _;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use contend::{Create, Database, Instead, OpenError, Operation, Options, Recovery, Table};
use durability::disk::RealDirectory;
use place::Place;
use sync::{Arc, Latched};

#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "notes")]
struct Note {
    #[key]
    id: u64,
    text: [u8; 32],
}

fn options() -> Options {
    Options::new().table::<Note>()
}

fn open(path: &Path, options: Options) -> Result<Database, OpenError> {
    Database::open(path, options)
}

#[track_caller]
fn refused(path: &Path, options: Options) -> OpenError {
    open(path, options).expect_err("it is refused")
}

fn write(db: &Database, ids: std::ops::Range<u64>) {
    let notes = db.table::<Note>().expect("it was declared");
    for id in ids {
        db.transact(|txn| txn.put(notes, &Note { id, text: [7; 32] })).expect("it commits");
    }
}

fn ids(db: &Database) -> Vec<u64> {
    let notes = db.table::<Note>().expect("it was declared");
    db.snapshot(|txn| txn.scan(notes, ..).map(|note| Ok(note?.id)).collect()).expect("it reads")
}

fn recovery(db: &Database) -> Recovery {
    db.recovery().expect("it has a directory").clone()
}

/// The contents of a directory, by name.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("it is there").map(|entry| entry.expect("it can be read"));
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Copies a directory, in the state that a kill of its process would leave now.
fn killed(from: &Place, name: &str) -> Place {
    let to = Place::new(name);
    fs::create_dir_all(to.path()).expect("the system works");
    for name in names(from.path()) {
        fs::copy(from.path().join(&name), to.path().join(&name)).expect("the system works");
    }
    to
}

fn segments(path: &Path) -> Vec<PathBuf> {
    let names = names(path).into_iter().filter(|name| name.starts_with("log-"));
    names.map(|name| path.join(name)).collect()
}

#[test]
fn a_log_that_was_not_closed_says_so_and_lacks_nothing() {
    let place = Place::new("not_closed");
    let db = open(place.path(), options()).expect("it is made");
    let found = recovery(&db);
    assert_eq!((found.is_new, found.was_closed, found.torn, found.rows), (true, true, None, 0));
    write(&db, 0..300);
    let copy = killed(&place, "not_closed_copy");
    db.close().expect("the device works");
    let told = Arc::new(Latched::new(None));
    let heard = Arc::clone(&told);
    let copied = open(copy.path(), options().on_recovery(move |recovery| *heard.lock() = Some(recovery)))
        .expect("it opens");
    let found = recovery(&copied);
    assert_eq!((found.rows, found.is_new, found.was_closed, &found.torn), (300, false, false, &None));
    assert_eq!(told.lock().take(), Some(found));
    assert_eq!(ids(&copied), (0..300).collect::<Vec<_>>());
    let db = open(place.path(), options().require_closed(true)).expect("it was closed");
    assert_eq!((recovery(&db).was_closed, recovery(&db).rows), (true, 300));
    assert!(Database::in_memory(options()).expect("legal").recovery().is_none());
}

#[test]
fn a_log_that_was_not_closed_is_refused_where_it_must_be() {
    let place = Place::new("must_be_closed");
    let db = open(place.path(), options()).expect("it is made");
    write(&db, 0..9);
    let copy = killed(&place, "must_be_closed_copy");
    db.close().expect("the device works");
    let error = refused(copy.path(), options().require_closed(true));
    assert!(matches!(&error, OpenError::Unclosed { torn: None, offset, .. } if *offset > 4_096), "{error}");
    for part in ["log-000000000001: the log was not closed", "without `require_closed`", "a copy of a backup"]
    {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    let db = open(copy.path(), options()).expect("it is the standard");
    assert_eq!(ids(&db).len(), 9);
    db.close().expect("the device works");
    open(copy.path(), options().require_closed(true)).expect("now it is closed");
}

#[test]
fn what_a_crash_has_torn_is_told_of() {
    let place = Place::new("torn");
    let db = open(place.path(), options()).expect("it is made");
    write(&db, 0..9);
    let copy = killed(&place, "torn_copy");
    drop(db);
    // As after a round that was written to the device only in part.
    let last = segments(copy.path()).pop().expect("there is a log");
    let mut bytes = fs::read(&last).expect("a file");
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("blocks") + 1;
    let end = end.next_multiple_of(4_096);
    bytes[end + 100..end + 1_000].fill(9);
    fs::write(&last, &bytes).expect("the system works");
    let error = refused(copy.path(), options().require_closed(true));
    assert!(error.to_string().contains("behind which 1000 bytes do not count"), "{error}");
    let db = open(copy.path(), options()).expect("a crash may leave that");
    let torn = recovery(&db).torn.expect("it is told of");
    assert_eq!((Path::new(&torn.file), torn.segment), (last.as_path(), 1));
    assert_eq!((torn.offset, torn.bytes), (end as u64, 1_000));
    assert_eq!(torn.to_string(), format!("{}: 1000 bytes from byte {end} on", last.display()));
    assert_eq!((ids(&db).len(), recovery(&db).was_closed), (9, false));
}

/// 300 acknowledged commits, of which the end of the last segment is cut off.
#[test]
fn a_log_that_was_cut_off_is_refused_however_little_is_missing() {
    let place = Place::new("cut_off");
    let db = open(place.path(), options()).expect("it is made");
    write(&db, 0..300);
    for (nth, segment) in segments(place.path()).into_iter().enumerate() {
        let bytes = fs::metadata(&segment).expect("a file").len();
        for left in [bytes - 1, bytes.saturating_sub(64 << 10), bytes / 2, 4_096, 4_095, 1, 0] {
            let copy = killed(&place, &format!("cut_off_{nth}_{left}"));
            let file = copy.path().join(segment.file_name().expect("it has a name"));
            fs::File::options()
                .write(true)
                .open(&file)
                .expect("a file")
                .set_len(left)
                .expect("the system works");
            let error = refused(copy.path(), options());
            assert!(
                matches!(&error, OpenError::Corrupt(lost) if Path::new(&lost.file) == file),
                "{left}: {error}"
            );
            let missing = format!("the file was cut off: {} of its {bytes} bytes are missing", bytes - left);
            assert!(left < 4_096 || error.to_string().contains(&missing), "{error}");
        }
        let copy = killed(&place, &format!("cut_off_{nth}_whole"));
        fs::remove_file(copy.path().join(segment.file_name().expect("it has a name"))).expect("it is there");
        let error = refused(copy.path(), options());
        assert!(error.to_string().contains("the segment is missing"), "{error}");
    }
    assert_eq!(ids(&open(killed(&place, "cut_off_not").path(), options()).expect("whole")).len(), 300);
}

#[test]
fn a_backup_is_closed_and_missed_when_it_is_cut_off() {
    let (place, copy) = (Place::new("backup_of"), Place::new("backup_closed"));
    let db = open(place.path(), options()).expect("it is made");
    write(&db, 0..50);
    db.backup(copy.path()).expect("the device works");
    let bytes =
        segments(copy.path()).iter().map(|file| fs::metadata(file).expect("a file").len()).sum::<u64>();
    assert!(bytes < 1 << 20, "{bytes} bytes");
    let last = segments(copy.path()).pop().expect("a log");
    let whole = fs::read(&last).expect("a file");
    fs::write(&last, &whole[..whole.len() - 1]).expect("the system works");
    assert!(matches!(refused(copy.path(), options()), OpenError::Corrupt(_)));
    fs::write(&last, &whole).expect("the system works");
    let copied = open(copy.path(), options().require_closed(true)).expect("it has its end");
    assert_eq!((ids(&copied).len(), recovery(&copied).was_closed), (50, true));
}

fn instead(error: &OpenError) -> (&Path, &Instead) {
    let OpenError::NoDatabase { path, instead } = error else { panic!("{error}") };
    (path, instead)
}

#[test]
fn a_database_that_must_exist_is_not_made() {
    let place = Place::new("must_exist");
    let wanted = || options().create(Create::Never);
    let error = refused(place.path(), wanted());
    assert_eq!(instead(&error), (place.path(), &Instead::Nothing));
    assert!(error.to_string().contains("there is nothing: check the path"), "{error}");
    assert!(!place.path().exists());
    fs::create_dir_all(place.path()).expect("the system works");
    let error = refused(place.path(), wanted());
    assert_eq!(instead(&error), (place.path(), &Instead::EmptyDirectory));
    assert_eq!(names(place.path()), [""; 0], "nothing was made");
    drop(open(place.path(), options()).expect("the standard makes one"));
    drop(open(place.path(), wanted()).expect("it is there"));
}

#[test]
fn a_database_that_must_not_exist_is_made_once() {
    let place = Place::new("must_not_exist");
    let wanted = || options().create(Create::New);
    let db = open(place.path(), wanted()).expect("there is none");
    write(&db, 0..5);
    assert!(matches!(refused(place.path(), wanted()), OpenError::Locked { .. }));
    drop(db);
    let error = refused(place.path(), wanted());
    assert_eq!(error, OpenError::Exists { path: place.path().to_owned() });
    assert!(error.to_string().contains("without `Create::New`"), "{error}");
    assert_eq!(ids(&open(place.path(), options()).expect("it is there still")).len(), 5);
}

#[test]
fn a_directory_that_was_emptied_of_all_but_its_lock_is_no_new_database() {
    let place = Place::new("emptied");
    let db = open(place.path(), options()).expect("it is made");
    write(&db, 0..5);
    drop(db);
    for name in names(place.path()).iter().filter(|name| *name != "LOCK") {
        fs::remove_file(place.path().join(name)).expect("it is there");
    }
    for wanted in [options(), options().create(Create::Never)] {
        let error = refused(place.path(), wanted);
        assert_eq!(instead(&error), (place.path(), &Instead::Remains));
        assert!(error.to_string().contains("nothing is left but the file `LOCK`"), "{error}");
        assert_eq!(names(place.path()), ["LOCK"]);
    }
    let directory = RealDirectory::new(place.path()).expect("it is there");
    let lock = directory.lock().expect("the system knows locks");
    assert!(matches!(refused(place.path(), options()), OpenError::Locked { .. }), "who makes one has it");
    drop(lock);
    let db = open(place.path(), options().create(Create::New)).expect("who asks for a new one gets it");
    assert!(recovery(&db).is_new);
}

#[test]
fn a_directory_of_other_files_is_left_alone() {
    let place = Place::new("other_files");
    fs::create_dir_all(place.path().join("deeper")).expect("the system works");
    for wanted in [Create::IfAbsent, Create::Never, Create::New] {
        let error = refused(place.path(), options().create(wanted));
        assert_eq!(instead(&error), (place.path(), &Instead::OtherFiles { example: "deeper".into() }));
        assert!(error.to_string().contains("`deeper` for one"), "{error}");
    }
    assert_eq!(names(place.path()), ["deeper"]);
    fs::rename(place.path().join("deeper"), place.path().join("lost+found")).expect("the system works");
    drop(open(place.path(), options()).expect("every file system may have that"));
}

#[test]
fn what_is_in_the_way_says_what_it_is() {
    let place = Place::new("in_the_way");
    fs::create_dir_all(place.path()).expect("the system works");
    let [file, link, loops] = ["file", "link", "loops"].map(|name| place.path().join(name));
    fs::write(&file, "dear diary").expect("the system works");
    symlink("nowhere/at/all", &link).expect("the system works");
    symlink("loops", &loops).expect("the system works");
    let dangling = || Instead::DanglingLink { to: "nowhere/at/all".into() };
    for wanted in [Create::IfAbsent, Create::Never, Create::New] {
        let refused = |path: &Path| refused(path, options().create(wanted));
        let error = refused(&file);
        assert_eq!(instead(&error), (file.as_path(), &Instead::File));
        assert!(
            error.to_string().ends_with("file: is a file and no directory: give the directory of a database")
        );
        assert_eq!(instead(&refused(&file.join("deeper/still"))), (file.as_path(), &Instead::File));
        let error = refused(&link);
        assert_eq!(instead(&error), (link.as_path(), &dangling()));
        assert!(error.to_string().contains("link to `nowhere/at/all`, which is not there: mount"), "{error}");
        assert_eq!(instead(&refused(&link.join(""))), (link.as_path(), &dangling()), "with a slash");
        assert_eq!(instead(&refused(&link.join("deeper"))), (link.as_path(), &dangling()));
        assert!(matches!(refused(&loops), OpenError::Io { operation: Operation::Look, .. }));
    }
    assert_eq!(instead(&refused(Path::new(""), options())), (Path::new(""), &Instead::Nothing));
    assert_eq!(names(place.path()), ["file", "link", "loops"], "nothing was made");
    fs::create_dir_all(place.path().join("nowhere/at/all")).expect("the system works");
    drop(open(&link, options()).expect("a link that leads to a directory is one"));
}

#[test]
fn a_first_open_that_was_cut_short_is_tried_again() {
    let place = Place::new("cut_short");
    let make = |names: &[&str]| {
        _ = fs::remove_dir_all(place.path());
        fs::create_dir_all(place.path()).expect("the system works");
        for name in names {
            fs::write(place.path().join(name), "").expect("the system works");
        }
    };
    for names in [&[][..], &["MAKING"], &["MAKING", "LOCK"], &["MAKING", "LOCK", "MANIFEST.new"]] {
        for create in [Create::IfAbsent, Create::New] {
            make(names);
            drop(open(place.path(), options().create(create)).expect("nobody has ever had it open"));
            assert!(!place.path().join("MAKING").exists());
        }
        make(names);
        let error = refused(place.path(), options().create(Create::Never));
        assert_eq!(instead(&error).1, &Instead::EmptyDirectory);
    }
    // The state of a process that ends just before it records that it has made the database.
    make(&[]);
    drop(open(place.path(), options()).expect("it is made"));
    fs::write(place.path().join("MAKING"), "").expect("the system works");
    drop(open(place.path(), options().create(Create::Never)).expect("it is there"));
    assert!(!place.path().join("MAKING").exists());
}

#[test]
fn what_the_system_says_is_kept_with_its_text() {
    let place = Place::new("system");
    let db = open(place.path(), options()).expect("it is made");
    drop(db);
    let manifest = place.path().join("MANIFEST");
    fs::remove_file(&manifest).expect("it is there");
    fs::create_dir(&manifest).expect("the system works");
    let error = refused(place.path(), options());
    let OpenError::Io { operation, path, error: said } = &error else { panic!("{error}") };
    assert_eq!((*operation, path), (Operation::Read, &manifest));
    let source =
        error.source().and_then(|source| source.downcast_ref::<io::Error>()).expect("the system's own");
    assert_eq!((source.kind(), source.raw_os_error()), (io::ErrorKind::IsADirectory, said.raw_os_error()));
    assert!(error.to_string().contains(&source.to_string()), "{error}");
    assert!(error.to_string().contains("MANIFEST: the system refuses to read it: Is a directory"), "{error}");
    assert_eq!(error, error.clone());
}

#[test]
fn a_path_that_the_system_refuses_is_told_with_its_reason() {
    let place = Place::new("refused");
    let path = place.path().join("x".repeat(300));
    let told = |create, what: Operation| {
        let error = refused(&path, options().create(create));
        let OpenError::Io { operation, path: at, error: said } = &error else { panic!("{error}") };
        assert_eq!((*operation, at, said.kind()), (what, &path, io::ErrorKind::InvalidFilename));
        assert!(error.to_string().contains(&format!("{what}: File name too long")), "{error}");
    };
    // It makes the directories above; this path is the name of none of them.
    told(Create::IfAbsent, Operation::Make);
    for create in [Create::IfAbsent, Create::Never, Create::New] {
        told(create, Operation::Look);
    }
}
