//! The server: GET and HEAD alone, for people (`/`), for programs (`/api/v1/…`, described at `/api/v1/openapi.json`) and for Prometheus (`/metrics`).
//!
//! Nothing here changes anything, so nobody can be made to. Whoever may not read is told so and nothing else.

use std::convert::Infallible;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    COOKIE, ETAG, HOST, IF_NONE_MATCH, REFERRER_POLICY, SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use logbook::monitor::talk::Over;
use serde::{Deserialize, Serialize};

use super::board::Board;
use super::metrics::{self, Form};
use super::places::Places;

/// Longest wait for a request's head.
const HEAD: Duration = Duration::from_secs(5);
/// The most intervals of a cell that are told at once.
const INTERVALS: usize = 2_000;
/// Seconds without a picture after which the monitor is not well.
const STALE: u64 = 180;

/// Rights of a page: everything from here, nothing from elsewhere, no script but ours.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Cell and stretch of a query.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellQuery {
    /// The host that asks.
    pub from: String,
    /// The host that is asked.
    pub to: String,
    /// Protocol of the cell; absent: UDP.
    #[serde(default)]
    pub over: Option<Over>,
    /// From this second on, since 1970.
    pub since: u64,
    /// Before this one; absent: until now.
    #[serde(default)]
    pub until: Option<u64>,
    /// Intervals of a minute, an hour or a day; absent: minutes.
    #[serde(default)]
    pub by: By,
}

/// Length of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// A minute.
    #[default]
    Minute,
    /// An hour.
    Hour,
    /// A day (UTC).
    Day,
}

/// An interval of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its start, seconds since 1970.
    pub at: u64,
    /// Median, nanoseconds; absent: too few answers.
    pub p50_ns: Option<u64>,
    /// 99th percentile likewise.
    pub p99_ns: Option<u64>,
    /// The longest, exactly.
    pub max_ns: Option<u64>,
    /// Requests that left.
    pub sent: u64,
    /// Requests among these that were not answered in time.
    pub lost: u64,
    /// Requests among these that were lost on the way there; where the far end told.
    pub lost_out: u64,
    /// On the way back; likewise.
    pub lost_back: u64,
    /// Seconds in which the host that asks was late itself.
    pub disturbed: u64,
    /// Middle of each bucket that holds something, nanoseconds, and how many answers.
    pub buckets: Vec<(u64, u64)>,
}

/// Source of the past.
pub trait Past: Send + Sync {
    /// The intervals of a cell that are kept, in order; at most `most`, the latest ones.
    ///
    /// # Errors
    /// The fault, for people.
    fn cell(&self, query: &CellQuery, most: usize) -> Result<Vec<Interval>>;
}

/// Readers that are let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The word that readers have to know; absent: nobody needs one.
    pub token: Option<String>,
    /// Names under which the server may be called, beside addresses and `localhost`: others are refused, so that no page of somebody else's can
    /// read here by a name that leads here.
    pub names: Vec<String>,
}

struct Server {
    board: Arc<Board>,
    past: Box<dyn Past>,
    access: Access,
    clock: fn() -> u64,
}

type Shared = State<Arc<Server>>;

/// Serves at `listener` for ever, in a thread of its own; the address at which it does.
///
/// # Errors
/// Errors of the system.
pub fn serve(
    listener: TcpListener,
    board: Arc<Board>,
    past: Box<dyn Past>,
    access: Access,
    clock: fn() -> u64,
) -> Result<SocketAddr> {
    let at = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let router = router(Arc::new(Server { board, past, access, clock }));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the server")?;
    let run = move || runtime.block_on(accept(listener, router));
    std::thread::Builder::new().name("http".to_owned()).spawn(run)?;
    Ok(at)
}

async fn accept(listener: TcpListener, router: Router) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut places = Places::default();
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Without descriptors left: those that are open have to end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let task = tokio::spawn(async move {
            // One version of HTTP is spoken: a silent client would else be waited for without an end, to know which it
            // speaks.
            let mut server = auto::Builder::new(TokioExecutor::new()).http1_only();
            server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(16 << 10);
            // A client's fault is answered; a connection that breaks is its own.
            let _ended = server.serve_connection(TokioIo::new(stream), service).await;
        });
        places.take(from.ip(), task.abort_handle());
    }
}

fn router(server: Arc<Server>) -> Router {
    let asset = |kind: &'static str, text: &'static str| get(move || async move { ([(CONTENT_TYPE, kind)], text) });
    Router::new()
        .route("/", asset("text/html; charset=utf-8", include_str!("page/index.html")))
        .route("/script.js", asset("text/javascript; charset=utf-8", include_str!("page/script.js")))
        .route("/style.css", asset("text/css; charset=utf-8", include_str!("page/style.css")))
        .route("/api/v1/openapi.json", asset("application/json", include_str!("page/openapi.json")))
        .route("/api/v1/now", get(now))
        .route("/api/v1/cell", get(cell))
        .route("/api/v1/events", get(events))
        .route("/metrics", get(told))
        .route("/healthz", get(health))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), guard))
        .with_state(server)
}

/// Lets those in who may read, and says with each answer what a page may do with it.
async fn guard(State(server): Shared, request: Request, next: Next) -> Response {
    let mut answer = if !is_called_rightly(request.headers(), &server.access.names) {
        (StatusCode::MISDIRECTED_REQUEST, "this server is not called so; give the name by --host\n").into_response()
    } else if let Some(cookie) = entrance(&request, &server.access) {
        // The word is in the address once; it is put where scripts and neighbours do not see it.
        (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (axum::http::header::LOCATION, "./".to_owned())]).into_response()
    } else if may_read(request.headers(), &server.access) {
        next.run(request).await
    } else {
        let hint = "this monitor wants its token: `Authorization: Bearer TOKEN`, or once /?token=TOKEN in a browser\n";
        (StatusCode::UNAUTHORIZED, hint).into_response()
    };
    let policy = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in policy {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn is_called_rightly(headers: &HeaderMap, names: &[String]) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return true };
    let name = host.parse::<SocketAddr>().map_or_else(
        |_| host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name),
        |_| "",
    );
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.is_empty()
        || bare.parse::<std::net::IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The cookie for a browser that brought the token in the address.
fn entrance(request: &Request, access: &Access) -> Option<String> {
    let token = access.token.as_deref()?;
    let brought = request.uri().query()?.split('&').find_map(|part| part.strip_prefix("token="))?;
    is_same(brought, token).then(|| format!("sonde-token={token}; HttpOnly; SameSite=Strict; Path=/"))
}

fn may_read(headers: &HeaderMap, access: &Access) -> bool {
    let Some(token) = access.token.as_deref() else { return true };
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let bearer = text(AUTHORIZATION).strip_prefix("Bearer ").map(str::trim);
    let cookie = text(COOKIE).split(';').find_map(|part| part.trim().strip_prefix("sonde-token="));
    bearer.or(cookie).is_some_and(|brought| is_same(brought, token))
}

/// Returns true where two words are the same, in a time that does not tell where they part.
fn is_same(one: &str, other: &str) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(one.as_bytes(), other.as_bytes()).is_ok()
}

async fn now(State(server): Shared, headers: HeaderMap) -> Response {
    let picture = server.board.picture();
    let tag = format!("\"{}\"", picture.at);
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    ([(ETAG, tag)], packed(&headers, "application/json", json(&*picture).into_bytes())).into_response()
}

fn json<T: Serialize>(what: &T) -> String {
    serde_json::to_string(what).expect("our types have string keys alone, and no number that is none")
}

/// A body by gzip, where it is long and whoever asks takes that: of a thousand hosts it is megabytes.
fn packed(headers: &HeaderMap, kind: &'static str, body: Vec<u8>) -> Response {
    const LONG: usize = 16 << 10;
    let takes = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let takes_gzip = takes.flat_map(|value| value.split(',')).any(|way| {
        let (name, weight) = way.split_once(';').unwrap_or((way, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    });
    let mut answer = if body.len() > LONG && takes_gzip {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let packed =
            encoder.write_all(&body).and_then(|()| encoder.finish()).expect("memory takes all that is written");
        ([(CONTENT_ENCODING, "gzip")], packed).into_response()
    } else {
        body.into_response()
    };
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    answer
}

async fn cell(
    State(server): Shared,
    headers: HeaderMap,
    query: Result<Query<CellQuery>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Query(query) = match query {
        Ok(query) => query,
        Err(rejection) => return (StatusCode::BAD_REQUEST, format!("{rejection}\n")).into_response(),
    };
    let asked = Arc::clone(&server);
    match tokio::task::spawn_blocking(move || asked.past.cell(&query, INTERVALS)).await {
        Ok(Ok(intervals)) => packed(&headers, "application/json", json(&intervals).into_bytes()),
        Ok(Err(error)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}\n")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Tells the second of each new picture: whoever hears it asks for what he shows.
async fn events(State(server): Shared) -> Response {
    let news = server.board.news();
    let each = stream::unfold(news, |mut news| async move {
        news.changed().await.ok()?;
        let at = *news.borrow_and_update();
        Some((Ok::<_, Infallible>(Event::default().id(at.to_string()).data(at.to_string())), news))
    });
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    let mut answer = Sse::new(each).keep_alive(alive).into_response();
    // A proxy that gathers answers would keep the news back.
    answer.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    answer
}

async fn told(State(server): Shared, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let form = Form::accepted(accept);
    let picture = server.board.picture();
    // The sums are read while nobody adds to them, and written out while somebody may.
    let families = metrics::families(&picture, &server.board.totals());
    let body = metrics::written(&families, form);
    packed(&headers, form.content_type(), body)
}

async fn health(State(server): Shared) -> Response {
    let age = (server.clock)().saturating_sub(server.board.picture().at);
    if age < STALE {
        (StatusCode::OK, "ok\n").into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, format!("nothing was judged for {age} s\n")).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use super::super::places::MOST;
    use super::*;

    struct Nothing;

    impl Past for Nothing {
        fn cell(&self, _: &CellQuery, _: usize) -> Result<Vec<Interval>> {
            Ok(Vec::new())
        }
    }

    /// Connections that say nothing at all, and ones that hear of news for as long as there is a monitor.
    #[test]
    fn connections_that_stay_keep_nobody_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = serve(listener, Arc::default(), Box::new(Nothing), Access::default(), || 0).unwrap();
        let ask = |path: &str| {
            let mut stream = TcpStream::connect(at).unwrap();
            if !path.is_empty() {
                write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            }
            stream
        };
        let _staying: Vec<TcpStream> = ["", "/api/v1/events"].into_iter().cycle().take(MOST + 10).map(ask).collect();
        let mut reader = ask("/healthz");
        reader.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut first = [0; 12];
        reader.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
}
