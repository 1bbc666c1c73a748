package import HubProtocol

/// A message that a device would have received.
package struct EmulatedDelivery: Sendable, Equatable {
    /// Number of the delivery, counted over all devices from 1.
    package internal(set) var sequence: Int
    package let service: EmulatedService
    /// The handle as a registration has it.
    package let handle: String
    package let receivedAt: Timestamp
    /// The service's id for the message, as in its reply.
    package let messageID: String
    /// Headers in the order of the request, names in lower case, without secrets.
    package let headers: [HeaderLine]
    package let body: [UInt8]
    /// The decrypted message, for a subscription made by the emulator.
    package let plaintext: Plaintext?
    /// Key of messages of which a device shows only the latest.
    package let collapseKey: String?
    /// True if a later message has the same collapse key.
    package internal(set) var isReplaced = false

    package enum Plaintext: Sendable, Equatable {
        case text([UInt8])
        /// True if the body was encrypted for other keys.
        case undecipherable
    }

    /// Bytes that count against the limit of the inbox.
    var size: Int {
        headers.reduce(body.count + handle.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }
}

/// One header field.
package struct HeaderLine: Sendable, Equatable, Codable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
