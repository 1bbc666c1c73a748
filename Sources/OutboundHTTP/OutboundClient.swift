import Synchronization

/// An HTTP client; all HTTP requests of this program go through it.
///
/// All transfers of one client run on one thread, which exists only while it is needed. Cancelling the task that awaits
/// a reply cancels the transfer. A client that is released ends its transfers as ``shutdown()`` does, without waiting.
package final class OutboundClient: Sendable {
    private let userAgent: String
    private let authorities: TrustedAuthorities
    private let clientCertificate: ClientCertificate?
    private let proxies: ProxySettings
    private let lossPatience: Duration
    private let loop: TransferLoop
    /// The address that was parsed last; requests to the same host need no further parse.
    private let recentAddress = Mutex<WebAddress?>(nil)

    /// - Parameters:
    ///   - userAgent: The `User-Agent` header (RFC 9110 §10.1.5); publishers of feeds expect a contact address in it.
    ///   - maximumConnections: Connections of all requests together; further requests wait. Streams do not count.
    ///   - maximumConnectionsPerHost: Connections to one origin.
    ///   - streamsPerConnection: Requests that share a connection over HTTP/2, if the peer allows as many.
    ///   - multiplexedConnectionsPerHost: Connections to one origin over HTTP/2. A client with more than one cannot
    ///     open streams.
    ///   - clientCertificate: Certificate for hosts that ask for one.
    ///   - certificateAuthorities: A PEM file with authorities to trust instead of the system's and those of
    ///     `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    ///   - proxies: Proxies for hosts on other machines; this machine is always reached directly.
    ///   - idleLifetime: Time for which connections, handles and the thread are kept after the last transfer. Common
    ///     servers close idle connections after 60 to 75 seconds.
    ///   - silence: Time after which a host is asked whether it is there if requests of a batch wait for it over HTTP/2,
    ///     and time for its answer.
    ///   - lossPatience: Time after which a connection is ended on which packets are lost and nothing is acknowledged, in
    ///     whole seconds and at least five. Streams have limits of their own.
    package init(
        userAgent: String,
        maximumConnections: Int = 64,
        maximumConnectionsPerHost: Int = 4,
        streamsPerConnection: Int = OutboundClient.commonStreams,
        multiplexedConnectionsPerHost: Int = 1,
        clientCertificate: ClientCertificate? = nil,
        certificateAuthorities: String? = nil,
        proxies: ProxySettings = .environment,
        keepsIdleConnectionsFor idleLifetime: Duration = .seconds(60),
        asksSilentHostsAfter silence: Duration = .seconds(10),
        endsLostConnectionsAfter lossPatience: Duration = OutboundClient.lossPatience
    ) {
        self.userAgent = userAgent
        self.authorities = certificateAuthorities.map(TrustedAuthorities.init(only:)) ?? .environment
        self.clientCertificate = clientCertificate
        self.proxies = proxies
        self.lossPatience = lossPatience
        self.loop = TransferLoop(
            limits: TransferLoop.Limits(
                maximumConnections: maximumConnections,
                maximumConnectionsPerOrigin: maximumConnectionsPerHost,
                streamsPerConnection: streamsPerConnection,
                multiplexedConnectionsPerOrigin: multiplexedConnectionsPerHost,
                silence: silence,
                idleLifetime: idleLifetime
            )
        )
    }

    /// Time after which a connection is ended on which packets are lost and nothing is acknowledged; whole seconds.
    ///
    /// A request then fails before its 30 seconds have passed, and can be repeated on a new connection.
    package static let lossPatience = Duration.seconds(25)

    /// Number of streams that servers should allow at least (RFC 9113 §6.5.2).
    package static let commonStreams = 100

    deinit {
        loop.close()
    }

    /// Sends a request and collects its reply, following redirects.
    ///
    /// - Returns: The reply of the last host, whatever its status.
    package func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        if request.allowsFile, LocalFile.isFile(request.url) {
            return try LocalFile.read(request)
        }
        let response = try await collect(request)
        guard request.keepsGzip, (200..<300).contains(response.status), !response.body.isEmpty,
            ContentCodings.needsDecoder(response.headers)
        else { return response }
        // A cache may answer with a coding that was not asked for.
        var decoding = request
        decoding.keepsGzip = false
        return try await collect(decoding)
    }

    private func collect(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let (last, trail) = try await follow(request, Self.delivery(of: request), until: .end)
        let (head, body) = try last.reply().get()
        return OutboundResponse(
            status: head.status,
            headers: head.headers,
            body: body,
            url: trail.address.text,
            movedPermanentlyTo: trail.movedPermanentlyTo?.textWithCredentials()
        )
    }

    /// Sends a request and returns when the header of the reply has arrived, following redirects.
    ///
    /// Each stream has its own connection over HTTP/1.1 and is not compressed. Set `totalTimeout` to `nil` for a stream
    /// without an end. A stream keeps its client alive; releasing the stream cancels it.
    package func stream(_ request: OutboundRequest) async throws(OutboundError) -> OutboundStream {
        let (last, trail) = try await follow(request, .stream, until: .head)
        let head = try last.head().get()
        return OutboundStream(
            status: head.status,
            headers: head.headers,
            url: trail.address.text,
            lease: OutboundStream.Lease(client: self, transfer: last)
        )
    }

    /// Sends a request to many targets and passes the results to `receive`, several at a time; no task waits for them.
    ///
    /// The path of each target is appended to the URL of `common`. `receive` gets each place in `targets` exactly once.
    /// It is called on the client's thread and must not block. Redirects are not followed. Only ``shutdown()`` cancels
    /// the requests.
    package func send(
        _ common: OutboundRequest,
        to targets: [OutboundTarget],
        receive: @escaping @Sendable ([(place: Int, result: Result<OutboundResponse, OutboundError>)]) -> Void
    ) {
        var common = common
        common.maximumRedirects = 0
        let plan: TransferPlan
        do throws(OutboundError) {
            let (trail, deadline) = try start(of: common)
            plan = try self.plan(common, trail, Self.delivery(of: common), deadline)
        } catch {
            return receive(targets.indices.map { ($0, .failure(error)) })
        }
        var sent: [(place: Int, target: OutboundTarget)] = []
        sent.reserveCapacity(targets.count)
        var refused: TransferBatch.Results = []
        for (place, target) in targets.enumerated() {
            do throws(OutboundError) {
                try TransferPlan.check(target)
                sent.append((place, target))
            } catch {
                refused.append((place, .failure(error)))
            }
        }
        if !refused.isEmpty { receive(refused) }
        if !sent.isEmpty { loop.start(TransferBatch(plan, sent, receive: receive)) }
    }

    /// Ends all transfers with ``OutboundError/shutDown``, refuses new ones, and returns when every connection is
    /// closed.
    package func shutdown() async {
        loop.close()
        await loop.closed()
    }

    func send(_ command: TransferLoop.Command) {
        loop.send(command)
    }

    private func follow(
        _ request: OutboundRequest,
        _ delivery: TransferPlan.Delivery,
        until milestone: Transfer.Milestone
    ) async throws(OutboundError) -> (Transfer, RedirectTrail) {
        var (trail, deadline) = try start(of: request)
        while true {
            let transfer = Transfer(try plan(request, trail, delivery, deadline))
            let head = try await perform(transfer, until: milestone)
            guard transfer.plan.followsRedirects, RedirectTrail.isRedirect(head) else { return (transfer, trail) }
            loop.send(.cancel(transfer))
            try trail.follow(head)
        }
    }

    /// Checks a request and returns its first hop and its deadline.
    private func start(
        of request: OutboundRequest
    ) throws(OutboundError) -> (RedirectTrail, ContinuousClock.Instant?) {
        var headers = OutboundHeaders(request.headers).fields + request.echoes
        if request.keepsGzip { headers.append(OutboundHeaders.Field(name: "Accept-Encoding", value: "gzip")) }
        if let userAgent = request.userAgent {
            try TransferPlan.check("GET", [.init(name: "User-Agent", value: userAgent)])
        }
        try TransferPlan.check(request.method, headers)
        let trail = RedirectTrail(request, headers, to: try address(request.url))
        return (trail, (request.queueTimeout ?? request.totalTimeout).map { ContinuousClock.now.advanced(by: $0) })
    }

    private static func delivery(of request: OutboundRequest) -> TransferPlan.Delivery {
        .whole(limit: request.maximumBodyBytes, keepsStart: request.keepsStart)
    }

    private func address(_ text: String) throws(OutboundError) -> WebAddress {
        if let sibling = recentAddress.withLock({ $0 })?.sibling(text) { return sibling }
        let address = try WebAddress(parsing: text)
        if address.user == nil { recentAddress.withLock { $0 = address } }
        return address
    }

    private func perform(
        _ transfer: Transfer,
        until milestone: Transfer.Milestone
    ) async throws(OutboundError) -> ReplyHead {
        if Task.isCancelled { throw .cancelled }
        loop.start(transfer)
        await withTaskCancellationHandler {
            await transfer.wait(until: milestone)
        } onCancel: {
            loop.send(.cancel(transfer))
        }
        return try transfer.head().get()
    }

    private func plan(
        _ request: OutboundRequest,
        _ trail: RedirectTrail,
        _ delivery: TransferPlan.Delivery,
        _ deadline: ContinuousClock.Instant?
    ) throws(OutboundError) -> TransferPlan {
        let proxy = proxies.proxy(for: trail.address)
        guard proxy == nil || trail.addresses.allowsByName(trail.address) else {
            throw .refusedAddress(host: trail.address.displayHost, address: trail.address.bareHost)
        }
        return TransferPlan(
            request,
            trail,
            delivery,
            deadline: deadline,
            lossPatience: lossPatience,
            proxy: proxy,
            userAgent: userAgent,
            authorities: authorities,
            clientCertificate: clientCertificate
        )
    }
}
