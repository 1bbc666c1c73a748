import HTTPTypes
import HubStore
import Hummingbird
import NIOCore
import NetworkAddresses

/// A client's request that one node passes to another.
struct ForwardedRequest: Sendable {
    let head: HTTPRequest
    /// The remote address of the client's connection.
    let peer: NetworkAddress?
    let body: ByteBuffer
    /// `nil` for a request from or to a node of an earlier version.
    let fence: Fence?

    /// The state of the cluster when the request was passed on.
    struct Fence: Sendable, Equatable {
        /// The claim of the node that is to execute the request.
        let claim: WriterClaim
        /// The newest entry of the log that is known to be older than the request.
        let newestEntry: UInt64
    }

    var encoded: [UInt8] {
        var writer = EntryWriter()
        writer.append(fence == nil ? NodeMessages.Kind.forwardedRequest : NodeMessages.Kind.fencedRequest)
        if let fence {
            writer.append(fence.claim)
            writer.append(number: fence.newestEntry)
        }
        writer.append(text: head.method.rawValue)
        writer.append(text: head.scheme ?? "")
        writer.append(text: head.authority ?? "")
        writer.append(text: head.path ?? "")
        writer.append(head.headerFields)
        writer.append(counted: peer?.bytes ?? [])
        writer.append(counted: body.readableBytesView)
        return writer.bytes
    }
}

extension ForwardedRequest {
    /// Reads a request, without the byte of its kind.
    ///
    /// - Throws: ``LogEntryError`` for bytes that are not a request.
    init(encoded bytes: ArraySlice<UInt8>, isFenced: Bool) throws(LogEntryError) {
        var reader = EntryReader(Array(bytes))
        fence = isFenced ? Fence(claim: try reader.claim(), newestEntry: try reader.number()) : nil
        guard let method = HTTPRequest.Method(rawValue: try reader.text()) else {
            throw .damaged("a method is not valid")
        }
        let (scheme, authority, path) = (try reader.text(), try reader.text(), try reader.text())
        head = HTTPRequest(
            method: method,
            scheme: scheme.isEmpty ? nil : scheme,
            authority: authority.isEmpty ? nil : authority,
            path: path,
            headerFields: try reader.fields()
        )
        peer = NetworkAddress(octets: try reader.counted())
        body = ByteBuffer(bytes: try reader.counted())
        guard reader.isAtEnd else { throw .damaged("it is too long") }
    }
}

/// The answer to a client's request from the node that has executed it.
struct ForwardedReply: Sendable {
    let head: HTTPResponse
    let body: ByteBuffer
    /// The newest entry of the log after the request.
    let position: UInt64
    /// Present if nothing of a fenced request was executed, and nothing will be.
    var refusal: Refusal?

    struct Refusal: Sendable, Equatable {
        /// The claim that the node has now; `nil` without one.
        let claim: WriterClaim?
    }

    var encoded: [UInt8] {
        var writer = EntryWriter()
        writer.append(number: position)
        writer.append(number: UInt64(head.status.code))
        writer.append(text: head.status.reasonPhrase)
        writer.append(head.headerFields)
        writer.append(counted: body.readableBytesView)
        // Earlier versions, which pass on requests without a fence, read no more.
        if let refusal { writer.append(list: refusal.claim.map { [$0] } ?? []) { $0.append($1) } }
        return writer.bytes
    }
}

extension ForwardedReply {
    /// - Throws: ``LogEntryError`` for bytes that are not a reply.
    init(encoded bytes: [UInt8]) throws(LogEntryError) {
        var reader = EntryReader(bytes)
        position = try reader.number()
        let code = try reader.number()
        guard (200...599).contains(code) else { throw .damaged("a status is not valid") }
        let status = HTTPResponse.Status(code: Int(code), reasonPhrase: try reader.text())
        head = HTTPResponse(status: status, headerFields: try reader.fields())
        body = ByteBuffer(bytes: try reader.counted())
        refusal =
            reader.isAtEnd
            ? nil : Refusal(claim: try reader.list { reader throws(LogEntryError) in try reader.claim() }.first)
        guard reader.isAtEnd else { throw .damaged("it is too long") }
    }

    var response: Response {
        Response(status: head.status, headers: head.headerFields, body: .init(byteBuffer: body))
    }
}

extension EntryWriter {
    fileprivate mutating func append(_ fields: HTTPFields) {
        append(list: Array(fields)) { writer, field in
            writer.append(text: field.name.rawName)
            writer.append(text: field.value)
        }
    }
}

extension EntryReader {
    fileprivate mutating func fields() throws(LogEntryError) -> HTTPFields {
        let list = try list { reader throws(LogEntryError) -> HTTPField in
            guard let name = HTTPField.Name(try reader.text()) else { throw .damaged("a header has no valid name") }
            return HTTPField(name: name, value: try reader.text())
        }
        return HTTPFields(list)
    }
}
