import Formats
import FoundationEssentials
import HubProtocol
import OutboundHTTP

/// One request to a hub, before it is addressed and signed.
struct HubCall {
    let method: String

    /// The path below the hub, with its segments escaped.
    let path: String
    /// Query parameters, besides the version of the protocol.
    var query: [(name: String, value: String)]
    var headers: [(name: String, value: String)] = []
    var body: [UInt8]?
    /// `nil` if the type is among the headers.
    var contentType: String? = "application/json"
    var channel: PushChannelSecret?
    /// The start of a page of a list, exactly as the hub gave it: escaping would change the tokens of some hubs.
    var continuation: String?
    /// The largest reply in bytes; an installation is 64 KiB at most.
    var maximumReplyBytes = 1 << 20
    /// The limit for the whole call; the hub answers within one commit.
    var timeout = Duration.seconds(30)

    init(_ method: String, _ path: String, query: [(name: String, value: String)] = []) {
        self.method = method
        self.path = path
        self.query = query
    }

    /// Creates a call with a JSON body.
    init(_ method: String, _ path: String, json value: some Encodable) throws(HubError) {
        self.init(method, path)
        do {
            body = Array(try JSONEncoder.sorted.encode(value))
        } catch {
            throw .malformedReply("the request cannot be written")
        }
    }

    /// The statuses of a hub that has no such route.
    static let absentRoute: Set<Int> = [404, 405, 501]
    /// The same for a request that cannot be wrong in itself: other hubs may answer 400 for an unknown route.
    static let absentPlainRoute = absentRoute.union([400])

    /// Escapes all but the unreserved characters of RFC 3986 §2.3.
    static func segment(_ text: String) -> String {
        // Clients remove dot segments before they send (RFC 3986 §5.2.4).
        if text == "." || text == ".." { return text.replacing(".", with: "%2E") }
        return PercentEncoding.encode(text)
    }
}

extension HubClient {
    func request(_ call: HubCall) -> OutboundRequest {
        var headers = call.headers
        headers.append(("Authorization", tokens.token(now: unixTime)))
        if call.body != nil, let type = call.contentType { headers.append(("Content-Type", type)) }
        if let channel = call.channel { headers.append((HeaderName.pushChannel, channel.text)) }
        var query = call.query.map { "&\($0.name)=\(HubCall.segment($0.value))" }.joined()
        if let start = call.continuation { query += "&continuationtoken=\(start)" }
        var request = OutboundRequest(
            method: call.method,
            url: "\(hubURL)\(call.path)?api-version=\(Self.apiVersion)\(query)",
            headers: headers,
            body: call.body,
            totalTimeout: call.timeout,
            maximumBodyBytes: call.maximumReplyBytes,
            maximumRedirects: 0,
            addresses: .any
        )
        request.certificateAuthorities = certificateAuthorities
        return request
    }

    /// Sends a call; a status of `absences` means that the requested thing does not exist, and is not an error.
    ///
    /// - Returns: A reply with a 2xx status; `nil` for an absence.
    func succeed(_ call: HubCall, unless absences: Set<Int>) async throws(HubError) -> OutboundResponse? {
        let reply: OutboundResponse
        do throws(OutboundError) {
            reply = try await http.send(request(call))
        } catch {
            throw HubError(error)
        }
        if (200..<300).contains(reply.status) { return reply }
        if absences.contains(reply.status) { return nil }
        let body = String(decoding: reply.body.prefix(ProtocolError.maximumXMLBytes), as: UTF8.self)
        throw HubError(status: reply.status, headers: reply.headers, body: body, now: unixTime)
    }

    /// Sends a call of an operation that only our hubs have.
    ///
    /// - Throws: ``HubProtocol/HubError/unsupported(status:detail:)`` for a status of `absences`.
    @discardableResult
    func succeed(_ call: HubCall, orUnsupported absences: Set<Int>) async throws(HubError) -> OutboundResponse {
        do throws(HubError) {
            return try await succeed(call)
        } catch .refused(let status, _, let detail, _) where absences.contains(status) {
            throw .unsupported(status: status, detail: detail)
        }
    }

    @discardableResult
    func succeed(_ call: HubCall) async throws(HubError) -> OutboundResponse {
        guard let reply = try await succeed(call, unless: []) else { throw .malformedReply("no answer") }
        return reply
    }

    /// Reads the JSON of a reply; `name` is its name in errors.
    ///
    /// - Throws: ``HubProtocol/HubError/unsupported(status:detail:)`` for a status of `absences`.
    func read<Value: Decodable>(
        _ call: HubCall,
        as name: String,
        orUnsupported absences: Set<Int> = []
    ) async throws(HubError) -> Value {
        try HubError.decode(try await succeed(call, orUnsupported: absences), as: name)
    }

    /// Seconds since 1970.
    var unixTime: Int64 { Int64(now().timeIntervalSince1970) }

    /// The version that Azure requires; our hub accepts any.
    private static let apiVersion = "2020-06"
}
