import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStreams
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import WebEdge

/// Accepts stream requests that are the first on their connection.
final class StreamGate: Sendable {
    static let decoderName = "stream request decoder"

    let responses: ResponseCounts
    let client: ClientAddress
    private let hubs: HubDirectory
    private let applications: [MountedApplication]
    private let connections: ConnectionQuota
    private let crossOrigin: CrossOrigin
    private let logger: Logger

    init(
        hubs: HubDirectory,
        applications: [MountedApplication],
        client: ClientAddress,
        connections: ConnectionQuota,
        responses: ResponseCounts,
        crossOrigin: CrossOrigin,
        logger: Logger
    ) {
        self.crossOrigin = crossOrigin
        self.hubs = hubs
        self.applications = applications
        self.client = client
        self.connections = connections
        self.responses = responses
        self.logger = logger
    }

    /// True if a request line is `GET /{hub}/installations/{id}/stream`, in any case, or that of an application's
    /// stream.
    func isStreamRequest(_ line: some Collection<UInt8>) -> Bool {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 3, words[0].elementsEqual("GET".utf8), words[2].elementsEqual("HTTP/1.1".utf8) else {
            return false
        }
        let path = words[1].prefix { $0 != UInt8(ascii: "?") }
        return Self.isStream(path)
            || applications.contains { $0.mayOpenStream(Substring(decoding: path, as: UTF8.self)) }
    }

    private static func isStream(_ path: some Collection<UInt8>) -> Bool {
        let segments = path.split(separator: UInt8(ascii: "/"))
        guard segments.count == 4 else { return false }
        return String(decoding: segments[1], as: UTF8.self).lowercased() == "installations"
            && String(decoding: segments[3], as: UTF8.self).lowercased() == "stream"
    }

    /// Checks the request and attaches the connection; called on the connection's event loop.
    ///
    /// An application checks the requests for its own streams.
    func serve(_ head: HTTPRequestHead, on channel: any Channel, output: ChannelOutput) {
        let path = head.uri.prefix { $0 != "?" }
        guard let application = applications.first(where: { $0.mayOpenStream(path) }) else {
            return attach(head, on: channel, output: output)
        }
        let (handover, logger) = (StreamHandover(), logger)
        let answer = channel.eventLoop.makeFutureWithTask {
            let request = Request(
                head: try HTTPRequest(head, secure: false, splitCookie: false),
                body: RequestBody(buffer: ByteBuffer())
            )
            return try await StreamHandover.$current.withValue(handover) {
                let response = try await application.respond(to: request, on: channel, logger: logger)
                let body = ReplyCollector(limit: Self.maximumRefusal)
                try await response.body.write(body)
                return (response.head, body.bytes)
            }
        }
        answer.assumeIsolated().whenComplete { result in
            // If the client has left, a session would count as a stream until it stalls.
            guard channel.isActive else { return }
            do {
                let (response, body) = try result.get()
                guard let request = handover.request else { return output.end(whole: response, body) }
                self.attach(try HTTPRequestHead(request), on: channel, output: output)
            } catch {
                output.refuse(error as? ProtocolError ?? .badRequest("The request is not valid HTTP/1.1."))
            }
        }
    }

    /// The largest page that says why there is no stream, in bytes.
    private static let maximumRefusal = 1 << 20

    private func attach(_ head: HTTPRequestHead, on channel: any Channel, output: ChannelOutput) {
        // As the router joins several.
        let origins = head.headers["Origin"]
        output.fields = crossOrigin.lines(for: origins.isEmpty ? nil : origins.joined(separator: ", "))
        do throws(ProtocolError) {
            let path = String(head.uri.prefix { $0 != "?" })
            let query = FormFields(String(head.uri.dropFirst(path.count + 1)), ignoresCase: true)
            let segments = path.split(separator: "/")
            guard segments.count == 4 else { throw ProtocolError.notFound("There is nothing at this address.") }
            let member = try hubs.member(named: String(segments[0]))
            let hub = member.hub
            let grant = try hub.grant(
                authorization: head.headers.first(name: "Authorization"),
                path: path,
                needs: .listen
            )
            if grant.rights.contains(.manage) { output.fields = crossOrigin.lines(for: nil) }
            connections.prove(channel)
            let source = client.source(head.headers, peer: channel.remoteAddress?.networkAddress)
            let key = QuotaKey(hub: hub.record.id, credential: grant.credential, address: source)
            let installation = try InstallationID(pathSegment: String(segments[2]))
            let hasHeartbeatEvents = try StreamHeartbeat.isEvent(query[StreamHeartbeat.parameter])
            let place = try hubs.streamQuota.place(for: grant, key)
            let session = hubs.loop(of: channel.eventLoop, for: member)
                .open(output, place: place, hasHeartbeatEvents: hasHeartbeatEvents)
            output.serve(session)
            hub.attach(
                session,
                installation,
                grant,
                PushChannelSecret(header: head.headers.first(name: HeaderName.pushChannel)),
                lastEventID: head.headers.first(name: HeaderName.lastEventID)
            )
        } catch {
            output.refuse(error)
        }
    }
}

extension ChannelOutput {
    fileprivate func end(whole response: HTTPResponse, _ body: ByteBuffer) {
        var head = response
        head.headerFields[.contentLength] = "\(body.readableBytes)"
        head.headerFields[.connection] = "close"
        var bytes = ByteBuffer(string: "HTTP/1.1 \(response.status)\r\n")
        for field in head.headerFields { bytes.writeString("\(field.name): \(field.value)\r\n") }
        bytes.writeString("\r\n")
        bytes.writeImmutableBuffer(body)
        end(bytes, status: response.status.code)
    }
}

extension Hub {
    /// Asks the hub's machine to attach a session at its place in the log; the answer goes to the session's output.
    func attach(
        _ session: StreamSession,
        _ installation: InstallationID,
        _ grant: Grant,
        _ channel: PushChannelSecret?,
        lastEventID: String?
    ) {
        let request = StreamRequest(
            id: session.id,
            installation: installation,
            grant: grant,
            channel: channel,
            lastEventID: lastEventID,
            at: configuration.timestamp,
            stamp: others?.stamp(at: configuration.timestamp) ?? 0
        )
        writer.attach(request, to: record.id)
    }
}

extension InstallationID {
    /// Reads an id from a percent-encoded path segment.
    init(pathSegment: String) throws(ProtocolError) {
        guard let text = pathSegment.removingPercentEncoding else {
            throw .badRequest("The installation id in the path is not valid percent-encoding.")
        }
        try self.init(text)
    }

    var urlPathSegment: String {
        text.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(["/", ":"])) ?? text
    }
}

extension PushChannelSecret {
    /// Reads the `Newswire-Push-Channel` header; an invalid secret counts as absent.
    init?(header: String?) {
        guard let header, let secret = try? PushChannelSecret(header) else { return nil }
        self = secret
    }
}
