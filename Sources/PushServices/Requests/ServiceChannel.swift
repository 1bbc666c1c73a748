import HubProtocol
import OutboundHTTP

/// Requests to a push service, over connections that nothing else uses.
struct ServiceChannel: Sendable {
    private let client: OutboundClient
    private let surroundings: ServiceSurroundings

    /// Makes a channel that uses up to `connections` to each host, with up to `streams` requests on each over HTTP/2.
    ///
    /// `firstRequests` limits the requests to a host that has not answered yet; `nil` allows one for each connection.
    /// `isDirect` means that no request goes through a proxy.
    init(
        _ surroundings: ServiceSurroundings,
        connections: Int,
        maximumConnections: Int = 256,
        streams: Int = OutboundClient.commonStreams,
        firstRequests: Int? = nil,
        isDirect: Bool = false,
        clientCertificate: ClientCertificate? = nil
    ) {
        self.surroundings = surroundings
        client = OutboundClient(
            userAgent: surroundings.userAgent,
            maximumConnections: maximumConnections,
            maximumConnectionsPerHost: firstRequests ?? connections,
            streamsPerConnection: streams,
            multiplexedConnectionsPerHost: connections,
            clientCertificate: clientCertificate,
            certificateAuthorities: surroundings.emulation?.certificateAuthorities,
            proxies: isDirect ? .none : surroundings.proxies,
            keepsIdleConnectionsFor: .seconds(3_600)
        )
    }

    /// No answer, with the outcome for the message.
    struct NoAnswer: Error, Sendable {
        let outcome: PushOutcome
    }

    /// Sends a request, and repeats it if the connection ends before the reply; redirects are not followed.
    ///
    /// `addresses` are the addresses that the host may have.
    ///
    /// - Returns: The host's reply, whatever its status.
    /// - Throws: ``NoAnswer``.
    func post(
        _ url: String,
        _ headers: [(name: String, value: String)],
        _ body: [UInt8]?,
        addresses: AddressPolicy = .any,
        opensConnection: Bool = false
    ) async throws(NoAnswer) -> OutboundResponse {
        try await post(Self.request(url, headers, body, addresses: addresses, opensConnection: opensConnection))
    }

    /// Sends a request made by ``request(_:_:_:addresses:opensConnection:)`` in the same way.
    func post(_ request: OutboundRequest) async throws(NoAnswer) -> OutboundResponse {
        do {
            return try await client.send(request)
        } catch .ended, .cut {
            return try await repost(request)
        } catch {
            throw Self.noAnswer(error)
        }
    }

    /// Sends a request to each target once and passes the results to `receive`, several at a time; redirects are not
    /// followed.
    ///
    /// The paths of targets are appended to the URL of `common`. `receive` gets each place exactly once; `nil` means
    /// that the connection ended before the reply.
    func post(
        _ common: OutboundRequest,
        to targets: [OutboundTarget],
        receive: @escaping @Sendable ([(place: Int, result: Result<OutboundResponse, NoAnswer>?)]) -> Void
    ) {
        client.send(common, to: targets) { results in
            receive(
                results.map { place, result in
                    switch result {
                    case .success(let response): (place, .success(response))
                    case .failure(.ended), .failure(.cut): (place, nil)
                    case .failure(let error): (place, .failure(Self.noAnswer(error)))
                    }
                }
            )
        }
    }

    /// Sends a request once more, after the connection ended before the reply.
    func repost(_ request: OutboundRequest) async throws(NoAnswer) -> OutboundResponse {
        do {
            return try await client.send(request)
        } catch {
            throw Self.noAnswer(error)
        }
    }

    /// Time for which a request waits for a place on a connection; it has not been sent before.
    private static let queueTimeout = Duration.seconds(150)

    /// Makes a request to a push service.
    static func request(
        _ url: String,
        _ headers: [(name: String, value: String)],
        _ body: [UInt8]?,
        addresses: AddressPolicy = .any,
        opensConnection: Bool = false
    ) -> OutboundRequest {
        var request = OutboundRequest(
            method: "POST",
            url: url,
            headers: headers,
            body: body,
            connectTimeout: .seconds(10),
            totalTimeout: .seconds(30),
            idleTimeout: nil,
            maximumBodyBytes: 64 << 10,
            maximumRedirects: 0,
            addresses: addresses
        )
        request.opensConnection = opensConnection
        // The lane hands over more requests than a slow host takes at once.
        request.queueTimeout = queueTimeout
        request.keepsStart = true
        return request
    }

    /// Returns the wait that the reply's `Retry-After` asks for, by the hub's clock; `nil` if there is none.
    func retryAfter(_ response: OutboundResponse) -> Duration? {
        response.headers.retryAfter(now: surroundings.now().seconds)
    }

    func shutdown() async { await client.shutdown() }

    private static func noAnswer(_ error: OutboundError) -> NoAnswer {
        switch error {
        case .badURL, .badRequest, .refusedAddress: NoAnswer(outcome: .unsendable(error.description))
        default: NoAnswer(outcome: .retry(after: nil, error.description))
        }
    }
}
