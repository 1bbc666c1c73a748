import HTTPTypes
package import HubProtocol
package import Hummingbird
package import Logging
package import NIOCore
package import ServiceLifecycle
package import WebEdge

/// An application's answer to a request for a stream.
package enum StreamAnswer: Sendable {
    /// The stream gets the bare connection if its request is the first one there.
    case stream(StreamOpening)
    case response(Response)
}

/// An application that a server provides on its port next to its hubs, below a path of its own.
package struct MountedApplication: Sendable {
    /// The streams of hubs that an application opens for its clients.
    package struct Streams: Sendable {
        /// True if a GET request with this path may open a stream.
        let isPath: @Sendable (_ path: Substring) -> Bool
        /// Decides about such a request.
        let answer: @Sendable (Request, any Channel, Logger) async -> StreamAnswer

        package init(
            isPath: @escaping @Sendable (_ path: Substring) -> Bool,
            answer: @escaping @Sendable (Request, any Channel, Logger) async -> StreamAnswer
        ) {
            self.isPath = isPath
            self.answer = answer
        }
    }

    /// The name that operators see.
    let name: String
    /// Run as long as requests are served.
    let services: [any Service]
    /// The reason why the application cannot serve; `nil` if it can.
    let obstacle: @Sendable () -> String?
    /// Lines for `/metrics` in the text format of Prometheus.
    let metrics: @Sendable () async -> String
    private let prefix: [UInt8]
    private let servesRoot: Bool
    /// True if no request is passed to another node.
    let staysHere: Bool
    private let streams: Streams?
    private let answer: @Sendable (Request, WebClient, Logger) async throws -> Response
    /// The application's form of a refusal by the hub.
    let refuse: @Sendable (Request, ProtocolError) -> Response

    /// Mounts a responder.
    ///
    /// - Parameters:
    ///   - name: The name that operators see, such as "app backend".
    ///   - segment: First segment of the application's paths, in lower case; must not be a possible name of a hub.
    ///   - servesRoot: True if the application also answers browsers at `/`.
    ///   - staysHere: True if no request is passed to another node.
    ///   - responder: Answers requests whose paths begin with `segment`, ignoring case; it receives complete paths.
    ///   - streams: Opens streams of a hub for GET requests; `nil` if the application has none.
    ///   - services: Run as long as requests are served. If one ends earlier, the server ends.
    ///   - obstacle: The reason why the application cannot serve; `nil` if it can. Returns at once.
    ///   - metrics: Lines for `/metrics` in the text format of Prometheus.
    ///   - refuse: The application's form of a refusal by the hub, for example while it cannot follow its log.
    package init<User: Sendable, Responder: HTTPResponder>(
        _ name: String,
        below segment: String,
        servesRoot: Bool = false,
        staysHere: Bool = false,
        responder: Responder,
        streams: Streams? = nil,
        services: [any Service] = [],
        obstacle: @escaping @Sendable () -> String? = { nil },
        metrics: @escaping @Sendable () async -> String = { "" },
        refuse: (@Sendable (Request, ProtocolError) -> Response)? = nil
    ) where Responder.Context == WebContext<User> {
        precondition((try? HubName(segment)) == nil, "a hub could have this name")
        self.name = name
        self.services = services
        self.obstacle = obstacle
        self.metrics = metrics
        prefix = Array("/\(segment)/".utf8)
        self.servesRoot = servesRoot
        self.staysHere = staysHere
        self.streams = streams
        self.refuse = refuse ?? { ErrorReply($1).response }
        answer = { request, client, logger in
            try await responder.respond(to: request, context: WebContext(of: client, logger: logger))
        }
    }

    /// True if a path, as received, belongs to the application.
    func serves(_ path: some StringProtocol) -> Bool {
        let utf8 = path.utf8.prefix(prefix.count)
        return utf8.count == prefix.count && zip(utf8, prefix).allSatisfy { Self.lowercased($0) == $1 }
    }

    /// True if a request belongs to the application.
    func serves(_ request: Request) -> Bool {
        serves(request.uri.path) || servesRoot && request.uri.path == "/" && request.isOfBrowser
    }

    /// The streams among which a GET request with this path may open one; `nil` if it opens none.
    func streams(at path: Substring) -> Streams? { serves(path) && streams?.isPath(path) == true ? streams : nil }

    func respond(to request: Request, of client: WebClient, logger: Logger) async throws -> Response {
        try await answer(request, client, logger)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
    }
}

extension Request {
    /// True if a browser opens the address for its user: the request has no credentials of the API, and asks for HTML.
    ///
    /// Clients of the API send `Authorization`; without it they are refused here in any case.
    fileprivate var isOfBrowser: Bool {
        guard method == .get || method == .head, headers[.authorization] == nil else { return false }
        return HTMLPreference.isStated(in: headers[values: .accept])
    }
}

/// Passes each request to the application with its path, and all others to the hubs.
struct MountingResponder: HTTPResponder {
    let applications: [MountedApplication]
    /// `nil` for a hub with one node.
    let requests: MountedRequests?
    let hubs: RouterResponder<HubRequestContext>
    let proxies: ProxyNotice

    func respond(to request: Request, context: HubRequestContext) async throws -> Response {
        proxies.examine(request.headers, peer: context.peer)
        guard let channel = context.channel, let application = applications.first(where: { $0.serves(request) }) else {
            return try await hubs.respond(to: request, context: context)
        }
        // A task keeps the memory of its deepest call until it ends, which for an event stream takes hours: a child
        // task uses it instead.
        return try await LongWork.run {
            async let response = answer(request, for: application, WebClient(channel), context)
            return try await response
        }
    }

    private func answer(
        _ request: Request,
        for application: MountedApplication,
        _ client: WebClient,
        _ context: HubRequestContext
    ) async throws -> Response {
        guard let requests else {
            return try await application.respond(to: request, of: client, logger: context.logger)
        }
        return try await requests.answer(request, for: application, client, context)
    }
}
