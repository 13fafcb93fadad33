//! A bank behind a socket, over tokio: a line is a transaction, and its answer is sent when the transaction is durable.
//! Lines that arrive faster than they are executed wait. A server that is stopped has answered every line that it has
//! executed.
#![allow(clippy::print_stdout, reason = "an ordinary program, which prints")]

use std::fmt::{self, Display};
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::{env, fs, io, process};

use contend::{Advice, Database, Error, Handle, OpenError, Options, Table};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::{self, JoinSet};

/// Transactions that may wait to be executed.
const WAITING: usize = 256;

#[derive(Debug, Table)]
#[table(name = "accounts")]
struct Account {
    #[key]
    number: u64,
    cents: i64,
}

/// The error of a line that was not executed.
#[derive(Debug)]
enum Refusal {
    NoAccount(u64),
    InsufficientFunds { cents: i64 },
    Unknown,
    Store(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAccount(number) => write!(f, "no account {number}"),
            Self::InsufficientFunds { cents } => write!(f, "only {cents} there"),
            Self::Unknown => f.write_str("say `open NUMBER CENTS`, `get NUMBER` or `transfer FROM TO CENTS`"),
            Self::Store(error) if error.advice() == Advice::Retry => write!(f, "try again: {error}"),
            Self::Store(error) => write!(f, "{error}"),
        }
    }
}

#[derive(Clone)]
struct Bank {
    db: Database,
    accounts: Handle<Account>,
    room: Arc<Semaphore>,
}

impl Bank {
    // ANCHOR: open
    /// Opens the database on a thread that may block, since the recovery of a large database takes long.
    async fn open(path: PathBuf) -> Result<Self, OpenError> {
        let options = Options::new().table::<Account>().waiting(WAITING);
        let db =
            task::spawn_blocking(move || Database::open(path, options)).await.expect("it does not panic")?;
        let accounts = db.table().expect("it was declared above");
        Ok(Self { db, accounts, room: Arc::new(Semaphore::new(WAITING)) })
    }

    /// Closes the database, also on a thread that may block: closing waits for the device.
    async fn close(self) -> Result<(), Error> {
        task::spawn_blocking(move || self.db.close()).await.expect("it does not panic")
    }
    // ANCHOR_END: open

    // ANCHOR: transfer
    /// Waits while too many transactions wait, instead of being refused.
    async fn turn(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.room).acquire_owned().await.expect("it is never closed")
    }

    /// Moves money, and returns the payer's remaining money when the transfer survives any crash.
    async fn transfer(&self, from: u64, to: u64, cents: i64) -> Result<i64, Refusal> {
        let (turn, accounts) = (self.turn().await, self.accounts);
        let transfer = self.db.try_begin(move |txn| {
            // The body owns its permit, so that the permit is free again when the body was executed, or will not be.
            let _turn = &turn;
            let take = |account: &mut Account| {
                account.cents -= cents;
                account.cents
            };
            let left = txn.update(accounts, from, take)?.ok_or(Refusal::NoAccount(from))?;
            if left < 0 {
                return Err(Refusal::InsufficientFunds { cents: left + cents });
            }
            txn.update(accounts, to, |account| account.cents += cents)?.ok_or(Refusal::NoAccount(to))?;
            Ok(left)
        });
        transfer.await
    }
    // ANCHOR_END: transfer

    async fn open_account(&self, number: u64, cents: i64) -> Result<i64, Refusal> {
        let (turn, accounts) = (self.turn().await, self.accounts);
        let open = self.db.try_begin(move |txn| {
            let _turn = &turn;
            txn.put(accounts, &Account { number, cents })?;
            Ok(cents)
        });
        open.await
    }

    async fn balance(&self, number: u64) -> Result<i64, Refusal> {
        let (turn, accounts) = (self.turn().await, self.accounts);
        let look = self.db.try_begin_snapshot(move |txn| {
            let _turn = &turn;
            txn.get(accounts, number)?.map(|account| account.cents).ok_or(Refusal::NoAccount(number))
        });
        look.await
    }

    /// Executes the command of a line.
    async fn answer(&self, line: &str) -> Result<i64, Refusal> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| word.parse::<u64>().map_err(|_| Refusal::Unknown);
        let cents = |word: &str| word.parse::<u32>().map(i64::from).map_err(|_| Refusal::Unknown);
        match words[..] {
            ["open", account, amount] => self.open_account(number(account)?, cents(amount)?).await,
            ["get", account] => self.balance(number(account)?).await,
            ["transfer", from, to, amount] => self.transfer(number(from)?, number(to)?, cents(amount)?).await,
            _ => Err(Refusal::Unknown),
        }
    }
}

// ANCHOR: serve
/// Answers all clients until the server is stopped.
async fn serve(bank: Bank, listener: TcpListener, stop: impl Future) -> io::Result<()> {
    let (mut stop, mut clients, stopping) = (pin!(stop), JoinSet::new(), watch::Sender::new(false));
    loop {
        tokio::select! {
            connected = listener.accept() => {
                clients.spawn(converse(bank.clone(), connected?.0, stopping.subscribe()));
            }
            Some(_) = clients.join_next() => {}
            _ = &mut stop => break,
        }
    }
    stopping.send_replace(true);
    clients.join_all().await;
    bank.close().await.map_err(io::Error::other)
}

/// Answers one client, line by line. It is stopped between two lines, and never during a transaction.
async fn converse(bank: Bank, mut stream: TcpStream, mut stopping: watch::Receiver<bool>) -> io::Result<()> {
    let (lines, mut answers) = stream.split();
    let mut lines = BufReader::new(lines).lines();
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line?,
            _ = stopping.changed() => None,
        };
        let Some(line) = line else { return Ok(()) };
        let answer = match bank.answer(&line).await {
            Ok(cents) => format!("ok {cents}\n"),
            Err(refusal) => format!("no: {refusal}\n"),
        };
        answers.write_all(answer.as_bytes()).await?;
    }
}
// ANCHOR_END: serve

/// Sends lines to a server, one after the other, and returns its answers.
async fn ask(address: SocketAddr, lines: Vec<String>) -> io::Result<Vec<String>> {
    let mut stream = TcpStream::connect(address).await?;
    let (answers, mut says) = stream.split();
    let (mut answers, mut heard) = (BufReader::new(answers).lines(), Vec::new());
    for line in lines {
        says.write_all(format!("{line}\n").as_bytes()).await?;
        heard.extend(answers.next_line().await?);
    }
    Ok(heard)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    const ACCOUNTS: u64 = 10;
    const CLIENTS: u64 = 20;
    let home = env::temp_dir().join(format!("contend-bank-server-{}", process::id()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(Bank::open(home.clone()).await?, listener, stopped));

    let opened = ask(address, (0..ACCOUNTS).map(|number| format!("open {number} 1000")).collect());
    assert_eq!(opened.await?, vec!["ok 1000"; ACCOUNTS as usize]);
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let transfer = |step| {
            let (from, to) = ((client + step) % ACCOUNTS, (client * 3 + step * 7 + 1) % ACCOUNTS);
            format!("transfer {from} {to} {}", 10 * step)
        };
        clients.spawn(ask(address, (0..20).map(transfer).collect()));
    }
    let mut done = 0;
    for answers in clients.join_all().await {
        for answer in answers? {
            done += u32::from(answer.starts_with("ok"));
            assert!(answer.starts_with("ok") || answer.starts_with("no: only"), "{answer}");
        }
    }
    let other = ask(address, vec!["get 99".into(), "transfer 1 99 1".into(), "transfer 1 2".into()]).await?;
    assert_eq!(other[..2], ["no: no account 99"; 2]);
    assert!(other[2].starts_with("no: say"), "{}", other[2]);

    // A client that sends nothing does not prevent a stop of the server.
    let silent = TcpStream::connect(address).await?;
    stop.send(()).expect("it listens");
    server.await??;
    drop(silent);

    // All answered transactions are there when the database is opened again.
    let bank = Bank::open(home.clone()).await?;
    let mut sum = 0;
    for number in 0..ACCOUNTS {
        sum += bank.balance(number).await.map_err(|refusal| refusal.to_string())?;
    }
    assert_eq!(sum, 1000 * ACCOUNTS as i64);
    println!("{done} transfers; {}", bank.db.counters());
    bank.close().await?;
    fs::remove_dir_all(home)?;
    Ok(())
}

#[test]
fn what_was_answered_is_there_when_the_server_is_started_again() {
    main().expect("the bank balances");
}
