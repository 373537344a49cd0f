//! As much of HTTP/1 as browsers and Prometheus need.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

const HEAD_MAX_BYTES: usize = 8 << 10;

/// How much of a server its readers can take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// At a time. Connections beyond them are closed.
    pub readers: usize,
    /// A slower reader's connection is closed.
    pub patience: Duration,
}

/// What is sent back.
pub struct Answer {
    /// Such as `200 OK`.
    pub status: &'static str,
    /// The body's media type.
    pub kind: &'static str,
    /// The body.
    pub body: String,
}

impl Answer {
    /// What was asked for.
    pub fn new(kind: &'static str, body: String) -> Self {
        Self {
            status: "200 OK",
            kind,
            body,
        }
    }

    /// Its status says all.
    pub fn error(status: &'static str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            body: format!("{status}\n"),
        }
    }
}

/// Answers each path that is asked for, without its query, for as long as it is polled.
pub async fn serve<F, A>(listener: TcpListener, limits: Limits, answer: F)
where
    F: Fn(String) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Answer> + Send,
{
    let readers = Arc::new(Semaphore::new(limits.readers));
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            // Out of files, perhaps: that passes.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(seat) = Arc::clone(&readers).try_acquire_owned() else {
            continue;
        };
        let answer = answer.clone();
        tokio::spawn(async move {
            let answered = async {
                let answer = match read(&mut stream).await {
                    Ok(path) => answer(path).await,
                    Err(status) => Answer::error(status),
                };
                write(&mut stream, &answer).await;
            };
            let _ = timeout(limits.patience, answered).await;
            drop(seat);
        });
    }
}

/// The path that is asked for, without its query; or the status of a refusal.
async fn read(stream: &mut TcpStream) -> Result<String, &'static str> {
    const BAD: &str = "400 Bad Request";
    let mut head = Vec::new();
    let mut some = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut some).await {
            Ok(0) | Err(_) => return Err(BAD),
            Ok(count) => head.extend_from_slice(&some[..count]),
        }
        if head.len() > HEAD_MAX_BYTES {
            return Err("431 Request Header Fields Too Large");
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| BAD)?;
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["GET", path, version] if version.starts_with("HTTP/1.") => {
            Ok(path.split('?').next().unwrap_or_default().to_owned())
        }
        [_, _, version] if version.starts_with("HTTP/1.") => Err("405 Method Not Allowed"),
        _ => Err(BAD),
    }
}

/// Sends it, and closes.
async fn write(stream: &mut TcpStream, answer: &Answer) {
    let Answer { status, kind, body } = answer;
    // The page has its script and style in itself, and asks this server only.
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: \
         no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src \
         'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src \
         'self'\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A reader that went away needs no answer.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
    let _ = stream.shutdown().await;
}
