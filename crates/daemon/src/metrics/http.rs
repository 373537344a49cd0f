//! As much of HTTP/1.1 as a reader of metrics needs: one request, one answer, and the connection
//! closes. No sockets in here.

use takt_metrics::Format;

/// A longer request is refused.
const REQUEST_MAX_BYTES: usize = 8192;
const HEADERS_MAX: usize = 64;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Its end has not come.
    Incomplete,
    Refused(Status),
    Page(Page),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub path: String,
    pub format: Format,
    /// Without its body (HEAD).
    pub is_head: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    TooLarge,
    Failed,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::TooLarge => "431 Request Header Fields Too Large",
            Self::Failed => "503 Service Unavailable",
        }
    }
}

/// Parse what has come of a request.
pub(super) fn parse(bytes: &[u8]) -> Asked {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if bytes.len() > REQUEST_MAX_BYTES => {
            return Asked::Refused(Status::TooLarge);
        }
        Ok(httparse::Status::Partial) => return Asked::Incomplete,
        Err(httparse::Error::TooManyHeaders) => return Asked::Refused(Status::TooLarge),
        Err(_) => return Asked::Refused(Status::BadRequest),
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Asked::Refused(Status::MethodNotAllowed),
    };
    let accepts = request.headers.iter().any(|header| {
        let value = String::from_utf8_lossy(header.value);
        header.name.eq_ignore_ascii_case("accept") && value.contains("application/openmetrics-text")
    });
    let target = request.path.unwrap_or_default();
    Asked::Page(Page {
        path: target.split('?').next().unwrap_or_default().to_owned(),
        format: if accepts {
            Format::OpenMetrics
        } else {
            Format::Text
        },
        is_head,
    })
}

/// An answer in full.
pub(super) fn answer(status: Status, kind: &str, body: &str, is_head: bool) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n{}\r\n",
        status.line(),
        body.len(),
        match status {
            Status::MethodNotAllowed => "Allow: GET, HEAD\r\n",
            _ => "",
        },
    );
    let body = if is_head { "" } else { body };
    [head.as_bytes(), body.as_bytes()].concat()
}

/// An answer that says no more than its status.
pub(super) fn refusal(status: Status) -> Vec<u8> {
    let body = format!("{}\n", status.line());
    answer(status, "text/plain; charset=utf-8", &body, false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(path: &str, format: Format, is_head: bool) -> Asked {
        Asked::Page(Page {
            path: path.to_owned(),
            format,
            is_head,
        })
    }

    #[test]
    fn a_request_names_a_page_and_a_format() {
        let prometheus = b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: application/\
            openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3\r\n\r\n";
        assert_eq!(
            parse(prometheus),
            page("/metrics", Format::OpenMetrics, false)
        );
        assert_eq!(
            parse(b"HEAD /metrics?a=b HTTP/1.0\r\n\r\n"),
            page("/metrics", Format::Text, true)
        );
        for length in 0..prometheus.len() {
            assert_eq!(parse(&prometheus[..length]), Asked::Incomplete);
        }
    }

    #[test]
    fn other_requests_are_refused() {
        for (request, status) in [
            (
                "POST / HTTP/1.1\r\n\r\n".to_owned(),
                Status::MethodNotAllowed,
            ),
            ("\u{1}\r\n\r\n".to_owned(), Status::BadRequest),
            ("GET / HTTP/9.9\r\n\r\n".to_owned(), Status::BadRequest),
            (
                format!(
                    "GET / HTTP/1.1\r\n{}\r\n",
                    "a: b\r\n".repeat(HEADERS_MAX + 1)
                ),
                Status::TooLarge,
            ),
            (
                format!("GET /{}", "a".repeat(REQUEST_MAX_BYTES)),
                Status::TooLarge,
            ),
        ] {
            assert_eq!(
                parse(request.as_bytes()),
                Asked::Refused(status),
                "{request}"
            );
        }
        let told = String::from_utf8(refusal(Status::MethodNotAllowed)).unwrap();
        assert!(told.starts_with("HTTP/1.1 405 ") && told.contains("\r\nAllow: GET, HEAD\r\n"));
    }

    #[test]
    fn a_head_has_the_length_of_the_body_it_lacks() {
        let full = answer(Status::Ok, "text/plain", "four", false);
        let head = answer(Status::Ok, "text/plain", "four", true);
        assert_eq!(full, [head.as_slice(), b"four"].concat());
        assert!(
            String::from_utf8(head)
                .unwrap()
                .contains("Content-Length: 4\r\n")
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
            let _ = parse(&bytes);
        }
    }
}
