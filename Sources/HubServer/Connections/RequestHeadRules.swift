import Formats
import HTTPTypes
import HubProtocol
import NIOCore
import NIOHTTP1
import NetworkAddresses

/// Rules for the heads of requests, the same for all versions of HTTP and for streams.
enum RequestHeadRules {
    /// The largest list of header fields: names, values and 32 bytes for each field (RFC 9113 §6.5.2).
    static let maximumBytes = 64 << 10
    private static let fieldOverhead = 32

    static let garbage = ProtocolError.badRequest("The request is not valid HTTP/1.1.")
    static let tooLarge = ProtocolError(.headTooLarge, "The header fields are larger than \(maximumBytes >> 10) KiB.")

    /// The refusal for bytes that the decoder does not accept.
    static func refusal(_ error: any Error) -> ProtocolError {
        error as? HTTPParserError == .headerOverflow ? tooLarge : garbage
    }

    /// The fault of a head, whatever the version; `nil` without one.
    static func fault(of head: HTTPRequest) -> ProtocolError? {
        var bytes = head.path?.utf8.count ?? 0
        for field in head.headerFields {
            bytes += field.name.rawName.utf8.count + field.value.utf8.count + fieldOverhead
        }
        if bytes > maximumBytes { return tooLarge }
        if let coding = head.headerFields[.contentEncoding], coding.lowercased() != "identity" {
            return ProtocolError(
                .unsupportedMedia,
                "The content coding '\(coding.excerpt)' is not supported: send the body without Content-Encoding."
            )
        }
        return nil
    }

    /// The fault of the host in a head of HTTP/1; `nil` without one.
    ///
    /// Source: RFC 9112 §3.2. Health checks of HTTP/1.0 send none.
    static func hostFault(of head: HTTPRequestHead) -> ProtocolError? {
        let hosts = head.headers["Host"]
        if hosts.isEmpty { return head.isHTTP10 ? nil : .badRequest("The request has no Host.") }
        guard hosts.count == 1 else { return .badRequest("The request has more than one Host.") }
        // The decoder leaves blanks, which are not part of a value (RFC 9110 §5.5). The port can be empty (RFC 3986 §3.2.3).
        let host = hosts[0].trimmingBlanks()
        guard Authority(host.hasSuffix(":") ? host.dropLast() : host) != nil else {
            return .badRequest("'\(String(host).excerpt)' in Host is not a valid host name or address.")
        }
        return nil
    }
}

extension HTTPRequestHead {
    var isHTTP10: Bool { version == .http1_0 }
}

/// Examines what later handlers do not learn of a head of HTTP/1: its version, and more than one host.
final class HostCheck: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let requests: RequestBodyHandler

    init(_ requests: RequestBodyHandler) { self.requests = requests }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            requests.isHTTP10 = head.isHTTP10
            requests.hostFault = RequestHeadRules.hostFault(of: head)
        }
        context.fireChannelRead(data)
    }
}
