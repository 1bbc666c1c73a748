import Formats
import NetworkAddresses
import OutboundHTTP

/// An error of a call to a hub or an app backend.
protocol CallError: Error {
    static var cancelled: Self { get }

    static func malformedReply(_ reason: String) -> Self

    static func unreachable(_ reason: String, _ cause: DistrustCause?) -> Self
}

extension CallError {
    init(_ error: OutboundError) {
        switch error {
        case .cancelled, .shutDown: self = .cancelled
        case .malformedReply, .tooLarge: self = .malformedReply(error.description)
        case .untrusted(_, _, let cause): self = .unreachable(error.description, cause)
        default: self = .unreachable(error.description, nil)
        }
    }

    /// Reads the JSON of a reply; `name` is its name in the error.
    static func decode<Value: Decodable>(_ reply: OutboundResponse, as name: String) throws(Self) -> Value {
        do {
            return try JSONReader.decode(Value.self, from: reply.body)
        } catch {
            throw .malformedReply("\(name) cannot be read")
        }
    }
}

extension OutboundResponse {
    /// The last segment of `Location`, which is the id of a thing that was created.
    var createdID: String? {
        headers["Location"]?.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last.map(String.init)
    }
}
