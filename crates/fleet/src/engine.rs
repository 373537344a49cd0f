//! NATS JetStream, as the fleet uses it: two buckets of keys and values.
//!
//! Hosts make no consumers: they hear of new revisions through an ordinary subscription, and ask
//! for the last one (a direct get) when they connect and now and then. So ten thousand of them
//! are no state in the server but their connections.

use std::{path::PathBuf, time::Duration};

use async_nats::{
    Client, ConnectOptions, Event, HeaderMap, StatusCode,
    connection::State,
    jetstream::{self, consumer, kv, stream},
};
use futures_util::StreamExt;
use tokio::{sync::mpsc, time::timeout};

use crate::{
    digest::Digest,
    envelope::{HEAD_MAX_BYTES, Kind},
    host::{Engine, Heard},
    policy::POLICY_MAX_BYTES,
};

/// The key with the revision in force.
pub const REVISION: &str = "revision";
/// Revisions that the engine keeps, as many as it can.
pub const HISTORY: i64 = 64;
const REVISIONS_MAX_BYTES: i64 = 256 << 20;
const HOSTS_MAX_BYTES: i64 = 256 << 20;
/// How long a question may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest delay between two attempts to connect.
const RECONNECT_MAX_MS: u64 = 30_000;

/// Where the engine is, and who one is there.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Such as `nats://127.0.0.1:4222`, or several with commas between them.
    pub urls: String,
    /// A file with a NATS user's credentials (`nsc` makes them).
    pub credentials: Option<PathBuf>,
    /// A file with the certificates that sign the server's.
    pub ca: Option<PathBuf>,
}

/// Why the engine does not answer as it should.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the engine: {0}")]
pub struct EngineError(pub String);

impl EngineError {
    pub(crate) fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// The names of a fleet's buckets.
#[derive(Debug, Clone)]
pub struct Buckets {
    /// Revisions and policies.
    pub revisions: String,
    /// Reports.
    pub hosts: String,
}

impl Buckets {
    /// Of this fleet.
    pub fn for_fleet(fleet: &str) -> Self {
        Self {
            revisions: format!("takt-{fleet}"),
            hosts: format!("takt-{fleet}-hosts"),
        }
    }
}

/// The subject on which hosts are asked to report now.
fn call_subject(fleet: &str) -> String {
    format!("takt.{fleet}.call")
}

/// The key of a policy.
pub fn policy_key(digest: &Digest) -> String {
    format!("policy.{digest}")
}

async fn options(access: &Access, name: &str) -> Result<ConnectOptions, EngineError> {
    let mut options = ConnectOptions::new()
        .name(name)
        .request_timeout(Some(PATIENCE))
        .connection_timeout(PATIENCE)
        .max_reconnects(None)
        // A fleet that lost its engine does not come back at one moment.
        .reconnect_delay_callback(|attempts| {
            let most = (250_u64 << attempts.min(7)).min(RECONNECT_MAX_MS);
            Duration::from_millis(most / 2 + crate::random::below(most / 2 + 1))
        });
    // The library leaves these in the address.
    if let Some(server) = servers(&access.urls)?.first()
        && let (Some(user), Some(password)) = (server.username(), server.password())
    {
        options = options.user_and_password(user.to_owned(), password.to_owned());
    }
    if let Some(ca) = &access.ca {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
    }
    if let Some(file) = &access.credentials {
        check_mode(file)?;
        options = options
            .credentials_file(file)
            .await
            .map_err(|error| EngineError(format!("credentials in {}: {error}", file.display())))?;
    }
    Ok(options)
}

/// Credentials are a secret.
fn check_mode(file: &std::path::Path) -> Result<(), EngineError> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(file);
    let found = found.map_err(|error| EngineError(format!("{}: {error}", file.display())))?;
    match found.mode() & 0o077 {
        0 => Ok(()),
        _ => Err(EngineError(format!(
            "users other than its owner can read {}; chmod 600 {0}",
            file.display()
        ))),
    }
}

fn servers(urls: &str) -> Result<Vec<async_nats::ServerAddr>, EngineError> {
    let parse = |url: &str| {
        url.trim()
            .parse()
            .map_err(|error| EngineError(format!("{:?} is not an address: {error}", shown(url))))
    };
    urls.split(',').map(parse).collect()
}

/// Addresses without the passwords that may be in them.
fn shown(urls: &str) -> String {
    let without = |url: &str| match url.trim().rsplit_once('@') {
        Some((_, rest)) => rest.to_owned(),
        None => url.trim().to_owned(),
    };
    urls.split(',').map(without).collect::<Vec<_>>().join(", ")
}

/// A host's connection.
#[derive(Debug, Clone)]
pub struct HostEngine {
    client: Client,
    buckets: Buckets,
    identity: String,
}

impl HostEngine {
    /// Connects, now or later: what is heard comes through the channel.
    pub async fn connect(
        access: &Access,
        fleet: &str,
        identity: &str,
        small: bool,
    ) -> Result<(Self, mpsc::Receiver<Heard>), EngineError> {
        let (tell, heard) = mpsc::channel(16);
        let events = tell.clone();
        let mut options = options(access, identity)
            .await?
            .retry_on_initial_connect()
            .no_echo()
            .subscription_capacity(16)
            .event_callback(move |event| {
                let told = match event {
                    Event::Connected => Some(Heard::Connected),
                    Event::Disconnected => Some(Heard::Disconnected),
                    Event::ServerError(error) => Some(Heard::Trouble(error.to_string())),
                    Event::ClientError(error) => Some(Heard::Trouble(error.to_string())),
                    _ => None,
                };
                // A full channel loses nothing that is not asked for again.
                let _ = told.map(|told| events.try_send(told));
                std::future::ready(())
            });
        if small {
            options = options.read_buffer_capacity(2048).client_capacity(16);
        }
        let client = options.connect(servers(&access.urls)?).await;
        let client = client.map_err(EngineError::new)?;
        let buckets = Buckets::for_fleet(fleet);
        let subjects = [
            format!("$KV.{}.{REVISION}", buckets.revisions),
            format!("$KV.{}.{identity}", buckets.hosts),
            call_subject(fleet),
        ];
        let kinds = [Heard::Revision as fn(Vec<u8>) -> Heard, Heard::Own, |_| {
            Heard::Call
        }];
        for (subject, kind) in subjects.into_iter().zip(kinds) {
            let mut messages = client.subscribe(subject).await.map_err(EngineError::new)?;
            let tell = tell.clone();
            tokio::spawn(async move {
                while let Some(message) = messages.next().await {
                    if message.payload.len() <= Kind::Revision.max_bytes() + HEAD_MAX_BYTES {
                        let _ = tell.try_send(kind(message.payload.to_vec()));
                    } else {
                        let _ = tell.try_send(kind(Vec::new()));
                    }
                }
            });
        }
        let engine = Self {
            client,
            buckets,
            identity: identity.to_owned(),
        };
        Ok((engine, heard))
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, EngineError> {
        direct_get(&self.client, &self.buckets.revisions, key)
            .await
            .map(|found| found.map(|(bytes, _)| bytes))
    }
}

/// The last value of a key, without a consumer.
async fn direct_get(
    client: &Client,
    bucket: &str,
    key: &str,
) -> Result<Option<(Vec<u8>, Option<HeaderMap>)>, EngineError> {
    let subject = format!("$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{key}");
    let asked = client.request(subject, Vec::new().into());
    let message = timeout(PATIENCE, asked)
        .await
        .map_err(|_| EngineError("it does not answer".to_owned()))?
        .map_err(EngineError::new)?;
    match message.status {
        None => {
            let gone = message.headers.as_ref().and_then(|h| h.get("KV-Operation"));
            let found = (message.payload.to_vec(), message.headers.clone());
            Ok(gone.is_none().then_some(found))
        }
        Some(StatusCode::NOT_FOUND) => Ok(None),
        Some(status) => Err(EngineError(format!("{status}"))),
    }
}

impl Engine for HostEngine {
    async fn latest(&self) -> Result<Option<Vec<u8>>, String> {
        self.get(REVISION).await.map_err(|e| e.to_string())
    }

    async fn policy(&self, digest: &Digest) -> Result<Option<Vec<u8>>, String> {
        let found = self.get(&policy_key(digest)).await;
        let found = found.map_err(|e| e.to_string())?;
        Ok(found.filter(|bytes| bytes.len() <= POLICY_MAX_BYTES))
    }

    async fn report(&self, bytes: Vec<u8>) -> Result<(), String> {
        // No acknowledgement: the next report says it again.
        // Not kept for later either, or a host without the engine would wait for room.
        if self.client.connection_state() != State::Connected {
            return Err("the engine is gone".to_owned());
        }
        let subject = format!("$KV.{}.{}", self.buckets.hosts, self.identity);
        let told = timeout(PATIENCE, self.client.publish(subject, bytes.into())).await;
        let told = told.map_err(|_| "the engine accepts no reports".to_owned())?;
        told.map_err(|e| e.to_string())
    }
}

/// An operator's connection.
pub struct OperatorEngine {
    client: Client,
    call: String,
    revisions: kv::Store,
    hosts: kv::Store,
}

impl OperatorEngine {
    /// Connects, and makes the buckets if asked to and they are not there.
    pub async fn connect(access: &Access, fleet: &str, make: bool) -> Result<Self, EngineError> {
        let options = options(access, "takt fleet").await?;
        let connected = timeout(PATIENCE * 2, options.connect(servers(&access.urls)?)).await;
        let client = connected
            .map_err(|_| EngineError(format!("{} does not answer", shown(&access.urls))))?
            .map_err(|error| EngineError(format!("{}: {error}", shown(&access.urls))))?;
        let context = jetstream::new(client.clone());
        let buckets = Buckets::for_fleet(fleet);
        let revisions = Bucket {
            name: buckets.revisions,
            description: "Takt: signed revisions, and policies by their digest",
            history: HISTORY,
            value_max_bytes: POLICY_MAX_BYTES,
            max_bytes: REVISIONS_MAX_BYTES,
        };
        let hosts = Bucket {
            name: buckets.hosts,
            description: "Takt: the last report of each host",
            history: 1,
            value_max_bytes: Kind::Report.max_bytes() + HEAD_MAX_BYTES,
            max_bytes: HOSTS_MAX_BYTES,
        };
        Ok(Self {
            client,
            call: call_subject(fleet),
            revisions: revisions.open(&context, make).await?,
            hosts: hosts.open(&context, make).await?,
        })
    }

    /// The bucket with revisions and policies.
    pub const fn revisions(&self) -> &kv::Store {
        &self.revisions
    }

    /// Asks all hosts to report now.
    pub async fn call(&self) -> Result<(), EngineError> {
        let asked = self.client.publish(self.call.clone(), Vec::new().into());
        asked.await.map_err(EngineError::new)?;
        self.client.flush().await.map_err(EngineError::new)
    }

    /// The sequence number of the last report; `None`: no host has ever reported. All of them have
    /// been read with this one, or with a later one. How many are left, which the engine says with
    /// each, is no such sign: a signer that waited for none to be left went on waiting after 88
    /// reports, from nats-server 2.9.10 on a busy host.
    pub async fn last_report(&self) -> Result<Option<u64>, EngineError> {
        let info = self.hosts.stream.get_info().await;
        let state = info.map_err(EngineError::new)?.state;
        Ok((state.messages > 0).then_some(state.last_sequence))
    }

    /// The engine's clock, in seconds of Unix time. Reports have its times, and no other clock
    /// says how old they are.
    pub async fn now_s(&self) -> Result<i64, EngineError> {
        // Every server says when it made a consumer; those before 2.10 tell no time otherwise.
        let config = consumer::pull::Config {
            deliver_policy: consumer::DeliverPolicy::New,
            inactive_threshold: PATIENCE,
            memory_storage: true,
            ..consumer::pull::Config::default()
        };
        let stream = &self.hosts.stream;
        let made = stream.create_consumer(config).await;
        let made = made.map_err(EngineError::new)?;
        let made = made.cached_info();
        // If this fails the server forgets it by itself.
        let _ = stream.delete_consumer(&made.name).await;
        Ok(made.created.unix_timestamp())
    }

    /// The bucket with reports.
    pub const fn hosts(&self) -> &kv::Store {
        &self.hosts
    }
}

/// A bucket of keys and values, as it is made.
struct Bucket {
    name: String,
    description: &'static str,
    history: i64,
    value_max_bytes: usize,
    max_bytes: i64,
}

impl Bucket {
    async fn open(
        self,
        context: &jetstream::Context,
        make: bool,
    ) -> Result<kv::Store, EngineError> {
        let name = self.name.clone();
        let found = context.get_key_value(&name).await;
        if found.is_ok() || !make {
            return found.map_err(|error| {
                EngineError(format!(
                    "there is no bucket {name} ({error}); `takt fleet push` makes it"
                ))
            });
        }
        // As the library's own call makes one; that asks for the account first, whose answer by
        // nats-server 2.9 it does not understand.
        let stream = stream::Config {
            name: format!("KV_{name}"),
            description: Some(self.description.to_owned()),
            subjects: vec![format!("$KV.{name}.>")],
            max_messages_per_subject: self.history,
            max_bytes: self.max_bytes,
            // Besides the value there are headers.
            max_message_size: self.value_max_bytes as i32 + 1024,
            storage: stream::StorageType::File,
            discard: stream::DiscardPolicy::New,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            num_replicas: 1,
            ..stream::Config::default()
        };
        context.create_stream(stream).await.map_err(|error| {
            EngineError(format!(
                "bucket {name} cannot be made ({error}); does nats-server run with JetStream (-js)?"
            ))
        })?;
        let made = context.get_key_value(&name).await;
        made.map_err(EngineError::new)
    }
}
