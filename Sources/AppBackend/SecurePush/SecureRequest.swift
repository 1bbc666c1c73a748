import HubProtocol

/// The body of `POST /api/notifications` without `pns`.
///
/// The body is empty, for the caller and a configured text, as in the tutorial; a JSON string, for the caller; or
/// `{"to":"bob","payload":"…"}`.
struct SecureRequest: Sendable, Equatable {
    /// The largest body, in bytes: a payload in which every byte is an escape of six, and the members around it.
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
