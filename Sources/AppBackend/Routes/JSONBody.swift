import HTTPTypes
import HubProtocol

/// Bodies of requests, most of which apps write by hand.
enum JSONBody {
    /// - Throws: 400 with the reason and the place.
    static func read(_ bytes: [UInt8]) throws(BackendRefusal) -> JSONNode {
        do {
            return try JSONReader.read(bytes)
        } catch {
            throw .badRequest("The body is not valid JSON: \(error.reason), at byte \(error.offset).")
        }
    }
}

extension BackendRefusal {
    /// A refusal of the protocol's readers, which read what clients send here as well.
    init(_ error: ProtocolError) {
        self.init(.init(code: error.status), error.detail)
    }
}
