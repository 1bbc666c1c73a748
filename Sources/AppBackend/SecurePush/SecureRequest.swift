import Formats
import HubProtocol

/// The body of `POST /api/notifications` without `pns`.
///
/// An empty body sends a configured text to the caller, as in the tutorial. A JSON string is a text for the caller, and
/// `{"to":"bob","payload":"…"}` one for another user.
struct SecureRequest: Sendable, Equatable {
    /// The largest body, in bytes: a payload with a six-byte escape for every byte, and the members around it.
    static let maximumBytes = 6 * SecurePayloads.maximumBytes + 1_024

    let addressee: UserName
    let payload: String

    /// - Throws: 400 with the reason.
    init(_ body: [UInt8], caller: UserName, standard: String) throws(BackendRefusal) {
        guard body.contains(where: { !Self.isSpace($0) }) else {
            (addressee, payload) = (caller, standard)
            return
        }
        let node = try JSONBody.read(body)
        if let text = node.string {
            (addressee, payload) = (caller, text)
            return
        }
        guard node.members != nil, let name = node["to"]?.string, let text = node["payload"]?.string else {
            throw .badRequest(#"The body is neither a JSON string nor {"to":"…","payload":"…"}."#)
        }
        (addressee, payload) = (try NotificationRoutes.addressee(name), text)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
