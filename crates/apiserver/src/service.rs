//! Every request, from its path to its answer.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use ephemeral_index::{Export, Nomination, ResourceSchema, Scope, Version};
use http::header::CONNECTION;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version as HttpVersion};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use rustls_pki_types::UnixTime;
use tokio::time::Instant;

use crate::authorize::{Attributes, Authorizer, Decision, Undecided};
use crate::create::{Answered, Create, Heavy, Means};
use crate::discovery::Documents;
use crate::fault::{ClientFault, Fault, MAX_BODY_BYTES, NotAllowed, PlatformFault};
use crate::flow::{Flow, FlowConfig};
use crate::health::{self, Health};
use crate::identity::{self, Caller, Identity, Trust};
use crate::listener::{Connection, Service};
use crate::negotiate::negotiate_output;
use crate::options::{self, ListOptions};
use crate::request_info::{self, Api, Consumer, Discovery, RequestInfo, ResourceInfo, Route, Target, UnionPaths, Verb};
use crate::respond::{self, Responder};
use crate::table::IncludeObject;
use crate::transform;
use crate::warning::Warnings;
use crate::webhook::{Handle, Snapshot};

/// The header of the W3C trace context.
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// A refused request of which more was not wanted ends its HTTP/1.1 connection, bytes; Go's
/// `maxPostHandlerReadBytes`.
const MOST_UNREAD: usize = 256 * 1024;

/// What a server is made of.
pub struct ServerConfig {
    /// Who may connect as what.
    pub trust: Arc<Trust>,
    /// What requests are answered from; whoever fills it swaps it.
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    /// Decides about requests on resources.
    pub authorizer: Arc<dyn Authorizer>,
    /// Live checks.
    pub health: Arc<Health>,
    /// Limits.
    pub flow: FlowConfig,
    /// Whether `/clusters/<name>` shows the union of all exports.
    pub union: UnionPaths,
    /// Where discovery says that this server is, `host:port`.
    pub server_address: String,
}

/// Answers requests.
pub struct Server {
    trust: Arc<Trust>,
    snapshot: Arc<ArcSwap<Snapshot>>,
    authorizer: Arc<dyn Authorizer>,
    health: Arc<Health>,
    means: Means,
    union: UnionPaths,
    documents: Documents,
}

impl Server {
    /// A server that has not been asked anything yet.
    pub fn new(config: ServerConfig) -> Self {
        let ServerConfig {
            trust,
            snapshot,
            authorizer,
            health,
            flow,
            union,
            server_address,
        } = config;
        let processors = std::thread::available_parallelism().map_or(2, usize::from).max(2);
        Self {
            trust,
            snapshot,
            authorizer,
            health,
            means: Means {
                flow: Arc::new(Flow::new(flow)),
                heavy: Arc::new(Heavy::new(processors)),
            },
            union,
            documents: Documents::new(Some(&server_address)),
        }
    }
}

impl Service for Server {
    async fn call(&self, request: Request<Incoming>, connection: Arc<Connection>) -> Response<Full<Bytes>> {
        let received = Instant::now();
        let (parts, mut body) = request.into_parts();
        let mut warnings = Warnings::new();
        let answered = self
            .answer(&parts, &mut body, &connection, received, &mut warnings)
            .await;
        let mut response = match answered {
            Ok(response) => response,
            Err(fault) => {
                fault.log();
                let unwanted = drain(body, &fault).await;
                let mut response = respond::fault(&fault, &parts);
                if unwanted > MOST_UNREAD && parts.version <= HttpVersion::HTTP_11 {
                    let headers = response.headers_mut();
                    headers.insert(CONNECTION, HeaderValue::from_static("close"));
                }
                response
            }
        };
        warnings.write(response.headers_mut());
        response
    }
}

/// Reads on, for a while, what a refused request still sends, and forgets it.
///
/// An answer that ends an HTTP/2 stream before its request has ended is followed by a reset, over which some clients,
/// curl 7 among them, lose the answer. How much that was, bytes, beyond what Kubernetes would have read to find it too large.
async fn drain(mut body: Incoming, fault: &Fault) -> usize {
    const TIME: Duration = Duration::from_secs(2);
    const OF_AN_OVERLOAD: usize = 64 * 1024;
    let most = match fault {
        Fault::Platform(_) => OF_AN_OVERLOAD,
        Fault::Client(_) | Fault::Provider(_) => 2 * MAX_BODY_BYTES,
    };
    let mut drained = 0;
    let reading = async {
        while drained < most {
            let Some(Ok(frame)) = body.frame().await else { break };
            drained += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    // Whoever takes longer has had the time to read the answer.
    let _ = tokio::time::timeout(TIME, reading).await;
    match fault {
        Fault::Client(ClientFault::BodyTooLarge) => drained.saturating_sub(MAX_BODY_BYTES),
        _ => drained,
    }
}

impl Server {
    async fn answer(
        &self,
        parts: &Parts,
        body: &mut Incoming,
        connection: &Connection,
        received: Instant,
        warnings: &mut Warnings,
    ) -> Result<Response<Full<Bytes>>, Fault> {
        let info = match request_info::parse(&parts.method, parts.uri.path(), parts.uri.query(), self.union)? {
            Route::Health { endpoint, check } => {
                let response = self.health.respond(endpoint, check.as_deref(), parts.uri.query());
                return Ok(response.ok_or(ClientFault::NotFound)?);
            }
            Route::Version => return Ok(health::version()),
            Route::Api(info) => info,
        };
        let peer = connection.peer(&self.trust, UnixTime::now());
        let identity = identity::caller(&self.trust, &peer, &parts.headers)?;
        // Kubernetes judges it before anything else, for every request that ends by itself.
        options::timeout(parts.uri.query().unwrap_or_default())?;
        let snapshot = self.snapshot.load_full();
        match &info.target {
            Target::Discovery(discovery) => self.discover(&snapshot, parts, &info, &identity, discovery),
            Target::Resource(resource) => {
                let request = ResourceRequest {
                    server: self,
                    snapshot: &snapshot,
                    parts,
                    info: &info,
                    resource,
                    received,
                };
                request.answer(&identity, body, warnings).await
            }
        }
    }

    /// Discovery and OpenAPI, for whoever is known at all: what a shard asks for says nothing of who will ask it.
    fn discover(
        &self,
        snapshot: &Arc<Snapshot>,
        parts: &Parts,
        info: &RequestInfo<'_>,
        identity: &Identity,
        discovery: &Discovery<'_>,
    ) -> Result<Response<Full<Bytes>>, Fault> {
        if info.consumer == Consumer::Wildcard && !matches!(identity, Identity::ShardItself(_)) {
            return Err(ClientFault::Forbidden("only a shard may ask for all logical clusters".into()).into());
        }
        // The handlers of OpenAPI take HEAD too, those of discovery do not.
        let head = parts.method == Method::HEAD && discovery.is_openapi();
        if parts.method != Method::GET && !head {
            return Err(ClientFault::MethodNotAllowed.into());
        }
        if let Discovery::ServerVersion = discovery {
            return Ok(health::version());
        }
        let documents = match &info.api {
            Api::Export { provider, export } => match snapshot.find(provider.as_str(), export) {
                Some(export) => self.documents.of_export(export),
                None => return Err(not_found(snapshot)),
            },
            Api::Union => self.documents.of_all(snapshot),
        };
        documents.answer(discovery, parts).map_err(|fault| match fault {
            Fault::Client(ClientFault::NotFound) => not_found(snapshot),
            fault => fault,
        })
    }
}

/// 404, unless what is asked for may merely not have been read yet.
fn not_found(snapshot: &Snapshot) -> Fault {
    if snapshot.is_whole() {
        ClientFault::NotFound.into()
    } else {
        PlatformFault::NotRead.into()
    }
}

/// One request on a resource.
struct ResourceRequest<'a> {
    server: &'a Server,
    snapshot: &'a Snapshot,
    parts: &'a Parts,
    info: &'a RequestInfo<'a>,
    resource: &'a ResourceInfo<'a>,
    received: Instant,
}

impl ResourceRequest<'_> {
    async fn answer(
        &self,
        identity: &Identity,
        body: &mut Incoming,
        warnings: &mut Warnings,
    ) -> Result<Response<Full<Bytes>>, Fault> {
        let consumer = match &self.info.consumer {
            Consumer::Cluster(consumer) => consumer.as_str(),
            Consumer::Wildcard => return Err(ClientFault::BadRequest("a logical cluster must be named".into()).into()),
            Consumer::None => return Err(ClientFault::NotFound.into()),
        };
        let Identity::Caller(caller) = identity else {
            let message = "a shard may ask for discovery alone; requests on resources need a user";
            return Err(ClientFault::Forbidden(message.into()).into());
        };
        let _under_way = self.server.means.flow.begin()?;
        let nomination = self.nomination()?;
        let schema = self.permitted(caller, consumer, nomination).await?;
        let resource = self.schema(nomination, schema.as_deref())?;
        let version = self.version(&resource)?;
        // Whatever comes of the request, as `crdHandler.ServeHTTP`.
        if let Some(deprecation) = &version.deprecation {
            warnings.add(deprecation);
        }
        match (self.resource.verb, &self.resource.name) {
            (Verb::Create, None) => {
                let create = Create {
                    caller,
                    consumer,
                    nomination,
                    resource: Arc::clone(&resource),
                    version: &self.resource.version,
                    namespace: self.resource.namespace.as_deref(),
                    received: self.received,
                    trace_parent: self.parts.headers.get(TRACE_PARENT).cloned(),
                };
                let Answered {
                    object,
                    output,
                    include,
                } = create.run(&self.server.means, self.parts, body, warnings).await?;
                let responder = Responder::new(self.parts);
                transform::object(
                    &responder,
                    StatusCode::CREATED,
                    &object.into(),
                    version,
                    output,
                    include,
                )
            }
            (Verb::List, None) => {
                let output = negotiate_output(self.parts)?;
                ListOptions::from_query(self.query())?.check(resource.scope, version)?;
                IncludeObject::of(output.target, self.query())?;
                transform::empty_list(&Responder::new(self.parts), &resource, version, output)
            }
            // As the built-in reviews: a name leads nowhere, and a collection knows no other method.
            (_, Some(_)) => Err(ClientFault::NotFound.into()),
            (_, None) => Err(ClientFault::MethodNotAllowed.into()),
        }
    }

    fn query(&self) -> &str {
        self.parts.uri.query().unwrap_or_default()
    }

    /// The object that the request names, in its path or as all that a list is to have.
    fn name(&self) -> Option<String> {
        match self.resource.verb {
            Verb::List => ListOptions::from_query(self.query()).ok()?.name().map(str::to_owned),
            _ => self.resource.name.as_deref().map(str::to_owned),
        }
    }

    /// Step 2: the nomination of the resource in the path.
    fn nomination(&self) -> Result<&Nomination<Handle>, Fault> {
        let found = match &self.info.api {
            Api::Export { provider, export } => self
                .snapshot
                .find(provider.as_str(), export)
                .and_then(|export| self.nomination_of(export)),
            Api::Union => {
                let nominations = self.snapshot.exports().filter_map(|export| self.nomination_of(export));
                nominations.min_by_key(|nomination| (&nomination.cluster, &nomination.export))
            }
        };
        found.ok_or_else(|| not_found(self.snapshot))
    }

    fn nomination_of<'s>(&self, export: &'s Export<Handle>) -> Option<&'s Nomination<Handle>> {
        export
            .nomination(&self.resource.group, &self.resource.resource)
            .map(|nomination| &**nomination)
    }

    /// Asks the authorizer, for the verbs that anything comes of; the name of the schema that the consumer is bound to.
    async fn permitted(
        &self,
        caller: &Caller,
        consumer: &str,
        nomination: &Nomination<Handle>,
    ) -> Result<Option<Arc<str>>, Fault> {
        if !matches!(self.resource.verb, Verb::Create | Verb::List | Verb::Get) {
            return Ok(None);
        }
        let name = self.name();
        let attributes = Attributes {
            user: &caller.user,
            via: &caller.via,
            consumer,
            provider: &nomination.cluster,
            export: &nomination.export,
            verb: self.resource.verb.as_str(),
            group: &self.resource.group,
            version: &self.resource.version,
            resource: &self.resource.resource,
            namespace: self.resource.namespace.as_deref(),
            name: name.as_deref(),
        };
        match self.server.authorizer.authorize(&attributes).await {
            Ok(Decision::Allowed { schema }) => Ok(schema),
            Ok(Decision::Denied { reason }) => {
                let owned = |text: Option<&str>| text.map(str::to_owned);
                Err(ClientFault::NotAllowed(Box::new(NotAllowed {
                    user: caller.user.username.clone(),
                    verb: attributes.verb.to_owned(),
                    group: attributes.group.to_owned(),
                    resource: attributes.resource.to_owned(),
                    namespace: owned(attributes.namespace),
                    name: owned(attributes.name),
                    reason,
                }))
                .into())
            }
            Err(Undecided::Unavailable) => Err(PlatformFault::AuthorizationUnavailable.into()),
            Err(Undecided::TooMany) => Err(ClientFault::TooManyRequests {
                message: "too many requests of this user wait to be authorized, please try again later",
                retry_after: 1,
            }
            .into()),
        }
    }

    /// The resource as the consumer sees it, if the path fits it: a served version, and a namespace where there must
    /// be one.
    fn schema(&self, nomination: &Nomination<Handle>, bound: Option<&str>) -> Result<Arc<ResourceSchema>, Fault> {
        let schema = match bound {
            Some(name) => self
                .snapshot
                .schema(&nomination.cluster, name)
                .ok_or_else(|| not_found(self.snapshot))?,
            None => nomination
                .schema
                .as_ref()
                .map_err(|problem| crate::create::not_usable(nomination, problem))?,
        };
        let namespaced = self.resource.namespace.is_some();
        let across_namespaces = self.resource.verb == Verb::List;
        let fits = match schema.scope {
            Scope::Namespaced => namespaced || across_namespaces,
            Scope::Cluster => !namespaced,
        };
        if !fits {
            return Err(ClientFault::NotFound.into());
        }
        self.version(schema).map(|_| Arc::clone(schema))
    }

    fn version<'s>(&self, schema: &'s ResourceSchema) -> Result<&'s Version, Fault> {
        Ok(schema.version(&self.resource.version).ok_or(ClientFault::NotFound)?)
    }
}
