import Formats
import HTTPTypes
package import HubProtocol

/// Request bodies, most of which apps build by hand.
enum JSONBody {
    /// - Throws: 400 with the reason and the position.
    static func read(_ bytes: [UInt8]) throws(BackendRefusal) -> JSONNode {
        do {
            return try JSONReader.read(bytes)
        } catch {
            throw .badRequest("The body is not valid JSON: \(error.reason), at byte \(error.offset).")
        }
    }
}

extension BackendRefusal {
    /// Creates a refusal from an error of the protocol's readers, which also read request bodies here.
    package init(_ error: ProtocolError) {
        self.init(.init(code: error.status), error.detail)
    }
}
